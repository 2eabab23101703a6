"""A folder of launches is read once, and says of each release what all of its launches together tell."""

import json
import shutil

import pytest

from tensorcopy.copying.shipped import shipped
from tensorcopy.results import launches, reader
from tests import launch_files
from tests.conftest import ROOT

CASE = "copies.BySize.time_copy tensor 16"


@pytest.mark.slow
def test_every_shipped_launch_is_valid(shipped_results):
    """Also its label, which is that of the torch in the provenance."""
    assert shipped_results.problems == ()
    assert len({result.sha for result in shipped_results.results}) >= 10


def test_shipped_files_are_small():
    """A clone of the repository has them all."""
    sizes = [path.stat().st_size for path in (ROOT / "results").rglob("*") if path.is_file()]
    assert max(sizes) <= 100_000
    assert sum(sizes) <= 10_000_000


def test_an_unchanged_folder_is_read_once(tmp_path):
    """Until a launch comes or goes."""
    paths = launch_files.write(tmp_path, {CASE: {"2.14.1": 1.0, "2.15.0": 1.2}}, launches=3)
    loaded = reader.load_results(tmp_path, shipped())
    assert reader.load_results(tmp_path, shipped()).histories is loaded.histories
    paths[0].unlink()
    assert sum(len(history.launches) for history in reader.load_results(tmp_path, shipped()).histories) == 2


@pytest.mark.parametrize(
    ("earlier", "later", "shown"),
    [("2", "1", 1.0), ("10", "9", 1.0), ("1", "2", 2.0), ("9", "10", 2.0), ("b0", "a0", 2.0), ("2", "a0", 2.0), ("a0", "1", 2.0)],
)
def test_an_older_version_of_a_suite_that_is_measured_later_supersedes_none(tmp_path, earlier, later, shown):
    """As from an older checkout. A version that is no number, such as a digest of asv's, has no order: the newest launch's counts."""
    for number, version in enumerate((earlier, later)):
        start = launch_files.START + number * launch_files.EVERY
        (path,) = launch_files.write(tmp_path, {CASE: {"2.15.0": [1.0 + number]}}, start=start)
        path.write_text(path.read_text().replace('"version":"1"', f'"version":"{version}"'))
    (result,) = launch_files.load(tmp_path)
    assert [timing.seconds * 1e6 for timing in result.timings.values()] == [pytest.approx(shown)]


def test_a_torch_without_a_row_is_in_no_history_and_hides_no_other_side(tmp_path):
    launch_files.write(tmp_path, {CASE: {"2.15.0": 1.0, "9.9.9": 1.0}}, launches=3)
    loaded = reader.load_results(tmp_path, shipped())
    assert {"in no history" in problem.what for problem in loaded.problems} == {True}
    assert len(launch_files.load(tmp_path, "2.15.0")[0].timings) == 1


@pytest.mark.parametrize("values", [["0"], ["-1"], ["1.5"], [str(2**63)]])
def test_a_numel_that_no_tensor_has_is_refused(tmp_path, values):
    """In tensorcopy's suites; a third-party suite may call anything so."""
    (path,) = launch_files.write(tmp_path, {CASE: {"2.15.0": 1.0}}, launches=1)
    document = json.loads(path.read_bytes())
    document["suites"]["copies.BySize.time_copy"]["params"][1] = values
    path.write_text(json.dumps(document))
    (problem,) = reader.load_results(tmp_path, shipped()).problems
    assert "numel" in problem.got
    assert launches.displayed(path).name in problem.what


@pytest.mark.parametrize("change", ["a name", "when and where", "sides", "a suite", "a digit", "values"])
def test_a_copy_of_a_launch_is_no_evidence(tmp_path, change):
    """Under another name, of one suite with its sides in another order, or without one, and then one time different in the fifth digit."""
    others = {"conversions.BySize.time_conversion detach_numpy_copy 16": {"2.14.1": 1.0, "2.15.0": 1.2}}
    cases = {f"copies.BySize.time_copy tensor {number}": {"2.14.1": number, "2.15.0": 1.2 * number} for number in (1, 16, 64)}
    timed = launch_files.write(tmp_path, cases | others, launches=3)
    counted = launch_files.write_counts(tmp_path, "2.15.0", {"theirs.track_rate": [2.5] * 3})  # equal, but no copies of each other
    path = (counted if change == "values" else timed)[0]
    document = json.loads(path.read_bytes())
    document["id"] = "20270101T000000-00000000"
    if change in ("a suite", "a digit"):
        del document["suites"][next(iter(others)).split()[0]]
    if change == "a digit":
        document["suites"]["copies.BySize.time_copy"]["rows"]["0"]["seconds"] *= 1.00001
    if change == "sides":
        document["suites"] = {name: suite for name, suite in document["suites"].items() if len(suite["rows"]) == 1}
        document["sides"].reverse()
        for row in (row for suite in document["suites"].values() for row in suite["rows"].values()):
            row["effects"].reverse()
    if change == "when and where":
        document |= {"started": "2027-01-01T00:00:00+00:00", "ended": "2027-01-01T00:00:01+00:00", "machine": "other"}
        shutil.copytree(path.parent, tmp_path / "other", ignore=shutil.ignore_patterns("*-*.json"))
    (tmp_path / document["machine"] / f"{document['id']}.json").write_text(json.dumps(document))
    loaded = reader.load_results(tmp_path, shipped())
    assert [problem.what.endswith("is a copy") for problem in loaded.problems] == [True]
    assert sum(len(history.launches) for history in loaded.histories) == 3 + 3


def test_one_equal_time_is_no_copy(tmp_path):
    """It may be equal by chance, and the differences between the sides are not."""
    (path,) = launch_files.write(tmp_path, {CASE: {"2.14.1": 1.0, "2.15.0": 1.2}}, launches=1)
    document = json.loads(path.read_bytes()) | {"id": "20270101T000000-00000000"}
    document["suites"]["copies.BySize.time_copy"]["rows"]["0"]["effects"] = [-900, 900]
    path.with_name(f"{document['id']}.json").write_text(json.dumps(document))
    assert reader.load_results(tmp_path, shipped()).problems == ()


@pytest.mark.parametrize(
    ("labelled", "wrong"),
    [
        ("2.15.0", {"python": "3.9.18"}),
        ("2.15.0@3.9", {"python": "3.11.7"}),
        ("2.15.0", {"torch_sha": f"{launch_files.sha_of('2.15.0')[:-1]}0"}),
        ("2.15.0", {"torch": "2.14.1"}),
    ],
    ids=["an older Python", "a newer Python", "another commit", "another release"],
)
def test_a_side_with_a_wrong_label_is_refused(tmp_path, labelled, wrong):
    """Its times would count as those of another release or Python."""
    launch_files.write(tmp_path, {CASE: {"2.14.1": 1.0, labelled: 1.0}}, sides={labelled: wrong}, launches=1)
    loaded = reader.load_results(tmp_path, shipped())
    assert loaded.results == ()
    assert ["its provenance does not match its label" in problem.what for problem in loaded.problems] == [True]
