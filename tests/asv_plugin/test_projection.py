"""asv's files as a projection of launches: asv's own readers find in them what the launches say."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from asv.benchmarks import Benchmarks
from asv.commands.compare import unroll_result
from asv.results import iter_results
from scipy.special import stdtrit

from tensorcopy.asv_plugin import projection
from tensorcopy.copying.shipped import shipped
from tensorcopy.results import reader
from tests import launch_files

COPY = "copies.BySize.time_copy"
CASES = {
    f"{COPY} tensor 16": {"2.14.1": 2.0, "2.15.0": 2.4},
    f"{COPY} clone_detach 16": {"2.14.1": 1.0, "2.15.0": "RuntimeError: no"},
    f"{COPY} detach_clone 16": {"2.15.0": 1.0},
    "other.time_it": {"2.14.1": 5.0, "2.15.0": 5.0},
}


@pytest.fixture
def results(tmp_path):
    """Four launches of two releases, and a count of one."""
    folder = tmp_path / "results"
    launch_files.write(folder, CASES, launches=4)
    launch_files.write_counts(folder, "2.15.0", {"instructions.BySize.track_instructions tensor 16": [5003, 5001]})
    return folder


def projected(results, tmp_path):
    """Return asv's values in the projection's folder by name, by release and environment."""
    folder, loaded = tmp_path / "asv-results", reader.load_results(results, shipped())
    folder.mkdir()
    projection.write(loaded.histories, folder)
    benchmarks = Benchmarks.load(SimpleNamespace(benchmark_dir=".", results_dir=str(folder)))
    values = {}
    for each in iter_results(str(folder)):
        for key in each.get_result_keys(benchmarks):
            params = benchmarks[key]["params"]
            for name, value, stats in unroll_result(key, params, each.get_result_value(key, params), each.get_result_stats(key, params)):
                values[each.params["machine"], each.commit_hash[:4], each.env_name, name] = value, stats
    return values


def test_asv_reads_the_times_of_all_launches(results, tmp_path):
    """A failed case is null and a skipped one NaN, as asv writes them; a count is a value without statistics."""
    values = projected(results, tmp_path)
    before, after = (("box", launch_files.sha_of(version)[:4], "py3.11-cuda") for version in ("2.14.1", "2.15.0"))
    (of_before,), (of_after,) = (launch_files.load(results, version) for version in ("2.14.1", "2.15.0"))
    case = next(case for case in of_after.timings if case.parameters == (("method", "tensor"), ("numel", "16")))
    assert values[(*before, f"{COPY}('tensor', 16)")][0] == of_before.timings[case].seconds
    value, stats = values[(*after, f"{COPY}('tensor', 16)")]
    timing = of_after.timings[case]
    assert value == timing.seconds
    assert math.log(stats["ci_99_b"] / stats["ci_99_a"]) == pytest.approx(2 * stdtrit(timing.freedom, 0.995) * timing.error, rel=1e-3)
    assert stats["ci_99_a"] < stats["q_25"] < value < stats["q_75"] < stats["ci_99_b"]
    assert stats["repeat"] == 4
    assert values[(*after, f"{COPY}('clone_detach', 16)")][0] is None
    assert math.isnan(values[(*before, f"{COPY}('detach_clone', 16)")][0])
    assert values[(*after, "other.time_it")][0] == pytest.approx(5e-6, rel=0.2)
    assert values[(*after, "instructions.BySize.track_instructions('tensor', 16)")] == (5001, None)


def test_one_launch_has_no_statistics(tmp_path):
    """It cannot tell its error: asv then compares values alone."""
    launch_files.write(tmp_path / "results", {f"{COPY} tensor 16": {"2.14.1": 2.0, "2.15.0": 2.4}}, launches=1)
    values = projected(tmp_path / "results", tmp_path)
    assert [bool(stats) for _, stats in values.values()] == [False, False]


def test_every_history_has_its_files(tmp_path):
    """Git revisions have theirs, with the torch that measured them; a torch that is no release has none: asv knows no such commit."""
    folder, case, written = tmp_path / "results", f"{COPY} tensor 16", tmp_path / "written"
    launch_files.write(folder, {case: {"2.8.0": 1.0, "2.8.0@3.9": 1.1}}, launches=2)
    launch_files.write(folder, {case: {"2.8.0#main": 1.0, "2.8.0#head": 1.1, "9.9.9": 1.0}}, launches=2, machine="lab")
    launch_files.write(folder, {case: {"2.8.0@3.9": 3.0}}, launches=2, machine="old")
    written.mkdir()
    projection.write(reader.load_results(folder, shipped()).histories, written)
    sha = launch_files.sha_of("2.8.0")[:8]
    assert {path.relative_to(written).as_posix() for path in written.rglob("*.json")} == {
        "benchmarks.json",
        *(f"box/{name}.json" for name in ("machine", f"{sha}-py3.11-cuda")),
        *(f"old/{name}.json" for name in ("machine", f"{sha}-py3.9-cuda")),
        *(f"lab/{name}.json" for name in ("machine", "main-py3.11-cuda", "head-py3.11-cuda")),
    }


def test_the_names_of_cases_are_those_of_the_newest_version_of_a_suite(tmp_path):
    """An older checkout that measured later, with other parameters, has no part in them."""
    times = {f"other.time_it n={number}": {"2.14.1": 1.0, "2.15.0": 1.0} for number in (1, 2)}
    (path,) = launch_files.write(tmp_path, times, launches=1)
    path.write_text(path.read_text().replace('"version":"1"', '"version":"2"'))
    launch_files.write(
        tmp_path, {"other.time_it n=3": {"2.14.1": 1.0, "2.15.0": 1.0}}, launches=1, start=launch_files.START + 9 * launch_files.EVERY
    )
    (history,) = reader.load_results(tmp_path, shipped()).histories
    assert {case["n"]: name for case, name in projection.names(history).items()} == {"1": "other.time_it(1)", "2": "other.time_it(2)"}
