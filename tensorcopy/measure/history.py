"""Measure releases for the history: the launches that are missing, then counts and functions, then steps in doubt. Prints nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from time import monotonic

from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import functions, taking
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.taking import Doubt, Missing, Suites
from tensorcopy.results.launches import Launch
from tensorcopy.worker import hardware
from tensorcopy.worker.processes import ReportProgress

OF_DOUBTS = 6  # more launches of a step in doubt


@dataclass
class Taken:
    """What a run has taken.

    launches : of times and counts
    problems : of counts and functions; `Job.failed` has those of environments
    profiled : releases whose functions were counted
    left : launches that are still missing
    """

    launches: list[Launch] = field(default_factory=list)
    problems: list[TensorcopyError] = field(default_factory=list)
    profiled: int = 0
    left: int = 0


def take(
    missing: Missing,
    groups: Sequence[Sequence[Measurement]],
    *,
    together: bool,
    counts: Suites | None,
    with_functions: bool = False,
    doubts: Callable[[], Sequence[Doubt]] | None = None,
    until: float = inf,
    report_progress: ReportProgress,
) -> Taken:
    """Take what is missing of releases.

    groups, together : see `taking.take_missing`
    counts : the suites that count something; None to count nothing
    with_functions : whether functions are counted, where Valgrind is installed
    doubts : judges the results as they are when it is called; None where no launches of steps in doubt are taken
    until : when no further launch begins, on the clock of `time.monotonic`
    """
    job, taken = missing.job, Taken()

    def finish(group: Sequence[Measurement]) -> None:
        own = [each for each in group if each in missing.measurements]
        if counts is None:
            return
        counted, problems = taking.take_counts(own, job, counts, count=missing.launches, until=until, report_progress=report_progress)
        taken.launches += counted
        taken.problems += problems
        if with_functions and not hardware.missing_valgrind() and monotonic() < until:
            written, problems = functions.count_all(functions.not_counted(own, job), job, report_progress)
            taken.problems += problems
            taken.profiled += len(written)

    taken.launches += taking.take_missing(missing, groups, together=together, finish=finish, until=until, report_progress=report_progress)
    taken.left = sum(missing.of(group) for group in groups)
    if doubts and not taken.left and not job.failed:
        taken.launches += taking.take_of_doubts(doubts, job, OF_DOUBTS, until=until, report_progress=report_progress)
    return taken
