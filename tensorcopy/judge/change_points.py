"""Find the changes of level in a series over releases.

Candidates are the cuts of the best partition of the logarithms into levels, found exactly: each point costs the square of its distance
from its level, up to a cap, and each step costs a penalty. Each end of the series is a candidate too. Each candidate is then tested against
what noise alone would show: Student's t for the two levels beside it, with the points' correlation and the number of places where a step
could have been found; outliers, since one or a run of them looks like a level; a minimum size; and no straight line may fit as well, since
a drift is not a step. The worst is dropped, outliers first, and the others are tested again, until all that are left pass.
A level of one to three points inside the series is reported where the points' own spread is known; they may be outliers otherwise.

SciPy gives Student's distribution only: it has no detector of change points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

SMALLEST = math.log1p(0.01)  # log ratio, of a step to report; with 2 % the same series are quiet, and a step of 2 % is missed half the time
NEARLY = 0.1  # of a step, on a logarithmic scale, may remain when a later step takes it back
BACK = 3.0  # standard errors: two levels this close are the same

# candidates
NORMAL_MAD = 0.6745  # median absolute deviation of a normal distribution with standard deviation 1
PENALTY = 4.0  # times log n; only proposes candidates. With 6, two releases of +10 % are proposed in 60 % of series instead of 80 %
CAP = 0.75  # times the penalty: up to two outliers are cheaper than the two steps that would make them a level
CAP_KNOWN = 2.2  # the same where a point's own spread is known: a single point may be a level
ENDS = 3  # a level of up to this many points is short: inside the series it may be an outlier, at an end it is always a candidate
FINEST = 8  # noise is at least the smallest step divided by this: rounded times have none

# their tests
CHANCE = 0.006  # for each candidate of a quiet series; with these guards, one series in some 500 of normal noise shows a step
CLIP = 3.0  # times the noise: a point farther from its level pulls at it no more than that
OUTLYING = 2 / 3  # of the step: a point that far from its own level could belong to the other

LAST_THRESHOLD = 3.1  # times the other deviations' L4 mean, which heavy tails raise most: the same for a single point at an end
# at least; 27 points estimate a correlation to ±0.2 only, and noise with 0.5 then looks like steps three times as often as allowed
LEAST_CORRELATION = 0.38
MAX_CORRELATION = 0.9  # at 1 no number of points would be evidence
LINE = 2.0  # times log n for each step: by how much steps must fit better than a line, whose fit has fewer parameters

NOTHING: Mapping[int, float] = {}
Floats = Any  # an array; numpy's types differ from release to release


@dataclass(frozen=True)
class Step:
    """A change of level.

    index : of the first point of the new level
    before, after : the levels, in the values' unit; in a history of a case the value of the release before, and that times the change
    p : the probability that noise alone shows such a step in a series of this length
    interval : of the ratio, that of the comparison; None of levels, and of a count
    against : the release that it is the change from, in a history of a case where that is not the one before; "" elsewhere
    until : the index of the later step that brings the level back to `before` within the noise, or beyond it; None if none does
    by_levels : whether only the releases around show it, and the comparison with the one before leaves it unknown
    only_on : the older Python that alone shows it, in a history where a newer one decides; "" elsewhere
    """

    index: int
    before: float
    after: float
    p: float
    interval: tuple[float, float] | None = None
    until: int | None = None
    against: str = ""
    by_levels: bool = False
    only_on: str = ""

    @property
    def ratio(self) -> float:
        """The value after over the value before: more than 1 is slower. Of a tracked value that is not positive it means nothing."""
        return self.after / self.before if self.before else math.inf

    @property
    def size(self) -> float:
        """How large it is on a logarithmic scale, in either direction; infinite where the values have no logarithm."""
        return abs(math.log(self.ratio)) if 0 < self.ratio < math.inf else math.inf

    @property
    def rises(self) -> bool:
        """Whether the value after is larger: a slower time."""
        return self.after > self.before


@dataclass(frozen=True)
class _Points:
    """The measured points: logarithms and own standard errors, 0 if unknown."""

    y: Floats
    own: Floats


@dataclass(frozen=True)
class _Noise:
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

    @cached_property
    def weights(self) -> Floats:
        return (self.level / self.points) ** 2


@dataclass(frozen=True)
class _Test:
    """The test of one candidate.

    spike : a short level beside it may be outliers
    t, p : Student's t, and the probability that noise alone shows such a step
    """

    passed: bool
    spike: bool
    t: float
    p: float


def steps(values: Sequence[float | None], spreads: Sequence[float] = (), *, known: Mapping[int, float] = NOTHING) -> list[Step]:
    """Return the steps of a series, in order.

    The steps of the reversed or inverted series are the same, mirrored; the unit does not matter.
    values : positive; None for a release that was not measured. Indices are those of this list
    spreads : each value's own relative standard error; 0 if unknown. A point is as noisy as the series, or as its own error if larger
    known : the p of each change from the point before that is known already, by index: a step in any case
    """
    measured = [index for index, value in enumerate(values) if value is not None]
    n = len(measured)
    known = {measured.index(index): p for index, p in known.items()}
    if n < 3 and not known:
        return []
    own = np.array([spreads[index] for index in measured]) if len(spreads) else np.zeros(n)
    points = _Points(np.log([values[index] for index in measured]), own)
    # the noise in successive differences: steps and slow drift hardly affect it
    successive = max(SMALLEST / FINEST, _median_of(np.abs(np.diff(points.y))) / NORMAL_MAD / math.sqrt(2))
    cuts = _partition(points, successive)
    first_level, last_level = (points.y[: cuts[0]], points.y[cuts[-1] :]) if cuts else (points.y, points.y)
    of_begin, of_end = _end(first_level), [n - count for count in _end(last_level[::-1])]
    cuts = sorted({*cuts, *of_begin, *of_end, *known})  # without 0, where the first level begins
    while cuts:
        parts = _levels_between(cuts, n)
        noise = _noise(points, parts, successive)
        middles = np.concatenate([np.full(_length(part), _median_of(points.y[part])) for part in parts])
        clipped = np.clip(points.y, middles - CLIP * noise.points, middles + CLIP * noise.points)
        straight = _straight(clipped, parts, noise)
        tests = {i: _test(points, clipped, parts, i, noise, line=i in straight) for i, cut in enumerate(cuts) if cut not in known}
        worst = min(tests, key=lambda i: (tests[i].passed, not tests[i].spike, tests[i].t), default=None)
        if worst is None or tests[worst].passed:
            ps = [known[cut] if cut in known else tests[i].p for i, cut in enumerate(cuts)]
            return _steps(points, measured, cuts, ps, noise)
        del cuts[worst]
    return []


def _steps(
    points: _Points,
    measured: Sequence[int],
    cuts: Sequence[int],
    p: Sequence[float],
    noise: _Noise,
) -> list[Step]:
    """Return the steps at cuts that have passed; measured : the index of each point in the series."""
    n = len(points.y)
    parts = _levels_between(cuts, n)
    level, variances = [_median_of(points.y[part]) for part in parts], [1 / noise.count(part) for part in parts]

    def is_back(before: int, later: int) -> bool:
        """Return whether a later level is that before a step, or beyond it.

        Within the noise, or nearly: a slowdown ×5.9 that ends 14 % above where it began is fixed.
        """
        error = noise.level * math.sqrt(variances[before] + variances[later])
        remaining = (level[later] - level[before]) * math.copysign(1, level[before + 1] - level[before])
        return remaining <= max(SMALLEST, BACK * error, NEARLY * abs(level[before + 1] - level[before]))

    result = []
    for i, cut in enumerate(cuts):  # level i is before it, level i + 1 after it
        back = next((cuts[j] for j in range(i + 1, len(cuts)) if is_back(i, j + 1)), None)
        result.append(
            Step(
                index=measured[cut],
                before=math.exp(level[i]),
                after=math.exp(level[i + 1]),
                p=p[i],
                until=None if back is None else measured[back],
            )
        )
    return result


def levels(values: Sequence[float | None], steps: Sequence[Step]) -> list[float | None]:
    """Return the level at each point: the median between steps; None for a gap."""
    result: list[float | None] = []
    for begin, end in pairwise([0, *(step.index for step in steps), len(values)]):
        logs = [math.log(value) for value in values[begin:end] if value is not None]
        result += [None if value is None else math.exp(median(logs)) for value in values[begin:end]]
    return result


def _partition(points: _Points, noise: float) -> list[int]:
    """Return where the levels of the best partition begin, without the first.

    Dynamic programming: each point stays on its level or moves to the best other one; every value is tried as a level.
    """
    n = len(points.y)
    penalty = PENALTY * math.log(n)
    level = np.unique(points.y)
    distance = np.abs(points.y[:, None] - level) / np.maximum(noise, points.own)[:, None]
    cap = np.where(points.own > 0, CAP_KNOWN, CAP) * penalty
    cost = np.minimum(distance**2, cap[:, None]) + 1e-6 * distance  # the last term assigns an outlier to the nearer level
    total = cost[0]
    stays, best = np.ones_like(cost, dtype=bool), [0] * n
    for i in range(1, n):
        best[i] = int(total.argmin())
        step = total[best[i]] + penalty
        stays[i] = total <= step
        total = np.minimum(total, step) + cost[i]
    current, cuts = int(total.argmin()), []
    for i in range(n - 1, 0, -1):
        if not stays[i, current]:
            cuts.append(i)
            current = best[i]
    return cuts[::-1]


def _end(y: Floats) -> list[int]:
    """Return how many of a level's first points may be a level of their own, if any."""
    gains = [
        (count * (1 - count / len(y)) * (y[:count].mean() - _median_of(y[count:])) ** 2, count)
        for count in range(1, ENDS + 1)
        if len(y) - count > ENDS
    ]
    return [max(gains)[1]] if gains else []


