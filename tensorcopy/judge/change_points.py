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
from itertools import combinations, pairwise
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

Floats = Any  # an array; numpy's types differ from release to release
NOTHING: Mapping[int, float] = {}


@dataclass(frozen=True)
class Step:
    """A change of level."""

    index: int  # of the first point of the new level
    before: float  # the levels, in the values' unit; in a history of a case the value of the release before
    after: float  # in a history of a case that times the change
    p: float  # the probability that noise alone shows such a step in a series of this length
    interval: tuple[float, float] | None = None  # of the ratio, that of the comparison; None of levels, and of a count
    until: int | None = None  # the index of the later step that brings the level back within the noise, or beyond it; None if none does
    against: str = ""  # the release that it is the change from, in a history of a case where that is not the one before
    by_levels: bool = False  # whether only the releases around show it, and the comparison with the one before leaves it unknown
    only_on: str = ""  # the older Python that alone shows it, in a history where a newer one decides

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
    y, own = np.log([values[index] for index in measured]), np.array([spreads[index] if len(spreads) else 0.0 for index in measured])
    # the noise in successive differences: steps and slow drift hardly affect it
    successive = max(SMALLEST / FINEST, _median(np.abs(np.diff(y))) / NORMAL_MAD / math.sqrt(2))
    cuts = _partition(y, own, successive)
    begin, end = (y[: cuts[0]], y[cuts[-1] :]) if cuts else (y, y)
    cuts = sorted({*cuts, *_end(begin), *(n - count for count in _end(end[::-1])), *known})  # without 0, where the first level begins
    while cuts:
        levels = _Levels(y, own, [slice(*ends) for ends in pairwise([0, *cuts, n])], successive)
        straight = levels.straight()
        tests = {i: levels.test(i, line=i in straight) for i, cut in enumerate(cuts) if cut not in known}
        worst = min(tests, key=lambda i: tests[i][:3], default=None)
        if worst is None or tests[worst][0]:
            medians, indices = levels.medians, [measured[cut] for cut in cuts]
            backs = [next((indices[j] for j in range(i + 1, len(cuts)) if levels.is_back(i, j + 1)), None) for i in range(len(cuts))]
            ps = [known[cut] if cut in known else tests[i][3] for i, cut in enumerate(cuts)]
            ends = pairwise(map(math.exp, medians))
            return [Step(index, *pair, p, until=back) for index, pair, p, back in zip(indices, ends, ps, backs)]
        del cuts[worst]
    return []


def levels(values: Sequence[float | None], steps: Sequence[Step]) -> list[float | None]:
    """Return the level at each point: the median between steps; None for a gap."""
    result: list[float | None] = []
    for begin, end in pairwise([0, *(step.index for step in steps), len(values)]):
        logs = [math.log(value) for value in values[begin:end] if value is not None]
        result += [None if value is None else math.exp(median(logs)) for value in values[begin:end]]
    return result


def _partition(y: Floats, own: Floats, noise: float) -> list[int]:
    """Return where the levels of the best partition begin, without the first.

    Dynamic programming: each point stays on its level or moves to the best other one; every value is tried as a level.
    """
    n = len(y)
    penalty = PENALTY * math.log(n)
    distance = np.abs(y[:, None] - np.unique(y)) / np.maximum(noise, own)[:, None]
    cap = np.where(own > 0, CAP_KNOWN, CAP) * penalty
    cost = np.minimum(distance**2, cap[:, None]) + 1e-6 * distance  # the last term assigns an outlier to the nearer level
    total, stays, best = cost[0], np.ones_like(cost, dtype=bool), [0] * n
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
    counts = [count for count in range(1, ENDS + 1) if len(y) - count > ENDS]
    gains = [(count * (1 - count / len(y)) * (y[:count].mean() - _median(y[count:])) ** 2, count) for count in counts]
    return [max(gains)[1]] if gains else []


