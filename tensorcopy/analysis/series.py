"""The history of each case over the releases, and the changes by release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from statistics import median

from tensorcopy.analysis import change_points, comparisons
from tensorcopy.analysis.change_points import Step
from tensorcopy.releases import release_table
from tensorcopy.results import passes, select
from tensorcopy.results.load import Case, Result
from tensorcopy.results.noise.spread import scaled_deviations

MEDIANS = 1.253  # standard error of a median of normal values over that of their mean, √(π/2)
DISPATCHER = 2**14  # elements up to which the dispatcher, not the memory, decides what a copy costs


@dataclass(frozen=True)
class CaseSeries:
    """One case over the releases of the table, on one machine, Python and build.

    on : the machine, Python and build
    values : seconds; None for a release that was not measured
    spreads : each value's relative standard error
    """

    case: Case
    on: str
    releases: tuple[str, ...]
    values: tuple[float | None, ...]
    spreads: tuple[float, ...]
    steps: tuple[Step, ...]


def series_by_case(results: Sequence[Result], machine: str = "", python: str = "") -> dict[Case, CaseSeries]:
    """Return the history of each case on one machine and Python.

    By default on those that were measured last. Raises TensorcopyError.
    """
    newest = select.newest(results, machine=machine, python=python)
    same = [result for result in results if (result.machine, result.python, result.build) == (newest.machine, newest.python, newest.build)]
    by_sha = {result.sha: result for result in same}
    return over([by_sha[row.sha] for row in release_table.load() if row.sha in by_sha])


def over(results: Sequence[Result]) -> dict[Case, CaseSeries]:
    """Return the history of each case over results in order of release.

    The newest result's cases come first.
    """
    newest = results[-1]
    cases = dict.fromkeys(case for result in reversed(results) for case in result.timings)
    on = f"{newest.provenance['cpu']} ({newest.machine}), Python {newest.python}, {newest.build} build"
    releases = tuple(map(comparisons.version, results))
    return {case: _case_series(case, on, releases, results) for case in cases if not case.suite.startswith(comparisons.WITHOUT_TORCH)}


def _case_series(case: Case, on: str, releases: tuple[str, ...], results: Sequence[Result]) -> CaseSeries:
    timings = [result.timings.get(case) for result in results]
    values = tuple(timing.median if timing else None for timing in timings)
    counts = [len(passes.samples_used(timing.by_pass)) if timing and timing.by_pass else 1 for timing in timings]
    deviation = _typical_deviation(results, case)
    spreads = tuple(MEDIANS * deviation / sqrt(count) for count in counts)
    return CaseSeries(case, on, releases, values, spreads, tuple(change_points.steps(values, spreads)))


def _typical_deviation(results: Sequence[Result], case: Case) -> float:
    """Return the relative standard deviation of a case's passes.

    It is pooled over releases, since a few passes estimate it badly.
    """
    deviations, _ = scaled_deviations([result.timings[case].logs for result in results if case in result.timings])
    return median(deviations) / change_points.NORMAL_MAD if deviations else 0.0


@dataclass(frozen=True)
class ReleaseChange:
    """Cases that changed in the same direction at one release.

    device : of these cases
    small : whether their tensors have up to 2¹⁴ elements
    of : number of such cases
    ratio : the median of their ratios
    most : the case that changed most, and its step
    """

    release: str
    device: str
    small: bool
    verdict: str
    cases: tuple[Case, ...]
    of: int
    ratio: float
    most: tuple[Case, Step]


def changes_by_release(by_case: Mapping[Case, CaseSeries]) -> list[ReleaseChange]:
    """Return the changes of many cases, in order of release."""
    kinds: dict[tuple[str, bool], list[Case]] = {}
    for case in by_case:
        small = int(dict(case.parameters).get("numel", "0")) <= DISPATCHER
        kinds.setdefault((case.device, small), []).append(case)
    releases = next(iter(by_case.values())).releases if by_case else ()
    changes = []
    for index, release in enumerate(releases):
        for kind, cases in kinds.items():
            for group in change_points.grouped({case: by_case[case].steps for case in cases}, index):
                steps = {case: step for case in group.cases for step in by_case[case].steps if step.index == index}
                most = max(steps, key=lambda case: abs(log(steps[case].ratio)))
                changes.append(ReleaseChange(release, *kind, group.verdict, group.cases, len(cases), group.ratio, (most, steps[most])))
    return changes
