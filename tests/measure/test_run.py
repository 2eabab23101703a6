"""Which launches a run takes, resumes and counts, through its commands and files.

The launches here are real files, made at once by a stand-in for the processes; tests/measure/test_launch.py has the processes.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from math import exp
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tensorcopy import configuration, files
from tensorcopy.campaign import Campaign
from tensorcopy.cli import main
from tensorcopy.configuration import Paths
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.measure import launch, run, sides
from tensorcopy.measure.launch import Benchmark, Turns
from tensorcopy.measure.plan import Request
from tensorcopy.measure.process import Program, SideFailed
from tensorcopy.measure.sides import Side
from tensorcopy.releases import environments, release_table
from tensorcopy.results import launches
from tensorcopy.results.launches import Launch
from tensorcopy.worker import hardware, nvidia, turns
from tensorcopy.worker.devices import cpu_model
from tensorcopy.worker.nvidia import Gpu
from tests import launch_files
from tests.conftest import ROOT
from tests.launch_files import PROVENANCE, spec_of
from tests.repositories import commit_all, sha
from tests.repositories import run as run_git

OPENED = sides.opened
OLD_GPU = Gpu("NVIDIA H200", "550.54.14", (9, 0))
BY_SIZE, PEAK, BETWEEN = "copies.BySize.time_copy", "memory.Host.track_peak", "article.Copies.time_copy"
CLEAR, IN_DOUBT = f"{BY_SIZE}('clone', 16)", f"{BY_SIZE}('tensor', 16)"
SUITES = {
    each.name: each
    for each in (
        Benchmark(BY_SIZE, spec_of(BY_SIZE), "4", ["method", "numel"], [["'clone'", "'tensor'"], ["16"]]),
        Benchmark(
            "copies.Latency.time_copy",
            spec_of("copies.Latency.time_copy"),
            "4",
            ["method", "numel", "device"],
            [["'clone'"], ["16"], ["'cuda'"]],
        ),
        Benchmark(PEAK, spec_of(PEAK), "1", ["method"], [["'clone'"]], "bytes", "track"),
    )
}
RATE = Benchmark("theirs.track_rate", spec_of("theirs.track_rate", "GB/s"), "1", ["method"], [["'tensor'"]], "GB/s", "track")
BEGIN = datetime(2026, 11, 21, 8, tzinfo=timezone.utc)
DESCRIBED = ("name", "type", "unit", "version", "params", "param_names")  # the others of `turns.DESCRIBED` are none


class Machine:
    """A machine that takes a launch at once, and a minute of its clock."""

    def __init__(self) -> None:
        self.now, self.suites = 1000.0, {**SUITES}
        self.taken: list[tuple[list[str], list[str]]] = []  # by launch the releases and Pythons of its sides, and its cases
        self.counted: list[str] = []  # the release of each launch of counts
        self.fails: dict[str, TensorcopyError] = {}  # by release, when its environment is opened
        self.broken: dict[str, str] = {}
        self.cannot_start = ""
        self.failing: Collection[str] = ()  # cases
        self.lacking: Collection[str] = ()  # cases that the first side of a launch has not
        self.accelerators: dict[str, str] = {}
        self.unsupported: dict[str, str] = {}
        self.cpu = cpu_model()
        self.before_a_launch: Callable[..., object] = lambda *arguments: None  # of the function that reports its progress
        self.chance = Random(0)
        # of a call of a release in a launch
        self.seconds: Callable[[str, int], float] = lambda version, number: 1e-6 * (1 + self.chance.gauss(0, 1e-4))
        self.noise: dict[str, float] = {}  # of a case besides, by its name

    def opened(self, side: Side, own: Campaign, paths: Paths, needs: str = "") -> Program:
        version = side.release.version
        if version in self.fails:
            raise self.fails[version]
        if not side.interpreter:
            side.path(own, paths).mkdir(parents=True, exist_ok=True)
            (side.path(own, paths) / environments.COMPLETE).touch()
        provenance = {**PROVENANCE, "torch": f"{version}+cu1", "torch_sha": side.release.sha, "python": f"{side.python}.7"}
        provenance |= {"hardware": hardware.collect(), "accelerators": self.accelerators, "cpu": self.cpu, "unsupported": self.unsupported}
        described = [
            {**dict.fromkeys(turns.DESCRIBED), **{name: getattr(each, name) for name in DESCRIBED}} for each in self.suites.values()
        ]
        told = {"provenance": provenance, "observed": {"methods": {"clone": launch_files.observed()}}, "broken": self.broken}
        return Program(side.place, Path("python"), Path("suites"), specs=own.specs, benchmarks=described, **told)

    def change(self, **fields: Any) -> None:
        """Let the suite by size differ in these fields from now on."""
        self.suites[BY_SIZE] = replace(self.suites[BY_SIZE], **fields)

    def take(self, programs: Sequence[Program], name: str, cases: Collection[str], *, kind: str, **fields: Any) -> Any:
        report_progress, number = fields.pop("report_progress"), len(self.taken)
        names = [f"{each.provenance['torch'].partition('+')[0]}@{each.place[1][2:].partition('-')[0]}" for each in programs]
        if kind == "counts":
            self.counted.append(names[0].partition("@")[0])
        else:
            self.before_a_launch(report_progress)
            if self.cannot_start in names:
                raise SideFailed(programs[names.index(self.cannot_start)], "no libtorch")
        self.now += 60
        selected = launch.selected(self.suites, cases, timed=kind == "times")
        by_suite = {(each.name, index): text for each in selected.values() for text, index in each.selected.items()}
        if kind == "times":
            self.taken.append((names, sorted(by_suite.values())))
            suites = launch.stored(selected, {place: self.turns(names, number, text) for place, text in by_suite.items()})
        else:
            suites = {each.name: each.stored() for each in selected.values()}
            for of, index in by_suite:
                suites[of].values[str(index)] = 4096.0
        began = BEGIN + timedelta(minutes=number + len(self.counted))
        return launch.document(programs, name, began, 1, kind=kind, suites=suites, **fields)

    def turns(self, names: list[str], number: int, case: str) -> list[Turns]:
        if case in self.failing:
            return [Turns(failed="RuntimeError: no kernel") for _ in names]
        noise = self.noise.get(case, 0)
        every = [Turns([self.seconds(each, number) * exp(self.chance.gauss(0, noise))] * 3, 100) for each in names]
        return [Turns(), *every[1:]] if case in self.lacking else every

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
    monkeypatch.setattr(sides, "opened", made.opened)
    monkeypatch.setattr(launch, "take", made.take)
    for module in ("measure.run", "cli.compare", "cli.measure"):
        monkeypatch.setattr(f"tensorcopy.{module}.monotonic", lambda: made.now)
    monkeypatch.setattr(run.platform, "node", lambda: "box")
    monkeypatch.setattr(hardware, "missing_valgrind", lambda: "no valgrind here")
    monkeypatch.setattr(environments, "gigabytes", lambda *arguments: 0)  # whatever this machine's disk has
    return made


def measure(*arguments: str) -> int:
    return main(["measure", *arguments])


def stored(folder: str = "results/box") -> list[Launch]:
    return [launches.read(path) for path in sorted(Path(folder).glob("*.json"))]


# which sides, and how many launches


def test_every_release_of_a_python_is_a_side_beside_the_reference(machine, capsys):
    """Which joins both Pythons. Whose launch is next is a matter of chance; each Python has a history of its own."""
    assert measure("2.5.1..2.7.1", "2.6.0..2.7.1@3.9", "--launches", "3", "--bench", "BySize") == 0
    newer, older = ["2.5.1@3.11", "2.6.0@3.11", "2.7.1@3.11", "2.8.0@3.11"], ["2.6.0@3.9", "2.7.1@3.9", "2.8.0@3.11"]
    assert Counter(map(tuple, machine.sides)) == {tuple(newer): 3, tuple(older): 3}
    assert {tuple(machine.sides[number]) for number in (0, 1)} == {tuple(newer), tuple(older)}  # no group has two before another has one
    folders = sorted(path.name for path in Path("results").iterdir())
    assert len(folders) == 2
    reference = release_table.load().find(sides.REFERENCE).sha
    of_times = [each for folder in folders for each in stored(f"results/{folder}") if each.kind == "times"]
    assert {each.sides[each.reference].sha for each in of_times} == {reference}
    printed = capsys.readouterr().out
    assert f"5 releases with 3 launches each, in {', '.join(f'results/{folder}' for folder in folders)}" in printed
    assert printed.count("a new history begins: ") == 2


def test_resuming_is_counting(machine, capsys):
    """The same command takes what is missing; more launches, or a release more, only the difference."""
    assert measure("2.14.1..2.15.0", "--launches", "3", "--for", "2m") == 0
    assert "stopped at the end of its time: 1 launch left; the same command takes them" in capsys.readouterr().out
    assert len(machine.taken) == 2
    for wanted, expected in (("3", 3), ("3", 3), ("5", 5)):
        assert measure("2.14.1..2.15.0", "--launches", wanted) == 0
        assert len(machine.taken) == expected
    assert measure("2.13.0..2.15.0", "--launches", "5") == 0
    assert len(machine.taken) == 10


def test_a_launch_does_not_count_for_another_build_of_a_user_s_package(machine, monkeypatch):
    """Its folder has other files."""
    for digest in ("1", "2"):
        monkeypatch.setitem(PROVENANCE, "requires", {"own": f"0.1 {digest}"})
        assert measure("2.15.0", "--launches", "2") == 0
    assert len(machine.taken) == 4


@pytest.mark.parametrize("change", [{"version": "5"}, {"unit": "another"}, {"params": [["'clone'", "'tensor'", "'new'"], ["16"]]}])
def test_a_launch_does_not_count_for_another_form_of_its_suite(machine, change):
    """Its values would be in no history; nor for a case that it did not have."""
    for expected in (2, 4, 4):
        assert measure("2.15.0", "--launches", "2") == 0
        assert len(machine.taken) == expected
        machine.change(**change)


def test_launches_of_one_case_do_not_count_as_those_of_all(machine):
    """And the case that has enough is not taken again."""
    assert measure("2.15.0", "--launches", "2", "--bench", "(?i)'CLONE'") == 0
    assert measure("2.15.0", "--launches", "2") == 0
    assert [cases for _, cases in machine.taken] == [[CLEAR]] * 2 + [[IN_DOUBT]] * 2


def test_launches_of_another_processor_do_not_count(machine, capsys):
    """They are of another history."""
    assert measure("2.15.0", "--launches", "2") == 0
    machine.cpu = "Another 1"
    assert measure("2.15.0", "--launches", "2") == 0
    assert len(machine.taken) == 4
    assert "in results/box-2" in capsys.readouterr().out
    assert measure("2.15.0", "--launches", "3", "--history", "box") == 2
    assert "the history box is of another experiment" in capsys.readouterr().err


def test_a_new_release_is_measured_beside_the_reference_and_its_neighbours(machine):
    """NEW: those that are newer than any measured one, and two before them; on a machine without results the newest two."""
    rows = [release.version for release in release_table.load()]
    assert measure("2.8.0", "--bench", "^memory") == 0  # counts are no result of this kind
    assert measure("NEW", "--launches", "1") == 0
    assert machine.sides.pop() == [*(f"{version}@3.11" for version in rows[-2:]), "2.8.0@3.11"]
    shutil.rmtree("results")
    assert measure(rows[-3], "--launches", "1") == 0
    assert measure("NEW", "--launches", "1") == 0
    assert machine.sides[-1] == [*(f"{version}@3.11" for version in rows[-4:]), "2.8.0@3.11"]


def test_the_article_s_sizes_are_timed_with_the_newest_release_alone(machine, capsys):
    """In launches beside the reference, which are missing from no other release; they count as none of the history."""
    assert measure("2.14.1..2.15.0", "--launches", "2") == 0
    machine.suites[BETWEEN] = replace(SUITES[BY_SIZE], name=BETWEEN)
    assert measure("2.13.0..2.14.1", "--launches", "2") == 0
    assert machine.sides == [["2.14.1@3.11", "2.15.0@3.11", "2.8.0@3.11"]] * 2 + [["2.13.0@3.11", "2.14.1@3.11", "2.8.0@3.11"]] * 2
    for _ in range(2):
        assert measure("--launches", "2", "2.14.1..2.15.0") == 0
        assert machine.taken[4:] == [(["2.15.0@3.11", "2.8.0@3.11"], [f"{BETWEEN}('{name}', 16)" for name in ("clone", "tensor")])] * 2
    assert "2 launches of 2 sides" in capsys.readouterr().out
    assert measure("2.15.0", "--launches", "3", "--bench", "article") == 0
    assert len(machine.taken) == 7
    assert "1 release with 3 launches each, in results/box" in capsys.readouterr().out
    machine.fails["2.15.0"] = TensorcopyError("it is broken", got="", allowed="", next="")
    assert measure("2.14.1..2.15.0", "--launches", "5") == 2
    assert all(BETWEEN not in text for _, texts in machine.taken[7:] for text in texts)


def test_the_reference_is_on_the_python_of_what_is_measured(monkeypatch):
    """Another Python would be another environment of gigabytes; where it has no wheel for that one, it is on the newest that is here."""
    monkeypatch.setattr(sides.environments.uv, "find_python", Path)
    for text, expected in {"2.15.0@3.11": "2.8.0@3.11", "2.8.0@3.9": "2.8.0@3.9", "1.9.0@3.8": "2.8.0@3.13"}.items():
        (own,) = sides.choose([text.partition("@")[0]], shipped(), [text.partition("@")[2]])[0]
        found = sides.reference([own], shipped().releases, ["3.11", "3.13"])
        assert f"{found.release.version}@{found.python}" == expected


def test_the_reference_gets_the_launches_that_it_is_asked_for(machine, capsys):
    """Also where the other releases have theirs, without it."""
    machine.cannot_start = "2.8.0@3.11"
    assert measure("2.15.0", "--launches", "2") == 2
    machine.cannot_start = ""
    assert measure("2.8.0", "2.15.0", "--launches", "2") == 0
    assert machine.sides == [["2.15.0@3.11"]] * 2 + [["2.15.0@3.11", "2.8.0@3.11"]] * 2
    capsys.readouterr()
    assert measure("2.8.0", "--launches", "3") == 0  # alone
    assert machine.sides[4:] == [["2.8.0@3.11"]]
    assert (
        "1 launch of 1 side: about 1 min, more where a call or its setup is slow, or a case not exact enough\n" in capsys.readouterr().out
    )  # no more: there is no other side to compare it with


# precision decides


def test_inexact_cases_get_as_many_launches_again(machine, capsys):
    """Whatever their difference is. What was taken is not taken again, and exact ones get no more."""
    machine.noise = {IN_DOUBT: 0.05}
    assert measure("2.14.1..2.15.0", "--launches", "4") == 0
    assert [cases for _, cases in machine.taken] == [[CLEAR, IN_DOUBT]] * 4 + [[IN_DOUBT]] * 4
    assert {tuple(names) for names in machine.sides} == {("2.14.1@3.11", "2.15.0@3.11", "2.8.0@3.11")}
    printed = capsys.readouterr().out
    assert "4 launches of 3 sides, and counts of 2 releases: about 1 min, more where a call or its setup is slow" in printed
    assert "1 case not exact enough after 4 launches: copies.BySize tensor numel=16" in printed
    assert measure("2.14.1..2.15.0", "--launches", "4") == 0
    assert len(machine.taken) == 8
    machine.noise = {}
    assert measure("2.7.1", "--launches", "4") == 0
    assert len(machine.taken) == 12


def test_launches_are_added_to_those_that_are_there(machine, every_python):
    """With `again`, as asv run does: as many of all cases, and of the inexact ones no more than twice what a run asks for."""
    chosen, _ = sides.choose(["2.14.1..2.15.0"], shipped(), ["3.11"])
    machine.noise = {IN_DOUBT: 0.05}
    for expected in ([[CLEAR, IN_DOUBT]] * 4 + [[IN_DOUBT]] * 4, [[CLEAR]] * 4, [[CLEAR, IN_DOUBT]] * 4):
        machine.taken.clear()
        run.run(Request((*chosen,), launches=4, again=True), shipped(), configuration.paths())
        assert [cases for _, cases in machine.taken] == expected


def test_a_run_that_ends_in_its_second_stage_keeps_the_first_and_goes_on(machine):
    """A launch of all cases is one, whether or not that of some follows."""
    machine.noise = {IN_DOUBT: 0.05}
    assert measure("2.14.1..2.15.0", "--launches", "4", "--for", "6m") == 0
    assert [len(cases) for _, cases in machine.taken] == [2] * 4 + [1] * 2
    assert measure("2.14.1..2.15.0", "--launches", "4") == 0
    assert [len(cases) for _, cases in machine.taken] == [2] * 4 + [1] * 4


@pytest.mark.parametrize(
    ("difference", "noise", "budget", "expected", "verdict"),
    [(1.1, 0.002, "1h", 8, "1 of 2 cases slower"), (1.0, 0.002, "1h", 8, "1 unchanged"), (1.02, 0.1, "15m", 9, "1 undecided")],
    ids=["slower", "unchanged", "undecided when the time is over"],
)
def test_two_releases_are_compared_now_until_every_case_is_exact(machine, capsys, difference, noise, budget, expected, verdict):
    """In launches of both and nothing else, of the selected cases; results have none of them."""
    chance, machine.suites[BETWEEN] = Random(4), replace(SUITES[BY_SIZE], name=BETWEEN)
    machine.suites[RATE.name] = RATE
    machine.seconds = lambda version, number: 1e-6 * (difference if "2.15" in version else 1.0) * (1 + chance.gauss(0, noise))
    assert main(["compare", "2.14.1", "2.15.0", "--now", "--case", "tensor", "--for", budget]) == 0
    assert machine.taken == [(["2.14.1@3.11", "2.15.0@3.11"], [IN_DOUBT])] * expected
    assert verdict in capsys.readouterr().out
    assert Counter(machine.counted) == {"2.14.1": 3, "2.15.0": 3}  # first, and so also where the time is over soon
    assert not Path("results").exists()


def test_a_comparison_has_a_launch_of_times_though_its_time_is_over(machine):
    """Its sides, or its counts, took as long; no further launch begins."""
    machine.suites[RATE.name] = RATE
    assert main(["compare", "2.14.1", "2.15.0", "--now", "--for", "1m"]) == 3
    assert (len(machine.counted), len(machine.taken)) == (1, 1)


def test_time_that_went_into_installing_is_told(machine, monkeypatch, capsys):
    """The next run has it for launches."""
    opened, told = machine.opened, "a part of the time went into installing; the same command has all of it now"

    def slowly(*arguments: Any) -> Program:
        machine.now += 400
        return opened(*arguments)

    for is_told in (True, False):
        monkeypatch.setattr(sides, "opened", slowly)
        assert main(["compare", "2.14.1", "2.15.0", "--now"]) == 3
        assert (told in capsys.readouterr().err) is is_told


def test_a_comparison_whose_time_is_over_before_both_have_a_count_is_refused(machine, capsys):
    machine.suites = {RATE.name: RATE}
    assert main(["compare", "2.14.1", "2.15.0", "--now", "--for", "1m"]) == 2
    assert "nothing was compared: got no launch of torch 2.1" in capsys.readouterr().err


def test_what_is_compared_takes_turns_on_any_python(machine):
    """Also where no Python has both, as of a release that a pull request adds."""
    chosen, _ = sides.choose(["1.12.1", "2.15.0"], shipped(), ["3.11", "3.9"])
    run.run(Request((*chosen,), launches=1, most=1, together=True), shipped(), configuration.paths())
    assert machine.sides == [["1.12.1@3.9", "2.15.0@3.11"]]


def test_a_case_that_is_exact_enough_for_a_margin_gets_no_more(machine):
    """Half of its interval is half of the margin, at most."""
    machine.seconds = lambda version, number: 1e-6 * (1 + machine.chance.gauss(0, 0.03))
    assert main(["compare", "2.14.1", "2.15.0", "--now", "--case", "tensor", "--margin", "40", "--for", "9h"]) == 0
    assert len(machine.taken) == 8
    machine.taken.clear()
    assert main(["compare", "2.14.1", "2.15.0", "--now", "--case", "tensor", "--margin", "2", "--for", "9h"]) == 0
    assert len(machine.taken) == 64


def test_what_is_compared_is_what_is_selected(machine):
    """Also where launches before had other cases."""
    chosen, paths = sides.choose(["2.14.1", "2.15.0"], shipped(), ["3.11"])[0], configuration.paths()
    for selection, cases in (("", ["clone", "tensor"]), ("tensor", ["tensor"])):
        request = Request((*chosen,), selection=selection, launches=3, most=3, together=True)
        comparison = run.compared(request, run.run(request, shipped(), paths), shipped())
        assert sorted(case["method"] for case, change in comparison.changes.items() if change.timed) == cases
    assert (len(machine.taken), machine.counted) == (3, [])


def test_no_launch_is_taken_of_one_side_of_two(machine, capsys):
    """Where two are compared, one alone says nothing: the error of the other is told."""
    machine.fails["2.15.0"] = TensorcopyError("no libtorch", got="a", allowed="b", next="c")
    assert main(["compare", "2.14.1", "2.15.0", "--now"]) == 2
    assert "no libtorch" in capsys.readouterr().err
    machine.fails.clear()
    machine.cannot_start = "2.15.0@3.11"
    assert main(["compare", "2.14.1", "2.15.0", "--now"]) == 2
    assert machine.taken == []


def test_cases_that_do_not_exist_are_refused_before_a_second_release_is_installed(machine, capsys):
    """Where one is installed, before any."""
    for command in (["measure", "2.13.0..2.15.0", "--bench", "zzz"], ["compare", "2.14.1", "2.15.0", "--now", "--case", "zzz"]):
        assert main(command) == 2
        assert "nothing to measure: got no case that matches 'zzz'" in capsys.readouterr().err
        assert [path.name for path in Path(".asv/env").iterdir()] == ["2.15.0-py3.11-cuda"]


def test_a_project_without_a_suite_is_refused_before_an_environment_is_installed(machine, monkeypatch, capsys):
    monkeypatch.setattr(sides, "opened", OPENED)
    Path("tensorcopy.toml").write_text('[project]\nname = "lab"\n')
    assert measure("2.15.0") == 2
    refused = "this project has nothing to measure: got tensorcopy.toml without a suite; allowed: [suites] with path"
    assert (refused in capsys.readouterr().err, Path(".asv").exists()) == (True, False)


def test_what_cannot_be_compared_now_is_one_line(machine, capsys):
    for arguments, message in (
        (["2.15.0", "2.15.0"], "nothing to compare: got 2.15.0 2.15.0"),
        (["2.14.1", "2.15.0", "--case", "no such"], "nothing to measure: got no case that matches 'no such'"),
        (["2.14.1", "x"], "unknown torch release: got 'x'"),
        (["1.12.1", "2.15.0"], "no Python has both releases: got torch 1.12.1 on Python 3.9 and torch 2.15.0 on Python 3.11"),
    ):
        assert main(["compare", *arguments, "--now"]) == 2
        assert message in capsys.readouterr().err


# counts


def test_counts_are_taken_once_of_each_release(machine, capsys):
    """Where only times are selected, such a launch has what methods were observed to do."""
    for selection in (("--bench", "copies"), ("--bench", "copies"), (), ()):
        assert measure("2.14.1..2.15.0", "--launches", "1", *selection) == 0
        assert Counter(machine.counted) == dict.fromkeys(["2.14.1", "2.15.0"], 1 if selection else 2)
    assert len(machine.taken) == 1
    assert measure("2.13.0", "2.8.0", "--bench", "^memory") == 0
    assert (sorted(machine.counted[4:]), len(machine.taken)) == (["2.13.0", "2.8.0"], 1)
    printed = capsys.readouterr().out
    assert "2 releases counted, in results/box" in printed
    assert (
        re.findall("^counts of .*", printed, re.MULTILINE)[-1]
        == "counts of 2 releases: about 1 min, more where a call or its setup is slow, or a case not exact enough"
    )
    assert measure("2.15.0", "--bench", "^none") == 2
    assert "nothing to measure: got no case that matches '^none'" in capsys.readouterr().err


def test_a_tracked_value_is_counted_in_up_to_three_launches(machine):
    """As many as tell how much it varies, and no more than are asked for."""
    machine.suites[RATE.name] = RATE
    for number, counted in ((1, 1), (2, 2), (3, 3), (5, 3)):
        assert measure("2.15.0", "--launches", str(number)) == 0
        assert machine.counted == ["2.15.0"] * counted


# what goes wrong


def test_failing_cases_are_told_after_the_first_launch(machine, capsys):
    """A run may take hours; also at a stop, and again until the cases are mended, which gives their suite another version."""
    machine.failing = [IN_DOUBT]
    line = "1 of 3 cases fails: RuntimeError: no kernel; next: --bench leaves cases out"
    seen = []
    machine.before_a_launch = lambda *_: seen.append(capsys.readouterr().out)
    assert measure("2.15.0", "--launches", "2") == 2
    assert (line in seen[0], line in seen[1]) == (False, True)
    for _ in range(2):
        assert re.search(r"failed with torch .*: copies\.BySize tensor numel=16: RuntimeError: no kernel", capsys.readouterr().out)
        assert measure("2.15.0", "--launches", "2") == 2
    assert len(machine.taken) == 2

    def stop(*_: object) -> None:
        if len(machine.taken) == 3:
            capsys.readouterr()
            raise KeyboardInterrupt

    machine.before_a_launch = stop
    with pytest.raises(KeyboardInterrupt):
        measure("2.15.0", "--launches", "5")
    assert line in capsys.readouterr().out
    machine.failing, machine.before_a_launch = [], lambda *_: None
    machine.change(version="5")
    assert measure("2.15.0", "--launches", "1") == 0


def test_a_module_that_cannot_be_imported_does_not_stop_the_others(machine, capsys):
    """It is named, and what it lacks; where cases are selected, it is no failure."""
    machine.broken = {"bad": "in suites/bad.py: ModuleNotFoundError: No module named 'scipy'"}
    assert measure("2.15.0", "--launches", "1") == 2
    assert len(machine.taken) == 1
    printed = capsys.readouterr()
    assert "bad of the suites cannot be measured: got in suites/bad.py: ModuleNotFoundError: No module named 'scipy'" in printed.err
    assert 'next: requires = ["scipy"] in [project] of tensorcopy.toml' in printed.err
    assert measure("2.15.0", "--launches", "2", "--bench", "^copies") == 0
    assert "bad of the suites cannot be measured" in capsys.readouterr().out
    machine.suites.clear()
    assert measure("2.15.0", "--launches", "1") == 2
    assert "bad of the suites cannot be measured" in capsys.readouterr().err


def test_a_side_that_fails_is_left_out_and_named(machine, capsys):
    """The others are measured without it; its error is a line, and the exit code is 2."""
    machine.fails["2.13.0"] = TensorcopyError("torch 2.13.0 was not installed", got="nothing", allowed="a wheel", next="wait")
    machine.cannot_start = "2.14.1@3.11"
    assert measure("2.13.0..2.15.0", "--launches", "2") == 2
    assert machine.sides == [["2.15.0@3.11", "2.8.0@3.11"]] * 2
    printed = capsys.readouterr().err
    assert [text for text in ("torch 2.13.0 was not installed", "no libtorch") if printed.count(text) != 1] == []


def test_a_launch_without_another_side_says_so(machine, capsys):
    """As without a network, where the reference cannot be installed; and a torch that cannot use a device that is there."""
    machine.unsupported = {"cuda": "no kernels for sm_121"}
    machine.fails["2.8.0"] = TensorcopyError("torch 2.8.0 was not installed", got="nothing", allowed="a wheel", next="wait")
    assert measure("2.15.0", "--launches", "1") == 0
    assert machine.sides == [["2.15.0@3.11"]]
    printed = capsys.readouterr().out
    assert "measured alone, and compared with no other release: " in printed
    assert "torch 2.15.0 is not measured on cuda: no kernels for sm_121" in printed
    assert "without the reference: torch 2.8.0 was not installed" in printed


def test_a_full_disk_ends_the_measurement_after_the_errors_before_it(machine, capsys):
    machine.fails["2.14.1"] = TensorcopyError("no torch", got="none", allowed="one", next="install it")

    def full(*_: object) -> None:
        raise DiskError("a disk", got="full", allowed="room", next="free some")

    machine.before_a_launch = full
    assert measure("2.14.1..2.15.0") == 2
    printed = [line.partition(": got ")[0] for line in capsys.readouterr().err.splitlines() if ": got " in line]
    assert printed == ["tensorcopy: no torch", "tensorcopy: a disk"]


def test_a_full_disk_is_found_before_anything_is_installed(machine, monkeypatch, capsys):
    """Installing takes minutes."""
    Path("results").mkdir()

    def full(dir: Path) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.tempfile, "TemporaryFile", full)
    monkeypatch.setattr(sides, "opened", lambda *_: pytest.fail("it was installed"))
    assert measure("2.15.0", "--launches", "1") == 2
    expected = f"tensorcopy: {str(Path('results').absolute())!r} cannot be written: got No space left on device; allowed: a disk with free"
    assert expected in capsys.readouterr().err


def test_what_no_launch_can_give_is_not_tried_for_ever(machine, capsys):
    """A case that vanishes from its launches, as of a parameter that is drawn at random."""
    machine.lacking = [IN_DOUBT]
    assert measure("2.15.0", "--launches", "2") == 0
    assert len(machine.taken) == 2
    assert "1 release with 0 launches each" in capsys.readouterr().out


# a person's own machine


@pytest.fixture
def dashboard(machine, monkeypatch):
    """Return a function that runs the main command, without pages; it returns the exit code."""
    monkeypatch.setattr("tensorcopy.cli.measure._publish", lambda *_: None)
    return lambda *arguments: main(["dashboard", "--no-serve", *arguments])


def test_one_s_own_machine_gets_a_history(machine, dashboard, monkeypatch, capsys):
    """The newest release alone; then it takes turns with the one before; each run adds three launches; a newer one joins them."""
    versions = [release.version for release in release_table.load()]
    newest, before = f"{versions[-1]}@3.11", f"{versions[-2]}@3.11"
    for expected in ([[newest]] * 3, [[before, newest]] * 3, [[before, newest]] * 3):
        machine.taken.clear()
        assert dashboard() == 0
        assert machine.sides == expected
    printed = capsys.readouterr().out
    assert f"The page ranks the ways to copy a tensor with torch {versions[-1]}, as this machine has timed them. Run" in printed
    assert f"The page compares torch {versions[-2]} and {versions[-1]} on this machine." in printed
    assert "1 environment to install: " in printed
    assert "--reference" not in printed
    later = replace(release_table.load()[-1], version="9.0.0", sha="9" * 40)
    table = release_table.ReleaseIndex([*release_table.load(), later])
    monkeypatch.setattr(release_table, "load", lambda *_: table)
    monkeypatch.setattr("tensorcopy.cli.measure.campaign", lambda: replace(shipped(), releases=table))
    machine.taken.clear()
    assert dashboard() == 0
    assert machine.sides == [[before, newest, "9.0.0@3.11"]] * 3


def test_a_quick_dashboard_takes_one_launch(machine, dashboard):
    """Of copies and conversions by size; its memory is counted, too, once of a release."""
    for measured, counted in ((["2.15.0@3.11"], ["2.15.0"]), (["2.14.1@3.11", "2.15.0@3.11"], ["2.15.0", "2.14.1"])):
        assert dashboard("--quick") == 0
        assert machine.taken.pop() == (measured, [CLEAR, IN_DOUBT])
        assert (machine.taken, machine.counted) == ([], counted)


def test_the_dashboard_names_a_launch_that_cannot_be_read(machine, dashboard, capsys):
    """The pages are complete except for it."""
    assert dashboard("--quick") == 0
    path = next(path for path in Path("results/box").glob("*.json") if launches.read(path).kind == "times")
    path.write_bytes(path.read_bytes()[:100])
    assert dashboard("--quick") == 2
    assert capsys.readouterr().err.count(f"the file results/box/{path.name} cannot be read") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("2.15.0", "2 environments to install: about 14 GB, and 1 GB are free"),
        ("2.14.1..2.15.0", "3 environments to install: about 21 GB, and 1 GB are free"),
    ],
)
def test_what_will_be_installed_is_said_before(machine, monkeypatch, capsys, arguments, said):
    """What is announced is the most that they take: uv links what it has."""
    monkeypatch.setattr(environments, "gigabytes", lambda *_: 7)
    monkeypatch.setattr(run.shutil, "disk_usage", lambda _: SimpleNamespace(free=1e9))
    opened, before = machine.opened, list[str]()

    def noting(*arguments: Any) -> Program:
        before.append("".join(capsys.readouterr()))
        return opened(*arguments)

    monkeypatch.setattr(sides, "opened", noting)
    assert measure(arguments, "--launches", "1") == 0
    assert said in before[0]


# interpreters, devices and commits


def test_a_release_is_measured_on_the_first_python_that_has_it(every_python):
    """Of the configuration's; one that is named twice is measured once."""
    chosen, skipped = sides.choose(["1.12.1..2.0.1", "2.0.1@3.9", "2.0.1"], shipped(), ("3.11", "3.9"))
    assert [f"{each.release.version}@{each.python}" for each in chosen] == ["1.12.1@3.9", "1.13.1@3.11", "2.0.1@3.11", "2.0.1@3.9"]
    assert skipped == []


