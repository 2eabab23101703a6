"""Which launches `measure` takes, resumes and counts.

The launches here are real files, made at once by a stand-in for the processes; tests/measure/test_launch.py has the processes.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from functools import partial
from math import exp
from pathlib import Path
from random import Random
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tensorcopy import configuration
from tensorcopy.campaign import Campaign
from tensorcopy.cli import main
from tensorcopy.configuration import Paths
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import Change, Reason, Verdict
from tensorcopy.measure import launch, now, plan, revisions, run, side_benchmarks, side_process, taking
from tensorcopy.measure.case_turns import SideTurns
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.side_benchmarks import Benchmark
from tensorcopy.measure.side_process import LocalSide
from tensorcopy.releases import environments, interpreters, release_table
from tensorcopy.releases.environments import Environment
from tensorcopy.report import comparison as reports
from tensorcopy.report import table
from tensorcopy.results import launches, reader
from tensorcopy.results.launches import Launch
from tensorcopy.worker import hardware, nvidia
from tensorcopy.worker.nvidia import Gpu
from tests import launch_files
from tests.conftest import ROOT
from tests.launch_files import PROVENANCE
from tests.repositories import commit_all, sha
from tests.repositories import run as run_git

FIVE = [Measurement(release, "3.11") for release in release_table.load()[-5:]]
REFERENCE = Measurement(release_table.load().find("2.8.0"), "3.11")
OLD_GPU = Gpu("NVIDIA H200", "550.54.14", 2**37, 0.0, (), 345, 1980, 31, True, (), False, capability=(9, 0))
SECOND = {"started": "2026-11-21T08:00:00+00:00", "ended": "2026-11-21T08:00:01+00:00"}
BY_SIZE, PEAK = "copies.BySize.time_copy", "memory.Host.track_peak"
IN_DOUBT = f"{BY_SIZE}('tensor', 16)"
SUITES = {
    each.name: each
    for each in (
        Benchmark(BY_SIZE, "4", ["method", "numel"], [["'clone'", "'tensor'"], ["16"]]),
        Benchmark("copies.Latency.time_copy", "4", ["method", "numel", "device"], [["'clone'"], ["16"], ["'cuda'"]]),
        Benchmark(PEAK, "1", ["method"], [["'clone'"]], "bytes", "track"),
    )
}

BEGIN = datetime(2026, 11, 21, 8, tzinfo=timezone.utc)


class Machine(taking.Taker):
    """A machine that takes a launch at once, and a minute of its clock.

    taken : by launch the releases and Pythons of its sides, and its selected cases
    cores : to which launches are pinned
    counted : of the launches of counts
    seconds : of a call of a release in a launch
    """

    def __init__(self) -> None:
        self.now, self.suites = 1000.0, {**SUITES}
        self.taken: list[tuple[list[str], list[str]]] = []
        self.counted: list[str] = []
        self.cores: list[int | None] = []
        self.brings = ""  # whatever a launch is asked for, "" for that
        self.fails: dict[str, TensorcopyError] = {}  # by release, when its environment is opened
        self.cannot_start = ""
        self.failing = ""  # a case
        self.accelerators: dict[str, str] = {}
        self.valgrind = "no valgrind here"  # "" where it is
        self.before_a_launch: Callable[..., object] = lambda *arguments: None  # of its core, and the function that reports its progress
        self.chance = Random(0)
        self.seconds: Callable[[str, int], float] = lambda version, number: 1e-6 * (1 + self.chance.gauss(0, 0.002))
        self.noise: dict[str, float] = {}  # of a case besides, by its parameters

    def opened(self, measurement: Measurement, campaign: Campaign, paths: Paths) -> Environment:
        version = measurement.release.version
        if version in self.fails:
            raise self.fails[version]
        measurement.path(paths).mkdir(parents=True, exist_ok=True)
        own = {"torch": f"{version}+cu1", "torch_sha": measurement.release.sha, "python": f"{measurement.python}.7"}
        own["identity"] = hardware.identity()
        report = {
            "provenance": {**PROVENANCE, **own, "accelerators": self.accelerators},
            "torch_folder": f"/torch/{version}",
            "methods": {},
        }
        return Environment(Path("python"), report)

    def change(self, **fields: Any) -> None:
        """Let the suite by size differ in these fields from now on."""
        self.suites[BY_SIZE] = replace(self.suites[BY_SIZE], **fields)

    def suites_of(self, side: LocalSide) -> dict[str, Benchmark]:
        return {**self.suites}

    def take(
        self, sides: Sequence[LocalSide], machine: str, *, selection: str, newest: bool, reference: int | None, looks: int, **how: Any
    ) -> Launch:
        self.before_a_launch(how["core"], how["report_progress"])
        names = [f"{side.provenance['torch'].partition('+')[0]}@{side.environment[2:].partition('-')[0]}" for side in sides]
        for name, side in zip(names, sides):
            if name == self.cannot_start:
                raise side_process.cannot_import(side, "no libtorch")
        suites = side_benchmarks.selected(self.suites, self.brings or selection, side_benchmarks.devices_of(sides), newest=newest)
        self.now += 60
        self.cores.append(how["core"])
        number = len(self.taken)
        self.taken.append((names, sorted(text for suite in suites.values() for text in suite.selected)))
        by_case = {
            (name, index): self.turns(names, number, text) for name, suite in suites.items() for text, index in suite.selected.items()
        }
        started = BEGIN + timedelta(minutes=number)  # in this order, which those of one second do not have
        times = {"id": launches.new_id(started), "started": started.isoformat(), "ended": "2026-11-22T09:00:00+00:00"}
        return launch.document(sides, suites, by_case, machine=machine, reference=reference, looks=looks, **times)

    def count(self, side: LocalSide, machine: str, *, selection: str, **_: Any) -> Launch:
        self.counted.append(side.provenance["torch"].partition("+")[0])
        suites = side_benchmarks.selected(self.suites, selection, (), timed=False)
        document = launch.document([side], suites, {}, machine=machine, id=launches.new_id(), **SECOND)
        stored = {name: suite.stored() for name, suite in suites.items()}
        for name, suite in stored.items():
            suite.values.update({str(index): 4096.0 for index in suites[name].selected.values()})
        return launches.msgspec.structs.replace(document, kind="counts", suites=stored)

    def turns(self, names: list[str], number: int, case: str) -> list[SideTurns]:
        if case == self.failing:
            return [SideTurns(failed="RuntimeError: no kernel") for _ in names]
        noise = self.noise.get(case, 0)
        return [SideTurns([self.seconds(each, number) * exp(self.chance.gauss(0, noise))] * 3, 100) for each in names]

    @property
    def sides(self) -> list[list[str]]:
        """The sides of each launch."""
        return [names for names, _ in self.taken]


@pytest.fixture
def machine(every_python, tmp_path, monkeypatch) -> Machine:
    """A machine without results, whose checkout is the current folder."""
    made = Machine()
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(taking, "Sides", partial(taking.Sides, taker=made))
    monkeypatch.setattr(taking, "monotonic", lambda: made.now)
    monkeypatch.setattr(hardware, "missing_valgrind", lambda: made.valgrind)
    monkeypatch.setattr(environments, "gigabytes", lambda *arguments: 0)  # whatever this machine's disk has
    return made


def measure(*arguments: str) -> int:
    return main(["measure", "--machine", "box", *arguments])


def test_a_release_is_measured_beside_itself_with_numpy_2(machine, capsys):
    """In a separate environment and series; a project chooses numpy by what it requires."""
    assert measure("2.7.1", "2.7.1@numpy2", "2.2.2@numpy2", "--launches", "3") == 0
    printed = capsys.readouterr().out
    assert "torch 2.2.2 is skipped: its wheel needs numpy 1" in printed
    (key,) = {result.series_key for result in reader.load_results(Path("results")).results if result.series_key.has_numpy_2}
    assert (key.build.partition("-")[2], key.is_beside_history) == ("numpy2", True)
    assert all(len(sides) == 3 for sides in machine.sides)
    Path("tensorcopy.toml").write_text('[project]\nname = "lab"\n')
    assert measure("2.7.1@numpy2") == 2
    assert "unknown Python: got '2.7.1@numpy2'; allowed: RANGE@3.9" in capsys.readouterr().err


def test_every_release_of_a_python_is_a_side_beside_the_reference(machine, capsys):
    """Which joins both Pythons. Whose launch is next is a matter of chance."""
    assert measure("2.5.1..2.7.1", "2.6.0..2.7.1@3.9", "--launches", "3", "--bench", "BySize") == 0
    newer, older = ["2.5.1@3.11", "2.6.0@3.11", "2.7.1@3.11", "2.8.0@3.11"], ["2.6.0@3.9", "2.7.1@3.9", "2.8.0@3.11"]
    assert Counter(map(tuple, machine.sides)) == {tuple(newer): 3, tuple(older): 3}
    assert {tuple(machine.sides[number]) for number in (0, 1)} == {tuple(newer), tuple(older)}  # no group has two before another has one
    stored = [launches.read(path) for path in Path("results/box").iterdir()]
    assert {each.sides[each.reference].sha for each in stored if each.kind == "times"} == {REFERENCE.release.sha}
    assert "5 releases with 3 launches each, in results/box" in capsys.readouterr().out


def test_resuming_is_counting(machine, capsys):
    """The same command takes what is missing; more launches, or a release more, only the difference."""
    assert measure("2.14.1..2.15.0", "--launches", "3", "--for", "2m") == 0
    assert "stopped at the end of its time: 1 launch left; the same command takes them" in capsys.readouterr().out
    assert len(machine.taken) == 2
    for launches_wanted, expected in (("3", 3), ("3", 3), ("5", 5)):
        assert measure("2.14.1..2.15.0", "--launches", launches_wanted) == 0
        assert len(machine.taken) == expected
    assert measure("2.13.0..2.15.0", "--launches", "5") == 0
    assert len(machine.taken) == 10


def test_two_measures_on_one_folder_both_complete(machine):
    """Each counts what the other has written, and takes no more."""
    inner = []

    def measure_beside(*_: object) -> None:
        if not inner:
            inner.append(0)
            inner[0] = measure("2.15.0", "--launches", "4")

    machine.before_a_launch = measure_beside
    assert measure("2.15.0", "--launches", "4") == 0
    assert inner == [0]
    assert len(machine.taken) == 5  # the one that ran when the other began


def test_launches_of_other_hardware_or_of_another_version_do_not_count(machine, capsys):
    """A suite whose version was raised is measured again; a machine that shares its name gets another."""
    assert measure("2.15.0", "--launches", "2", "--no-counts") == 0
    machine.change(version="5")
    assert measure("2.15.0", "--launches", "2", "--no-counts") == 0
    assert len(machine.taken) == 4
    machine.change(params=[["'clone'", "'tensor'", "'new'"], ["16"]])
    assert measure("2.15.0", "--launches", "2", "--no-counts") == 0
    assert len(machine.taken) == 6
    here = hardware.identity()
    for path in Path("results/box").iterdir():
        path.write_text(path.read_text().replace(here, "ba9876543210"))
    assert measure("2.15.0", "--launches", "1", "--no-counts") == 0
    assert f"which is called box-{here} here; allowed: one machine per name" in capsys.readouterr().err
    assert len(machine.taken) == 7


def test_launches_of_one_case_do_not_count_as_those_of_all(machine):
    assert measure("2.15.0", "--launches", "2", "--bench", "(?i)'CLONE'") == 0
    assert measure("2.15.0", "--launches", "2") == 0
    assert [len(cases) for _, cases in machine.taken] == [1, 1, 2, 2]


def test_a_side_that_fails_is_left_out_and_named(machine, capsys):
    """The others are measured without it; its error is a line, and the exit code is 2."""
    machine.fails["2.13.0"] = TensorcopyError("torch 2.13.0 was not installed", got="nothing", allowed="a wheel", next="wait")
    machine.cannot_start = "2.14.1@3.11"
    assert measure("2.13.0..2.15.0", "--launches", "2", "--no-counts") == 2
    assert machine.sides == [["2.15.0@3.11", "2.8.0@3.11"]] * 2
    printed = capsys.readouterr().err
    assert [text for text in ("torch 2.13.0 was not installed", "no libtorch") if printed.count(text) != 1] == []


def test_a_case_that_fails_is_told_again_until_it_is_mended(machine, capsys):
    """The same command takes nothing, and ends as the first; a mended suite has another version."""
    machine.failing = IN_DOUBT
    for _ in range(2):
        assert measure("2.15.0", "--launches", "1", "--no-counts") == 2
        assert re.search(r"failed with torch .*: copies\.BySize tensor numel=16: RuntimeError: no kernel", capsys.readouterr().out)
    assert len(machine.taken) == 1
    machine.failing = ""
    machine.change(version="5")
    assert measure("2.15.0", "--launches", "1", "--no-counts") == 0


def test_a_launch_without_another_side_is_unpaired_and_says_so(machine, capsys):
    """As without a network, where the reference cannot be installed."""
    machine.fails["2.8.0"] = TensorcopyError("torch 2.8.0 was not installed", got="nothing", allowed="a wheel", next="wait")
    assert measure("2.15.0", "--launches", "1", "--no-counts") == 0
    assert machine.sides == [["2.15.0@3.11"]]
    printed = capsys.readouterr()
    assert "measured alone, so not compared" in printed.out
    assert "warning: torch 2.8.0 was not installed" in printed.err


def test_the_reference_gets_the_launches_that_it_is_asked_for(machine):
    """Also where the other releases have theirs, without it."""
    machine.cannot_start = "2.8.0@3.11"
    assert measure("2.15.0", "--launches", "2", "--no-counts") == 0
    machine.cannot_start = ""
    assert measure("2.8.0", "2.15.0", "--launches", "2", "--no-counts") == 0
    assert machine.sides == [["2.15.0@3.11"]] * 2 + [["2.15.0@3.11", "2.8.0@3.11"]] * 2


@pytest.mark.parametrize("field", ["version", "unit"])
def test_a_launch_does_not_count_for_another_form_of_its_suite(machine, field):
    """Its values would be in no history."""
    assert measure("2.15.0", "--launches", "1", "--no-counts") == 0
    machine.change(**{field: "another"})
    assert measure("2.15.0", "--launches", "1", "--no-counts") == 0
    assert len(machine.taken) == 2


def test_a_revision_that_lacks_a_case_has_the_launches_of_the_other():
    """No launch can give it one."""
    sides = [LocalSide("a" * 40, "py3.11-cuda", PROVENANCE, revision=number * 40) for number in "12"]
    by_case = {(BY_SIZE, 0): [SideTurns([1e-6], 1), SideTurns([1e-6], 1)], (BY_SIZE, 1): [SideTurns(), SideTurns([1e-6], 1)]}
    times = {"id": launches.new_id(), "started": "2026-11-21T08:00:00+00:00", "ended": ""}
    taken = launch.document(sides, SUITES, by_case, machine="box", **times)
    assert [*plan.launch_counts([taken], side_benchmarks.selected(SUITES, "BySize", ())).values()] == [1, 1]
    assert [*plan.launch_counts([taken], side_benchmarks.selected(SUITES, "Latency", ("cuda",))).values()] == [0, 0]


def test_a_release_that_lacks_a_case_has_no_launch_of_it():
    """Unlike a revision: a launch in which it was there and another was timed says nothing of it."""
    sides = [LocalSide(each.release.sha, each.environment, PROVENANCE) for each in FIVE[-2:]]
    by_case = {(BY_SIZE, 0): [SideTurns([1e-6], 1), SideTurns([1e-6], 1)], (BY_SIZE, 1): [SideTurns([1e-6], 1), SideTurns()]}
    taken = launch.document(sides, SUITES, by_case, machine="box", id=launches.new_id(), **SECOND)
    counts = plan.launch_counts([taken], side_benchmarks.selected(SUITES, "BySize", ()))
    assert [counts[each.place] for each in FIVE[-2:]] == [1, 0]


def test_what_no_launch_can_give_is_not_tried_for_ever_and_is_named(machine, capsys):
    """A case that vanishes from its launches."""
    machine.brings = "'clone'"
    assert measure("2.15.0", "--launches", "3", "--no-counts") == 2
    assert len(machine.taken) == 1
    error = capsys.readouterr().err
    in_vain = "a launch brought torch 2.15.0 on Python 3.11 beside torch 2.8.0 no nearer to what it lacks"
    assert f"{in_vain}: got nothing of {IN_DOUBT}; allowed: the same cases in each launch" in error
    assert "next: give parameters fixed texts" in error


def test_names_that_differ_from_process_to_process_are_named(machine, capsys):
    """As of a parameter that is drawn at random: no launch has a case of the one before, and none is enough."""
    drawn = iter(range(100))
    machine.before_a_launch = lambda *_: machine.change(params=[[f"'drawn {next(drawn)}'"], ["16"]])
    assert measure("2.15.0", "--launches", "3", "--no-counts") == 2
    assert len(machine.taken) == 1
    assert f"no nearer to what it lacks: got nothing of {BY_SIZE}('clone', 16), {IN_DOUBT}; allowed" in capsys.readouterr().err


def test_conditions_that_change_in_a_run_are_told(machine, monkeypatch, capsys):
    """Launches before do not count beside those after; the same command measures the rest."""
    assert measure("2.15.0", "--launches", "2", "--no-counts") == 0
    monkeypatch.setitem(PROVENANCE, "hugepages", "never")
    assert measure("2.15.0", "--launches", "3", "--no-counts") == 2
    assert "no nearer to what it lacks: got other conditions than in earlier launches; allowed" in capsys.readouterr().err
    assert measure("2.15.0", "--launches", "3", "--no-counts") == 0
    assert len(machine.taken) == 5


def test_a_full_disk_ends_the_measurement_after_the_errors_before_it(machine, capsys):
    machine.fails["2.14.1"] = TensorcopyError("no torch", got="none", allowed="one", next="install it")

    def full(*_: object) -> None:
        raise DiskError("a disk", got="full", allowed="room", next="free some")

    machine.before_a_launch = full
    assert measure("2.14.1..2.15.0") == 2
    printed = [line.partition(": got ")[0] for line in capsys.readouterr().err.splitlines() if "warning" not in line and ": got " in line]
    assert printed == ["tensorcopy: no torch", "tensorcopy: a disk"]


def test_a_full_disk_is_found_before_anything_is_installed(machine, monkeypatch, capsys):
    """Installing takes minutes. Where nothing is to be installed, it is found before a launch; a run without one writes nothing."""
    (folder := Path("results/box")).mkdir(parents=True)

    def full(dir: Path) -> Any:
        assert dir.samefile(folder)
        raise OSError(28, "No space left on device")

    expected = f"tensorcopy: {str(folder.absolute())!r} cannot be written: got No space left on device; allowed: a disk with free space"
    with monkeypatch.context() as patch:
        patch.setattr(launches.tempfile, "TemporaryFile", full)
        patch.setattr(Measurement, "opened", lambda *_: pytest.fail("it was installed"))
        assert measure("2.15.0", "--launches", "1") == 2
        assert expected in capsys.readouterr().err
    monkeypatch.setattr(Measurement, "is_installed", lambda *_: True)
    with monkeypatch.context() as patch:
        patch.setattr(launches.tempfile, "TemporaryFile", full)
        patch.setattr(launch, "take", lambda *_, **options: pytest.fail("it was taken"))
        assert measure("2.15.0", "--launches", "1") == 2
        assert expected in capsys.readouterr().err
    assert measure("2.15.0", "--launches", "1") == 0
    monkeypatch.setattr(launches.tempfile, "TemporaryFile", full)
    assert measure("2.15.0", "--launches", "1") == 0
    for path in folder.glob("*.json"):
        if launches.read(path).kind == "counts":
            path.unlink()
    monkeypatch.setattr(launch, "count", lambda *_, **options: pytest.fail("it was counted"))
    assert measure("2.15.0", "--launches", "1") == 2


def test_a_new_release_is_measured_beside_the_reference_and_its_neighbours(machine):
    """NEW: those that are newer than any measured one, and two before them; on a machine without results the newest two."""
    rows = [release.version for release in release_table.load()]
    assert measure("NEW", "--launches", "1", "--no-counts") == 0
    assert machine.sides.pop() == [*(f"{version}@3.11" for version in rows[-2:]), "2.8.0@3.11"]
    for path in Path("results").rglob("*.json"):
        path.unlink()
    assert measure(rows[-3], "--launches", "1", "--no-counts") == 0
    assert measure("NEW", "--launches", "1", "--no-counts") == 0
    assert machine.sides[-1] == [*(f"{version}@3.11" for version in rows[-4:]), "2.8.0@3.11"]


BETWEEN = "article.Copies.time_copy"


def test_the_article_s_sizes_are_timed_with_the_newest_release_alone(machine, capsys):
    """In launches beside the reference, which are missing from no other release; they count as none of the history."""
    assert measure("2.14.1..2.15.0", "--launches", "2", "--no-counts") == 0
    machine.suites[BETWEEN] = replace(SUITES[BY_SIZE], name=BETWEEN)
    assert measure("2.13.0..2.14.1", "--launches", "2", "--no-counts") == 0
    assert machine.sides == [["2.14.1@3.11", "2.15.0@3.11", "2.8.0@3.11"]] * 2 + [["2.13.0@3.11", "2.14.1@3.11", "2.8.0@3.11"]] * 2
    capsys.readouterr()
    for _ in range(2):
        assert measure("--launches", "2", "--no-counts", "2.13.0..2.15.0") == 0
        assert machine.taken[4:] == [(["2.15.0@3.11", "2.8.0@3.11"], [f"{BETWEEN}('{name}', 16)" for name in ("clone", "tensor")])] * 2
    assert "2 launches of 2 sides" in capsys.readouterr().out
    assert measure("2.15.0", "--launches", "3", "--no-counts", "--bench", "article") == 0
    assert len(machine.taken) == 7
    assert "1 release with 3 launches each, in results/box" in capsys.readouterr().out
    assert measure("2.14.1", "--bench", "article") == 2
    assert "nothing to measure: got no case that matches 'article'; allowed: a regular expression on names such as copies" in (
        capsys.readouterr().err
    )
    machine.fails["2.15.0"] = TensorcopyError("it is broken", got="", allowed="", next="")
    assert measure("2.14.1..2.15.0", "--launches", "5", "--no-counts") == 2
    assert machine.sides[7:] == [["2.14.1@3.11", "2.8.0@3.11"]]
    assert all(BETWEEN not in text for _, texts in machine.taken[7:] for text in texts)


def test_counts_are_taken_once_of_each_release(machine):
    """Not with --no-counts. Where only times are selected, such a launch has what methods were observed to do."""
    assert measure("2.14.1..2.15.0", "--launches", "1", "--no-counts") == 0
    assert machine.counted == []
    for selection in (("--bench", "copies"), ("--bench", "copies"), (), ()):
        assert measure("2.14.1..2.15.0", "--launches", "1", *selection) == 0
        assert machine.counted == ["2.14.1", "2.15.0"] * (1 if selection else 2)
    assert len(machine.taken) == 1
    assert measure("2.13.0", "--bench", "^memory") == 0
    assert (machine.counted[4:], len(machine.taken)) == (["2.13.0"], 1)


def test_a_tracked_value_is_counted_in_up_to_three_launches(machine):
    """As many as tell how much it varies, and no more than are asked for."""
    name = "theirs.track_rate"
    machine.suites[name] = Benchmark(name, "1", [], [], "GB/s", "track")
    for number, counted in ((1, 1), (2, 2), (3, 3), (5, 3)):
        assert measure("2.15.0", "--launches", str(number)) == 0
        assert machine.counted == ["2.15.0"] * counted


def test_of_another_s_suite_the_least_time_is_said(machine, capsys):
    """Its setup and its calls may take minutes, which nothing tells before: of no launch, and of no comparison, more is known."""
    for name, kind in (("theirs.time_a", "time"), ("theirs.track_rate", "track")):
        machine.suites[name] = Benchmark(name, "1", ["n"], [[str(number) for number in range(500)]], type=kind)
    least = "min for 500 cases, more where setup or a call is slow\n"
    assert measure("2.14.1..2.15.0", "--launches", "2", "--bench", "theirs") == 0
    printed = capsys.readouterr().out
    assert f"2 launches of 3 sides: at least 5 {least}" in printed
    assert f"then counts of 2 releases: at least 10 {least}" in printed
    said: list[str] = []
    job = taking.Job(taking.Sides(shipped(), configuration.paths()), "box", "time_a")
    now.judged(FIVE[-2:], job, margin=0.02, most=2, say=said.append)
    assert said[0] == f"up to 2 launches of 2 sides: at least 4 {least.strip()}"


def test_a_dashboard_says_before_what_it_will_take(machine, monkeypatch, capsys):
    """Of another's suite it may be hours, and the pages come at its end."""
    monkeypatch.setattr("tensorcopy.cli.measure._publish", lambda *_: None)
    machine.suites["theirs.time_a"] = Benchmark("theirs.time_a", "1", ["n"], [[str(number) for number in range(500)]])
    assert main(["dashboard", "--no-serve", "--machine", "box", "--releases", "2.15.0"]) == 0
    assert "3 launches of 1 side: at least 3 min for 500 cases" in capsys.readouterr().out