def _noise(points: _Points, levels: Sequence[slice], successive: float) -> _Noise:
    """Estimate the noise about the levels; successive : the noise in successive differences."""
    n = len(points.y)
    middles = [_median_of(points.y[level]) for level in levels]
    residuals = np.concatenate([points.y[level] - middle for level, middle in zip(levels, middles)])
    dof = max(1, n - len(levels))
    typical = max(successive, _median_of(np.abs(residuals)) / NORMAL_MAD)
    clipped = np.clip(residuals * typical / np.maximum(typical, points.own), -CLIP * typical, CLIP * typical)
    square = float(clipped @ clipped)
    level_noise = max(SMALLEST / FINEST, math.sqrt(square / dof))
    # subtracting each level's mean lowers the estimate by (1 + 3 × correlation) / n
    bias = len(levels) / n
    correlation = (float(clipped[1:] @ clipped[:-1]) / (square or 1.0) + bias) / max(1 - 3 * bias, 0.5)
    point_noise = np.maximum(level_noise, points.own)
    deviations = np.abs(residuals)
    for i in range(1, len(levels) - 1):
        if _length(levels[i]) == 1:
            deviations[levels[i]] = min(abs(middles[i] - middles[i - 1]), abs(middles[i] - middles[i + 1]))
    return _Noise(
        level=level_noise,
        points=point_noise,
        deviations=deviations / point_noise,
        total=math.sqrt(float(residuals @ residuals) / dof),
        correlation=min(max(correlation, LEAST_CORRELATION), MAX_CORRELATION),
        dof=dof,
    )


