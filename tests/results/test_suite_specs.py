"""The table of suites says the same as the suites, and alone tells them apart."""

import json

import pytest
from asv_runner.discovery import disc_benchmarks

from tensorcopy import campaign
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import reader, suite_specs
from tensorcopy.site import build
from tests import launch_files
from tests.conftest import ROOT

SPECS = shipped().specs.rows


def test_every_suite_has_a_row_with_its_parameters_and_its_unit():
    benchmarks = disc_benchmarks(str(ROOT / "benchmarks"))
    suites = {each.name: (each.param_names, getattr(each, "unit", "seconds")) for each in benchmarks}
    assert suites == {name: ([*spec.parameters], spec.unit) for name, spec in SPECS.items()}


def test_what_a_row_names_is_a_suite():
    """A baseline takes times, on the CPU without torch; what is counted are instructions."""
    for spec in SPECS.values():
        baselines = [*filter(None, (spec.baseline, spec.strided_baseline))]
        assert all(baseline.timed and not baseline.methods for baseline in baselines), spec.name
        assert all(baseline.torch == ("device" in baseline.parameters) for baseline in baselines), spec.name
        assert all(each.metric == suite_specs.INSTRUCTIONS for each in spec.counted), spec.name


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (("floors.ByBytes.time_memcpy", "floors.nothing"), "names floors.nothing, which has no row"),
        (("instructions.Others", "instructions.nothing"), "names instructions.nothing.track_instructions, which has no row"),
        (('title = "Primitives"\n', ""), r"primitives.BySize.time_primitive runs methods, and \[primitives\] has no title"),
        (('parameters = ["memory", "nbytes"]', 'parameters = ["memory", "bytes"]'), "does not tell bytes of floors.ByBytes.time_memcpy"),
    ],
    ids=["baseline", "counted", "title", "parameter"],
)
def test_a_row_that_names_what_there_is_not_is_refused(tmp_path, damage, message):
    """When the table is read, not when a case of it is shown."""
    (tmp_path / "suites.toml").write_text((ROOT / "benchmarks" / "suites.toml").read_text().replace(*damage))
    with pytest.raises(TensorcopyError, match=message):
        suite_specs.read(tmp_path / "suites.toml")


@pytest.mark.parametrize(
    ("name", "declared", "unit", "metric"),
    [
        ("distances.Pairwise.time_cdist", "", "seconds", "time"),
        ("memory.Odd.peakmem_nothing", "bytes", "B", "tracked"),
        ("copies.track_loss", "unit", "unit", "tracked"),
        ("copies.track_epoch", "seconds", "s", "tracked"),
    ],
)
def test_a_third_party_suite_has_the_unit_that_it_declares(name, declared, unit, metric):
    """Whatever its module is called, it is not taken for one of tensorcopy's, nor a value that it tracks for a time."""
    spec = shipped().specs.spec(name, "track" if declared else "time", declared)
    assert (spec.unit, spec.metric, spec.shipped, spec.label, spec.page) == (unit, metric, False, name, name)
    assert (spec.baseline, spec.counted, spec.torch) == (None, (), True)


def test_methods_are_recommended_by_the_suites_that_time_them_by_size():
    """A conversion ends in host memory, so its latency is its throughput; baselines, latencies, counts and the article's sizes are none."""
    by_size = {name for name, spec in SPECS.items() if spec.by_size}
    times = {f"{of}.time_copy" for of in ("copies.BySize", "copies.ByGrad", "copies.ByLayout", "copies.ByDtype", "copies.Throughput")}
    suites = [f"conversions.{name}.time_conversion" for name in ("BySize", "ByGrad", "ByLayout", "ByDtype", "Latency")]
    others = {"primitives.BySize.time_primitive", "alternatives.BySize.time_alternative", "transfers.Latency.time_transfer"}
    assert by_size == times | {*suites} | others


def test_a_suite_of_another_project_has_nothing_of_a_shipped_one_of_its_name(tmp_path, monkeypatch, run_command):
    """Its results are read, compared and published, whatever its parameters mean; the shipped campaign refuses such a file."""
    monkeypatch.chdir(tmp_path)
    paths = launch_files.write(tmp_path / "results", {"copies.ByGrad.time_copy clone 16 True": {"2.14.1": 1.0, "2.15.0": 1.5}}, launches=3)
    for path in paths:
        path.write_text(path.read_text().replace('"16"', "\"'small'\"").replace('"True"', '"None"'))
    assert {"numel \"'small'\"" in problem.got for problem in reader.load_results(tmp_path / "results", shipped()).problems} == {True}
    (tmp_path / "asv.conf.json").write_text("{}")
    (tmp_path / "tensorcopy.toml").write_text('[project]\nname = "theirs"\n')
    code, output, errors = run_command("compare", "2.14.1", "2.15.0", "--format", "json")
    (row,) = json.loads(output)["rows"]
    assert (code, errors, row["case"]) == (0, "", "copies.ByGrad.time_copy method_=clone numel_=small requires_grad_=None")
    assert (row["verdict"], row["device"]) == ("slower", "cpu")
    problems, _ = build.publish(campaign.read(tmp_path), tmp_path / "results", tmp_path / "site")
    assert problems == ()
    assert "numel_=small" in (tmp_path / "site" / "history.html").read_text()