def test_an_interpreter_is_measured_with_its_own_torch(machine, capsys):
    """Another release or a missing program is an error."""
    (side,) = sides.in_interpreters(["same"], shipped())
    released = replace(side, interpreter="")
    assert [*sides.unable([released], [OLD_GPU])] == [released]
    assert sides.unable([released], [OLD_GPU, replace(OLD_GPU, driver="590.48")]) == {}  # one of two suffices
    assert side.release.version == torch.__version__.partition("+")[0]
    assert side.environment.endswith("-interpreter")
    assert side.is_installed(shipped(), configuration.paths())
    assert sides.unable([side], [OLD_GPU]) == {}  # it may be built for this GPU
    assert measure("--interpreter", "same", "1.9.0") == 2
    assert f"no interpreter has this torch: got 1.9.0; allowed: {side.release.version}" in capsys.readouterr().err
    assert measure("--interpreter", "no-such-python") == 2
    assert "no such interpreter: got no-such-python" in capsys.readouterr().err


def test_several_interpreters_are_sides_of_the_same_launches(machine, tmp_path, capsys):
    """Also of two Pythons; the newest release is the reference, and nothing is installed."""
    for name, version, python in (("a", "2.14.1", "3.12"), ("b", "2.15.0", "3.11"), ("c", "2.15.0", "3.11"), ("d", "2.13.0", "3.11")):
        sha = release_table.load().find(version).sha
        answer = json.dumps({"provenance": {"torch": version, "python": f"{python}.1", "torch_sha": sha, "build": "cuda"}})
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{answer}'\n")
        (tmp_path / name).chmod(0o755)
    two = ["--interpreter", "./a", "--interpreter", "./b"]
    assert measure(*two, "--interpreter", "./d", "--launches", "3") == 0
    assert machine.sides == [["2.13.0@3.11", "2.14.1@3.12", "2.15.0@3.11"]] * 3
    of_times = [each for folder in Path("results").iterdir() for each in stored(str(folder)) if each.kind == "times"]
    assert {each.sides[each.reference].sha for each in of_times} == {release_table.load().find("2.15.0").sha}
    assert {side.environment for each in of_times for side in each.sides} == {"py3.12-cuda-interpreter", "py3.11-cuda-interpreter"}
    assert measure(*two, "--interpreter", "./c") == 2
    assert "two interpreters have the same torch: got torch 2.15.0 on Python 3.11 in ./b and ./c" in capsys.readouterr().err


