"""Which results form a series: hardware is told apart, an interpreter's torch never joins the wheel's, the machine that can answers."""

from __future__ import annotations

import json
import shutil
import tempfile
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorcopy.analysis import comparisons, confirmation, series
from tensorcopy.analysis.two_sample import Reason, Verdict
from tensorcopy.cli import main
from tensorcopy.releases import release_table
from tensorcopy.results import reader, select, series_key
from tensorcopy.results.series_key import by_history
from tensorcopy.site import machine as machine_model
from tensorcopy.site.machine import series_of_results
from tensorcopy.worker import hardware
from tests.conftest import ROOT, measured_in_passes

BEFORE, AFTER = (release_table.find(version) for version in ("2.14.1", "2.15.0"))
SLOWER = 1.71  # an interpreter's torch against the wheel's


@pytest.fixture(scope="module")
def beside_an_interpreter(tmp_path_factory):
    """Shipped results of two releases, and the newer one as an interpreter has it: each of its times is 1.71 times as long."""
    folder = tmp_path_factory.mktemp("interpreter")
    shutil.copy(ROOT / "results" / "benchmarks.json", folder)
    machine = folder / "xeon-2core"
    machine.mkdir()
    shutil.copy(ROOT / "results" / "xeon-2core" / "machine.json", machine)
    for release in (BEFORE, AFTER):
        shutil.copy(ROOT / "results" / "xeon-2core" / f"{release.sha[:8]}-py3.11-cuda.json", machine)
    document = json.loads((machine / f"{AFTER.sha[:8]}-py3.11-cuda.json").read_text())
    result, samples = (document["result_columns"].index(name) for name in ("result", "samples"))
    for row in document["results"].values():
        if len(row) > samples and row[samples]:
            row[result] = [value and value * SLOWER for value in row[result]]
            row[samples] = [values and [value * SLOWER for value in values] for values in row[samples]]
    for record in document["passes"]:
        record["id"] += "-interpreter"
    name = f"{document['env_name']}-interpreter"
    (machine / f"{AFTER.sha[:8]}-{name}.json").write_text(json.dumps({**document, "env_name": name}))
    return folder


def test_an_interpreter_is_a_series_of_its_own(beside_an_interpreter):
    """Its build says so, and no history joins it with the wheels."""
    loaded = reader.load_results(beside_an_interpreter)
    assert loaded.problems == ()
    keys = {result.series_key for result in loaded.results}
    assert {(key.machine, key.python, key.build) for key in keys} == {
        ("xeon-2core", "3.11", "cuda"),
        ("xeon-2core", "3.11", "cuda-interpreter"),
    }
    assert sorted(len(axes[0]) for axes in by_history(loaded.results).values()) == [1, 2]


def test_releases_are_compared_without_an_interpreter(beside_an_interpreter):
    """Both sides are of one series, and the interpreter's passes show no noise of theirs; "@" selects it."""
    pair = select.pair(BEFORE.version, AFTER.version, beside_an_interpreter)
    assert [result.series_key.build for result in (pair.before, pair.after)] == ["cuda", "cuda"]
    compared = comparisons.between(pair.before, pair.after, pair.beside)
    assert sum(change.verdict is Verdict.SLOWER for change in compared.changes.values()) < len(compared.changes) / 2
    named = select.pair(f"{AFTER.version}@cuda-interpreter", AFTER.version, beside_an_interpreter)
    assert [result.series_key.build for result in (named.before, named.after)] == ["cuda-interpreter", "cuda"]
    assert comparisons.labels(named.before, named.after)[0].endswith("cuda-interpreter")


def test_no_history_has_a_step_to_an_interpreter(beside_an_interpreter):
    """Neither the terminal's nor the site's; nor is a step to it measured again."""
    results = reader.load_results(beside_an_interpreter).results
    by_case = series.joined(select.history(results))
    assert max(len(each.results) for each in by_case.values()) == 2
    (machine,) = machine_model.machines(results)
    for histories in (by_case, machine.history):
        assert {result.series_key.build for each in histories.values() for result in each.results} == {"cuda"}
    assert all(pair.after.series_key.build == "cuda" for pair in confirmation.pending(results, {}, 10))


def test_the_history_is_of_a_machine_with_two_releases(tmp_path):
    """Another has measured one of them later; named, that one answers, and alone it does, too."""
    times = {"clone_detach": [1.0, 1.01, 0.99]}
    for release in (BEFORE, AFTER):
        measured_in_passes(tmp_path, release, times, "old", started="2026-11-20T08:00:00+00:00")
    measured_in_passes(tmp_path, AFTER, times, "new", started="2026-11-21T08:00:00+00:00")
    results = reader.load_results(tmp_path).results
    assert [len(axis) for axis in select.history(results)] == [2]
    assert [result.machine for (result,) in select.history(results, "new")] == ["new"]
    of_new = [result for result in results if result.machine == "new"]
    assert [result.machine for (result,) in select.history(of_new)] == ["new"]
    (case_series,) = series.joined(select.history(results)).values()
    assert "(old)" in case_series.on  # the first line of `tensorcopy history`


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


