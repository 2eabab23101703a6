"""asv's files, and what is said of a damaged one."""

from __future__ import annotations

import json

import pytest

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files, load
from tensorcopy.results.load import Case
from tests.conftest import PROVENANCE, ROOT


def test_a_file_is_read(results_dir):
    """Parameters by name, seconds, intervals where there are some; what was skipped is not there."""
    (result,) = load.load_results(results_dir).results
    assert (result.machine, result.python, result.build, result.environment) == ("box", "3.11", "cuda", "py3.11-cuda")
    assert len(result.timings) == 2
    timing = result.timings[Case("copies.BySize.time_copy", (("method", "clone_detach"), ("numel", "16")))]
    assert (timing.median, timing.low, timing.high, timing.samples) == (1e-6, 0.9e-6, 1.1e-6, (0.9e-6, 1e-6, 1.1e-6))
    timing = result.timings[Case("copies.BySize.time_copy", (("method", "tensor"), ("numel", "16")))]
    assert (timing.low, timing.high) == (2e-6, 2e-6)


def test_every_shipped_result_can_be_read_and_carries_its_ledger():
    """And the torch in the ledger is the one in the label."""
    shipped = load.load_results(ROOT / "results")
    assert shipped.problems == ()
    assert len({result.sha for result in shipped.results}) >= 10
    for result in shipped.results:
        assert result.provenance["torch_sha"] == result.sha
        assert result.provenance["asv"]
        assert result.article["cpu"]["fail"] == []
        assert all(row["observed"]["cpu"]["as_promised"] for row in result.methods.values() if row["observed"])


