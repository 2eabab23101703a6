"""Measure releases for the history: the launches that are missing, more of inexact cases, then counts and functions. Prints nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import pairwise
from math import exp, log
from typing import Any

from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import Change
from tensorcopy.measure import plan, taking
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.side_benchmarks import Suites
from tensorcopy.measure.taking import Job, Missing
from tensorcopy.numbers import counted
from tensorcopy.releases import interpreters
from tensorcopy.releases.environments import Environment
from tensorcopy.results import function_profiles, suite_specs
from tensorcopy.results.cases import Case
from tensorcopy.results.launches import Launch, Place
from tensorcopy.worker import hardware

# Half of the interval of a difference of two neighbours above which a case gets as many launches again, up to 2^20 elements and beyond. The
# first halves the undecided cases up to 2^14, which take a third of the time
WIDE, WIDE_LARGE = 0.011, 0.02

ALONE = (
    "measured alone: its methods are ranked, and it is compared with no other release; tensorcopy measure takes turns with a reference, "
    "and several --interpreter with each other"
)


@dataclass(frozen=True)
class Taken:
    """What a run has taken.

    launches : of times and counts
    problems : of environments, launches, counts and functions
    without : why the reference could not be measured, if it could not
    profiled : the number of releases whose functions were counted
    notes : what a user has to know of it
    """

    launches: Sequence[Launch]
    problems: Sequence[TensorcopyError]
    without: Sequence[TensorcopyError]
    profiled: int
    notes: Sequence[str]


def take(
    missing: Missing,
    *,
    newest: Missing | None = None,
    most: int = 0,
    counts: Suites | None,
    with_functions: bool = False,
    twice: bool = False,
    parallel: int = 1,
) -> Taken:
    """Take what is missing of releases.

    newest : what is missing of the suites with which only the newest release is timed
    most : environments on the disk at a time, the reference among them; 0 for all
    counts : the suites that count something; None to count nothing
    with_functions : whether functions are counted, where Valgrind is installed
    twice : whether inexact cases get as many launches again
    parallel : launches at a time
    """
    job = missing.job
    launches, problems, profiled = list[Launch](), list[TensorcopyError](), list[Measurement]()
    every = {*missing.measurements, *filter(None, [job.reference])}
    groups = plan.groups(missing.measurements, job.reference, most or len(every))

    def finish(group: Sequence[Measurement]) -> None:
        own = [each for each in missing.measurements if each in group or each == job.reference]  # which is in no group
        if newest and newest.measurements[0] in own and not job.is_over:
            alone = plan.groups(newest.measurements, job.reference, 2)
            keep(*taking.take_missing(newest, alone, together=True, parallel=parallel))
        if twice and not job.is_over and not missing.of(group):
            keep(*_take_of_wide(missing, plan.groups(own, job.reference, most or len(every)), parallel))
        if counts is None:
            return
        keep(*taking.take_counts(own, job, counts, count=missing.launches))
        if with_functions and not hardware.missing_valgrind() and not job.is_over:
            of_functions, failed = _take_functions(without_functions(own, job), job)
            profiled.extend(of_functions)
            problems.extend(failed)

    def keep(taken: Sequence[Launch], failed: Sequence[TensorcopyError]) -> None:
        launches.extend(taken)
        problems.extend(failed)

    together = len(every) <= (most or len(every))
    keep(*taking.take_missing(missing, groups, together=together, finish=finish, parallel=parallel))
    is_without = job.reference is not None and job.reference in job.sides.failed and job.reference not in missing.measurements
    without = [job.sides.failed.pop(job.reference)] if job.reference and is_without else []
    notes = [f"{name} left a process running, which was ended: {command}" for name, command in job.sides.left.items()]
    notes += [f"a new history begins: {each.name} ({each.conditions})" for each in job.sides.begun]
    if any(each.kind == "times" and len(each.sides) == 1 for each in launches):
        notes.append(ALONE)
    if job.is_over and (left := sum(missing.of(group) for group in groups) + (newest.of(newest.measurements) if newest else 0)):
        notes.append(f"stopped at the end of its time: {counted(left, 'launch')} left; the same command takes them")
    return Taken(launches, [*dict.fromkeys(job.sides.failed.values()), *problems], without, len(profiled), notes)


def outlook_of_counts(missing: Missing, suites: Suites, *, with_functions: bool) -> list[str]:
    """Return what a run will count after its launches: releases and minutes, and of how many the functions; nothing where none lacks any.

    suites : that count something; with_functions : as in `take`
    """
    job, lines = missing.job, list[str]()
    rounds = taking.rounds_of_counts(suites, missing.launches)
    lacking = [taking.uncounted(missing.measurements, job, each, number) for number, each in enumerate(rounds, start=1)]
    if releases := {each for of_round in lacking for each in of_round}:
        seconds = sum(len(of_round) * plan.seconds_of_counts(each) for of_round, each in zip(lacking, rounds))
        lines.append(f"then counts of {counted(len(releases), 'release')}: {plan.minutes(seconds, suites)}")
    if with_functions and not hardware.missing_valgrind():
        profiled = {name: suite for name, suite in {**missing.suites, **suites}.items() if _is_profiled(name)}
        if left := without_functions(missing.measurements, job, will_be_counted=bool(profiled)):
            minutes = plan.minutes(len(left) * plan.seconds_of_counts(profiled), profiled)
            lines.append(f"then functions of {counted(len(left), 'release')}: {minutes}")
    return lines


def _take_of_wide(missing: Missing, groups: Sequence[Sequence[Measurement]], parallel: int) -> tuple[list[Launch], list[TensorcopyError]]:
    """Take as many launches again of the cases that are inexact between two neighbours of these groups; return them, and the errors.

    A case is chosen by the width of its interval, whatever the difference is: a choice by the verdict would have to share the chance of a
    false alarm.
    """
    job, sides = missing.job, {each.place for group in groups for each in group}
    wide = {
        case
        for history in job.own()
        for before, after in pairwise(result for result in history.results if result.place in sides)
        for case, change in comparisons.between(Question(before, after, job.campaign.rules)).changes.items()
        if _is_wide(case, change)
    }
    if not wide:
        return [], []
    own = replace(job, selection=plan.expression_of(sorted(wide, key=str)))
    again = Missing(missing.measurements, own, 2 * missing.launches, own.suites([each for group in groups for each in group]))
    return taking.take_missing(again, groups, together=True, parallel=parallel)


def _is_wide(case: Case, change: Change) -> bool:
    """Return whether a difference is less exact than the history shall be."""
    if not (change.timed and change.interval and min(change.launches) > 1):
        return False
    half = exp(log(change.interval[1] / change.interval[0]) / 2) - 1
    return half > (WIDE_LARGE if comparisons.kind(case)[1] == len(comparisons.KINDS) else WIDE)


def without_functions(measurements: Sequence[Measurement], job: Job, *, will_be_counted: bool = False) -> list[Measurement]:
    """Return the measurements whose instructions were counted, or whose operations were timed, and whose functions were not counted.

    will_be_counted : whether the run does the first with all of them before
    """
    counted_places: set[Place] = {each.place for each in measurements if will_be_counted}
    for each in job.stored():
        if any(_is_profiled(name) and (suite.values or suite.rows) for name, suite in each.suites.items()):
            counted_places |= {side.place for side in each.sides}
    folders = [history.folder for history in job.own()]

    def is_profiled(place: Place) -> bool:
        return any(function_profiles.paths_of(folder, *place[:2]) for folder in folders)

    return [each for each in measurements if each.place in counted_places and not is_profiled(each.place)]


def _is_profiled(suite: str) -> bool:
    """Return whether the functions of a suite's cases are counted: of what has instructions."""
    return suite_specs.find(suite).metric == suite_specs.INSTRUCTIONS


