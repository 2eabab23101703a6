"""asv's files as a projection of launches: asv's own readers find in them what the launches say."""

from __future__ import annotations

import json
import math
import os
from types import SimpleNamespace

import pytest
from asv.benchmarks import Benchmarks
from asv.commands.compare import unroll_result
from asv.results import Results, iter_results
from scipy.special import stdtrit

from tensorcopy.asv_plugin import projection
from tensorcopy.releases import release_table
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
    """Return the projection's folder and asv's values in it by name, by release and environment."""
    folder = projection.folder_of([results], tmp_path / "asv-results", release_table.load())
    benchmarks = Benchmarks.load(SimpleNamespace(benchmark_dir=".", results_dir=str(folder)))
    values = {}
    for each in iter_results(str(folder)):
        for key in each.get_result_keys(benchmarks):
            params = benchmarks[key]["params"]
            for name, value, stats in unroll_result(key, params, each.get_result_value(key, params), each.get_result_stats(key, params)):
                values[each.params["machine"], each.commit_hash[:4], each.env_name, name] = value, stats
    return folder, values


def test_asv_reads_the_times_of_all_launches(results, tmp_path):
    """A failed case is null and a skipped one NaN, as asv writes them; a count is a value without statistics."""
    _, values = projected(results, tmp_path)
    before, after = (("box", launch_files.sha_of(version)[:4], "py3.11-cuda") for version in ("2.14.1", "2.15.0"))
    (of_before,), (of_after,) = (launch_files.load(results, version) for version in ("2.14.1", "2.15.0"))
    case = next(case for case in of_after.timings if case.parameters == (("method", "tensor"), ("numel", "16")))
    assert values[(*before, f"{COPY}('tensor', 16)")][0] == of_before.timings[case].seconds
    value, stats = values[(*after, f"{COPY}('tensor', 16)")]
    timing = of_after.timings[case]
    assert value == timing.seconds
    assert math.log(stats["ci_99_b"] / stats["ci_99_a"]) == pytest.approx(2 * stdtrit(timing.freedom, 0.995) * timing.error, rel=1e-3)
    assert stats["ci_99_a"] < stats["q_25"] < value < stats["q_75"] < stats["ci_99_b"]
    assert (stats["repeat"], stats["number"]) == (4, 1000)
    assert values[(*after, f"{COPY}('clone_detach', 16)")][0] is None
    assert math.isnan(values[(*before, f"{COPY}('detach_clone', 16)")][0])
    assert values[(*after, "other.time_it")][0] == pytest.approx(5e-6, rel=0.2)
    assert values[(*after, "instructions.BySize.track_instructions('tensor', 16)")] == (5001, None)


def test_asv_describes_a_machine_by_what_does_not_vary(results, tmp_path):
    """Its graphs begin a new line at any change of these fields; each release's file has them too."""
    folder, _ = projected(results, tmp_path)
    machine = json.loads((folder / "box" / "machine.json").read_text())
    memory = f"{launch_files.PROVENANCE['hardware']['memory_gib']} GiB"
    assert machine.pop("version") == 1
    assert machine == {"machine": "box", "os": "Linux", "arch": "x86_64", "cpu": "Box 9000", "num_cpu": "2", "ram": memory}
    of_release = Results.load(str(folder / "box" / f"{launch_files.sha_of('2.15.0')[:8]}-py3.11-cuda.json"), "box")
    assert of_release.params == {**machine, "python": "3.11", "build": "cuda"}


def test_one_launch_has_no_statistics(tmp_path):
    """It cannot tell its error: asv then compares values alone."""
    launch_files.write(tmp_path / "results", {f"{COPY} tensor 16": {"2.14.1": 2.0, "2.15.0": 2.4}}, launches=1)
    _, values = projected(tmp_path / "results", tmp_path)
    assert [bool(stats) for _, stats in values.values()] == [False, False]


def test_every_machine_and_python_has_its_files(tmp_path):
    """Git revisions have theirs, with the torch that measured them; a torch that is no release has none: asv knows no such commit."""
    folder = tmp_path / "results"
    case = f"{COPY} tensor 16"
    launch_files.write(folder, {case: {"2.8.0": 1.0, "2.8.0@3.9": 1.1}}, launches=2)
    launch_files.write(folder, {case: {"2.8.0#main": 1.0, "2.8.0#head": 1.1, "9.9.9": 1.0}}, launches=2, machine="lab")
    launch_files.write(folder, {case: {"2.8.0": 3.0}}, launches=2, machine="gpu", identity="c0c0c0c0c0c0")
    made = projection.folder_of([folder], tmp_path / "asv-results", release_table.load())
    sha = launch_files.sha_of("2.8.0")[:8]
    files = {path.relative_to(made).as_posix() for path in made.rglob("*.json")}
    assert files == {
        "benchmarks.json",
        *(f"box/{name}.json" for name in ("machine", f"{sha}-py3.11-cuda", f"{sha}-py3.9-cuda")),
        *(f"gpu/{name}.json" for name in ("machine", f"{sha}-py3.11-cuda")),
        *(f"lab/{name}.json" for name in ("machine", "main-py3.11-cuda", "head-py3.11-cuda")),
    }


def test_a_machine_is_not_described_by_one_whose_name_begins_its_own(tmp_path):
    """Of the same hardware, with a later launch of another case."""
    for number, (machine, case) in enumerate((("box2", f"{COPY} tensor 16"), ("box", f"{COPY} tensor 1024"))):
        launch_files.write(tmp_path, {case: {"2.8.0": 1.0}}, launches=2, machine=machine, start=launch_files.START.replace(hour=8 + number))
    loaded = reader.load_results(tmp_path)
    made = projection.documents(loaded.results, loaded.launches)
    assert made[f"box2/{launch_files.sha_of('2.8.0')[:8]}-py3.11-cuda.json"]["results"]


def test_the_same_launches_are_not_projected_again(results, tmp_path):
    """Another launch makes another folder, whole or absent; the one before is removed when no asv can be reading it any more."""
    projections = tmp_path / "asv-results"
    first = projection.folder_of([results], projections, release_table.load())
    written = (first / "benchmarks.json").stat().st_mtime_ns
    assert projection.folder_of([results], projections, release_table.load()) == first
    assert (first / "benchmarks.json").stat().st_mtime_ns == written
    launch_files.write(results, {f"{COPY} tensor 16": {"2.14.1": 2.0}}, launches=1, machine="lab")
    second = projection.folder_of([results], projections, release_table.load())
    assert sorted(projections.iterdir()) == sorted([first, second])
    os.utime(first, (0, 0))
    launch_files.write(results, {f"{COPY} tensor 16": {"2.14.1": 2.0}}, launches=1, machine="other")
    third = projection.folder_of([results], projections, release_table.load())
    assert sorted(projections.iterdir()) == sorted([second, third])


def test_a_projection_that_is_interrupted_leaves_nothing(results, tmp_path, monkeypatch):
    monkeypatch.setattr(projection, "write", lambda files, folder: (folder / "half.json").write_text("{") and 1 / 0)
    with pytest.raises(ZeroDivisionError):
        projection.folder_of([results], tmp_path / "asv-results", release_table.load())
    assert list((tmp_path / "asv-results").iterdir()) == []
