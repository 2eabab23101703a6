"""Which results form a series: hardware is told apart, an interpreter's torch never joins the wheel's, the machine that can answers."""

from pathlib import Path

import pytest

from tensorcopy.cli import main
from tensorcopy.judge import comparisons, series
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import Reason
from tensorcopy.releases import release_table, uv
from tensorcopy.results import reader, select, series_key
from tensorcopy.results.series_key import by_history
from tensorcopy.site import machine as machine_model
from tensorcopy.worker import hardware
from tests import launch_files
from tests.launch_files import EVERY, START

CASE = "copies.BySize.time_copy tensor 16"
SLOWER = 1.71  # an interpreter's torch against the wheel's
FIRST, SECOND, ALIKE = "0123456789ab", "ba9876543210", "0123ffffffff"  # two begin with the same digits


@pytest.fixture
def beside_an_interpreter(tmp_path):
    """Launches of two releases, in which an interpreter with the newer one took turns, too."""
    times = {"2.14.1": 1.0, "2.15.0": 1.0, "2.15.0@3.11": SLOWER}
    launch_files.write(tmp_path, {CASE: times}, sides={"2.15.0@3.11": {"build": "cuda-interpreter"}}, launches=4, noise=0.001)
    return tmp_path


def test_an_interpreter_is_a_series_of_its_own(beside_an_interpreter):
    """No history joins it with the wheels."""
    loaded = reader.load_results(beside_an_interpreter)
    assert loaded.problems == ()
    assert sorted(len(axes[0]) for axes in by_history(loaded.results).values()) == [1, 2]


def test_releases_are_compared_without_an_interpreter(beside_an_interpreter):
    """Both sides are of one series; "@" selects the interpreter, which took turns with the wheel."""
    pair = select.pair("2.14.1", "2.15.0", beside_an_interpreter, release_table.load())
    assert [result.series_key.build for result in (pair.before, pair.after)] == ["cuda", "cuda"]
    (change,) = comparisons.between(Question(pair.before, pair.after)).changes.values()
    assert change.ratio == pytest.approx(1.0, abs=0.01)
    named = select.pair("2.15.0@cuda-interpreter", "2.15.0", beside_an_interpreter, release_table.load())
    assert [result.series_key.build for result in (named.before, named.after)] == ["cuda-interpreter", "cuda"]
    assert comparisons.labels(named.before, named.after)[0].endswith("cuda-interpreter")
    (change,) = comparisons.between(Question(named.before, named.after)).changes.values()
    assert change.ratio == pytest.approx(1 / SLOWER, rel=0.01)


def test_the_site_and_the_terminal_show_the_same_history(tmp_path):
    """Of two builds on one machine, that with two releases, though the other has the newest release."""
    launch_files.write(tmp_path, {CASE: {"2.13.0": 1.0, "2.14.1": 1.0}}, launches=3)
    launch_files.write(tmp_path, {CASE: {"2.15.0": 1.0}}, sides={"2.15.0": {"build": "cpu"}}, launches=1, start=START + 20 * EVERY)
    results = reader.load_results(tmp_path).results
    (machine,) = machine_model.machines(results)
    (of_site,), (of_terminal,) = machine.history.values(), series.joined(select.history(results)).values()
    assert of_site.releases == of_terminal.releases == ("2.13.0", "2.14.1")


def test_the_history_is_of_a_machine_with_two_releases(tmp_path):
    """Another has measured one of them later; named, that one answers, and alone it does, too."""
    launch_files.write(tmp_path, {CASE: {"2.14.1": 1.0, "2.15.0": 1.0}}, launches=3, machine="old")
    launch_files.write(tmp_path, {CASE: {"2.15.0": 1.0}}, launches=3, machine="new", start=START + 99 * EVERY)
    results = reader.load_results(tmp_path).results
    assert [len(axis) for axis in select.history(results)] == [2]
    assert [result.machine for (result,) in select.history(results, "new")] == ["new"]
    of_new = [result for result in results if result.machine == "new"]
    assert [result.machine for (result,) in select.history(of_new)] == ["new"]
    (case_series,) = series.joined(select.history(results)).values()
    assert "(old, cpu)" in case_series.on  # the first line of `tensorcopy history`


