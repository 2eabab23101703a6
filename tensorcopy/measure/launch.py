"""Take a launch: processes of several sides, on one core, time each case in turns of a millisecond; or that of one side counts.

What disturbs a machine for longer than a turn meets all that take turns, and cancels in their ratios. What is left is the layout of each
process in memory, which the next launch draws anew: the launch is the independent unit.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import cached_property
from hashlib import sha256
from math import exp, inf, log
from pathlib import Path
from statistics import fmean, median_high
from tempfile import gettempdir
from time import monotonic
from typing import Any, Literal

from tensorcopy import files
from tensorcopy.errors import NOWHERE, TensorcopyError, of_text
from tensorcopy.measure.process import Process, Program, Reply, chance, shuffled, started
from tensorcopy.results import launches
from tensorcopy.results.cases import Case, cases_of, names_of
from tensorcopy.results.launches import ALL, OTHER_VERSION, UNIT, Launch, Row, StoredSide, StoredSuite
from tensorcopy.results.suite_specs import TIMED, SuiteSpec, SuiteTable
from tensorcopy.worker.processes import ReportProgress, ignore_progress
from tensorcopy.worker.turns import usual

# Bytes of the largest tensor whose case is timed in a fork that takes other cases, too. A larger one may lie in memory that they freed, and
# is then copied without page faults: 2^24 float32 in a third of the time
LARGEST_SHARED = 4 * 2**20
# Of a case and side, of which the fastest third counts. Variance times cost is least with 6 to 10: a case's setup costs as much as three
TURNS, FEWEST_TURNS = 10, 6
SIDE_SECONDS = 0.2  # that a side's turns of a case take, unless they are the fewest
WALL_SECONDS = 1.0  # the same with their setup, which asv runs before each call
LONGEST_CASE = 60.0  # seconds that a side may take to set up a case, or for a turn, as with asv
LONGEST_VALUE = 1800.0  # seconds of a benchmark that counts, or of a setup_cache
RETAKES = 2  # of a case whose sides differ in page faults
MANY_FAULTS = 64  # in a call: 256 KiB of new memory
ANOTHER = -2  # in place of a case's number, of a side that has another version of the benchmark
LONGEST_PARAMETER = 200  # characters of a parameter's text, which is in the name of each case; of a longer one the first, and a digest
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # in the text of an object that has no other name


@dataclass(frozen=True)
class Benchmark:
    """A benchmark, as asv describes it."""

    name: str  # such as "copies.BySize.time_copy"
    spec: SuiteSpec  # what it is
    version: str
    param_names: list[str]
    params: list[list[str]]
    unit: str = "seconds"
    type: str = "time"
    longest: float = LONGEST_CASE  # seconds that a side may take for a case, with its setup_cache
    selected: Mapping[str, int] = field(default_factory=dict)  # the numbers of the selected cases by name

    @cached_property
    def names(self) -> list[str]:
        """The names of its cases, as asv writes them."""
        return names_of(self.name, self.params)

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """Its cases, in asv's order."""
        return cases_of(self.spec, tuple(self.param_names), tuple(map(tuple, self.params)))

    @property
    def timed(self) -> bool:
        """Whether it is timed, and does not count or track something."""
        return self.type in TIMED

    def stored(self) -> StoredSuite:
        """Return it as a launch stores it, still without times."""
        return StoredSuite(version=self.version, param_names=self.param_names, params=self.params, unit=self.unit, type=self.type)


Suites = Mapping[str, Benchmark]  # by name


@dataclass
class Turns:
    """What a side's turns of a case gave."""

    seconds: list[float] = field(default_factory=list)  # of a call, by turn; none of a case that it lacks, or that was skipped or failed
    calls: int = 0  # in a turn
    faults: float = inf  # page faults in a call, of the turn with the fewest: a heap that grows has some in others
    skipped: str | None = None
    failed: str | None = None
    among_methods: bool = False  # whether other methods of the side took turns with it


def merged(programs: Sequence[Program]) -> tuple[dict[str, Benchmark], list[dict[str, int]]]:
    """Return the benchmarks of all sides by name, and for each side the number of each of its cases by name.

    Two revisions may have other benchmarks, or the same with other parameters: the last side that has one describes it. Where an earlier
    side has another version of it, the values cannot be compared: it has `ANOTHER` in place of its case's number.
    """
    of_sides = [[_kept(each, program.specs) for each in program.benchmarks] for program in programs]
    suites = {suite.name: suite for of_side in of_sides for suite in of_side}
    numbers = [
        {
            text: ANOTHER if suite.version != suites[suite.name].version else index if suite.params else -1
            for suite in of_side
            for index, text in enumerate(suite.names)
        }
        for of_side in of_sides
    ]
    return suites, numbers