@pytest.mark.parametrize("name", ["benchmarks.json", "box/machine.json", "box/d0f2af8b-py3.11-cuda.json"])
@pytest.mark.parametrize("damage", ["deleted", "truncated", "empty", "another thing"])
def test_a_damaged_file_is_named_and_the_others_are_read(results_dir, name, damage):
    """One line each; nothing raises."""
    other = results_dir / "other"
    other.mkdir()
    for path in (results_dir / "box").iterdir():
        (other / path.name).write_text(path.read_text().replace('"box"', '"other"'))
    path = results_dir / name
    if damage == "deleted":
        path.unlink()
    else:
        path.write_text({"truncated": path.read_text()[: path.stat().st_size // 2], "empty": "", "another thing": "[1]"}[damage])
    read = load.load_results(results_dir)
    if damage == "deleted" and name.startswith("box/d0"):
        assert read.problems == ()  # a release that was not measured; in a checkout git knows better, see below
    else:
        assert [str(problem).startswith(f"the result file {'results/' if name.startswith('b') else ''}") for problem in read.problems] == [
            True
        ]
        assert name in str(read.problems[0])
        assert "; next: " in str(read.problems[0])
    if name != "benchmarks.json":
        assert [result.machine for result in read.results] == ["other"]


def test_a_deleted_result_of_a_checkout_is_named(results_dir):
    """git knows what was there."""
    import subprocess

    def git(*arguments):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments], cwd=results_dir, check=True, capture_output=True
        )

    git("init")
    git("add", ".")
    git("commit", "-m", "results")
    (results_dir / "box" / "d0f2af8b-py3.11-cuda.json").unlink()
    (problem,) = load.load_results(results_dir).problems
    assert str(problem).startswith("the result file results/box/d0f2af8b-py3.11-cuda.json is gone: got a deleted file")


def test_a_ledger_is_stamped_into_asvs_file(results_dir):
    """Nothing of asv's is lost, and asv's version key stays."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    before = json.loads(path.read_text())
    files.stamp(path, {"ledger": {**PROVENANCE, "threads": 8}, "methods": {}, "article": {}})
    after = json.loads(path.read_text())
    assert after["ledger"]["threads"] == 8
    asvs = [key for key in before if key not in ("results", "ledger")]  # in results there are NaN, which equal nothing
    assert {key: after[key] for key in asvs} == {key: before[key] for key in asvs}
    assert list(results_dir.glob("box/*.new")) == []


def test_what_was_measured_is_kept_when_it_is_skipped_later(results_dir):
    """asv forgets a case's samples when it is skipped or fails in a later run; a number that is new stays new."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    before = path.read_text()
    document = json.loads(before)
    row = document["results"]["copies.BySize.time_copy"]
    row[0] = [float("nan"), 5e-6, 6e-6]
    row[-1] = None
    path.write_text(json.dumps(document))
    files.stamp(path, {"passes": []}, before)
    (result,) = load.load_results(results_dir).results
    by_method = {case["method"]: timing for case, timing in result.timings.items()}
    assert {method: timing.median for method, timing in by_method.items()} == pytest.approx(
        {"clone_detach": 1e-6, "tensor": 5e-6, "detach_clone": 6e-6}
    )
    assert by_method["clone_detach"].samples == (0.9e-6, 1e-6, 1.1e-6)
    assert (by_method["clone_detach"].low, by_method["clone_detach"].high) == (0.9e-6, 1.1e-6)


@pytest.mark.parametrize("provenance", [None, {**PROVENANCE, "torch_sha": "f" * 40}], ids=["none", "another"])
def test_a_number_whose_ledger_disagrees_with_its_label_is_refused(results_dir, provenance):
    """As after a run that was killed; it is named."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    document = json.loads(path.read_text())
    del document["ledger"]
    path.write_text(json.dumps({**document, **({"ledger": provenance} if provenance else {})}))
    read = load.load_results(results_dir)
    assert read.results == ()
    assert str(read.problems[0]).startswith(
        "the result file results/box/d0f2af8b-py3.11-cuda.json is refused, its ledger is not its label's"
    )


def test_few_samples_have_a_range_for_an_interval(results_dir):
    """asv's interval of three samples is infinite."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    document = json.loads(path.read_text())
    row = document["results"]["copies.BySize.time_copy"]
    row[5][0], row[6][0], row[-1][0] = float("-inf"), float("inf"), [0.8e-6, 1e-6, 1.3e-6]
    path.write_text(json.dumps(document))
    (result,) = load.load_results(results_dir).results
    timing = next(timing for case, timing in result.timings.items() if case["method"] == "clone_detach")
    assert (timing.low, timing.high) == (0.8e-6, 1.3e-6)


def test_a_file_of_skipped_cases_holds_nothing(results_dir):
    """asv writes one for a release that cannot be on a Python."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    assert not files.holds_nothing(path)
    document = json.loads(path.read_text())
    document["results"]["copies.BySize.time_copy"][0] = [float("nan")] * 3
    path.write_text(json.dumps(document))
    assert files.holds_nothing(path)


def test_a_suite_of_another_version_is_left_out(results_dir):
    """Its numbers do not compare."""
    suites = json.loads((results_dir / "benchmarks.json").read_text())
    suites["copies.BySize.time_copy"]["version"] = "2"
    (results_dir / "benchmarks.json").write_text(json.dumps(suites))
    (result,) = load.load_results(results_dir).results
    assert result.timings == {}


def test_an_unreadable_file_raises_by_itself(results_dir):
    """`read` is strict, `load` collects."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    path.write_text("{}")
    with pytest.raises(TensorcopyError, match="KeyError"):
        load.read(path, {})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"threads": "two"}, "ledger/threads: 'two' is not of type 'integer'"),
        ({"torch_sha": "d0f2af8b"}, "ledger/torch_sha: 'd0f2af8b' does not match"),
        ({"weather": "fine"}, "ledger: Additional properties are not allowed ('weather' was unexpected)"),
    ],
    ids=["wrong type", "short SHA", "unknown field"],
)
def test_what_the_schema_does_not_describe_is_neither_read_nor_written(results_dir, change, said):
    """The place is named, and the file stays as it was."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "ledger": {**PROVENANCE, **change}}))
    (problem,) = load.load_results(results_dir).problems
    assert said in str(problem)
    path.write_text(json.dumps(document))
    before = path.read_text()
    with pytest.raises(TensorcopyError, match="cannot be read"):
        files.stamp(path, {"ledger": {**PROVENANCE, **change}}, before)
    assert path.read_text() == before


def test_a_pass_is_recorded_beside_asvs_samples(results_dir):
    """Two samples were there, asv has appended two: the record says so, with the control beside each."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    before = path.read_text()
    document = json.loads(before)
    del document["passes"], document["ledger"]  # asv drops what it does not know
    document["results"]["copies.BySize.time_copy"][-1][0] = [0.9e-6, 1e-6, 1.1e-6, 3e-6, 5e-6]
    path.write_text(json.dumps(document))
    record = {"id": "one", "started": PROVENANCE["started"], "selection": "", "ledger": PROVENANCE}
    journal = ["copies.BySize 0 8.5e-06", "copies.BySize 0 1.7e-05", "copies.BySize 1 8.5e-06"]
    files.stamp(path, {"ledger": PROVENANCE}, before, record, journal)
    (row,) = json.loads(path.read_text())["passes"]
    assert row["suites"] == {
        "copies.BySize.time_copy": {"version": "1", "samples": [2, 0, 0], "control_ns": [[8500, 17000], [], []]},
    }
    (result,) = load.load_results(results_dir).results
    timing = result.timings[Case("copies.BySize.time_copy", (("method", "clone_detach"), ("numel", "16")))]
    assert [pass_samples.samples for pass_samples in timing.by_pass] == [(0.9e-6, 1e-6, 1.1e-6), (3e-6, 5e-6)]


def test_a_count_is_no_time(results_dir):
    """asv's track benchmarks: bytes, allocations, instructions."""
    suites = json.loads((results_dir / "benchmarks.json").read_text())
    suites["copies.BySize.time_copy"]["type"] = "track"
    (results_dir / "benchmarks.json").write_text(json.dumps(suites))
    (result,) = load.load_results(results_dir).results
    assert result.timings == {}
    assert sorted(result.counts.values()) == [1e-6, 2e-6]
