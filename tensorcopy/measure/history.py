"""Measure releases for the history: the launches that are missing, then counts and functions, then steps in doubt. Prints nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf, log
from time import monotonic

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.paired import Change, Reason, Verdict
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import functions, plan, taking
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.taking import Missing, Suites
from tensorcopy.numbers import counted
from tensorcopy.results import reader
from tensorcopy.results.cases import Case
from tensorcopy.results.launches import Launch
from tensorcopy.results.reader import Result
from tensorcopy.results.series_key import by_series
from tensorcopy.worker import hardware
from tensorcopy.worker.processes import ReportProgress

LOOKS, OF_DOUBTS = 2, 6  # at the steps in doubt, since more would find false ones; and more launches of each step

UNPAIRED = (
    "unpaired: measured alone, and compared with unpaired launches only; tensorcopy measure takes turns with a reference, beside an "
    "interpreter with --reference PYTHON"
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
    with_doubts: bool = False,
    until: float = inf,
    report_progress: ReportProgress,
) -> Taken:
    """Take what is missing of releases.

    most : environments on the disk at a time, the reference among them; 0 for all
    counts : the suites that count something; None to count nothing
    with_functions : whether functions are counted, where Valgrind is installed
    with_doubts : whether more launches of the steps in doubt are taken at the end
    until : when no further launch begins, on the clock of `time.monotonic`
    """
    job, taken = missing.job, Taken()
    every = {*missing.measurements, *filter(None, [job.reference])}
    groups = plan.groups(missing.measurements, job.reference, most or len(every))

    def finish(group: Sequence[Measurement]) -> None:
        own = [each for each in missing.measurements if each in group or each == job.reference]  # which is in no group
        if counts is None:
            return
        launches, problems = taking.take_counts(own, job, counts, count=missing.launches, until=until, report_progress=report_progress)
        taken.launches += launches
        taken.problems += problems
        if with_functions and not hardware.missing_valgrind() and monotonic() < until:
            written, problems = functions.count_all(functions.not_counted(own, job), job, report_progress)
            taken.problems += problems
            taken.profiled += len(written)

    together = len(every) <= (most or len(every))
    taken.launches += taking.take_missing(missing, groups, together=together, finish=finish, until=until, report_progress=report_progress)
    taken.left = sum(missing.of(group) for group in groups)
    if with_doubts and not taken.left and not job.failed:
        taken.launches += _take_of_doubts(missing, until, report_progress)
    if job.reference and job.reference in job.failed and job.reference not in missing.measurements:
        taken.without = [job.failed.pop(job.reference)]
    taken.problems = [*dict.fromkeys(job.failed.values()), *taken.problems]
    return taken


def _take_of_doubts(missing: Missing, until: float, report_progress: ReportProgress) -> list[Launch]:
    """Take more launches of the steps in doubt between the measured releases, of only their cases, at most `LOOKS` times.

    Two fixed looks: measuring until a difference is significant would make any difference significant.
    """
    job, taken = missing.job, list[Launch]()
    by_place = {each.place: each for each in missing.measurements}
    for look in range(LOOKS):
        results = [each for each in reader.load_results(job.results).results if each.machine == job.machine and each.place in by_place]
        steps = list(_in_doubt(results, missing.launches))
        for number, (before, after, cases) in enumerate(steps):
            if monotonic() >= until:
                return taken
            sides = [by_place[each.place] for each in (before, after)]
            names = " and ".join(f"torch {each.release.version}" for each in sides)
            report_progress(number / len(steps), f"{names}, in doubt ({look + 1} of {LOOKS})")
            own = replace(job, selection=plan.expression_of(cases))
            taken += taking.take_launches(sides, own, count=OF_DOUBTS, until=until)
    return taken


def _in_doubt(results: Sequence[Result], launches: int) -> Iterator[tuple[Result, Result, list[Case]]]:
    """Yield each two neighbours of a history between which some cases are in doubt, with these cases.

    launches : that a step must have
    """
    for series in by_series(results).values():
        for before, after in pairwise(series):
            changes = comparisons.between(before, after).changes
            if cases := [case for case, change in changes.items() if _is_in_doubt(change, launches)]:
                yield before, after, cases


def _is_in_doubt(change: Change, launches: int) -> bool:
    """Return whether a change looks as large as the margin and is undecided, or was decided by few launches."""
    if not change.timed or min(change.launches) >= launches + LOOKS * OF_DOUBTS:
        return False
    if change.verdict is Verdict.UNKNOWN:
        return change.reason is Reason.INTERVAL_TOO_WIDE and abs(log(change.size)) >= log(1 + change.margin)
    return change.reason is Reason.CHANGED and min(change.launches) < launches