class _Levels:
    """The levels between some cuts, and the variation of the points about them."""

    def __init__(self, y: Floats, own: Floats, parts: Sequence[slice], successive: float) -> None:
        """Estimate the noise about the levels.

        y, own : the points' logarithms and own standard errors, 0 if unknown
        successive : the noise in successive differences
        """
        self.y, self.own, self.parts, self.n = y, own, parts, len(y)
        self.lengths = [part.stop - part.start for part in parts]
        self.medians = [_median(y[part]) for part in parts]
        middles: Floats = np.repeat(self.medians, self.lengths)
        residuals = y - middles
        self.freedom = max(1, self.n - len(parts))
        typical = max(successive, _median(np.abs(residuals)) / NORMAL_MAD)
        clipped = np.clip(residuals * typical / np.maximum(typical, own), -CLIP * typical, CLIP * typical)
        square = float(clipped @ clipped)
        self.noise = max(SMALLEST / FINEST, math.sqrt(square / self.freedom))  # about a level, with distant points clipped
        self.points = np.maximum(self.noise, own)  # each point's standard deviation
        self.total = math.sqrt(float(residuals @ residuals) / self.freedom)  # with outliers and all
        # of successive points; subtracting each level's mean lowers the estimate by (1 + 3 × correlation) / n
        bias = len(parts) / self.n
        correlation = (float(clipped[1:] @ clipped[:-1]) / (square or 1.0) + bias) / max(1 - 3 * bias, 0.5)
        self.correlation = min(max(correlation, LEAST_CORRELATION), MAX_CORRELATION)
        self.clipped = np.clip(y, middles - CLIP * self.points, middles + CLIP * self.points)
        distances = np.abs(residuals)  # of a single-point level from the nearer neighbour
        for i in range(1, len(parts) - 1):
            if self.lengths[i] == 1:
                distances[parts[i]] = min(abs(self.medians[i] - self.medians[j]) for j in (i - 1, i + 1))
        self.deviations = distances / self.points
        self.weights = (self.noise / self.points) ** 2
        self.counts = [self._count(part) for part in parts]

    def _count(self, part: slice) -> float:
        """Return how many independent points of average noise a level is worth."""
        lags = np.arange(1, part.stop - part.start)
        inflation = 1 + 2 * float(((1 - lags / (len(lags) + 1)) * self.correlation**lags).sum())
        return max(float(self.weights[part].sum()) / inflation, float(self.weights[part].max()))

    def is_back(self, before: int, later: int) -> bool:
        """Return whether a later level is that before a step, or beyond it.

        Within the noise, or nearly: a slowdown ×5.9 that ends 14 % above where it began is fixed.
        """
        size = self.medians[before + 1] - self.medians[before]
        error = self.noise * math.sqrt(1 / self.counts[before] + 1 / self.counts[later])
        remaining = (self.medians[later] - self.medians[before]) * math.copysign(1, size)
        return remaining <= max(SMALLEST, BACK * error, NEARLY * abs(size))

    def test(self, i: int, *, line: bool) -> tuple[bool, bool, float, float]:
        """Test whether a level and the next differ by a step.

        Return whether they do, whether neither is a spike, Student's t, and the probability that noise alone shows such a step.
        """
        from scipy.special import stdtr  # only a series with a candidate needs SciPy

        both = i, i + 1
        before, after = (float(np.average(self.clipped[self.parts[j]], weights=self.weights[self.parts[j]])) for j in both)
        size = abs(after - before)
        t = size / self.noise / math.sqrt(sum(1 / self.counts[j] for j in both))
        single_end = any(self.lengths[j] == 1 and not self._is_inside(j) for j in both)
        places = 2 if single_end and not any(self._is_short_inside(j) for j in both) else self.n
        p = min(1.0, places * 2 * float(stdtr(self.freedom, -t)) + self._outlier_chance(both, size))
        large = abs(self.medians[i + 1] - self.medians[i]) >= SMALLEST and size >= self.total
        spike = any(map(self._is_spike, both))
        return p < CHANCE and large and not line and not spike, not spike, t, p

    def _outlier_chance(self, both: tuple[int, int], size: float) -> float:
        """Return the chance that the shorter level is one or more outliers.

        For a single point it is 0 or 1, from the deviations of the other points; for a run, from the share of points that lie as far out.
        """
        singles = [j for j in both if self.lengths[j] == 1]
        others: Floats = np.delete(self.deviations, [self.parts[j].start for j in singles])
        if any(map(self._is_inside, singles)) or not others.size:
            return 0.0  # see _is_spike; a known change between the only two points
        if singles:
            distance = size / float(self.points[self.parts[singles[0]]].item())
            return 1.0 if distance < LAST_THRESHOLD * float((others**4).mean()) ** 0.25 else 0.0
        fewest = min(self.lengths[j] for j in both)
        shorter = [j for j in both if self.lengths[j] == fewest]
        outlying = self.deviations >= OUTLYING * size / self.noise
        share = max(float(outlying.mean()), *(float(outlying[self.parts[j]].mean()) for j in shorter))
        return float((self.n if all(map(self._is_inside, shorter)) else 2) * share**fewest)

    def _is_inside(self, i: int) -> bool:
        return 0 < i < len(self.parts) - 1

    def _is_short_inside(self, i: int) -> bool:
        return self._is_inside(i) and self.lengths[i] <= ENDS

    def _is_spike(self, i: int) -> bool:
        """Return whether a level is short, inside the series, and may be outliers.

        Points whose spread is known may not, unless a single point is hardly farther out than others are; nor may several points that lie
        between a lower and a higher level.
        """
        if not self._is_short_inside(i) or (self.own[self.parts[i]] > 0).all():
            return False
        before, own, after = self.medians[i - 1 : i + 2]
        return self.lengths[i] == 1 or not (before < own < after or before > own > after)

    def straight(self) -> set[int]:
        """Return the cuts inside a run of levels that a straight line fits as well."""
        weights, x, y = 1 / self.points**2, np.arange(self.n), self.clipped - self.clipped.mean()
        terms = np.array([weights, weights * x, weights * y, weights * x * x, weights * x * y, weights * y * y])
        sums: list[list[float]] = np.insert(terms.cumsum(axis=1), 0, 0.0, axis=1).T.tolist()

        def about(begin: int, end: int) -> tuple[float, float]:
            """Return the weighted squares of some points about their mean, and about a straight line."""
            w, wx, wy, wxx, wxy, wyy = (last - first for first, last in zip(sums[begin], sums[end]))
            squares = wyy - wy**2 / w
            return squares, squares - ((wxy - wx * wy / w) ** 2 / (wxx - wx**2 / w) if end - begin > 1 else 0.0)

        squares, straight = [about(part.start, part.stop)[0] for part in self.parts], set[int]()
        for i, j in combinations(range(len(self.parts)), 2):
            length = self.parts[j].stop - self.parts[i].start
            # two parameters for each step, its size and its place, instead of one for the slope; a line fits two points always
            gain = about(self.parts[i].start, self.parts[j].stop)[1] - sum(squares[i : j + 1])
            if length > 2 and gain < LINE * (2 * (j - i) - 1) * math.log(length):
                straight |= {*range(i, j)}
        return straight


def _median(values: Floats) -> float:
    """Return the median of some ten values; `np.median` takes ten times as long for so few."""
    return float(median(values.tolist()))