@pytest.mark.parametrize("backend", ["", "cu126"])
def test_a_required_gpu_selects_the_releases_before_they_are_installed(machine, monkeypatch, capsys, backend):
    """The table describes the default wheels: where uv installs others, the check before measuring decides."""
    machine.accelerators = {"cuda": "NVIDIA H200"}
    monkeypatch.setenv("UV_TORCH_BACKEND", backend)
    monkeypatch.setattr(nvidia, "visible_gpus", lambda: [OLD_GPU])
    code = measure("2.15.0", "--launches", "1", "--device", "cuda")
    assert code == (0 if backend else 2)
    refused = "NVIDIA H200 cannot run what is to be measured: got torch 2.15.0 is skipped: CUDA 13.2 needs driver R580 or newer, and "
    printed = capsys.readouterr().err
    assert (refused in printed) == (not backend)
    assert ("or set UV_TORCH_BACKEND to an older CUDA" in printed) == (not backend)
    if backend:
        assert machine.taken[-1][1] == ["copies.Latency.time_copy('clone', 16, 'cuda')"]


def test_a_reference_that_the_gpu_cannot_run_is_left_out(machine, monkeypatch):
    """The driver of CUDA 11 runs 2.0.1 and not 2.8.0."""
    machine.accelerators = {"cuda": "NVIDIA H200"}
    monkeypatch.setattr(nvidia, "visible_gpus", lambda: [replace(OLD_GPU, driver="470.1", capability=(8, 0))])
    assert measure("2.0.1", "--launches", "1", "--device", "cuda") == 0
    assert machine.sides == [["2.0.1@3.11"]]


