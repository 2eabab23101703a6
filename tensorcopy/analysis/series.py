"""The history of each case over the releases, of times and of exact counts.

A release has wheels for some Pythons only, so no Python reaches from the oldest release to the newest. `joined` puts two of them on one
axis: where both measured a release, the older Python's earlier values are scaled by the ratio of the two there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import sqrt
from statistics import median

from tensorcopy.analysis import change_points, comparisons, exact_counts
from tensorcopy.analysis.change_points import Step
from tensorcopy.releases import release_table
from tensorcopy.results import passes, related, select
from tensorcopy.results.noise import scaled_deviations
from tensorcopy.results.passes import Case, Timing
from tensorcopy.results.reader import Result

MEDIANS = 1.253  # standard error of a median of normal values over that of their mean, √(π/2)
ODD = 3.0  # times the typical deviation, from which a release's own is used: a few passes estimate it badly
DISPATCHER = 2**14  # elements up to which the dispatcher, not the memory, decides what a copy costs


@dataclass(frozen=True)
class Joint:
    """The release at which the axis passes from an older Python to a newer one.

    index : of the first release on the newer Python
    factor : by which the older Python's values before it are scaled to the newer one's; joints further on scale them again
    older : the older Python's result of that release
    """

    index: int
    factor: float
    older: Result


@dataclass(frozen=True)
class CaseSeries:
    """One case over the releases of the table, on one machine and build.

    on : the machine, Python and build
    unit : of the values
    results : of each release
    values : None for a release that was not measured
    spreads : each value's relative standard error
    joints : where values of an older Python are scaled
    """

    case: Case
    on: str
    unit: str
    releases: tuple[str, ...]
    results: tuple[Result, ...]
    values: tuple[float | None, ...]
    spreads: tuple[float, ...]
    steps: tuple[Step, ...]
    joints: tuple[Joint, ...] = ()

    @property
    def measured(self) -> tuple[float | None, ...]:
        """The values as measured, each on its own Python."""
        return tuple(value / self.scale(index) if value is not None else None for index, value in enumerate(self.values))

    def sides(self, step: Step) -> tuple[Result, Result]:
        """Return the results between which a step lies, both of one Python."""
        before = self.results[max(index for index in range(step.index) if self.values[index] is not None)]
        after = self.results[step.index]
        if before.python != after.python:
            return before, next(joint.older for joint in self.joints if joint.index == step.index)
        return before, after

    def scale(self, index: int) -> float:
        """Return the factor by which the value at an index is scaled."""
        factor = 1.0
        for joint in self.joints:
            factor *= joint.factor if index < joint.index else 1.0
        return factor


def series_by_case(results: Sequence[Result], machine: str = "", python: str = "") -> dict[Case, CaseSeries]:
    """Return the history of each case on one machine, by default on all its Pythons joined.

    By default of the history that `select.history` chooses. Raises TensorcopyError.
    """
    return joined(select.history(results, machine, python))


def joined(axes: Sequence[Sequence[Result]]) -> dict[Case, CaseSeries]:
    """Return the history of each case over several Pythons.

    axes : for each Python, the newest first, its results in order of release
    """
    joined_series = over(axes[0])
    for axis in axes[1:]:
        for case, older in over(axis).items():
            newer = joined_series.get(case)
            extended = _extended(newer, older) if newer else None
            if extended:
                joined_series[case] = extended
            elif newer is None:
                joined_series[case] = older
    return joined_series


def _extended(newer: CaseSeries, older: CaseSeries) -> CaseSeries | None:
    """Return a series with an older Python's earlier releases before it.

    None where the older Python has no earlier release, or shares none that was measured on both.
    """
    first = next((index for index, value in enumerate(newer.values) if value is not None), None)
    if first is None:
        return None
    place = {release: index for index, release in enumerate(older.releases)}.get(newer.releases[first])
    shared = older.values[place] if place is not None else None
    if place is None or not shared or not any(value is not None for value in older.values[:place]):
        return None
    factor = (newer.values[first] or shared) / shared
    tail = slice(first, None)
    values = (*(value * factor if value is not None else None for value in older.values[:place]), *newer.values[tail])
    spreads = (*older.spreads[:place], *newer.spreads[tail])
    extended = replace(
        newer,
        on=f"{newer.on}, before torch {newer.releases[first]} Python {older.results[0].python} (scaled)",
        releases=(*older.releases[:place], *newer.releases[tail]),
        results=(*older.results[:place], *newer.results[tail]),
        values=values,
        spreads=spreads,
        joints=(
            Joint(place, factor / newer.scale(first), older.results[place]),
            *(replace(j, index=j.index + place - first) for j in newer.joints),
        ),
    )
    return replace(extended, steps=_steps(newer.case, values, spreads, extended.results))


def releases_of(all_series: Iterable[CaseSeries]) -> list[str]:
    """Return every release of some series, in order of version: a series may have only some of them."""
    return release_table.in_order({release for each in all_series for release in each.releases})


def cases(axes: Sequence[Sequence[Result]]) -> tuple[Case, ...]:
    """Return the cases of `joined`, in its order: without their histories, which take long.

    The newest result's cases come first, timed ones before counted ones.
    """
    return tuple(dict.fromkeys(case for axis in axes for case in _cases(axis)))


def _cases(results: Sequence[Result]) -> list[Case]:
    timed = dict.fromkeys(case for result in reversed(results) for case in result.timings)
    counted = dict.fromkeys(case for result in reversed(results) for case, value in result.counts.items() if value > 0)
    return [*(case for case in timed if case.spec.torch), *counted]


def over(results: Sequence[Result]) -> dict[Case, CaseSeries]:
    """Return the history of each case over results in order of release."""
    return dict(_over(tuple(results)))


@lru_cache(maxsize=8)  # series: a machine has a few, and each is asked for alone and joined with others
def _over(results: tuple[Result, ...]) -> dict[Case, CaseSeries]:
    newest = results[-1]
    on = f"{newest.provenance['cpu']} ({newest.machine}), Python {newest.python}, {newest.series_key.build} build"
    releases = tuple(map(comparisons.version, results))
    return {case: _case_series(case, on, releases, results) for case in _cases(results)}


def _case_series(case: Case, on: str, releases: tuple[str, ...], results: tuple[Result, ...]) -> CaseSeries:
    values, spreads = (_of_times if case.spec.timed else _of_counts)(case, results)
    return CaseSeries(case, on, case.spec.unit, releases, results, values, spreads, _steps(case, values, spreads, results))


def _of_counts(case: Case, results: Sequence[Result]) -> tuple[tuple[float | None, ...], tuple[float, ...]]:
    by_result = [related.count_of(result, case) for result in results]
    spread = exact_counts.repeatability(case, results)
    return tuple(count.value if count and count.value > 0 else None for count in by_result), (spread,) * len(results)


def _of_times(case: Case, results: Sequence[Result]) -> tuple[tuple[float | None, ...], tuple[float, ...]]:
    timings = [result.timings.get(case) for result in results]
    used = [len(passes.samples_used(timing.by_pass)) if timing and timing.by_pass else 1 for timing in timings]
    typical = _deviation(timings)
    own = [_deviation([timing]) for timing in timings]
    deviations = [deviation if deviation > ODD * typical else typical for deviation in own]
    spreads = tuple(MEDIANS * deviation / sqrt(count) for deviation, count in zip(deviations, used))
    return tuple(timing.median if timing else None for timing in timings), spreads


def _steps(case: Case, values: Sequence[float | None], spreads: Sequence[float], results: Sequence[Result]) -> tuple[Step, ...]:
    """Return the changes of level: of times as detected, of counts exactly."""
    if case.spec.timed:
        return tuple(change_points.steps(values, spreads))
    return tuple(exact_counts.steps(values, exact_counts.repeatability(case, results)))


def _deviation(timings: Iterable[Timing | None]) -> float:
    """Return the relative standard deviation of a case's passes, pooled over results."""
    deviations, _ = scaled_deviations([timing.logs for timing in timings if timing])
    return median(deviations) / change_points.NORMAL_MAD if deviations else 0.0