def _test(points: _Points, clipped: Floats, levels: Sequence[slice], cut: int, noise: _Noise, *, line: bool) -> _Test:
    """Test whether two neighbouring levels differ by a step."""
    from scipy.special import stdtr  # only a series with a candidate needs SciPy

    n, sides = len(points.y), (levels[cut], levels[cut + 1])
    before, after = (_mean(clipped[side], noise.weights[side]) for side in sides)
    size = abs(after - before)
    t = size / noise.level / math.sqrt(sum(1 / noise.count(side) for side in sides))
    single_end = any(_length(side) == 1 and not _is_inside(side, n) for side in sides)
    places = 2 if single_end and not any(_is_short_inside(side, n) for side in sides) else n
    p = min(1.0, places * 2 * float(stdtr(noise.dof, -t)) + _outlier_chance(sides, size, noise))
    between_medians = abs(_median_of(points.y[sides[1]]) - _median_of(points.y[sides[0]]))
    large = between_medians >= SMALLEST and size >= noise.total
    spike = any(_is_spike(points, levels, i, noise) for i in (cut, cut + 1))
    return _Test(p < CHANCE and large and not line and not spike, spike, t, p)


def _outlier_chance(sides: Sequence[slice], size: float, noise: _Noise) -> float:
    """Return the chance that the shorter level is one or more outliers.

    For a single point it is 0 or 1, from the deviations of the other points; for a run, from the share of points that lie as far out.
    """
    n = len(noise.deviations)
    singles = [side for side in sides if _length(side) == 1]
    others: Floats = np.delete(noise.deviations, [side.start for side in singles])
    if any(_is_inside(side, n) for side in singles) or not others.size:
        return 0.0  # see _is_spike; a known change between the only two points
    if singles:
        distance = size / float(noise.points[singles[0]].item())
        return 1.0 if distance < LAST_THRESHOLD * float((others**4).mean()) ** 0.25 else 0.0
    fewest = min(_length(side) for side in sides)
    shorter = [side for side in sides if _length(side) == fewest]
    outlying = noise.deviations >= OUTLYING * size / noise.level
    share = max(float(outlying.mean()), *(float(outlying[side].mean()) for side in shorter))
    at_end = not all(_is_inside(side, n) for side in shorter)
    return float((2 if at_end else n) * share**fewest)


