"""The table of suites says the same as the suites, and alone tells them apart."""

import pytest
from asv_runner.discovery import disc_benchmarks

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import suite_specs
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def benchmarks():
    return {benchmark.name: benchmark for benchmark in disc_benchmarks(str(ROOT / "benchmarks"))}


def test_every_suite_has_a_row_and_every_row_a_suite(benchmarks):
    assert benchmarks.keys() == suite_specs.table().keys()


def test_a_row_has_the_parameters_and_the_unit_of_its_suite(benchmarks):
    for name, benchmark in benchmarks.items():
        spec = suite_specs.find(name)
        assert (name, list(spec.parameters), spec.unit) == (name, benchmark.param_names, getattr(benchmark, "unit", "seconds"))


def test_what_a_row_names_is_a_suite():
    """A baseline takes times, on the CPU without torch; what is counted are instructions."""
    for spec in suite_specs.table().values():
        baselines = [suite_specs.table()[name] for name in (spec.baseline, spec.strided_baseline) if name]
        assert all(baseline.timed for baseline in baselines), spec.name
        assert all(baseline.torch == ("device" in baseline.parameters) for baseline in baselines), spec.name
        assert all(suite_specs.table()[name].metric == suite_specs.INSTRUCTIONS for name in spec.counted), spec.name


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
    spec = suite_specs.find(name, declared)
    assert (spec.unit, spec.metric, spec.shipped, spec.label, spec.page) == (unit, metric, False, name, name)
    assert (spec.baseline, spec.counted, spec.torch) == ("", (), True)


def test_methods_are_recommended_by_the_suites_that_time_them_by_size():
    """A conversion ends in host memory, so its latency is its throughput; baselines, latencies, counts and the article's sizes are none."""
    by_size = {name for name, spec in suite_specs.table().items() if spec.by_size}
    times = {f"{of}.time_copy" for of in ("copies.BySize", "copies.ByGrad", "copies.ByLayout", "copies.ByDtype", "copies.Throughput")}
    suites = [f"conversions.{name}.time_conversion" for name in ("BySize", "ByGrad", "ByLayout", "ByDtype", "Latency")]
    others = {"primitives.BySize.time_primitive", "alternatives.BySize.time_alternative", "transfers.Latency.time_transfer"}
    assert by_size == times | {*suites} | others