def _kept(described: Mapping[str, Any], specs: SuiteTable) -> Benchmark:
    """Return a benchmark that asv describes as a launch can keep it: with texts of limited length, and without addresses in memory.

    An address is another one in each process: no launch would have a case of the one before. What differs in nothing else is numbered.
    """

    def text(value: object, longest: int = LONGEST_PARAMETER) -> str:
        kept = ADDRESS.sub("", str(value))
        digest = f"… {sha256(kept.encode()).hexdigest()[:8]}"
        return kept if len(kept) <= longest else f"{kept[: longest - len(digest)]}{digest}"

    def seconds(key: str, otherwise: float) -> float:
        declared = described[key]
        return declared if isinstance(declared, (int, float)) and declared > 0 else otherwise

    params = []
    for values in described["params"]:
        texts = [text(value) for value in values]
        often = Counter(texts)
        params.append([f"{each} ({number})" if often[each] > 1 else each for number, each in enumerate(texts)])
    name, version, unit, kind = (text(described[key], launches.LONGEST_NAME) for key in ("name", "version", "unit", "type"))
    longest = seconds("timeout", LONGEST_CASE if kind in TIMED else LONGEST_VALUE)
    if described["setup_cache_key"] is not None:  # the first case that is run makes what several benchmarks share
        longest += seconds("setup_cache_timeout", LONGEST_VALUE)
    param_names = [text(each) for each in described["param_names"]]
    return Benchmark(name, specs.spec(name, kind, unit), version, param_names, params, unit, kind, longest)


def selected(suites: Suites, cases: Collection[str], *, timed: bool) -> dict[str, Benchmark]:
    """Return the benchmarks that have some of these cases, each with them; timed : whether those that are timed, or those that count."""
    found = {name: {text: index for index, text in enumerate(suite.names) if text in cases} for name, suite in suites.items()}
    return {name: replace(suites[name], selected=own) for name, own in found.items() if own and suites[name].timed == timed}


def take(
    programs: Sequence[Program],
    machine: str,
    cases: Collection[str],
    *,
    kind: Literal["times", "counts"] = "times",
    report_progress: ReportProgress = ignore_progress,
    **fields: Any,
) -> Launch:
    """Let all sides time these cases in turns, or one side count each once, and return the launch.

    All are pinned to one core that this process may use, at random, on a system that can. With one side, its methods take turns: so they
    can be compared with each other, where no other side can.

    fields : what the launch has besides: the number of the reference, or what the methods of a side that counts were observed to do

    Raises SideFailed for a side that cannot start, TensorcopyError where none of these cases was timed, and DiskError.
    """
    began, steady, is_timed = datetime.now(timezone.utc), monotonic(), kind == "times"
    core = chance.choice([*os.sched_getaffinity(0)]) if is_timed and hasattr(os, "sched_getaffinity") else None
    with started(programs, core) as processes:
        suites, numbers = merged([process.program for process in processes])
        suites = selected(suites, cases, timed=is_timed)
        of_suites = _timed(processes, suites, numbers, report_progress) if is_timed else _counted(processes[0], suites, report_progress)
        # where cases failed for want of room on the disk, and there is none, no case is at fault
        if any(of_text(" ".join(by_side.values()), NOWHERE) for suite in of_suites.values() for by_side in suite.failed.values()):
            files.require_room(Path(gettempdir()))
    if is_timed and not of_suites:
        raise TensorcopyError("nothing was timed", got="none of its cases", allowed="the same cases in each process", next="repeat")
    return document(programs, machine, began, monotonic() - steady, kind=kind, suites=of_suites, **fields)


