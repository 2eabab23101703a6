"""Estimate how much the passes of one case vary where nothing changed. Pure.

A few passes give a poor estimate of their own spread. The passes of a side count first. If they have fewer than `ENOUGH` degrees of
freedom, the rest comes first from the other side, measured in the same hour, then from the other results of the same machine. This is a
moderated variance (Smyth, 2004, doi:10.2202/1544-6115.1027) whose prior fades as passes are added. A side that contradicts the prior
takes its weight away, and an hour in which all cases vary more widens the spread of the other results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum, inf, sqrt
from statistics import median

ENOUGH = 30  # degrees of freedom from which a side is used alone: Student's factor is then within 4 % of the normal one. With 60, A/A
# comparisons of 4 to 8 passes on results whose spreads differ by 30 % had a false alarm in one of 10 families of 193 cases, not of 13 to 19
CONTRADICTS = 6.0  # variance over the prior's from which the prior counts less: once in 350 by chance (F of 3 and 27: four passes)
LARGEST = 3.0  # a result that varies more than this many times as much as the median result counts as so many times
FEWEST_CASES = 20  # of which the mean ratio of spreads, each known to about a quarter, is known to some 6 %
DIGITS = 4  # of the pool: the float noise behind them would make every pair of releases another pool


@dataclass(frozen=True)
class Spread:
    """How much passes vary, for the bootstrap in `analysis.two_sample`.

    pool : scaled absolute deviations of passes from their group's median, over the spread of their group, ascending; their mean is 1
    sides : the mean absolute deviation of a pass on each side, in log seconds
    degrees : by side, the degrees of freedom behind it
    shared : degrees of freedom of the other results that both sides use
    """

    pool: tuple[float, ...]
    sides: tuple[float, float]
    degrees: tuple[float, float]
    shared: float


@dataclass(frozen=True)
class Group:
    """The passes of one case in one result: deviations, variance, degrees of freedom.

    deviations : scaled and absolute, ascending
    variance : the square of the mean deviation, which one odd pass moves less than the standard deviation
    """

    deviations: tuple[float, ...]
    variance: float
    degrees: int


@dataclass(frozen=True)
class Deviations:
    """The deviations of one case in both sides and in other results.

    usual : the variance of the other results; None without any
    """

    sides: tuple[Group, Group]
    others: tuple[Group, ...]
    usual: float | None

    @property
    def excess(self) -> float | None:
        """How many times as much the sides vary as the other results.

        At most `LARGEST`; None where that is unknown.
        """
        if not self.usual:
            return None
        own = fsum(side.degrees * side.variance for side in self.sides) / sum(side.degrees for side in self.sides)
        return min(LARGEST, sqrt(own / self.usual))


def deviations(sides: tuple[Sequence[float], Sequence[float]], others: Iterable[Sequence[float]]) -> Deviations:
    """Return the deviations of one case.

    sides, others : groups of log seconds, each the passes of one result; each side has at least two
    """
    around = tuple(_known_group(tuple(logs)) for logs in others if len(logs) > 1)
    usual = None
    if around:
        largest = LARGEST**2 * median([group.variance for group in around])
        usual = fsum([group.degrees * min(group.variance, largest) for group in around]) / sum([group.degrees for group in around])
    return Deviations((_group(sides[0]), _group(sides[1])), around, usual)


def busy_hour(cases: Iterable[Deviations]) -> float:
    """Return how many times as much all sides vary as the other results, at least 1.

    The mean over the cases: a busy hour disturbs them together. 1 for few cases: the spread of a few passes of one case says little.
    """
    excesses = [excess for case in cases if (excess := case.excess) is not None]
    return max(1.0, fsum(excesses) / len(excesses)) if len(excesses) >= FEWEST_CASES else 1.0


def moderated_spread(case: Deviations, busy: float = 1.0) -> Spread:
    """Return the spread of each side, filled up with the other side and results.

    busy : how many times as much the sides vary as the other results in all cases (`busy_hour`)
    """
    history = sum(group.degrees for group in case.others)
    usual = busy**2 * (case.usual or 0.0)
    first, second = case.sides
    sides = [_moderated(side, other, usual, history) for side, other in ((first, second), (second, first))]
    return Spread(
        _pool(case.sides if min(first.degrees, second.degrees) >= ENOUGH else (*case.sides, *case.others)),
        (sqrt(sides[0].variance), sqrt(sides[1].variance)),
        (sides[0].degrees, sides[1].degrees),
        max(side.shared for side in sides),
    )


def scaled_deviations(groups: Sequence[Sequence[float]]) -> tuple[list[float], int]:
    """Return how far values are from their group's median, and degrees of freedom.

    The deviations are in the order of the values.

    A group of n values is scaled by √(n / (n - 1)), since its median is computed from them; a group of one value has no deviation.
    """
    scaled, degrees = [], 0
    for values in groups:
        if len(values) > 1:
            middle, scale = median(values), (len(values) / (len(values) - 1)) ** 0.5
            scaled += [abs(value - middle) * scale for value in values]
            degrees += len(values) - 1
    return scaled, degrees


@dataclass(frozen=True)
class _Moderated:
    """A side's variance, its degrees of freedom, and those that are other results'."""

    variance: float
    degrees: float
    shared: float


def _moderated(side: Group, other: Group, usual: float, history: int) -> _Moderated:
    """Return a side's variance, filled up with the other side and with other results.

    usual, history : the other results' variance and its degrees of freedom, 0 without any
    """
    beside = min(other.degrees, max(0, ENOUGH - side.degrees))
    shared = min(history, max(0, ENOUGH - side.degrees - beside))
    if not beside + shared:
        return _Moderated(side.variance, side.degrees, 0)
    nearby = min(other.variance, CONTRADICTS * usual if shared else inf)  # a side that varies more must not widen the other
    prior = (beside * nearby + shared * usual) / (beside + shared)
    return _Moderated(*_filled_up(side, float(beside + shared), prior), shared)


def _filled_up(side: Group, weight: float, prior: float) -> tuple[float, float]:
    """Return a side's variance and degrees of freedom with those of the prior."""
    if side.variance > CONTRADICTS * prior:
        weight *= CONTRADICTS * prior / side.variance
    degrees = side.degrees + weight
    return (side.degrees * side.variance + weight * prior) / degrees, degrees