INSTRUCTIONS = "instructions.BySize.track_instructions"


@pytest.mark.parametrize("valgrind", [True, False])
def test_a_run_says_before_what_it_will_count(machine, monkeypatch, capsys, valgrind):
    """Counts and, with Valgrind, functions: of how many releases, and for about how long. What is there is left out."""
    names, numels = ["method", "numel", "requires_grad"], [str(number) for number in range(1, 401)]
    params = [["'tensor'"], numels, ["False"]]
    machine.suites[INSTRUCTIONS] = Benchmark(INSTRUCTIONS, "1", names, params, "instructions", "track")
    machine.valgrind = "" if valgrind else "no valgrind here"
    functions = []
    monkeypatch.setattr(run, "_take_functions", lambda measurements, job: (functions.append(len(measurements)), ([], []))[1])

    def said(*arguments: str) -> list[str]:
        assert measure("2.13.0..2.15.0", "--launches", "1", *arguments) == 0
        return [line for line in capsys.readouterr().out.splitlines() if line.startswith("then ")]

    minutes = round(3 * (3 + 0.3 * 401) / 60)
    expected = [f"then counts of 3 releases: about {minutes} min", f"then functions of 3 releases: about {minutes} min"]
    assert said("--no-counts") == []
    assert said() == expected[: 1 + valgrind]
    assert functions == [3] * valgrind
    assert said() == expected[1 : 1 + valgrind]


