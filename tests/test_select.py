"""A name selects a result, and two names select results of one machine."""

from datetime import timedelta

import pytest

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.results import reader, select
from tests import launch_files

BEFORE, NEWEST = release_table.load()[-2:]
CASE = "copies.BySize.time_copy clone_detach 16"
EARLY, LATE = launch_files.START, launch_files.START + timedelta(days=1)


def measure(folder, *results):
    """Write results given as (release, machine, python, started)."""
    for release, machine, python, started in results:
        side = f"{release.version}@{python}"
        launch_files.write(folder, {CASE: {side: 1.0}}, launches=1, machine=machine, start=started, identity=f"of {machine}")


@pytest.fixture
def folder(tmp_path):
    """Two Pythons and releases on one machine; later one Python on another."""
    results = [(release, "both", python, EARLY) for release in (BEFORE, NEWEST) for python in ("3.9", "3.11")]
    measure(tmp_path, *results, (NEWEST, "later", "3.11", LATE))
    return tmp_path


def selected(before, after, folder, machine=""):
    """Return (release, machine, python) of both sides."""
    pair = select.pair(before, after, folder, release_table.load(), machine)
    return [(result.sha, result.machine, result.python) for result in (pair.before, pair.after)]


def test_two_pythons_are_compared_on_a_machine_that_has_both(folder):
    """Although another machine has measured one of them later."""
    version = NEWEST.version
    assert selected(f"{version}@3.11", f"{version}@3.9", folder) == [(NEWEST.sha, "both", "3.11"), (NEWEST.sha, "both", "3.9")]
    assert selected(f"{version}@3.9", f"{version}@3.11", folder) == [(NEWEST.sha, "both", "3.9"), (NEWEST.sha, "both", "3.11")]


def test_two_releases_are_compared_on_a_machine_that_has_both(folder):
    """On its newest Python, or the newest that both share: a change of Python is none of torch."""
    assert selected(BEFORE.version, f"v{NEWEST.version}", folder) == [(BEFORE.sha, "both", "3.11"), (NEWEST.sha, "both", "3.11")]
    older = [(release, "mixed", "3.9", LATE) for release in (BEFORE, NEWEST)]
    measure(folder, (BEFORE, "both", "3.12", LATE), (NEWEST, "mixed", "3.11", LATE), *older)
    assert selected(BEFORE.version, NEWEST.version, folder, "both") == [(BEFORE.sha, "both", "3.11"), (NEWEST.sha, "both", "3.11")]
    assert selected(BEFORE.version, NEWEST.version, folder, "mixed") == [(BEFORE.sha, "mixed", "3.9"), (NEWEST.sha, "mixed", "3.9")]


def test_without_a_shared_machine_the_error_names_the_machines(tmp_path):
    """The next step names one machine per side, and works."""
    measure(tmp_path, (BEFORE, "first", "3.11", EARLY), (NEWEST, "second", "3.11", LATE))
    with pytest.raises(TensorcopyError, match="no machine has measured both sides") as caught:
        select.pair(BEFORE.version, NEWEST.version, tmp_path, release_table.load())
    assert caught.value.got == f"{BEFORE.version} on first; {NEWEST.version} on second"
    assert selected(*caught.value.next.split(), tmp_path) == [(BEFORE.sha, "first", "3.11"), (NEWEST.sha, "second", "3.11")]


def test_the_machine_can_be_given_for_both_sides(folder):
    """A release that it has not measured is an error that lists what there is."""
    with pytest.raises(TensorcopyError, match=rf"no such result: got {BEFORE.version}; allowed: torch {NEWEST.version} on later; "):
        select.pair(BEFORE.version, NEWEST.version, folder, release_table.load(), "later")


@pytest.mark.parametrize("names", [(NEWEST.version,) * 2, (NEWEST.version, f"{NEWEST.version}@3.9"), (f"{NEWEST.version}@later",) * 2])
def test_a_result_is_not_compared_with_itself(folder, names):
    """Every case would be unchanged, as if it had been measured twice: also where one side names the Python of both."""
    with pytest.raises(TensorcopyError, match=f"both sides are the same result: got torch {NEWEST.version}, Python"):
        select.pair(*names, folder, release_table.load())


def test_a_folder_selects_its_newest_release(folder, tmp_path):
    """And FOLDER:RELEASE another one; machines of different folders may differ."""
    other = tmp_path / "other"
    measure(other, (BEFORE, "elsewhere", "3.11", EARLY))
    assert selected(str(other), NEWEST.version, folder)[0] == (BEFORE.sha, "elsewhere", "3.11")
    sides = selected(f"{folder}:{BEFORE.version}@3.9", str(folder), other)
    assert sides == [(BEFORE.sha, "both", "3.9"), (NEWEST.sha, "both", "3.9")]


def test_a_folder_of_one_machine_is_no_folder_of_results(folder, tmp_path):
    """The error names the release in the folder around it."""
    with pytest.raises(TensorcopyError, match=f"nothing to compare: .*; next: {tmp_path}:RELEASE@both"):
        select.pair(str(folder / "both"), str(folder / "later"), folder, release_table.load())


def test_machines_of_two_folders_are_the_same_only_with_the_same_identity(tmp_path):
    """Their name alone does not make them so: of the other folder's machines, the one of the same hardware is taken."""
    first, second, other = tmp_path / "first", tmp_path / "second", "ba9876543210"
    before, newest = {CASE: {BEFORE.version: 1.0}}, {CASE: {NEWEST.version: 1.0}}
    launch_files.write(first, before, identity="0123456789ab", start=EARLY)
    launch_files.write(second, newest, identity=other, start=LATE)
    pair = select.pair(str(first), str(second), tmp_path, release_table.load())
    assert [result.provenance["identity"] for result in (pair.before, pair.after)] == ["0123456789ab", other]
    launch_files.write(first, before, machine="fast", identity=other, start=EARLY)
    launch_files.write(second, newest, machine="fast", identity=other, start=EARLY)
    pair = select.pair(str(first), str(second), tmp_path, release_table.load())
    assert [result.machine for result in (pair.before, pair.after)] == ["fast", "fast"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (f"{NEWEST.version}@weekly", "unknown side: got '.*@weekly'; allowed: @ and one of 3.11, 3.9, both, cuda, later"),
        (f"{NEWEST.version}@3.13", r"no such result: got .*@3\.13; allowed: Python 3\.9, 3\.11 on both, later; "),
        ("1.0.0", "1.0.0"),
        ("nowhere:", "no such folder of results: got nowhere"),
        ("nowhere/here", "no such folder of results: got nowhere/here"),
    ],
    ids=["unknown word", "Python without results", "unknown release", "no folder", "no path"],
)
def test_a_name_that_selects_nothing_is_an_error(folder, name, message):
    with pytest.raises(TensorcopyError, match=message):
        select.pair(name, NEWEST.version, folder, release_table.load())


def test_the_newest_result_is_that_of_the_machine_that_measured_last(folder):
    """Unless release, machine or Python restrict the choice."""
    results = reader.load_results(folder).results
    assert select.newest(results).machine == "later"
    newest = select.newest(results, python="3.9")
    assert (newest.sha, newest.machine) == (NEWEST.sha, "both")
    assert select.newest(results, BEFORE.version).sha == BEFORE.sha
