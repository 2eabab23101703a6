"""A series over releases -> its steps: where it went to another level and stayed there. Pure.

Candidates come from the best partition of the logarithms into levels, found exactly: each point costs the square of its distance from its
level, but no more than a cap, and each step costs a penalty. So an outlier is paid for once and moves nothing. Then each candidate must
stand by itself: Student's t on the two levels beside it, for as many places as a step could have been found at; a count of outlying points,
for a run of them looks like a level; a size worth telling; and a straight line must not say as much, for a drift is no step. The worst is
dropped and its neighbours are judged again, until all that is left stands. How it was chosen: docs/choosing_a_detector.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Generic, TypeVar

import numpy as np
from scipy.special import stdtr

LEAST = 0.02  # a little more than a release's noise on one machine
CHANCE = 0.004  # a quiet series in 250 may show a step; as many again, one of a single point at either end of the window
PENALTY = 6.0  # times log n; only finds candidates: 4 to 8 give the same steps
FAR = 3.0  # times the noise: beyond it a point pulls at its level no further
ENDS = 3  # a level with so few points stands at either end of the window only: elsewhere it is a spike
OUTLYING = 2 / 3  # of the step: as far as that from its own level, a point could pass for one of the other
MIDDLE = 0.6745  # half of all normal deviations are within this part of the standard deviation
FINEST = 8  # noise is taken for at least this part of the least step: rounded times have none
GREATEST = 0.9  # autocorrelation; at 1 no number of points would tell anything

Key = TypeVar("Key")


@dataclass(frozen=True)
class Step:
    """A change of level.

    index : of the first point of the new level
    before, after : the levels, in the values' unit
    p : how often noise alone would show such a step, in a series of this length
    alone : one of the levels is a single point whose spread nobody knows; an outlier would look the same until the next release is measured
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
    """The cases that went the same way at the same release.

    verdict : slower or faster
    ratio : the median of theirs
    """

    verdict: str
    cases: tuple[Key, ...]
    ratio: float


@dataclass(frozen=True)
class _Points:
    """The points that are there: logarithms, and each one's own standard error, 0 where it is not known."""

    y: np.ndarray
    own: np.ndarray


@dataclass(frozen=True)
class _Judgement:
    """Whether a candidate is a step; Student's t; how often noise would show the like."""

    stands: bool
    t: float
    p: float


def steps(values: Sequence[float | None], spreads: Sequence[float] = (), *, least: float = LEAST) -> list[Step]:
    """The steps of a series, in order.

    The same for the series reversed or inverted, mirrored; the same in any unit.
    values : positive; None where a release was not measured. Indices are those of this list
    spreads : each value's own standard error, relative; 0 where it is not known. A point is as noisy as the series, or as itself if more
    least : the smallest relative change that is worth telling
    """
    there = [index for index, value in enumerate(values) if value is not None]
    n = len(there)
    if n < 3:
        return []
    own = np.array([spreads[index] for index in there]) if len(spreads) else np.zeros(n)
    points = _Points(np.log([values[index] for index in there]), own)
    smallest = math.log1p(least)
    # of successive differences, which steps and slow drift hardly touch
    noise = max(smallest / FINEST, float(np.median(np.abs(np.diff(points.y)))) / MIDDLE / math.sqrt(2))
    cuts = _with_ends(points, _partition(points, noise))
    judged: list[_Judgement] = []
    while cuts:
        judged = _judged(points, cuts, noise, smallest)
        worst = min(range(len(cuts)), key=lambda i: (judged[i].stands, judged[i].t))
        if judged[worst].stands:
            break
        del cuts[worst]
    level = [math.exp(np.median(points.y[part])) for part in _parts(cuts, n)]
    single = {1: 0, n - 1: n - 1}  # by cut, the point that is then alone
    return [
        Step(there[cut], *ends, one.p, alone=cut in single and not own[single[cut]])
        for cut, one, ends in zip(cuts, judged, pairwise(level))
    ]


def levels(values: Sequence[float | None], steps: Sequence[Step]) -> list[float | None]:
    """The level at each point, in the values' unit: the median between steps. None where there is no value."""
    found: list[float | None] = []
    for begin, end in pairwise([0, *(step.index for step in steps), len(values)]):
        logs = [math.log(value) for value in values[begin:end] if value is not None]
        found += [None if value is None else math.exp(median(logs)) for value in values[begin:end]]
    return found


def grouped(steps_by_case: Mapping[Key, Sequence[Step]], index: int) -> list[Group[Key]]:
    """What moved together at a release: the slower cases, then the faster, in the mapping's order; no group is empty."""
    ratios = {case: step.ratio for case, found in steps_by_case.items() for step in found if step.index == index}
    slower = tuple(case for case, ratio in ratios.items() if ratio > 1)
    faster = tuple(case for case, ratio in ratios.items() if ratio < 1)
    return [Group(name, cases, median(ratios[case] for case in cases)) for name, cases in (("slower", slower), ("faster", faster)) if cases]


