"""Test each proposed change of level against what noise alone would show.

Student's t for the two levels beside a cut, with the points' correlation and the number of places where a step could have been found;
outliers, since one or a run of them looks like a level; a minimum size; and no straight line may fit as well, since a drift is not a step.
Pure. docs/choosing_a_detector.md has the effect of each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tensorcopy.analysis.step_detection.candidates import ENDS, FINEST, NORMAL_MAD, Floats, Points, levels_between, median_of

CHANCE = 0.006  # for each candidate of a quiet series; with these guards, one series in some 500 of normal noise shows a step
CLIP = 3.0  # times the noise: a point farther from its level pulls at it no more than that
OUTLYING = 2 / 3  # of the step: a point that far from its own level could belong to the other
BUMP = 5.0  # times the largest other deviation: a single release inside the series may be that far from its neighbours by heavy tails
LAST = 3.1  # times the other deviations' L4 mean, which heavy tails raise most: the same for a single point at an end
# at least; 27 points estimate a correlation to ±0.2 only, and noise with 0.5 then looks like steps three times as often as allowed
LEAST_CORRELATION = 0.38
MAX_CORRELATION = 0.9  # at 1 no number of points would be evidence
LINE = 2.0  # times log n for each step: by how much steps must fit better than a line, whose fit has fewer parameters


@dataclass(frozen=True)
class Noise:
    """The variation of the points about their levels, for one set of cuts.

    level : standard deviation about a level, with distant points clipped
    points : each point's standard deviation: `level`, or its own standard error if larger
    deviations : each point's distance from its level over its standard deviation; of a single-point level from the nearer neighbour
    total : standard deviation with outliers and all
    correlation : of successive points
    dof : degrees of freedom
    """

    level: float
    points: Floats
    deviations: Floats
    total: float
    correlation: float
    dof: int

    def count(self, level: slice) -> float:
        """Return how many independent points of average noise a level is worth."""
        lags = np.arange(1, level.stop - level.start)
        inflation = 1 + 2 * float(((1 - lags / (len(lags) + 1)) * self.correlation**lags).sum())
        weights = self.weights[level]
        return max(float(weights.sum()) / inflation, float(weights.max()))

    @property
    def weights(self) -> Floats:
        return (self.level / self.points) ** 2


@dataclass(frozen=True)
class Test:
    """The test of one candidate.

    spike : a short level beside it may be outliers
    t, p : Student's t, and the probability that noise alone shows such a step
    """

    passed: bool
    spike: bool
    t: float
    p: float


def tests(points: Points, cuts: Sequence[int], between: float, smallest: float) -> tuple[list[Test], Noise]:
    """Test each cut against the two levels beside it.

    between : the noise of successive differences, a lower bound; smallest : the smallest change to report
    """
    levels = levels_between(cuts, len(points.y))
    noise = _noise(points, levels, between, smallest)
    clipped = _clipped(points, levels, noise)
    straight = _straight(clipped, levels, noise)
    return [_test(points, clipped, levels, cut, noise, smallest, line=cut in straight) for cut in range(len(cuts))], noise


def _noise(points: Points, levels: Sequence[slice], between: float, smallest: float) -> Noise:
    """Estimate the noise about the levels."""
    n = len(points.y)
    middles = [median_of(points.y[level]) for level in levels]
    residuals = np.concatenate([points.y[level] - middle for level, middle in zip(levels, middles)])
    dof = max(1, n - len(levels))
    typical = max(between, median_of(np.abs(residuals)) / NORMAL_MAD)
    clipped = np.clip(residuals * typical / np.maximum(typical, points.own), -CLIP * typical, CLIP * typical)
    square = float(clipped @ clipped)
    level_noise = max(smallest / FINEST, math.sqrt(square / dof))
    # subtracting each level's mean lowers the estimate by (1 + 3 × correlation) / n
    bias = len(levels) / n
    correlation = (float(clipped[1:] @ clipped[:-1]) / (square or 1.0) + bias) / max(1 - 3 * bias, 0.5)
    point_noise = np.maximum(level_noise, points.own)
    deviations = np.abs(residuals)
    for i in range(1, len(levels) - 1):
        if _length(levels[i]) == 1:
            deviations[levels[i]] = min(abs(middles[i] - middles[i - 1]), abs(middles[i] - middles[i + 1]))
    return Noise(
        level=level_noise,
        points=point_noise,
        deviations=deviations / point_noise,
        total=math.sqrt(float(residuals @ residuals) / dof),
        correlation=min(max(correlation, LEAST_CORRELATION), MAX_CORRELATION),
        dof=dof,
    )


def _clipped(points: Points, levels: Sequence[slice], noise: Noise) -> Floats:
    """Return the points, no farther from their level than `CLIP` times their noise."""
    middles = np.concatenate([np.full(_length(level), median_of(points.y[level])) for level in levels])
    return np.clip(points.y, middles - CLIP * noise.points, middles + CLIP * noise.points)


def _test(points: Points, clipped: Floats, levels: Sequence[slice], cut: int, noise: Noise, smallest: float, *, line: bool) -> Test:
    """Test whether two neighbouring levels differ by a step."""
    n, sides = len(points.y), (levels[cut], levels[cut + 1])
    before, after = (_mean(clipped[side], noise.weights[side]) for side in sides)
    size = abs(after - before)
    t = size / noise.level / math.sqrt(sum(1 / noise.count(side) for side in sides))
    single_end = any(_length(side) == 1 and not _is_inside(side, n) for side in sides)
    places = 2 if single_end and not any(_is_short_inside(side, n) for side in sides) else n
    p = min(1.0, places * 2 * _students_tail(noise.dof, t) + _outlier_chance(sides, size, noise))
    between_medians = abs(median_of(points.y[sides[1]]) - median_of(points.y[sides[0]]))
    large = between_medians >= smallest and size >= noise.total
    spike = any(_is_spike(points, levels, i, noise) for i in (cut, cut + 1))
    return Test(p < CHANCE and large and not line and not spike, spike, t, p)


def _students_tail(dof: int, t: float) -> float:
    """Return the upper tail of Student's distribution."""
    from scipy.special import stdtr  # only a series with a candidate needs SciPy

    return float(stdtr(dof, -t))