def _timed(
    processes: Sequence[Process], suites: Suites, numbers: Sequence[Mapping[str, int]], report_progress: ReportProgress
) -> dict[str, StoredSuite]:
    """Let all sides time the selected cases in turns, in random order, those of a device after each other.

    A case of an unknown suite, or of a large tensor, has forks of its own. The others share one: a fork takes 30 ms, as long as the turns
    of a case, and a CUDA context ten times as long.

    numbers : for each side those of its cases, see `merged`
    """
    by_device: dict[str, dict[Any, tuple[list[str], Benchmark, bool]]] = {}
    for name, suite in suites.items():
        for text, index in suite.selected.items():
            case = suite.cases[index]
            sizes = {name: int(value) for name, value in case.parameters if value.isdecimal()}
            alone = not suite.spec.shipped or max(4 * sizes.get("numel", 0), sizes.get("nbytes", 0)) > LARGEST_SHARED  # as of float32
            together = (name, text) if alone or len(numbers) > 1 else case.besides
            by_device.setdefault(case.device, {}).setdefault(together, ([], suite, alone))[0].append(text)
    by_case: dict[tuple[str, int], Sequence[Turns]] = {}
    of_all = sum(len(suite.selected) for suite in suites.values())
    for of_device in shuffled(by_device.values()):
        for texts, suite, alone in shuffled(of_device.values()):
            report_progress(len(by_case) / of_all, suite.name)
            for process in processes if alone else ():
                process.end_fork()
            if len(texts) > 1:
                turns = [[each] for each in _of_methods(processes[0], suite, [numbers[0].get(text) for text in texts])]
            else:
                turns = [_with_equal_memory(processes, suite, [of_side.get(texts[0]) for of_side in numbers])]
            for process in processes if alone else ():
                process.end_fork()
            by_case.update(((suite.name, suite.selected[text]), each) for text, each in zip(texts, turns))
        for process in processes:
            process.end_fork()  # no other device's cases run beside this one's context
    return stored(suites, by_case)


def _with_equal_memory(processes: Sequence[Process], suite: Benchmark, indices: Sequence[int | None]) -> list[Turns]:
    """Return what each side's turns of a case gave.

    Where sides differ in page faults, the memory of one may have been there before. Such a case is taken again in new forks. If it differs
    in the same way, that is how these sides copy; if never twice, the sides that differ have failed.
    """
    different = set[int]()
    for _ in range(RETAKES + 1):
        turns = play([*zip(processes, indices)], suite)
        earlier, different = different, differing(turns)
        if different in (set(), earlier):
            return turns
        for process in processes:
            process.end_fork()
    why = "its page faults in a call differ from those of the others"
    return [Turns(failed=f"{why}, {each.faults:.0f}") if number in different else each for number, each in enumerate(turns)]


def differing(turns: Sequence[Turns]) -> set[int]:
    """Return the sides whose page faults in a call are less than half of those of the median side, or more than twice as many."""
    faults = {number: each.faults for number, each in enumerate(turns) if each.seconds}
    middle = median_high(faults.values()) if faults else 0.0
    return {number for number, own in faults.items() if abs(own - middle) > MANY_FAULTS and not middle / 2 <= own <= middle * 2}


def _of_methods(process: Process, suite: Benchmark, indices: Sequence[int | None]) -> list[Turns]:
    """Let the cases of a side's methods take turns in one fork, and return what each gave. One that fails ends it: the others go on."""
    ended: dict[int, Turns] = {}
    while True:
        turns = play([(process, None if number in ended else index) for number, index in enumerate(indices)], suite)
        ended.update((number, each) for number, each in enumerate(turns) if each.skipped is not None or each.failed is not None)
        if len(ended) == len(indices) or any(each.seconds for each in turns):
            return [replace(ended.get(number, each), among_methods=True) for number, each in enumerate(turns)]