def _partition(points: _Points, noise: float) -> list[int]:
    """Where the best levels begin, but the first. Each point stays on its level or takes the best other; all values are tried as levels."""
    n = len(points.y)
    penalty = PENALTY * math.log(n)
    level = np.unique(points.y)
    away = np.abs(points.y[:, None] - level) / np.maximum(noise, points.own)[:, None]
    # half a penalty: four outliers cost as much as the two steps of a level of their own. The last term: an outlier goes with the nearer
    cost = np.minimum(away**2, penalty / 2) + 1e-6 * away
    total = cost[0]
    stays, best = np.ones_like(cost, dtype=bool), [0] * n
    for i in range(1, n):
        best[i] = int(total.argmin())
        step = total[best[i]] + penalty
        stays[i] = total <= step
        total = np.minimum(total, step) + cost[i]
    at, cuts = int(total.argmin()), []
    for i in range(n - 1, 0, -1):
        if not stays[i, at]:
            cuts.append(i)
            at = best[i]
    return cuts[::-1]


def _with_ends(points: _Points, cuts: list[int]) -> list[int]:
    """The cuts, and a candidate at either end of the window: of up to three points, those that differ most from the rest of their level."""
    n = len(points.y)
    first, last = points.y[: (cuts or [n])[0]], points.y[(cuts or [0])[-1] :][::-1]
    return sorted({*cuts, *_end(first), *(n - count for count in _end(last))})


def _end(y: np.ndarray) -> list[int]:
    """How many of a level's first points could be a level of their own: one answer, or none where the rest is no level itself."""
    gains = [
        (count * (1 - count / len(y)) * (y[:count].mean() - np.median(y[count:])) ** 2, count)
        for count in range(1, ENDS + 1)
        if len(y) - count > ENDS
    ]
    return [max(gains)[1]] if gains else []


def _judged(points: _Points, cuts: Sequence[int], noise: float, smallest: float) -> list[_Judgement]:
    """Each cut, judged beside the others."""
    n, parts = len(points.y), _parts(cuts, len(points.y))
    residuals = np.concatenate([points.y[part] - np.median(points.y[part]) for part in parts])
    dof = max(1, n - len(parts))
    usual = max(noise, float(np.median(np.abs(residuals))) / MIDDLE)
    near = np.clip(residuals * usual / np.maximum(usual, points.own), -FAR * usual, FAR * usual)
    square = float(near @ near)
    noise = max(smallest / FINEST, math.sqrt(square / dof))
    noises = np.maximum(noise, points.own)
    weight = (noise / noises) ** 2
    wide = math.sqrt(float(residuals @ residuals) / dof)  # outliers and all
    correlation = min(max(float(near[1:] @ near[:-1]) / (square or 1.0), 0.0), GREATEST)
    alike = (1 + correlation) / (1 - correlation)  # so many points in a row tell as much as one
    found = []
    for sides in pairwise(parts):
        middles = [float(np.median(points.y[side])) for side in sides]
        y = [np.clip(points.y[side], middle - FAR * noises[side], middle + FAR * noises[side]) for side, middle in zip(sides, middles)]
        means = [float(np.average(one, weights=weight[side])) for one, side in zip(y, sides)]
        size = abs(means[1] - means[0])
        counts = [max(float(weight[side].sum()) / alike, float(weight[side].max())) for side in sides]
        t = size / noise / math.sqrt(1 / counts[0] + 1 / counts[1])
        fewest = min(len(one) for one in y)
        short = [side for side in sides if side.stop - side.start == fewest]
        outlying = np.abs(residuals) / noises >= OUTLYING * size / noise
        share = max(float(outlying.mean()), *(float(outlying[side].mean()) for side in short))
        at_end = any(side.start == 0 or side.stop == n for side in short)
        p = min(1.0, (2 if fewest == 1 else n) * 2 * float(stdtr(dof, -t)) + (2 if at_end else n) * share**fewest)
        spike = any(side.start > 0 and side.stop < n and side.stop - side.start <= ENDS for side in sides)
        told = p < CHANCE and abs(middles[1] - middles[0]) >= smallest and size >= wide and not spike
        found.append(_Judgement(told and (fewest == 1 or _beats_a_line(y, means, [weight[side] for side in sides])), t, p))
    return found


def _beats_a_line(y: Sequence[np.ndarray], means: Sequence[float], weights: Sequence[np.ndarray]) -> bool:
    """Whether two levels come nearer to the points than a straight line does."""
    joined, weight = np.concatenate(y), np.concatenate(weights)
    x = np.arange(len(joined))
    line = np.polyval(np.polyfit(x, joined, 1, w=np.sqrt(weight)), x)
    stepped: np.ndarray = np.repeat(means, [len(one) for one in y])
    return bool(weight @ (joined - stepped) ** 2 < weight @ (joined - line) ** 2)


def _parts(cuts: Sequence[int], n: int) -> list[slice]:
    return [slice(begin, end) for begin, end in pairwise([0, *cuts, n])]