def test_functions_are_counted_of_what_has_instructions(machine):
    """A release whose counts have failed would fail again."""
    newest = FIVE[-1]
    (path,) = launch_files.write_counts(
        Path("results"), newest.release.version, {"instructions.BySize.track_instructions tensor 16 False": 5}, identity=hardware.identity()
    )
    job = taking.Job(taking.Sides(shipped(), configuration.paths()), "box")
    assert run.without_functions(FIVE, job) == [newest]
    path.write_text(path.read_text().replace('"values":{"0":5.0}', '"failed":{"0":{"*":"no valgrind"}}'))
    assert run.without_functions(FIVE, job) == []


def test_two_commits_are_measured_with_a_torch_that_both_know(machine, no_other_repository, tmp_path):
    """Not the newest of either: a commit's own table says what it supports."""
    table, commits = tmp_path / revisions.TABLE, list[str]()
    table.parent.mkdir()
    run_git(tmp_path, "init", "-q")
    for added in (FIVE[:-1], FIVE[-1:]):
        for each in added:
            release_table.add(each.release, table)
        commit_all(tmp_path, "a")
        commits.append(sha(tmp_path))
    for pair in (commits, commits[::-1]):
        sides = revisions.under_newest(dict(zip(("base", "head"), pair)), shipped(), replace(configuration.paths(), pythons=("3.11",)))
        assert [side.release for side in sides] == [FIVE[-2].release] * 2


