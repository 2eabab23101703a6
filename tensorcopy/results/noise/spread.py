"""Estimate how much the passes of one case vary where nothing changed. Pure.

A few passes give a poor estimate of their own spread. The other releases of the same machine have passes of the same case, so the
deviations of all of them are pooled. Where a comparison's own passes vary more than the pool, because the machine was busier that hour, the
pool is widened; where there are enough of them, they are used alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

WIDEN_FROM = 16  # degrees of freedom from which the own passes' spread, known to about a fifth, may widen the pool
ALONE_FROM = 60  # from which it is known to about a tenth, with Student's factor within 2 % of 1: others are no longer needed


@dataclass(frozen=True)
class Spread:
    """How much passes vary, for the bootstrap in `analysis.two_sample`.

    pool : scaled absolute deviations of passes from their group's median, in log seconds, ascending
    degrees : degrees of freedom behind them
    widening : the factor, 1 or more, by which the own passes vary more than the pool
    """

    pool: tuple[float, ...]
    degrees: int
    widening: float


def pooled_spread(own: Sequence[Sequence[float]], others: Sequence[Sequence[float]]) -> Spread:
    """Return the spread of `own` passes, pooled with `others`.

    With enough own passes, the others are not used.

    own, others : groups of log seconds; a group is the passes of one case in one result
    """
    own_deviations, own_degrees = scaled_deviations(own)
    deviations, degrees = (own_deviations, own_degrees) if own_degrees >= ALONE_FROM else scaled_deviations([*own, *others])
    pool = tuple(sorted(deviations))
    widening = max(1.0, median(own_deviations) / median(pool)) if own_degrees >= WIDEN_FROM and median(pool) > 0 else 1.0
    return Spread(pool, degrees, widening)


def scaled_deviations(groups: Sequence[Sequence[float]]) -> tuple[list[float], int]:
    """Return how far values are from their group's median, and degrees of freedom.

    The deviations are in the order of the values.

    A group of n values is scaled by √(n / (n - 1)), since its median is computed from them; a group of one value has no deviation.
    """
    deviations, degrees = [], 0
    for group in groups:
        if len(group) > 1:
            middle, scale = median(group), (len(group) / (len(group) - 1)) ** 0.5
            deviations += [abs(value - middle) * scale for value in group]
            degrees += len(group) - 1
    return deviations, degrees
