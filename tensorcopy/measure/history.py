"""Measure releases for the history: the launches that are missing, more of inexact cases, then counts and functions. Prints nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import exp, inf, log
from time import monotonic

from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import Change
from tensorcopy.measure import plan, profiling, taking
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.taking import Missing, Suites
from tensorcopy.numbers import counted
from tensorcopy.results.cases import Case
from tensorcopy.results.launches import Launch
from tensorcopy.results.series_key import by_series
from tensorcopy.worker import hardware
from tensorcopy.worker.processes import ReportProgress

# Half of the interval of a difference of two neighbours above which a case gets as many launches again, up to 2^20 elements and beyond. The
# first halves the undecided cases up to 2^14, which take a third of the time
WIDE, WIDE_LARGE = 0.011, 0.02

UNPAIRED = (
    "unpaired: measured alone, and compared with unpaired launches only; tensorcopy measure takes turns with a reference, and several "
    "--interpreter with each other"
)


@dataclass
class Taken:
    """What a run has taken.

    launches : of times and counts
    problems : of environments, counts and functions
    without : why the reference could not be measured, if it could not
    profiled : releases whose functions were counted
    left : launches that are still missing
    """

    launches: list[Launch] = field(default_factory=list)
    problems: list[TensorcopyError] = field(default_factory=list)
    without: list[TensorcopyError] = field(default_factory=list)
    profiled: int = 0
    left: int = 0

    def notes(self, until: float) -> list[str]:
        """Return what a user has to know of a run that began no launch after `until`."""
        left = f"stopped at the end of its time: {counted(self.left, 'launch')} left; the same command takes them"
        is_unpaired = any(each.kind == "times" and len(each.sides) == 1 for each in self.launches)
        return [*([UNPAIRED] if is_unpaired else []), *([left] if self.left and monotonic() >= until else [])]


def take(
    missing: Missing,
    *,
    most: int = 0,
    counts: Suites | None,
    with_functions: bool = False,
    twice: bool = False,
    parallel: int = 1,
    until: float = inf,
    report_progress: ReportProgress,
) -> Taken:
    """Take what is missing of releases.

    most : environments on the disk at a time, the reference among them; 0 for all
    counts : the suites that count something; None to count nothing
    with_functions : whether functions are counted, where Valgrind is installed
    twice : whether inexact cases get as many launches again
    parallel : launches at a time
    until : when no further launch begins, on the clock of `time.monotonic`
    """
    job, taken = missing.job, Taken()
    every = {*missing.measurements, *filter(None, [job.reference])}
    groups = plan.groups(missing.measurements, job.reference, most or len(every))

    def finish(group: Sequence[Measurement]) -> None:
        own = [each for each in missing.measurements if each in group or each == job.reference]  # which is in no group
        if twice and monotonic() < until and not missing.of(group):
            of_group = plan.groups(own, job.reference, most or len(every))
            taken.launches += _take_of_wide(missing, of_group, parallel, until, report_progress)
        if counts is None:
            return
        launches, problems = taking.take_counts(own, job, counts, count=missing.launches, until=until, report_progress=report_progress)
        taken.launches += launches
        taken.problems += problems
        if with_functions and not hardware.missing_valgrind() and monotonic() < until:
            written, problems = profiling.count_all(profiling.not_counted(own, job), job, report_progress)
            taken.problems += problems
            taken.profiled += len(written)

    together = len(every) <= (most or len(every))
    taken.launches += taking.take_missing(
        missing, groups, together=together, finish=finish, parallel=parallel, until=until, report_progress=report_progress
    )
    taken.left = sum(missing.of(group) for group in groups)
    if job.reference and job.reference in job.failed and job.reference not in missing.measurements:
        taken.without = [job.failed.pop(job.reference)]
    taken.problems = [*dict.fromkeys(job.failed.values()), *missing.problems, *taken.problems]
    return taken


def _take_of_wide(
    missing: Missing, groups: Sequence[Sequence[Measurement]], parallel: int, until: float, report_progress: ReportProgress
) -> list[Launch]:
    """Take as many launches again of the cases that are inexact between two neighbours of these groups.

    A case is chosen by the width of its interval, whatever the difference is: a choice by the verdict would have to share the chance of a
    false alarm.
    """
    job, sides = missing.job, {each.place for group in groups for each in group}
    results = [each for each in job.read().results if each.machine == job.machine and each.place in sides]
    wide = {
        case
        for series in by_series(results).values()
        for before, after in pairwise(series)
        for case, change in comparisons.between(Question(before, after, job.campaign.verdicts)).changes.items()
        if _is_wide(case, change)
    }
    if not wide:
        return []
    own = replace(job, selection=plan.expression_of(sorted(wide, key=str)))
    again = Missing(missing.measurements, own, 2 * missing.launches, own.suites([each for group in groups for each in group]))
    taken = taking.take_missing(again, groups, together=True, parallel=parallel, until=until, report_progress=report_progress)
    missing.problems += again.problems
    return taken


def _is_wide(case: Case, change: Change) -> bool:
    """Return whether a difference is less exact than the history shall be."""
    if not (change.timed and change.interval and min(change.launches) > 1):
        return False
    half = exp(log(change.interval[1] / change.interval[0]) / 2) - 1
    return half > (WIDE_LARGE if comparisons.kind(case)[1] == len(comparisons.KINDS) else WIDE)
