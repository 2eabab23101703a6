"""Find the changes of level in a series over releases.

Candidates come from the best partition of the logarithms into levels, found exactly: each point costs the square of its distance from its
level, up to a cap, and each step costs a penalty; so an outlier is paid for once and moves nothing. Then each candidate is tested on its
own: Student's t for the two levels beside it, corrected for the number of places where a step could have been found; the share of
outlying points, since a run of them looks like a level; a minimum size; and a straight line must fit worse, since a drift is not a step.
The worst candidate is dropped and the others are tested again, until all that are left pass. How it was chosen:
docs/choosing_a_detector.md.

SciPy gives Student's distribution only: it has no detector of change points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, Generic, TypeVar

import numpy as np

MIN_CHANGE = 0.02  # relative; a little more than a release's noise on one machine
CHANCE = 0.004  # one quiet series in 250 may show a step; as many again a single-point step at either end of the window
PENALTY = 6.0  # times log n; only finds candidates: 4 to 8 give the same steps
CLIP = 3.0  # times the noise: a point farther from its level pulls at it no more than that
ENDS = 3  # a level of up to this many points counts at either end of the window only: elsewhere it is a spike
OUTLYING = 2 / 3  # of the step: a point that far from its own level could belong to the other
NORMAL_MAD = 0.6745  # median absolute deviation of a normal distribution with standard deviation 1
FINEST = 8  # noise is at least the smallest step divided by this: rounded times have none
MAX_CORRELATION = 0.9  # at 1 no number of points would be evidence

Key = TypeVar("Key")
Floats = Any  # an array; numpy's types differ from release to release


@dataclass(frozen=True)
class Step:
    """A change of level.

    index : of the first point of the new level
    before, after : the levels, in the values' unit
    p : the probability that noise alone shows such a step in a series of this length
    alone : one of the levels is a single point of unknown spread; an outlier looks the same until the next release is measured
    """

    index: int
    before: float
    after: float
    p: float
    alone: bool = False

    @property
    def ratio(self) -> float:
        """The level after over the level before: more than 1 is slower."""
        return self.after / self.before


@dataclass(frozen=True)
class Group(Generic[Key]):
    """The cases that changed in the same direction at the same release.

    verdict : slower or faster
    ratio : the median of their ratios
    """

    verdict: str
    cases: tuple[Key, ...]
    ratio: float


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
    residuals : each point's distance from its level
    total : standard deviation with outliers and all
    per_draw : how many successive points are worth one independent point
    dof : degrees of freedom
    """

    level: float
    points: Floats
    residuals: Floats
    total: float
    per_draw: float
    dof: int

    @property
    def weights(self) -> Floats:
        return (self.level / self.points) ** 2


@dataclass(frozen=True)
class _Test:
    """The test of one candidate: Student's t, and the probability of such a noise."""

    passed: bool
    t: float
    p: float


def steps(values: Sequence[float | None], spreads: Sequence[float] = (), *, min_change: float = MIN_CHANGE) -> list[Step]:
    """Return the steps of a series, in order.

    The steps of the reversed or inverted series are the same, mirrored; the unit does not matter.
    values : positive; None for a release that was not measured. Indices are those of this list
    spreads : each value's own relative standard error; 0 if unknown. A point is as noisy as the series, or as its own error if larger
    min_change : the smallest relative change to report
    """
    measured = [index for index, value in enumerate(values) if value is not None]
    n = len(measured)
    if n < 3:
        return []
    own = np.array([spreads[index] for index in measured]) if len(spreads) else np.zeros(n)
    points = _Points(np.log([values[index] for index in measured]), own)
    smallest = math.log1p(min_change)
    # from successive differences, which steps and slow drift hardly affect
    noise = max(smallest / FINEST, float(np.median(np.abs(np.diff(points.y)))) / NORMAL_MAD / math.sqrt(2))
    cuts = _with_ends(points, _partition(points, noise))
    tests: list[_Test] = []
    while cuts:
        tests = _tests(points, cuts, noise, smallest)
        worst = min(range(len(cuts)), key=lambda i: (tests[i].passed, tests[i].t))
        if tests[worst].passed:
            break
        del cuts[worst]
    level = [math.exp(np.median(points.y[part])) for part in _parts(cuts, n)]
    single = {1: 0, n - 1: n - 1}  # by cut, the point that is then a level by itself
    return [
        Step(measured[cut], *ends, test.p, alone=cut in single and not own[single[cut]])
        for cut, test, ends in zip(cuts, tests, pairwise(level))
    ]


def levels(values: Sequence[float | None], steps: Sequence[Step]) -> list[float | None]:
    """Return the level at each point: the median between steps; None for a gap."""
    result: list[float | None] = []
    for begin, end in pairwise([0, *(step.index for step in steps), len(values)]):
        logs = [math.log(value) for value in values[begin:end] if value is not None]
        result += [None if value is None else math.exp(median(logs)) for value in values[begin:end]]
    return result


def grouped(steps_by_case: Mapping[Key, Sequence[Step]], index: int) -> list[Group[Key]]:
    """Return the slower cases with a step at `index`, then the faster ones."""
    ratios = {case: step.ratio for case, case_steps in steps_by_case.items() for step in case_steps if step.index == index}
    slower = tuple(case for case, ratio in ratios.items() if ratio > 1)
    faster = tuple(case for case, ratio in ratios.items() if ratio < 1)
    return [Group(name, cases, median(ratios[case] for case in cases)) for name, cases in (("slower", slower), ("faster", faster)) if cases]