def play(players: Sequence[tuple[Process, int | None]], suite: Benchmark) -> list[Turns]:
    """Let a case of each player take turns, in another order in every round, and return what each gave.

    players : a process, and the number of its case; -1 where it has no parameters, None where it lacks the case, `ANOTHER`

    A case that fails ends its fork, and so all cases of its process leave.
    """
    turns = [Turns(skipped=OTHER_VERSION if index == ANOTHER else None) for _, index in players]
    seats: dict[int, int] = {}  # of those that play, the number of their case in their fork

    def ask(number: int, **request: Any) -> Reply | None:
        """Return what a player answers; None where it has left, with the others of its process where their fork has ended."""
        process = players[number][0]
        answer = process.ask(suite.longest, **request)
        if answer.skipped is None and answer.failed is None:
            return answer
        seats.pop(number, None)
        turns[number] = Turns(skipped=answer.skipped, failed=answer.failed)
        for other in [each for each in seats if players[each][0] is process and answer.failed is not None]:
            del seats[other]
            turns[other] = Turns()
        return None

    alone = len({id(process) for process, _ in players}) == 1 < len(players)  # methods of one side
    for number in shuffled(number for number, (_, index) in enumerate(players) if index not in (None, ANOTHER)):
        # the first side that can run the case calibrates it for all; of one side, each method
        calls = 0 if alone else next((each.calls for each in turns if each.calls), 0)
        if (answer := ask(number, case=suite.name, index=players[number][1], calls=calls)) and answer.case:
            seats[number], turns[number].calls = answer.case
        elif alone and turns[number].failed is not None:
            break
    began = monotonic()
    for turn in range(TURNS):
        taken = max((turns[number].calls * sum(turns[number].seconds) for number in seats), default=0.0)
        if turn >= FEWEST_TURNS and (taken > SIDE_SECONDS or monotonic() - began > WALL_SECONDS * len(seats)):
            break
        for number in shuffled(seats):
            if number in seats and (answer := ask(number, turn=seats[number])) and answer.turn:
                turns[number].seconds.append(answer.turn[0])
                turns[number].faults = min(turns[number].faults, answer.turn[1])
    for number in {id(players[number][0]): number for number in seats}.values():  # one of each process tears down all of its cases
        ask(number, end=True)  # where that fails, so does the case, as in asv
    for number, each in enumerate(turns):
        if strange := [seconds for seconds in each.seconds if not launches.SHORTEST < seconds < launches.LONGEST]:
            turns[number] = Turns(failed=f"its own timer gave {strange[0]:g} s for a call")
    return turns


def _counted(process: Process, suites: Suites, report_progress: ReportProgress) -> dict[str, StoredSuite]:
    """Run every selected case that counts something, once."""
    of_suites: dict[str, StoredSuite] = {}
    jobs = [(benchmark, index) for benchmark in suites.values() for index in benchmark.selected.values()]
    for done, (benchmark, index) in enumerate(jobs):
        report_progress(done / len(jobs), benchmark.name)
        suite = of_suites.setdefault(benchmark.name, benchmark.stored())
        answer = process.ask(benchmark.longest, value=benchmark.name, index=index if suite.params else -1)
        if answer.value is not None and launches.can_hold(answer.value):
            suite.values[str(index)] = answer.value
        elif answer.skipped is not None:
            suite.skipped[str(index)] = {ALL: answer.skipped}
        else:
            reason = answer.failed or f"it returned {answer.value}, beyond {launches.LARGEST_VALUE:g} or its inverse"
            suite.failed[str(index)] = {ALL: reason}
        if not benchmark.spec.shipped:
            process.end_fork()
    process.end_fork()
    return of_suites


def document(programs: Sequence[Program], machine: str, began: datetime, seconds: float, **fields: Any) -> Launch:
    """Return a launch; seconds : that it took by the steady clock, as the other one may step back."""
    first, *others = (program.provenance for program in programs)
    shared = {name: value for name, value in first.items() if all(name in each and each[name] == value for each in others)}
    sides = [
        StoredSide(sha=sha, environment=environment, revision=revision, provenance={name: own[name] for name in own if name not in shared})
        for (sha, environment, revision), own in ((program.place, program.provenance) for program in programs)
    ]
    return Launch(
        version=launches.VERSION,
        id=launches.new_id(began),
        started=began.isoformat(timespec="seconds"),
        ended=(began + timedelta(seconds=seconds)).isoformat(timespec="seconds"),
        machine=machine,
        sides=sides,
        provenance=shared,
        **fields,
    )


def stored(suites: Suites, by_case: Mapping[tuple[str, int], Sequence[Turns]]) -> dict[str, StoredSuite]:
    """Return suites as a launch stores them: of each case the mean of all sides, and by how much each differs from it."""
    of_suites: dict[str, StoredSuite] = {}
    for (name, index), turns in sorted(by_case.items()):
        suite = of_suites.setdefault(name, suites[name].stored())
        for reasons, place in (([each.skipped for each in turns], suite.skipped), ([each.failed for each in turns], suite.failed)):
            if by_side := {str(number): reason for number, reason in enumerate(reasons) if reason is not None}:
                place[str(index)] = {ALL: by_side["0"]} if len({*reasons}) == 1 else by_side
        logs = [log(usual(each.seconds)) if each.seconds else None for each in turns]
        if there := [each for each in logs if each is not None]:
            mean, first = fmean(there), next(each for each in turns if each.seconds)
            suite.rows[str(index)] = Row(
                seconds=float(f"{exp(mean):.6g}"),
                calls=first.calls,
                turns=len(first.seconds),
                effects=[None if each is None else round((each - mean) * UNIT) for each in logs],
                in_turns=first.among_methods,
            )
    return of_suites