def test_a_new_machine_does_not_count_what_another_of_its_platform_has(machine):
    """Thirty releases take an hour. What is selected, and what the other lacks, is counted."""
    other = {"machine": "other", "identity": "07e207e207e2", "cpu": "Other 1"}
    peaks = {f"{PEAK} clone": 4096.0}
    launch_files.write_counts(Path("results"), "2.14.1", peaks, **other)
    launch_files.write_counts(Path("results"), "2.15.0", peaks, libc="glibc 2.31", **other)
    assert measure("2.13.0..2.15.0", "--launches", "1") == 0
    assert machine.counted == ["2.13.0", "2.15.0"]
    stored = {result.version: result for result in reader.load_results(Path("results")).results if result.machine == "box"}
    assert {version: sorted(result.counts.values()) for version, result in stored.items()} == {
        "2.8.0": [],
        "2.13.0": [4096.0],
        "2.14.1": [4096.0],
        "2.15.0": [4096.0],
    }


@pytest.mark.parametrize("bench", ["", "^memory"], ids=["beside times", "alone"])
def test_the_reference_is_counted_where_it_is_asked_for(machine, capsys, bench):
    """It is a side of all launches, and in no group of releases."""
    assert measure("2.7.1", "2.8.0", "--launches", "1", "--bench", bench) == 0
    assert machine.counted == ["2.7.1", "2.8.0"]
    assert f"2 releases {'counted' if bench else 'with 1 launch'}, in results/box" in capsys.readouterr().out