def test_the_shipped_identity_follows_from_the_recorded_hardware(shipped_results):
    """So a later version of the digest can name the same machine."""
    for result in shipped_results.results:
        recorded = result.provenance
        assert hardware.digest(recorded["arch"], recorded["cpu"], recorded["os"], recorded["hardware"]) == result.series_key.identity


def test_what_is_recorded_besides_makes_no_other_machine(monkeypatch):
    """A field or an instruction set that a later release collects is not part of the digest's first version."""
    before = hardware.identity()
    known = hardware.collect()
    monkeypatch.setattr(hardware, "collect", lambda: {**known, "flags": ["apx", *known["flags"]], "numa_nodes": 1})
    assert hardware.identity() == before
    monkeypatch.setattr(hardware, "collect", lambda: {**known, "model": "another"})
    assert hardware.identity() != before


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [(FIRST, SECOND, "box-ba98"), ("", FIRST, "box-0123"), (FIRST, "", "box-unknown")],
    ids=["two known hosts", "an unknown host and a known one", "a known host and an unknown one"],
)
def test_launches_of_two_identities_are_two_machines(tmp_path, first, second, name):
    """The earlier one keeps the name; a comparison of the two is between machines, and no launch counts for both."""
    launch_files.write(tmp_path, {CASE: {"2.15.0": 1.0}}, launches=3, start=START + 20 * EVERY, identity=second)
    launch_files.write(tmp_path, {CASE: {"2.14.1": 1.0}}, launches=3, identity=first)
    loaded = reader.load_results(tmp_path)
    assert {result.machine: result.series_key.identity for result in loaded.results} == {"box": first, name: second}
    (warning,) = loaded.warnings
    assert warning.what == "two machines are called box"
    assert warning.got == f"results of {series_key.displayed(first)} and of {series_key.displayed(second)}, which is called {name} here"
    assert loaded.problems == ()
    before, after = sorted(loaded.results, key=lambda result: result.machine)
    assert all(machine in label for machine, label in zip(("box", name), comparisons.labels(before, after)))


def test_two_folders_with_a_machine_of_one_name_are_not_one_machine(tmp_path):
    """Their hardware differs, so that times are not compared."""
    for folder, identity in (("a", FIRST), ("b", SECOND)):
        launch_files.write(tmp_path / folder, {CASE: {"2.15.0": 1.0}}, launches=3, identity=identity)
    before, after = (reader.load_results(tmp_path / folder).results[0] for folder in "ab")
    (change,) = comparisons.between(Question(before, after)).changes.values()
    assert change.reason is Reason.PROVENANCE_DIFFERS
    assert "identity" in {difference.field for difference in change.differences}


@pytest.mark.parametrize(
    ("holders", "name"),
    [
        ({}, "box"),
        ({"box": FIRST}, "box"),
        ({"box": ""}, "box-0123"),
        ({"box": SECOND, "box-0123": FIRST}, "box-0123"),
        ({"box": SECOND, "box-0123": ALIKE}, f"box-{FIRST}"),
    ],
    ids=["no results", "this host", "unknown host", "another host, continued", "the same digits"],
)
def test_a_host_measures_under_a_name_that_is_its_own(holders, name):
    """It continues its own results, and adds to no other's."""
    assert series_key.measured_as("box", FIRST, holders) == name


def test_warnings_are_printed_once_and_change_no_exit_code(tmp_path, monkeypatch, capsys):
    """By every command that loads results."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(uv, "find_python", Path)
    cases = {CASE: {"2.14.1": 1.0, "2.15.0": 1.0}}
    launch_files.write(tmp_path / "results", cases, launches=3, identity="")
    launch_files.write(tmp_path / "results", cases, launches=3, identity=FIRST, start=START + 20 * EVERY)
    for arguments in (["list", "releases"], ["list", "times"], ["history"], ["compare", "2.14.1", "2.15.0"]):
        exit_code = main(arguments)
        error = capsys.readouterr().err
        assert error.count("tensorcopy: warning: two machines are called box: got ") == 1, arguments
        assert exit_code == 0
