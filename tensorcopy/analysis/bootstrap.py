"""Draw the distribution of a case's ratio if nothing changed. Pure.

`two_sample` describes the test; this is its residual bootstrap over passes (Efron and Tibshirani, 1993, §9.4).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import exp, inf, log, sqrt
from typing import Any

import numpy as np

from tensorcopy.results.noise.spread import Spread

MOST_PASSES = 40  # drawn for a side, as many as a release has by default: in units of its standard error, more have the same distribution
TIMES_AS_MANY = 3  # draw at most this many times as many passes for one side as for the other: the few decide the shape
FEW_DRAWS = 2_000  # of which all are kept
TAIL = 0.04  # of many draws, those are kept that are as large as this share of few: a p is computed with them only if it is half as small
MOST_KEPT = 250_000  # random numbers of a plan that are kept for other plans, 0.5 MB: as many draws of eight passes a side as a p needs
STEP = 0.1  # between log ratios of two sides' errors that are drawn: the total is exact, so half a step moves an interval by < 1 %
MOST_STEPS = 30  # a side that varies twenty times less adds nothing

Numbers = Any  # an array of floats; numpy's types differ from release to release


@dataclass(frozen=True)
class NullDistribution:
    """The distribution of the absolute log ratio if nothing changed, in units.

    tail : the largest of `draws` draws, ascending
    """

    tail: Numbers
    draws: int
    _halves: dict[float, float] = field(default_factory=dict)

    def half(self, alpha: float) -> float:
        """Return its quantile at 1 - `alpha`, for a distribution of few draws."""
        if alpha not in self._halves:  # numpy takes as long for it as for a tenth of the draws
            self._halves[alpha] = float(np.quantile(self.tail, 1 - alpha))
        return self._halves[alpha]

    def p(self, shift: float) -> tuple[float, bool]:
        """Return the probability of at least this shift, and whether it is a bound.

        Never 0 (Phipson and Smyth, 2010), and at most the tail's share. A bound where no draw is as large: p may be smaller.
        """
        larger = int(len(self.tail) - np.searchsorted(self.tail, abs(shift)))
        return (1 + larger) / (1 + self.draws), larger == 0


@dataclass(frozen=True)
class Plan:
    """What to draw for one case.

    Cases and pairs of a series with equal plans share their draws.

    pool : of `Spread`
    degrees : of freedom, for Student's factor
    passes, scales : of each side, the one with fewer passes first, else the one that varies more; the larger scale is 1
    """

    pool: tuple[float, ...]
    degrees: int
    passes: tuple[int, int]
    scales: tuple[float, float]

    def null(self, draws: int) -> NullDistribution:
        """Return the distribution from `draws` draws."""
        return _null(self, draws)


def plan(spread: Spread, passes: tuple[int, int]) -> tuple[Plan, float]:
    """Return what to draw, and the unit of the draws in log seconds."""
    sides = sorted(zip(passes, spread.sides, spread.degrees), key=lambda side: (side[0], -side[1]))
    few = min(sides[0][0], MOST_PASSES)
    many = min(sides[1][0], MOST_PASSES, TIMES_AS_MANY * few)
    variances = sides[0][1] ** 2 / sides[0][0], sides[1][1] ** 2 / sides[1][0]
    ratio = sqrt(variances[1] * many / (variances[0] * few)) if all(variances) else 1.0
    steps = max(-MOST_STEPS, min(MOST_STEPS, round(log(ratio) / STEP)))
    scales = exp(min(0.0, -steps * STEP)), exp(min(0.0, steps * STEP))
    unit = sqrt(sum(variances) / (scales[0] ** 2 / few + scales[1] ** 2 / many))
    return Plan(spread.pool, _degrees(variances, (sides[0][2], sides[1][2]), sum(passes) - 2 + spread.shared), (few, many), scales), unit


def _degrees(variances: tuple[float, float], degrees: tuple[float, float], most: float) -> int:
    """Return the degrees of freedom of a sum of two variances (Welch, 1947).

    most : the degrees behind both, since each side may use the other's passes
    """
    divisor = sum(variance**2 / count for variance, count in zip(variances, degrees))
    welch = sum(variances) ** 2 / divisor if divisor else inf
    return max(1, int(round(min(welch, most), 6)))  # rounded, so that float noise does not make 30 degrees 29


def hodges_lehmann(before: Numbers, after: Numbers) -> Numbers:
    """Return for each row the median of all differences between after and before."""
    differences = (after[:, None, :] - before[:, :, None]).reshape(len(before), -1)  # the longer side last: numpy's inner loop
    differences.sort(axis=1)  # vectorised in numpy, and so five times as fast as a partition by two middles
    middle = differences.shape[1] // 2
    if differences.shape[1] % 2:
        return differences[:, middle]
    return differences[:, middle - 1 : middle + 1].mean(axis=1)


@lru_cache(maxsize=2048)  # 8 kB each
def _null(plan: Plan, draws: int) -> NullDistribution:
    """Return the null distribution; cached, since a series has few plans."""
    first, second = _sides(plan, draws)
    if draws <= FEW_DRAWS:
        return NullDistribution(np.sort(np.abs(hodges_lehmann(first.T, second.T))), draws)
    least = _null(plan, FEW_DRAWS).tail[-int(TAIL * FEW_DRAWS)]
    far = _may_reach(least, first, second)
    shifts = np.sort(np.abs(hodges_lehmann(first[:, far].T, second[:, far].T)))
    return NullDistribution(shifts[np.searchsorted(shifts, least) :], draws)


def _sides(plan: Plan, draws: int) -> tuple[Numbers, Numbers]:
    """Return what is drawn for each side: a row for each pass, a column for each draw."""
    few, many = plan.passes
    pool = np.array(plan.pool, dtype=np.float32)
    both_signs = np.concatenate([pool, -pool])
    draw = _few_draws if draws <= FEW_DRAWS else _many_draws if draws * (few + many) <= MOST_KEPT else _draw
    indices, students_factors = draw(len(both_signs), few + many, plan.degrees, draws)
    drawn = both_signs.take(indices)
    drawn *= students_factors
    first, second = (np.float32(scale) for scale in plan.scales)
    return drawn[:few] * first, drawn[few:] * second


def _draw(values: int, passes: int, degrees: int, draws: int) -> tuple[Numbers, Numbers]:
    """Return which of the values are drawn for each pass, and Student's factor of each draw."""
    random = np.random.default_rng(20)  # a fixed seed, so that the same samples get the same verdict
    indices = random.integers(0, values, (draws, passes), dtype=np.int32)
    factors = np.sqrt(degrees / random.chisquare(degrees, draws)).astype(np.float32)
    smallest = np.uint16 if values <= 2**16 else np.int32  # cached draws then take half the memory
    return np.ascontiguousarray(indices.T, dtype=smallest), factors


# plans differ more in their pools than in these numbers
_few_draws = lru_cache(maxsize=64)(_draw)
_many_draws = lru_cache(maxsize=16)(_draw)


def _may_reach(least: float, first: Numbers, second: Numbers) -> Numbers:
    """Return for each draw whether its absolute Hodges-Lehmann estimate may be `least`.

    At least half of its differences are then as large, in one direction: to count them is ten times as fast as to sort them.
    """
    up, down = np.zeros((2, first.shape[1]), dtype=np.uint16)
    for before in first:
        for after in second:
            difference = after - before
            up += difference >= least
            down += difference <= -least
    return np.maximum(up, down) >= len(first) * len(second) // 2