def test_a_selection_without_a_time_is_not_measured_without_counts(machine, capsys):
    """It says so: nothing would be measured, and the command would succeed."""
    assert measure("2.15.0", "--bench", "^memory", "--no-counts") == 2
    error = capsys.readouterr().err
    assert "nothing is left to measure: got --no-counts, and only benchmarks that count or track" in error
    assert error.endswith("next: leave --no-counts out\n")
    assert measure("2.15.0", "--bench", "^memory") == 0


def test_inexact_cases_get_as_many_launches_again(machine, capsys):
    """Whatever their difference is. What was taken is not taken again, and exact ones get no more."""
    machine.noise = {IN_DOUBT: 0.05}
    assert measure("2.14.1..2.15.0", "--launches", "4", "--no-counts") == 0
    every = ["copies.BySize.time_copy('clone', 16)", IN_DOUBT]
    assert [cases for _, cases in machine.taken] == [every] * 4 + [[IN_DOUBT]] * 4
    assert {tuple(sides) for sides in machine.sides} == {("2.14.1@3.11", "2.15.0@3.11", "2.8.0@3.11")}
    assert "4 launches of 3 sides: about 1 min; then up to as many again of the cases that are not exact enough" in capsys.readouterr().out
    assert measure("2.14.1..2.15.0", "--launches", "4", "--no-counts") == 0
    assert len(machine.taken) == 8
    machine.noise = {}
    assert measure("2.7.1", "--launches", "4", "--no-counts") == 0
    assert len(machine.taken) == 12