def _group(logs: Sequence[float]) -> Group:
    scaled, degrees = scaled_deviations([logs])
    return Group(tuple(sorted(scaled)), (fsum(scaled) / len(scaled)) ** 2, degrees)


_known_group = lru_cache(maxsize=2**14)(_group)  # of other results, which are the same for every pair of a series


def _pool(groups: tuple[Group, ...]) -> tuple[float, ...]:
    """Return the deviations of all groups over their group's spread.

    It is the same for every pair of a series, which `two_sample` computes once. A group of few passes is filled up as a side is: over its
    own spread alone, three passes would always look alike. The smallest deviation of each group is left out: it belongs to the pass that
    is the median, and a fifth of zeros would give five passes longer tails than they have.
    """
    degrees = sum(group.degrees for group in groups)
    largest = LARGEST**2 * median([group.variance for group in groups])
    usual = fsum([group.degrees * min(group.variance, largest) for group in groups]) / degrees
    pool: list[float] = []
    for group in groups:
        beside = min(degrees, max(0, ENOUGH - group.degrees))
        spread = sqrt(_filled_up(group, float(beside), beside * usual / beside)[0] if beside else group.variance)
        pool += [deviation / spread for deviation in group.deviations[1:]] if spread else [0.0] * (len(group.deviations) - 1)
    mean = fsum(pool) / len(pool)
    return tuple(sorted([round(deviation / mean, DIGITS) for deviation in pool] if mean else [0.0] * len(pool)))