def _take_functions(measurements: Sequence[Measurement], job: Job) -> tuple[list[Measurement], list[TensorcopyError]]:
    """Count the functions of each release, and write a file of each; return those that have one, and the errors of the others."""
    profiled, problems = list[Measurement](), list[TensorcopyError]()
    for index, measurement in enumerate(measurements):
        job.report_progress(index / len(measurements), f"functions of {measurement}")
        try:
            job.sides.of(measurement)
            history = next(each for each in job.own() if each.conditions.environment == measurement.environment)
            path = function_profiles.path_of(history.folder, *measurement.place[:2])
            function_profiles.write(path, functions(job.sides.opened[measurement], job.campaign.profiler))
            profiled.append(measurement)
        except DiskError:
            raise  # the next file could not be stored either
        except TensorcopyError as error:
            problems.append(error)
    return profiled, problems


def functions(environment: Environment, profiler: str, pattern: str = "") -> dict[str, Any]:
    """Return the functions of an environment's cases, as `results.function_profiles.Profiles` describes them.

    profiler : the probe that counts them
    pattern : a regular expression on the names of cases; default: all

    Raises TensorcopyError where no case runs.
    """
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    document = interpreters.run_probe(environment.python, profiler, pattern, variables=environment.variables())
    if not document["cases"]:
        raise TensorcopyError("no case runs", got=pattern, allowed="a case that this torch runs", next="another release")
    provenance = environment.report["provenance"]
    of_release = {name: provenance[name] for name in ("torch", "torch_sha", "python", "identity", "libc", "tensorcopy")}
    return {"version": function_profiles.VERSION, **of_release, "started": started, **document}