def test_a_run_that_ends_in_its_second_stage_keeps_the_first_and_goes_on(machine):
    """A launch of all cases is one, whether or not that of some follows."""
    machine.noise = {IN_DOUBT: 0.05}
    assert measure("2.14.1..2.15.0", "--launches", "4", "--no-counts", "--for", "6m") == 0
    assert [len(cases) for _, cases in machine.taken] == [2] * 4 + [1] * 2
    assert measure("2.14.1..2.15.0", "--launches", "4", "--no-counts") == 0
    assert [len(cases) for _, cases in machine.taken] == [2] * 4 + [1] * 4


@pytest.fixture
def two_cores(monkeypatch):
    """Two cores that this process may use."""
    monkeypatch.setattr(side_process, "usable_cores", lambda: [3, 5])


def test_launches_run_at_the_same_time_on_cores_of_their_own(machine, two_cores):
    """Of different Pythons, where there are two."""
    together = Barrier(2, timeout=20)
    machine.before_a_launch = lambda *_: together.wait()
    assert measure("2.7.1", "2.7.1@3.9", "--launches", "2", "--parallel", "2", "--bench", "clone", "--no-counts") == 0
    assert sorted(machine.cores) == [3, 3, 5, 5]
    assert Counter(map(tuple, machine.sides)) == {("2.7.1@3.11", "2.8.0@3.11"): 2, ("2.7.1@3.9", "2.8.0@3.11"): 2}


def test_an_interrupt_ends_launches_that_run_at_the_same_time(machine, two_cores):
    """Each at its next case; what has ended is kept."""
    ended = []

    def begin(core, report_progress):
        if core == 3:
            raise DiskError("disk full", got="0 B", allowed="some", next="free some")
        try:
            while True:
                report_progress(0.0, BY_SIZE)
        finally:
            ended.append(core)

    machine.before_a_launch = begin
    assert measure("2.15.0", "--launches", "2", "--parallel", "2", "--bench", "clone", "--no-counts") == 2
    assert ended == [5]


@pytest.fixture
def dashboard(machine, monkeypatch):
    """Return a function that runs the main command, without pages; it returns the exit code."""
    monkeypatch.setattr("tensorcopy.cli.measure._publish", lambda *_: None)
    return lambda *arguments: main(["dashboard", "--no-serve", "--machine", "box", *arguments])


def test_the_dashboard_measures_the_newest_release_alone(machine, dashboard, capsys):
    """For a first look: a reference would double what is installed. It says so, and --again adds launches."""
    newest = release_table.load()[-1].version
    for arguments, expected in ((("--quick",), 1), (("--quick",), 1), (("--quick", "--again"), 2), ((), 3), ((), 3), (("--again",), 6)):
        before = len(machine.taken)
        assert dashboard(*arguments) == 0
        assert machine.sides == [[f"{newest}@3.11"]] * expected
        printed = capsys.readouterr().out
        assert ("measured alone, so not compared" in printed) == (expected > before)
        assert ("was measured on this machine; --again adds launches" in printed) == (expected == before)
    assert machine.counted == [newest]


def test_a_release_that_the_dashboard_cannot_measure_does_not_stop_another(machine, dashboard, capsys):
    machine.fails["2.14.1"] = TensorcopyError("torch 2.14.1 was not installed", got="nothing", allowed="a wheel", next="wait")
    assert dashboard("--quick", "--releases", "2.14.1..2.15.0") == 2
    assert machine.sides == [["2.15.0@3.11"]]
    assert "torch 2.14.1 was not installed" in capsys.readouterr().err


def test_the_dashboard_names_a_launch_that_cannot_be_read(machine, dashboard, capsys):
    """The pages are complete except for it. It counts for nothing."""
    assert dashboard("--quick") == 0
    path = next(path for path in Path("results/box").iterdir() if launches.read(path).kind == "times")
    path.write_bytes(path.read_bytes()[:100])
    assert dashboard("--quick") == 2
    assert len(machine.taken) == 2
    assert capsys.readouterr().err.count(f"the file results/box/{path.name} cannot be read") == 1


@pytest.mark.parametrize(
    ("difference", "noise", "budget", "expected", "verdict"),
    [
        (1.1, 0.002, "1h", 4, "1 of 1 case slower"),
        (1.0, 0.002, "1h", 4, "1 unchanged"),
        (1.02, 0.1, "9m", 9, "1 undecided (more launches would tell)"),
    ],
    ids=["slower", "unchanged", "undecided when the time is over"],
)
def test_two_releases_are_compared_now_until_every_case_is_decided(machine, capsys, difference, noise, budget, expected, verdict):
    """In launches of both and nothing else, of the selected cases, judged at fixed numbers; results have none of them."""
    chance = Random(4)
    machine.seconds = lambda version, number: 1e-6 * (difference if "2.15" in version else 1.0) * (1 + chance.gauss(0, noise))
    assert main(["compare", "2.14.1", "2.15.0", "--now", "--case", "tensor", "--for", budget]) == 0
    assert machine.taken == [(["2.14.1@3.11", "2.15.0@3.11"], [IN_DOUBT])] * expected
    assert verdict in capsys.readouterr().out
    assert not Path("results").exists()


def test_what_is_undecided_alone_is_timed_further(machine, capsys):
    """All looks share the chance of a false alarm, also where the launches are read later: each change stays what it was."""
    machine.noise[IN_DOUBT] = 0.2
    machine.seconds = lambda version, number: 1e-6 * (1.3 if "2.15" in version else 1.0) * (1 + machine.chance.gauss(0, 0.002))
    assert main(["compare", "2.14.1", "2.15.0", "--now", "--for", "9m", "--format", "json"]) == 0
    assert [len(cases) for _, cases in machine.taken] == [2] * 4 + [1] * 5
    assert machine.taken[-1][1] == [IN_DOUBT]
    compared = json.loads(capsys.readouterr().out)
    assert compared["alpha"] == pytest.approx(0.05 / len(now.LOOKS))
    assert {row["parameters"]["method"]: row["verdict"] for row in compared["rows"]} == {"clone": "slower", "tensor": "unknown"}
    (folder,) = (configuration.paths().environments.parent / now.FOLDER).iterdir()
    before, after = sorted(reader.load_results(folder).results, key=lambda result: result.release)
    assert json.loads(table.as_json(reports.report(comparisons.between(Question(before, after)).selected(device="cpu")))) == compared


