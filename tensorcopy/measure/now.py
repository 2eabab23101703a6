"""Compare two environments now: launches of both, until every case is decided or the time is over. Prints nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from time import monotonic

from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import plan, taking
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.progress import Progress
from tensorcopy.measure.taking import Job
from tensorcopy.releases import release_table
from tensorcopy.results import launches
from tensorcopy.results.cases import Case, cases_of

LOOKS = (4, 8, 16, 32, 64)  # launches after which the cases are judged
MACHINE = "here"  # the machine's name in results that are read once
FOLDER = "now"  # beside the environments: what was measured for one answer is not a part of the history


def opened(sides: Sequence[Measurement], job: Job, report_progress: taking.ReportProgress) -> Job:
    """Return a job with a new folder for its launches, and opened environments. Raises TensorcopyError where a side has none."""
    job = replace(job, folder=job.paths.environments.parent / FOLDER / launches.new_id())
    taking.open_all(sides, job, report_progress)
    for error in job.failed.values():
        raise error
    return job


def taker(
    sides: Sequence[Measurement], job: Job, wanted: Callable[[Case], bool], seconds: float, report_progress: taking.ReportProgress
) -> Callable[[int, Sequence[Case]], bool]:
    """Return a function that takes launches of two sides until there are so many, and returns whether there are: see `analysis.looks`.

    wanted : whether a case is measured, where no cases are given
    seconds : after which no launch begins; the first one is always taken

    The function raises TensorcopyError where a side cannot be measured.
    """
    all_cases = [case for case in _cases(job.suites(sides)) if wanted(case)]
    if not all_cases:
        raise TensorcopyError(
            "no case to measure", got="none that --case and --device select", allowed="a timed case", next="tensorcopy list times"
        )
    until, taken = monotonic() + seconds, 0

    def take(look: int, cases: Sequence[Case]) -> bool:
        nonlocal taken
        selected = replace(job, selection=plan.expression_of(sorted(cases or all_cases, key=str)))
        while taken < look and (not taken or monotonic() < until):
            left = max(0.0, until - monotonic())
            report_progress(Progress(f"launch {taken + 1} of at most {LOOKS[-1]}", max(taken / LOOKS[-1], 1 - left / seconds), left))
            taking.take_launches(sides, selected)
            for error in job.failed.values():
                raise error
            taken += 1
        return taken >= look

    return take


def _cases(suites: taking.Suites) -> Iterator[Case]:
    """Yield the selected cases of suites."""
    for name, suite in suites.items():
        of_suite = cases_of(name, tuple(suite["param_names"]), tuple(map(tuple, suite["params"])))
        yield from (of_suite[index] for index in suite["selected"].values())


def sides(names: Sequence[str], pythons: Sequence[str]) -> list[Measurement]:
    """Return what two names such as "2.14.1" or "2.15.0@3.11" are measured as, on the same Python unless a name has one.

    Raises TensorcopyError for a name that is no release, or cannot be installed here, or twice the same.
    """
    releases = [release_table.find(name.partition("@")[0]) for name in names]
    shared = [python for python in pythons if all(release.runs_on(python) for release in releases)]
    chosen = [plan.select([name], shared or pythons)[0][0] for name in names]
    if chosen[0] == chosen[1]:
        raise TensorcopyError(
            "nothing to compare", got=f"{names[0]} and {names[1]}", allowed="two releases or Pythons", next="name another"
        )
    return chosen
