"""Judge exact counts, such as instructions: by how much repeated ones differ, and whether a count has changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from statistics import median

from tensorcopy.judge.paired import LEAST_COUNT, CountPair
from tensorcopy.results.cases import Case, counted_case
from tensorcopy.results.result import Result

REPEATS = 2  # times the repeatability, at least, is a change of a count
UNREPEATED = 0.005  # repeatability where a case was counted once in every result: of half of the cases it is better, of all 1.2 %
ROUNDED = 1e-4  # relative: counts are stored with five digits


def least_change(repeatability: float = 0.0, *, margin: float | None = None) -> float:
    """Return the smallest relative change of a count that counts as one.

    repeatability : by how much repeated counts of the case differ
    margin : the smallest change that the reader asks for; None for the usual one of counts
    """
    return max(LEAST_COUNT if margin is None else margin, REPEATS * repeatability)


def repeatability(case: Case, results: Iterable[Result]) -> float:
    """Return by how much repeated counts of a counted case differ: the median over results."""
    spreads = [spreads[case] for result in results if case in (spreads := _spreads(result))]
    return max(median(spreads), ROUNDED) if spreads else UNREPEATED


@lru_cache(maxsize=64)  # results: more than a machine has
def _spreads(result: Result) -> dict[Case, float]:
    """Return by how much the counts of a result differ, of each case that was counted repeatedly."""
    by_case = {case: count.spread for case in result.counts if (count := result.count_of(case))}
    return {case: spread for case, spread in by_case.items() if spread is not None}


def pair(before: Result, after: Result, case: Case, others: Sequence[Result] = (), *, margin: float | None = None) -> CountPair | None:
    """Return the exact counts of a timed or counted case on both sides.

    None where it is not counted on both sides, or on two machines.

    others : results of the same machine, which show the repeatability
    margin : see `least_change`
    """
    counted = case if case in before.counts else counted_case(case)
    first, second = before.count_of(case), after.count_of(case)
    if counted is None or first is None or second is None or before.series_key.host != after.series_key.host:
        return None
    own = [spread for spread in (first.spread, second.spread) if spread is not None]
    repeats = max([repeatability(counted, [before, after, *others]), *own])
    return CountPair(counted.spec.unit, first.value, second.value, repeats, least_change(repeats, margin=margin))