def test_a_comparison_now_names_a_row_of_tensorcopy_toml_that_matches_no_case(machine, capsys):
    """Whatever is selected, and whatever device is here: rows about other cases of the suites match."""
    Path("tensorcopy.toml").write_text('[margin]\n"BySize clone" = 10\n"Latency clone.*cuda" = 10\nsideways = 10\n')
    assert main(["compare", "2.14.1", "2.15.0", "--now", "--case", " tensor"]) == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert len(warnings) == 1
    assert "a row of [margin] in tensorcopy.toml matches no case: got sideways" in warnings[0]


def test_what_cannot_be_compared_now_is_one_line(machine, capsys):
    for arguments, message in (
        (["2.15.0", "2.15.0"], "nothing to compare: got 2.15.0 and 2.15.0"),
        (["2.14.1", "2.15.0", "--case", "no such"], "no case to measure"),
        (["2.14.1", "x"], "unknown torch release: got 'x'"),
    ):
        assert main(["compare", *arguments, "--now"]) == 2
        assert message in capsys.readouterr().err


def test_groups_for_a_small_disk_share_the_reference_and_a_neighbour():
    """Every two neighbours are in one launch, by itself or with the reference, which counts as one of the environments."""
    groups = plan.groups(FIVE, REFERENCE, 4)
    assert groups == [FIVE[2:], FIVE[:3]]
    assert plan.groups(FIVE[::-1], REFERENCE, 3) == [FIVE[3:], FIVE[2:4], FIVE[1:3], FIVE[:2]]
    assert plan.groups(FIVE, REFERENCE, 2) == [[each] for each in reversed(FIVE)]
    assert plan.groups(FIVE, REFERENCE, 6) == plan.groups(FIVE, None, 5) == [FIVE]
    assert plan.groups([REFERENCE], REFERENCE, 2) == [[REFERENCE]]
    on_both = [*FIVE, Measurement(FIVE[0].release, "3.9")]
    assert plan.groups(on_both, REFERENCE, 10) == [FIVE, on_both[-1:]]


def test_environments_that_the_next_group_lacks_are_removed(machine):
    """Not the reference, and none when time ends before its group does; also those of a group that gets no further."""
    folder, there = configuration.paths().environments, list[set[str]]()

    def installed() -> set[str]:
        return {path.name.partition("-")[0] for path in folder.glob("[0-9]*")}

    machine.before_a_launch = lambda *_: there.append(installed())
    arguments = [f"{FIVE[0].release.version}..{FIVE[-1].release.version}", "--launches", "2", "--environments", "4", "--no-counts"]
    older, newer = ({each.release.version for each in (*group, REFERENCE)} for group in (FIVE[:3], FIVE[2:]))
    assert measure(*arguments, "--for", "1m") == 0
    assert installed() == newer
    assert measure(*arguments) == 0
    assert installed() == {REFERENCE.release.version}
    assert there == [newer, newer, older, older]
    machine.brings = "'clone'"
    assert measure(*arguments, "--launches", "3") == 2
    assert installed() == {REFERENCE.release.version}


@pytest.mark.parametrize("start", [0, 3])
def test_shards_divide_the_missing_launches(machine, start):
    """Each on a machine of its own, whose folder has what was there before."""
    if start:
        measure("2.15.0", "--launches", str(start), "--no-counts")
    before = {path.name: path.read_bytes() for path in Path("results").glob("box/*")}
    counts = []
    for number in (1, 2, 3):
        shutil.rmtree("results", ignore_errors=True)
        for name, data in before.items():
            launches.create(Path("results") / "box" / name, data)
        already = len(machine.taken)
        assert measure("2.15.0", "--launches", "10", "--no-counts", "--shard", f"{number}/3") == 0
        counts.append(len(machine.taken) - already)
    assert sum(counts) == 10 - start
    assert max(counts) - min(counts) <= 1


def test_a_range_may_name_its_python(every_python):
    """Otherwise the configuration's first suitable Python is used.

    A release that is named twice is measured once.
    """
    with pytest.raises(TensorcopyError, match=r"unknown Python: got '2\.0\.1@x'"):
        plan.select(["2.0.1@x"], shipped(), ())
    measurements, skipped = plan.select(["1.12.1..2.0.1", "2.0.1@3.9", "2.0.1"], shipped(), ("3.11", "3.9"))
    assert [(measurement.release.version, measurement.python) for measurement in measurements] == [
        ("1.12.1", "3.9"),
        ("1.13.1", "3.11"),
        ("2.0.1", "3.11"),
        ("2.0.1", "3.9"),
    ]
    assert skipped == []


def test_an_interpreter_is_measured_with_its_own_torch(worker_here, machine, tmp_path, capsys):
    """Another release or a missing program is an error."""
    measurement = plan.in_interpreter("same", shipped())
    assert measurement.release.version == torch.__version__.partition("+")[0]
    assert measurement.environment.endswith("-interpreter")
    assert measurement.is_installed(Paths(tmp_path, tmp_path, tmp_path, ()))
    assert plan.runnable([measurement], [OLD_GPU]) == ([measurement], [])  # it may be built for this GPU
    assert main(["measure", "--interpreter", "same", "1.9.0"]) == 2
    assert f"no interpreter has this torch: got 1.9.0; allowed: {measurement.release.version}" in capsys.readouterr().err
    assert main(["measure", "--interpreter", "no-such-python"]) == 2
    assert "no such interpreter: got no-such-python" in capsys.readouterr().err


@pytest.fixture
def two_interpreters(machine, tmp_path):
    """Two interpreters with the torch of two releases, of two Pythons; others have that of the second, and of a third release."""
    for name, version, python in (("a", "2.14.1", "3.12"), ("b", "2.15.0", "3.11"), ("c", "2.15.0", "3.11"), ("d", "2.13.0", "3.11")):
        own = {"torch": version, "torch_sha": release_table.load().find(version).sha, "python": f"{python}.7"}
        path = tmp_path / name
        torch_of, report = json.dumps([version, python]), json.dumps({"provenance": {**PROVENANCE, **own}, "torch_folder": "torch"})
        path.write_text(f"#!/bin/sh\nif [ $1 = -I ]; then echo '{torch_of}'; else echo '{report}'; fi\n")
        path.chmod(0o755)
    return ["--interpreter", "./a", "--interpreter", "./b"]