def test_two_releases_of_which_the_gpu_runs_one_are_not_compared(machine, monkeypatch, capsys):
    """And nothing is installed; by the driver, CUDA 12 runs there and 13 does not."""
    monkeypatch.setattr(nvidia, "visible_gpus", lambda: [OLD_GPU])
    assert main(["compare", "2.5.1", "2.15.0", "--now", "--device", "cuda"]) == 2
    expected = "NVIDIA H200 cannot run what is to be measured: got torch 2.15.0 is skipped: CUDA 13.2 needs driver R580 or newer"
    assert expected in capsys.readouterr().err
    assert not Path(".asv").exists()


def test_two_commits_are_measured_with_a_torch_that_both_know(machine, tmp_path):
    """Not the newest of either: a commit's own table says what it supports.

    Where base cannot import head's suites, it runs its own; no launch can give it a case that it lacks.
    """
    table, commits, rows = tmp_path / sides.TABLE, list[str](), release_table.load()[-5:]
    table.parent.mkdir()
    run_git(tmp_path, "init", "-q")
    for added in (rows[:-1], rows[-1:]):
        for each in added:
            release_table.add(each, table)
        commit_all(tmp_path, "a")
        commits.append(sha(tmp_path))
    paths = replace(configuration.paths(), pythons=("3.11",))
    for pair in (commits, commits[::-1]):
        chosen = sides.of_commits(dict(zip(("base", "head"), pair)), shipped(), paths, "")
        assert [side.release for side in chosen] == [rows[-2]] * 2
        assert {side.revision.suites_from for side in chosen} == {chosen[1].revision.folder}
        assert [side.place[2] for side in chosen] == pair
    opened, machine.suites[BETWEEN] = machine.opened, replace(SUITES[BY_SIZE], name=BETWEEN)
    machine.fails[rows[-2].version] = TensorcopyError("no libtorch", got="", allowed="", next="")
    with pytest.raises(TensorcopyError, match="no libtorch"):
        run.run(Request(tuple(chosen), together=True), shipped(), paths)
    machine.fails.clear()

    def broken_with_head(side: Side, *arguments: Any) -> Program:
        of_head = side.revision.name == "base" and side.revision.suites_from == chosen[1].revision.folder
        return replace(opened(side, *arguments), broken={"new": "ImportError: no new"} if of_head else {})

    machine.opened = broken_with_head
    machine.lacking = [IN_DOUBT]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sides, "opened", broken_with_head)
        request = Request(tuple(chosen), launches=4, most=4, together=True, folder=run.revisions_folder(paths))
        outcome = run.run(request, shipped(), paths)
        assert ("base runs its own suites: new: ImportError: no new" in outcome.notes, outcome.problems) == (True, [])
        comparison = run.compared(request, outcome, shipped(), 0.02)
        run.run(request, shipped(), paths)  # what base lacks is not taken again
    assert [each.revision for each in comparison.sides] == commits[::-1]
    assert {case.name: change.launches for case, change in comparison.changes.items() if change.timed} == {
        "copies.BySize clone numel=16": (4, 4),
        "copies.BySize tensor numel=16": (0, 0),
    }
    assert len(machine.taken) == 4
    assert not Path("results").exists()