RELEASES = release_table.load()[-3:]
PASSES = 3
FIRST, SECOND, ALIKE = "0123456789ab", "ba9876543210", "0123ffffffff"  # two begin with the same digits
IDENTITIES = ("", FIRST, SECOND, ALIKE)
HARDWARE = {"family": "6", "model": "167", "stepping": "1", "flags": ["avx2", "fma"], "caches": ["L1 Data 48K", "L2 Unified 2048K"]}
HARDWARE |= {"processors": 2, "hypervisor": "", "memory_gib": 23.5, "microcode": "0x1"}


def write(folder, release, identities, machine="box", started="2026-11-21T08:00:00+00:00"):
    """Write a result file whose passes have these identities, one after another, and return its path."""
    times = {"tensor": [1.0 + number / 100 for number in range(len(identities))]}
    path = measured_in_passes(folder, release, times, machine)
    document = json.loads(path.read_text())
    for number, (record, name) in enumerate(zip(document["passes"], identities)):
        record["started"] = started.replace(":00:", f":{number:02}:")
        known = {"identity": name, "hardware": HARDWARE} if name else {}
        record["ledger"] = {**record["ledger"], **known, "started": record["started"]}
        record["id"] = f"{machine} {release.version} {started} {number}"
        document["ledger"] = record["ledger"]
    path.write_text(json.dumps(document))
    return path


def identities_of(result):
    """Return the identities of a result's passes and its own."""
    return {result.series_key.identity, *(series_key.of_provenance(record["ledger"]) for record in result.passes)}


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [(FIRST, SECOND, "box-ba98"), ("", FIRST, "box-0123"), (FIRST, "", "box-unknown")],
    ids=["two known hosts", "an unknown host and a known one", "a known host and an unknown one"],
)
def test_files_of_two_identities_are_loaded_as_two_machines(tmp_path, first, second, name):
    """The earlier one keeps the name. Their paths differ, so that nothing that is found by path mixes them."""
    write(tmp_path, RELEASES[1], [second] * 3, started="2026-11-22T08:00:00+00:00")
    write(tmp_path, RELEASES[0], [first] * 3)
    loaded = reader.load_results(tmp_path)
    assert {result.machine: result.series_key.identity for result in loaded.results} == {"box": first, name: second}
    assert {result.path.parent for result in loaded.results} == {tmp_path / "box", tmp_path / name}
    (warning,) = loaded.warnings
    assert warning.what == "two machines are called box"
    assert warning.got == f"results of {series_key.displayed(first)} and of {series_key.displayed(second)}, which is called {name} here"
    assert loaded.problems == ()


hosts = st.lists(st.sampled_from(IDENTITIES), min_size=PASSES, max_size=PASSES)
folders = st.fixed_dictionaries(dict.fromkeys(RELEASES, hosts))


@settings(deadline=None, max_examples=20)
@given(folders, folders)
def test_two_results_whose_identities_differ_never_meet_without_saying_so(first, second):
    """In one result, one series, or one verdict, of one folder or of two."""
    with tempfile.TemporaryDirectory() as temporary:
        loaded = []
        for number, files in enumerate((first, second)):
            folder = Path(temporary) / str(number)
            for release, names in files.items():
                write(folder, release, names)
            loaded.append(reader.load_results(folder))
            assert_separate(loaded[-1], {name for names in files.values() for name in names}, PASSES * len(files))
        for before in loaded[0].results:
            for after in loaded[1].results:
                assert_said(before, after, [*loaded[0].results, *loaded[1].results])


def assert_separate(loaded, identities, passes):
    """Check that results, names and series have one identity each, and that nothing is lost."""
    assert loaded.problems == ()
    assert {result.series_key.identity for result in loaded.results} == identities
    assert len(loaded.warnings) == len(identities) - 1
    assert sum(len(result.passes) for result in loaded.results) == passes
    assert len({result.path for result in loaded.results}) == len(loaded.results)
    assert all(len(identities_of(result)) == 1 for result in loaded.results)
    machines = {result.machine for result in loaded.results}
    assert len(machines) == len(identities)
    for one_series in series_of_results(loaded.results):
        assert len({result.series_key.identity for result in one_series.results}) == 1
    for machine in machines:
        for by_case in series.joined(select.history(loaded.results, machine)).values():
            assert len({result.series_key.identity for result in by_case.results}) == 1
            assert f"({machine})" in by_case.on
    for before, after in combinations(loaded.results, 2):
        assert_said(before, after, loaded.results)


def assert_said(before, after, others):
    """Check that a comparison of two identities names both machines, or refuses a verdict because of them."""
    if before.series_key.identity == after.series_key.identity:
        return
    comparison = comparisons.between(before, after, others)
    if before.machine != after.machine:
        assert [result.machine in label for result, label in zip((before, after), comparison.labels)] == [True, True]
        return
    for change in comparison.changes.values():
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
    for release in RELEASES[-2:]:
        write(tmp_path / "results", release, ["", "", FIRST, FIRST])
    before, after = (release.version for release in RELEASES[-2:])
    for arguments in (["list", "releases"], ["list", "times"], ["history"], ["compare", before, after]):
        exit_code = main(arguments)
        error = capsys.readouterr().err
        assert error.count("tensorcopy: warning: two machines are called box: got ") == 1, arguments
        assert exit_code == (3 if arguments[0] == "compare" else 0)  # two passes are too few to compare