def test_several_interpreters_are_sides_of_the_same_launches(machine, two_interpreters, capsys):
    """Also of two Pythons; the newest release is in each."""
    assert measure(*two_interpreters, "--launches", "3", "--no-counts") == 0
    assert machine.sides == [["2.14.1@3.12", "2.15.0@3.11"]] * 3
    stored = [launches.read(path) for path in Path("results/box").iterdir()]
    assert {each.sides[each.reference].sha for each in stored} == {release_table.load().find("2.15.0").sha}
    assert {side.environment for each in stored for side in each.sides} == {"py3.12-cuda-interpreter", "py3.11-cuda-interpreter"}
    assert measure(*two_interpreters, "--interpreter", "./c") == 2
    assert "two interpreters have the same torch: got torch 2.15.0 on Python 3.11 in ./b and ./c" in capsys.readouterr().err
    assert measure(*two_interpreters, "2.13.0") == 2
    assert "no interpreter has this torch: got 2.13.0; allowed: 2.14.1, 2.15.0" in capsys.readouterr().err


def test_no_environment_is_removed_for_an_interpreter(machine, two_interpreters):
    """One that uv has installed, of the same release and Python, is not what was measured."""
    assert measure(*two_interpreters, "--interpreter", "./d", "--launches", "1", "--environments", "2", "--no-counts") == 0
    assert machine.sides == [["2.14.1@3.12", "2.15.0@3.11"], ["2.13.0@3.11", "2.15.0@3.11"]]
    assert {path.name[:6] for path in configuration.paths().environments.glob("[0-9]*")} == {"2.13.0", "2.14.1", "2.15.0"}


def test_two_interpreters_with_the_same_torch_are_refused_before_any_is_probed(machine, tmp_path, capsys):
    """The probes of both took a minute, for a refusal that files on the disk tell."""
    for name in "ab":
        (tmp_path / name).write_text(f'#!/bin/sh\n[ $1 = -I ] || touch "{tmp_path}/probed"\nexec "{sys.executable}" "$@"\n')
        (tmp_path / name).chmod(0o755)
    assert measure("--interpreter", "./a", "--interpreter", "./b") == 2
    name = f"torch {torch.__version__.partition('+')[0]} on Python {sys.version_info[0]}.{sys.version_info[1]}"
    assert f"same torch: got {name} in ./a and ./b" in capsys.readouterr().err
    assert not (tmp_path / "probed").exists()
    assert interpreters.torch_of(tmp_path / "missing") == []


@pytest.mark.parametrize("arguments", [("--device", "cuda"), ()], ids=["option", "runners.toml"])
@pytest.mark.parametrize("backend", ["", "cu126"])
def test_a_required_gpu_selects_the_releases_before_they_are_installed(machine, monkeypatch, capsys, arguments, backend):
    """The table describes the default wheels: where uv installs others, the check before measuring decides."""
    runners = Path(".github") / "runners.toml"
    runners.parent.mkdir()
    machine.accelerators = {"cuda": "NVIDIA H200"}
    runners.write_text("" if arguments else '[[runner]]\nmachine = "box"\nlabels = ["cuda"]\ndevice = "cuda"\n')
    monkeypatch.setenv("UV_TORCH_BACKEND", backend)
    monkeypatch.setattr(nvidia, "visible_gpus", lambda: ([OLD_GPU], ""))
    assert measure("2.15.0", "--launches", "1", "--no-counts", *arguments) == (0 if backend else 2)
    refused = "NVIDIA H200 can run none of these releases: got CUDA 13.2 needs driver R580 or newer, and this one is 550.54.14; "
    printed = capsys.readouterr().err
    assert (refused in printed) == (not backend)
    assert ("or set UV_TORCH_BACKEND to an older CUDA" in printed) == (not backend)
    if backend and arguments:
        assert machine.taken[-1][1] == ["copies.Latency.time_copy('clone', 16, 'cuda')"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--launches", "0"], "got '0'; allowed: 1 to 1000"),
        (["--launches", "9" * 5000], "allowed: 1 to 1000"),
        *((["--environments", text], f"got '{text}'; allowed: 2 or more") for text in ("1", "two")),
        *((["--shard", text], f"got '{text}'; allowed: 1/5 to 5/5") for text in ("3", "0/3", "4/3", "a/b", "1/0")),
        (["--machine=../box"], "allowed: up to 64 letters, digits and . _ + - after a letter or digit"),
    ],
    ids=lambda value: value[0][:20] if isinstance(value, list) else "",
)
def test_a_wrong_value_is_an_error(arguments, message, capsys):
    """argparse prints it, and exits with 2 before anything is measured."""
    with pytest.raises(SystemExit, match="2"):
        main(["measure", *arguments])
    assert message in capsys.readouterr().err


def test_a_look_times_only_what_the_last_one_left_undecided():
    """And ends the measurement where nothing is; all cases have the verdict of the last look."""
    case, other = launch_files.case("copies.BySize.time_copy tensor 16"), launch_files.case("copies.BySize.time_copy clone 16")
    slower, wide = (
        Change(Verdict.SLOWER, Reason.CHANGED, 1.2, (1.1, 1.3)),
        Change(Verdict.UNKNOWN, Reason.INTERVAL_TOO_WIDE, 1.0, (0.8, 1.3)),
    )
    alike = Change(Verdict.UNCHANGED, Reason.WITHIN_MARGIN, 1.0, (0.99, 1.01))
    seen = iter([{case: slower, other: wide}, {case: wide, other: wide}, {case: alike, other: slower}])
    timed = []

    def take(look, cases):
        timed.append((look, cases))
        return True

    comparison = now.judge((4, 8, 16, 32), take, lambda: SimpleNamespace(changes=next(seen)))
    assert comparison.changes == {case: alike, other: slower}
    assert timed == [(4, []), (8, [other]), (16, [case, other])]


def test_no_launch_is_taken_of_one_side_of_two(machine):
    """Where two are compared, one alone says nothing: the error of the other is raised."""
    first, second = FIVE[-2:]
    machine.fails[second.release.version] = TensorcopyError("no libtorch", got="a", allowed="b", next="c")
    job = taking.Job(taking.Sides(shipped(), configuration.paths()), "box")
    with pytest.raises(TensorcopyError, match="no libtorch"):
        taking.take_launch([first, second], job, all_or_none=True)
    assert machine.taken == []
    assert len(taking.take_launch([first, second], job).sides) == 1