def _partition(points: _Points, noise: float) -> list[int]:
    """Return where the levels of the best partition begin, without the first.

    Dynamic programming: each point stays on its level or moves to the best other one; every value is tried as a level.
    """
    n = len(points.y)
    penalty = PENALTY * math.log(n)
    level = np.unique(points.y)
    distance = np.abs(points.y[:, None] - level) / np.maximum(noise, points.own)[:, None]
    # the cap is half a penalty: four outliers cost as much as two steps. The last term assigns an outlier to the nearer level
    cost = np.minimum(distance**2, penalty / 2) + 1e-6 * distance
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


def _with_ends(points: _Points, cuts: list[int]) -> list[int]:
    """Return the cuts and a candidate at each end: the one to three oddest points."""
    n = len(points.y)
    first, last = points.y[: (cuts or [n])[0]], points.y[(cuts or [0])[-1] :][::-1]
    return sorted({*cuts, *_end(first), *(n - count for count in _end(last))})


def _end(y: Floats) -> list[int]:
    """Return how many of a level's first points may be a level of their own, if any."""
    gains = [
        (count * (1 - count / len(y)) * (y[:count].mean() - np.median(y[count:])) ** 2, count)
        for count in range(1, ENDS + 1)
        if len(y) - count > ENDS
    ]
    return [max(gains)[1]] if gains else []


def _tests(points: _Points, cuts: Sequence[int], noise: float, smallest: float) -> list[_Test]:
    """Test each cut against the two levels beside it."""
    parts = _parts(cuts, len(points.y))
    measured = _noise(points, parts, noise, smallest)
    return [_test(points, sides, measured, smallest) for sides in pairwise(parts)]


def _noise(points: _Points, parts: Sequence[slice], noise: float, smallest: float) -> _Noise:
    """Estimate the noise about the levels.

    noise : of successive differences, a lower bound
    """
    residuals = np.concatenate([points.y[part] - np.median(points.y[part]) for part in parts])
    dof = max(1, len(points.y) - len(parts))
    typical = max(noise, float(np.median(np.abs(residuals))) / NORMAL_MAD)
    clipped = np.clip(residuals * typical / np.maximum(typical, points.own), -CLIP * typical, CLIP * typical)
    square = float(clipped @ clipped)
    level = max(smallest / FINEST, math.sqrt(square / dof))
    correlation = min(max(float(clipped[1:] @ clipped[:-1]) / (square or 1.0), 0.0), MAX_CORRELATION)
    return _Noise(
        level=level,
        points=np.maximum(level, points.own),
        residuals=residuals,
        total=math.sqrt(float(residuals @ residuals) / dof),
        per_draw=(1 + correlation) / (1 - correlation),
        dof=dof,
    )


def _test(points: _Points, sides: tuple[slice, slice], noise: _Noise, smallest: float) -> _Test:
    """Test whether two neighbouring levels differ by a step."""
    n = len(points.y)
    medians = [float(np.median(points.y[side])) for side in sides]
    y = [
        np.clip(points.y[side], middle - CLIP * noise.points[side], middle + CLIP * noise.points[side])
        for side, middle in zip(sides, medians)
    ]
    weights = [noise.weights[side] for side in sides]
    means = [float(np.average(values, weights=weight)) for values, weight in zip(y, weights)]
    size = abs(means[1] - means[0])
    t = _students_t(size, weights, noise)
    fewest = min(len(values) for values in y)
    p = min(1.0, (2 if fewest == 1 else n) * 2 * _students_tail(noise.dof, t) + _outlier_chance(sides, size, noise))
    large = abs(medians[1] - medians[0]) >= smallest and size >= noise.total
    passed = p < CHANCE and large and not _is_spike(sides, n)
    return _Test(passed and (fewest == 1 or _beats_a_line(y, means, weights)), t, p)


def _students_t(size: float, weights: Sequence[Floats], noise: _Noise) -> float:
    """Return Student's t; correlated points count as fewer, but at least as one."""
    counts = [max(float(weight.sum()) / noise.per_draw, float(weight.max())) for weight in weights]
    return size / noise.level / math.sqrt(1 / counts[0] + 1 / counts[1])


def _students_tail(dof: int, t: float) -> float:
    """Return the upper tail of Student's distribution."""
    from scipy.special import stdtr  # only a series with a candidate needs SciPy

    return float(stdtr(dof, -t))


def _outlier_chance(sides: Sequence[slice], size: float, noise: _Noise) -> float:
    """Return the chance that the shorter level is a run of outliers.

    It follows from the share of points that lie as far from their own level.
    """
    n = len(noise.residuals)
    fewest = min(side.stop - side.start for side in sides)
    shorter = [side for side in sides if side.stop - side.start == fewest]
    outlying = np.abs(noise.residuals) / noise.points >= OUTLYING * size / noise.level
    share = max(float(outlying.mean()), *(float(outlying[side].mean()) for side in shorter))
    at_end = any(side.start == 0 or side.stop == n for side in shorter)
    return float((2 if at_end else n) * share**fewest)


def _is_spike(sides: Sequence[slice], n: int) -> bool:
    """Return whether a level beside the cut is short and inside the window."""
    return any(side.start > 0 and side.stop < n and side.stop - side.start <= ENDS for side in sides)


def _beats_a_line(y: Sequence[Floats], means: Sequence[float], weights: Sequence[Floats]) -> bool:
    """Return whether two levels fit the points better than a straight line."""
    joined, weight = np.concatenate(y), np.concatenate(weights)
    x = np.arange(len(joined))
    line = np.polyval(np.polyfit(x, joined, 1, w=np.sqrt(weight)), x)
    stepped: Floats = np.repeat(means, [len(values) for values in y])
    return bool(weight @ (joined - stepped) ** 2 < weight @ (joined - line) ** 2)


def _parts(cuts: Sequence[int], n: int) -> list[slice]:
    return [slice(begin, end) for begin, end in pairwise([0, *cuts, n])]
