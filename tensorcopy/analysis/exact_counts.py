"""Judge by exact counts: instructions, bytes and allocations.

A count does not depend on when it is taken, so it is evidence before the clock is. Where a count changed, the case changed, unless the
clock shows the opposite direction significantly. Where it did not and the interval of the time contains no change, the case is unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import log
from statistics import median

from tensorcopy.analysis.change_points import Step
from tensorcopy.analysis.two_sample import Change, CountPair, Reason, Verdict
from tensorcopy.results import related
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result

LEAST = 0.01  # relative; repeated counts of instructions differ by less
REPEATS = 2  # a change is at least so many times the repeatability
UNREPEATED = 0.005  # repeatability where a case was counted once in every result: of half of the cases it is better, of all 1.2 %
ROUNDED = 1e-4  # counts are stored with five digits
WIDEST = 0.25  # half width of a time's interval, above which a count is no evidence that it is unchanged


def repeatability(case: Case, results: Iterable[Result]) -> float:
    """Return by how much repeated counts of a case differ: the median over results.

    case : the counted case
    """
    spreads = [spreads[case] for result in results if case in (spreads := _spreads(result))]
    return max(median(spreads), ROUNDED) if spreads else UNREPEATED


@lru_cache(maxsize=64)  # results: more than a machine has
def _spreads(result: Result) -> dict[Case, float]:
    """Return by how much the counts of a result differ, of each case that was counted repeatedly."""
    by_case = {case: count.spread for case in result.counts if (count := related.count_of(result, case))}
    return {case: spread for case, spread in by_case.items() if spread is not None}


def count_change(before: Result, after: Result, case: Case, others: Sequence[Result] = (), least: float = LEAST) -> CountPair | None:
    """Return the exact counts of a timed or counted case on both sides.

    None where it is not counted on both sides, or on two machines.

    others : results of the same machine, which show the repeatability
    """
    counted = case if case in before.counts else related.counted_case(case)
    first, second = related.count_of(before, case), related.count_of(after, case)
    if counted is None or first is None or second is None or before.series_key.host != after.series_key.host:
        return None
    own = [spread for spread in (first.spread, second.spread) if spread is not None]
    repeats = max([repeatability(counted, [before, after, *others]), *own])
    return CountPair(counted.spec.unit, first.value, second.value, repeats, max(least, REPEATS * repeats))


def with_count(change: Change, count: CountPair | None) -> Change:
    """Return a verdict on a time with the count beside it taken into account."""
    if count is None:
        return change
    change = replace(change, count=count)
    if change.verdict in (Verdict.SLOWER, Verdict.FASTER):
        return change
    if count.changed and not _opposite(change, count):
        return replace(change, verdict=_direction(count), reason=Reason.COUNT_CHANGED, more_passes=None)
    if not count.changed and change.verdict is Verdict.INCONCLUSIVE and _is_around_one(change):
        return replace(change, verdict=Verdict.UNCHANGED, reason=Reason.COUNT_UNCHANGED, more_passes=None)
    return change


def of_count(count: CountPair) -> Change:
    """Return the verdict on a case that is counted and not timed."""
    verdict = _direction(count) if count.changed else Verdict.UNCHANGED
    reason = Reason.COUNT_CHANGED if count.changed else Reason.COUNT_UNCHANGED
    return Change(verdict, reason, count.ratio, before=count.before, after=count.after, count=count, unit=count.unit)


def steps(values: Sequence[float | None], repeats: float, least: float = LEAST) -> list[Step]:
    """Return the changes of a counted case over the releases.

    A change is a count that differs from the one before by `least`, and by `REPEATS` times its repeatability.
    """
    measured = [(index, value) for index, value in enumerate(values) if value]
    changes = [(index, before, after) for (_, before), (index, after) in pairwise(measured)]
    threshold = 1 + max(least, REPEATS * repeats)
    changed = [change for change in changes if max(change[2] / change[1], change[1] / change[2]) >= threshold]
    return [Step(index, before, after, p=0.0, change=after / before) for index, before, after in changed]


def _direction(count: CountPair) -> Verdict:
    return Verdict.SLOWER if count.ratio > 1 else Verdict.FASTER


def _opposite(change: Change, count: CountPair) -> bool:
    """Return whether the interval of the time shows the opposite change."""
    if change.interval is None:
        return False
    low, high = change.interval
    return high < 1 if count.ratio > 1 else low > 1


def _is_around_one(change: Change) -> bool:
    """Return whether the interval contains no change, and is narrow enough to say so."""
    if change.interval is None:
        return False
    low, high = change.interval
    return low <= 1 <= high and log(high / low) / 2 <= log(1 + WIDEST)
