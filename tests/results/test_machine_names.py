"""A machine is its hardware, and not its name."""

from functools import partial

import pytest

from tensorcopy.cli import main
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import Reason
from tensorcopy.results import machine_names, reader
from tensorcopy.worker import hardware
from tests import launch_files
from tests.launch_files import EVERY, START

CASE = "copies.BySize.time_copy tensor 16"
FIRST, SECOND = "0123456789ab", "ba9876543210"


def test_the_shipped_identity_follows_from_the_recorded_hardware(shipped_results):
    """So a later version of the digest can name the same machine."""
    for result in shipped_results.results:
        recorded = result.provenance
        assert hardware.digest(recorded["arch"], recorded["cpu"], recorded["os"], recorded["hardware"]) == result.series_key.identity


def test_what_is_recorded_besides_makes_no_other_machine():
    """A field or an instruction set that a later release collects is not part of the digest's first version."""
    digest, known = partial(hardware.digest, "x86_64", "Box 9000", "Linux"), hardware.collect()
    assert digest({**known, "flags": ["apx", *known["flags"]], "numa_nodes": 1}) == digest(known)
    assert digest({**known, "model": "another"}) != digest(known)


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [(FIRST, SECOND, f"box-{SECOND}"), ("", FIRST, f"box-{FIRST}"), (FIRST, "", "box-unknown")],
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
    assert (
        warning.got == f"results of {machine_names.displayed(first)} and of {machine_names.displayed(second)}, which is called {name} here"
    )
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
        ({"box": ""}, f"box-{FIRST}"),
        ({"box": SECOND, f"box-{FIRST}": FIRST}, f"box-{FIRST}"),
    ],
    ids=["no results", "this host", "unknown host", "another host, continued"],
)
def test_a_host_measures_under_a_name_that_is_its_own(holders, name):
    """It continues its own results, and adds to no other's."""
    assert machine_names.measured_as("box", FIRST, holders) == name


def test_warnings_are_printed_once_and_change_no_exit_code(every_python, tmp_path, monkeypatch, capsys):
    """By every command that loads results."""
    monkeypatch.chdir(tmp_path)
    cases = {CASE: {"2.14.1": 1.0, "2.15.0": 1.0}}
    launch_files.write(tmp_path / "results", cases, launches=3, identity="")
    launch_files.write(tmp_path / "results", cases, launches=3, identity=FIRST, start=START + 20 * EVERY)
    for arguments in (["list", "releases"], ["list", "times"], ["history"], ["compare", "2.14.1", "2.15.0"]):
        exit_code = main(arguments)
        error = capsys.readouterr().err
        assert error.count("tensorcopy: warning: two machines are called box: got ") == 1, arguments
        assert exit_code == 0