def _outlier_chance(sides: Sequence[slice], size: float, noise: Noise) -> float:
    """Return the chance that the shorter level is one or more outliers.

    For a single point it is 0 or 1, from the deviations of the other points; for a run, from the share of points that lie as far out.
    """
    n = len(noise.deviations)
    singles = [side for side in sides if _length(side) == 1]
    others: Floats = np.delete(noise.deviations, [side.start for side in singles])
    if any(_is_inside(side, n) for side in singles):
        return 0.0  # see _is_spike
    if singles:
        return float(size / float(noise.points[singles[0]].item()) < LAST * float((others**4).mean()) ** 0.25)
    fewest = min(_length(side) for side in sides)
    shorter = [side for side in sides if _length(side) == fewest]
    outlying = noise.deviations >= OUTLYING * size / noise.level
    share = max(float(outlying.mean()), *(float(outlying[side].mean()) for side in shorter))
    at_end = not all(_is_inside(side, n) for side in shorter)
    return float((2 if at_end else n) * share**fewest)


def _is_spike(points: Points, levels: Sequence[slice], i: int, noise: Noise) -> bool:
    """Return whether a level is short, inside the series, and may be outliers.

    Points whose spread is known may not, unless a single point is hardly farther out than others are; nor may several points that lie
    between a lower and a higher level.
    """
    level = levels[i]
    if not _is_short_inside(level, len(points.y)):
        return False
    if (points.own[level] > 0).all():
        others: Floats = np.delete(noise.deviations, level.start)
        return _length(level) == 1 and float(noise.deviations[level.start]) < BUMP * float(others.max(initial=0.0))
    before, own, after = (median_of(points.y[levels[k]]) for k in (i - 1, i, i + 1))
    return _length(level) == 1 or not (before < own < after or before > own > after)


def _straight(y: Floats, levels: Sequence[slice], noise: Noise) -> set[int]:
    """Return the cuts inside a run of levels that a straight line fits as well."""
    weights = 1 / noise.points**2
    squares = [_squares(y[level], weights[level]) for level in levels]
    straight: set[int] = set()
    for i in range(len(levels)):
        for j in range(i + 1, len(levels)):
            run = slice(levels[i].start, levels[j].stop)
            if _length(run) > 2:  # a line fits two points always
                gain = _squares_about_line(y[run], weights[run]) - sum(squares[i : j + 1])
                # two parameters for each step, its size and its place, instead of one for the slope
                if gain < LINE * (2 * (j - i) - 1) * math.log(_length(run)):
                    straight |= set(range(i, j))
    return straight


def _squares(y: Floats, weights: Floats) -> float:
    return float(weights @ (y - _mean(y, weights)) ** 2)


def _squares_about_line(y: Floats, weights: Floats) -> float:
    x = np.arange(len(y)) - _mean(np.arange(len(y)), weights)
    centred = y - _mean(y, weights)
    return float(weights @ centred**2 - (weights @ (x * centred)) ** 2 / (weights @ x**2))


def _mean(y: Floats, weights: Floats) -> float:
    """Return the weighted mean of some ten values; `np.average` takes three times as long for so few."""
    return float((y * weights).sum() / weights.sum())


def _length(level: slice) -> int:
    return int(level.stop - level.start)


def _is_inside(level: slice, n: int) -> bool:
    return bool(level.start > 0 and level.stop < n)


def _is_short_inside(level: slice, n: int) -> bool:
    return _is_inside(level, n) and _length(level) <= ENDS