def _is_spike(points: _Points, levels: Sequence[slice], i: int, noise: _Noise) -> bool:
    """Return whether a level is short, inside the series, and may be outliers.

    Points whose spread is known may not, unless a single point is hardly farther out than others are; nor may several points that lie
    between a lower and a higher level.
    """
    level = levels[i]
    if not _is_short_inside(level, len(points.y)):
        return False
    if (points.own[level] > 0).all():
        return False
    before, own, after = (_median_of(points.y[levels[k]]) for k in (i - 1, i, i + 1))
    return _length(level) == 1 or not (before < own < after or before > own > after)


def _straight(y: Floats, levels: Sequence[slice], noise: _Noise) -> set[int]:
    """Return the cuts inside a run of levels that a straight line fits as well."""
    weights, x, y = 1 / noise.points**2, np.arange(len(y)), y - y.mean()
    terms = np.array([weights, weights * x, weights * y, weights * x * x, weights * x * y, weights * y * y])
    sums: list[list[float]] = np.insert(terms.cumsum(axis=1), 0, 0.0, axis=1).T.tolist()

    def about(begin: int, end: int) -> tuple[float, float]:
        """Return the weighted squares of some points about their mean, and about a straight line."""
        w, wx, wy, wxx, wxy, wyy = (last - first for first, last in zip(sums[begin], sums[end]))
        along = wxx - wx**2 / w
        squares = wyy - wy**2 / w
        return squares, squares - ((wxy - wx * wy / w) ** 2 / along if end - begin > 1 else 0.0)

    squares = [about(level.start, level.stop)[0] for level in levels]
    straight: set[int] = set()
    for i in range(len(levels)):
        for j in range(i + 1, len(levels)):
            length = levels[j].stop - levels[i].start
            if length > 2:  # a line fits two points always
                gain = about(levels[i].start, levels[j].stop)[1] - sum(squares[i : j + 1])
                # two parameters for each step, its size and its place, instead of one for the slope
                if gain < LINE * (2 * (j - i) - 1) * math.log(length):
                    straight |= set(range(i, j))
    return straight


def _mean(y: Floats, weights: Floats) -> float:
    """Return the weighted mean of some ten values; `np.average` takes three times as long for so few."""
    return float((y * weights).sum() / weights.sum())


def _length(level: slice) -> int:
    return int(level.stop - level.start)


def _is_inside(level: slice, n: int) -> bool:
    return bool(level.start > 0 and level.stop < n)


def _is_short_inside(level: slice, n: int) -> bool:
    return _is_inside(level, n) and _length(level) <= ENDS


def _median_of(values: Floats) -> float:
    """Return the median of some ten values; `np.median` takes ten times as long for so few."""
    return float(median(values.tolist()))


def _levels_between(cuts: Sequence[int], n: int) -> list[slice]:
    """Return the points of each level."""
    return [slice(begin, end) for begin, end in pairwise([0, *cuts, n])]
