"""Take a launch: processes of several sides, on one core, time each case in turns. Of one side, its methods take turns.

What is left of a launch's error is the layout of each process in memory, which the next launch draws anew: the launch is the independent
unit.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import product
from math import exp, log
from statistics import fmean
from types import MappingProxyType
from typing import Any

from msgspec import UNSET, structs

from tensorcopy.errors import NOWHERE, TensorcopyError, of_text
from tensorcopy.measure.case_turns import SideTurns, time_case, time_methods
from tensorcopy.measure.side_benchmarks import Benchmark, Suites, devices_of, has_own_fork, selected, suites_of_sides
from tensorcopy.measure.side_process import LONGEST_CASE, LONGEST_VALUE, LocalSide, ReportLeft, SideProcess, chance, started, usable_cores
from tensorcopy.results import launches
from tensorcopy.results.cases import beside, device_of
from tensorcopy.results.launches import ALL, UNIT, Launch, Row, Side, Suite
from tensorcopy.worker.processes import ReportProgress, ignore_progress
from tensorcopy.worker.turns import usual

# Bytes of the largest tensor whose case is timed in a fork that takes other cases, too. A larger one may lie in memory that they freed, and
# is then copied without page faults: 2^24 float32 in a third of the time
LARGEST_SHARED = 4 * 2**20


def take(
    sides: Sequence[LocalSide],
    machine: str,
    *,
    selection: str = "",
    newest: bool = False,
    reference: int | None = None,
    core: int | None = None,
    report_progress: ReportProgress = ignore_progress,
    report_left: ReportLeft = lambda name, command: None,
) -> Launch:
    """Let all sides time the cases of a selection in turns, and return the launch.

    With one side, its methods take turns: so they can be compared with each other, where no other side can.

    machine : the name of this one
    selection : a regular expression on asv's names, such as "copies.BySize.time_copy('clone', 1024)"; "" for every timed case
    newest : as for `selected`
    reference : the number of the side that every launch of a run has
    core : to which all sides are pinned; by default one that this process may use, at random, on a system that can

    The cases are those that any of the sides has. Raises TensorcopyError where nothing was timed, and SideFailed.
    """
    core = chance.choice(usable_cores()) if core is None else core
    now = datetime.now(timezone.utc)
    with started(sides, core) as processes:
        suites, of_side = suites_of_sides(sides, processes)
        suites = selected(suites, selection, devices_of(sides), newest=newest)
        by_case: dict[tuple[str, int], Sequence[SideTurns]] = {}
        jobs = _jobs(suites, of_side)
        of_all = sum(len(job.cases) for of_device in jobs for job in of_device)
        for of_device in jobs:
            for job in of_device:
                report_progress(len(by_case) / of_all, job.suite)
                suite = suites[job.suite]
                for text, turns in zip(job.cases, _time_job(processes, job, suite, of_side)):
                    by_case[job.suite, suite.selected[text]] = turns
                    if full := of_text(" ".join(each.failed for each in turns if each.failed), NOWHERE):
                        raise full  # the case is not at fault
                for process in processes:
                    process.report_left(job.suite, report_left)
            for process in processes:
                process.end_fork()  # no other device's cases run beside this one's context
    of_sides = [each for turns in by_case.values() for each in turns]
    if not any(each.seconds for each in of_sides):
        reasons = dict.fromkeys(reason for each in of_sides for reason in (each.failed, each.skipped) if reason)
        raise TensorcopyError(
            "nothing was timed",
            got="; ".join([*reasons][:3]) or f"no case that matches {selection!r}",
            allowed="a timed case that can run here",
            next="correct what fails, or select other cases with --bench",
        )
    return document(sides, suites, by_case, machine=machine, reference=reference, **_times(now))


@dataclass(frozen=True)
class _Job:
    """A case by name, which all sides time in turns; or several of one side, which take turns.

    alone : whether it has a fork for itself: of an unknown suite, and of large tensors. The others of a device share one.
    """

    suite: str
    cases: list[str]
    alone: bool


def _jobs(suites: Suites, of_side: Sequence[Mapping[str, int]]) -> list[list[_Job]]:
    """Return the selected cases that a side has, by device, in random order."""
    jobs: dict[str, dict[Hashable, _Job]] = {}
    for name, suite in suites.items():
        for (text, nbytes), values in zip(suite.sizes.items(), product(*suite.params)):
            if text in suite.selected and any(text in places for places in of_side):
                parameters, alone = dict(zip(suite.param_names, values)), has_own_fork(name) or nbytes > LARGEST_SHARED
                together = (name, text) if alone or len(of_side) > 1 else beside(name, parameters)
                of_device = jobs.setdefault(device_of(name, parameters), {})
                of_device.setdefault(together, _Job(name, [], alone)).cases.append(text)
    return [chance.sample([*of_device.values()], len(of_device)) for of_device in chance.sample([*jobs.values()], len(jobs))]


def _time_job(
    processes: Sequence[SideProcess], job: _Job, suite: Benchmark, of_side: Sequence[Mapping[str, int]]
) -> list[Sequence[SideTurns]]:
    """Return what each side gave for each case of a job."""
    longest = suite.longest(LONGEST_CASE)
    if len(job.cases) > 1:
        turns = time_methods(processes[0], job.suite, [of_side[0][text] for text in job.cases], longest)
        return [[each] for each in turns]
    indices = [of_one.get(job.cases[0]) for of_one in of_side]
    if suite.refused:
        return [[SideTurns() if index is None else SideTurns(failed=suite.refused) for index in indices]]
    return [time_case(processes, job.suite, indices, longest, alone=job.alone)]


def count(
    side: LocalSide,
    machine: str,
    *,
    selection: str = "",
    observed: Mapping[str, Any] = MappingProxyType({}),
    report_progress: ReportProgress = ignore_progress,
    report_left: ReportLeft = lambda name, command: None,
) -> Launch:
    """Run every benchmark of a selection that counts something, once, and return the launch. Raises SideFailed.

    observed : the report of the environment's probe, with what its methods were observed to do
    """
    now = datetime.now(timezone.utc)
    stored: dict[str, Suite] = {}
    with started([side]) as (process,):
        suites = selected(suites_of_sides([side], [process])[0], selection, devices_of([side]), timed=False)
        jobs = [(benchmark, index) for benchmark in suites.values() for index in benchmark.selected.values()]
        for done, (benchmark, index) in enumerate(jobs):
            name = benchmark.name
            report_progress(done / len(jobs), name)
            suite = stored.setdefault(name, benchmark.stored())
            if benchmark.refused:
                suite.failed[str(index)] = {ALL: benchmark.refused}
                continue
            process.begin({"value": name, "index": index if suite.params else -1})
            answer = process.answer(benchmark.longest(LONGEST_VALUE))
            if "value" in answer and launches.can_hold(answer["value"]):
                suite.values[str(index)] = answer["value"]
            elif "value" in answer:
                suite.failed[str(index)] = {ALL: f"it returned {answer['value']:g}, beyond {launches.LARGEST_VALUE:g} or its inverse"}
            else:
                (suite.skipped if "skipped" in answer else suite.failed)[str(index)] = {ALL: process.reason(answer)}
            if has_own_fork(name):
                process.end_fork()
                process.report_left(name, report_left)
    taken = document([side], {}, {}, machine=machine, **_times(now))
    return structs.replace(taken, kind="counts", suites=stored, methods=observed.get("methods", {}), article=observed.get("article", {}))


def _times(start: datetime) -> dict[str, Any]:
    """Return what a launch that began then and has ended says about its time."""
    ended = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"id": launches.new_id(start), "started": start.isoformat(timespec="seconds"), "ended": ended}


def document(
    sides: Sequence[LocalSide],
    suites: Suites,
    by_case: Mapping[tuple[str, int], Sequence[SideTurns]],
    *,
    machine: str,
    id: str,
    started: str,
    ended: str,
    reference: int | None = None,
) -> Launch:
    """Return the launch of these turns, of each case by side."""
    shared, own = launches.shared_provenance([side.provenance for side in sides])
    stored: dict[str, Suite] = {}
    for (name, index), turns in sorted(by_case.items()):
        suite = stored.setdefault(name, suites[name].stored())
        for reasons, place in (([each.skipped for each in turns], suite.skipped), ([each.failed for each in turns], suite.failed)):
            if by_side := {str(number): reason for number, reason in enumerate(reasons) if reason is not None}:
                place[str(index)] = {ALL: by_side["0"]} if len({*reasons}) == 1 else by_side
        if any(each.seconds for each in turns):
            suite.rows[str(index)] = _row(turns)
    return Launch(
        version=launches.VERSION,
        kind="times",
        id=id,
        started=started,
        ended=ended,
        machine=machine,
        sides=[Side(sha=side.sha, environment=side.environment, revision=side.revision, provenance=each) for side, each in zip(sides, own)],
        reference=UNSET if reference is None else reference,
        provenance=shared,
        suites=stored,
    )


def _row(turns: Sequence[SideTurns]) -> Row:
    """Return a case's row: the mean of all sides, and by how much each differs from it."""
    logs = [log(usual(each.seconds)) if each.seconds else None for each in turns]
    mean, first = fmean(each for each in logs if each is not None), next(each for each in turns if each.seconds)
    return Row(
        seconds=float(f"{exp(mean):.6g}"),
        calls=first.calls,
        turns=len(first.seconds),
        effects=[None if each is None else round((each - mean) * UNIT) for each in logs],
        in_turns=first.among_methods,
    )
