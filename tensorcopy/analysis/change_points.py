"""Find the changes of level in a series over releases.

Candidates come from the best partition of the series into levels (`step_detection.candidates`). Each is then tested on its own
(`step_detection.significance`); the worst is dropped, outliers first, and the others are tested again, until all that are left pass.
A level of one to three points inside the series is reported where the points' own spread is known; they may be outliers otherwise.
How it was chosen: docs/choosing_a_detector.md.

SciPy gives Student's distribution only: it has no detector of change points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from tensorcopy.analysis.step_detection import candidates, significance
from tensorcopy.analysis.step_detection.candidates import Points, levels_between, median_of
from tensorcopy.analysis.step_detection.significance import Noise

MIN_CHANGE = 0.01  # relative; with 2 % the same series are quiet, and a step of 2 % is missed half the time
CHANCE = significance.CHANCE
NORMAL_MAD = candidates.NORMAL_MAD
NEARLY = 0.1  # of a step, on a logarithmic scale, may remain when a later step takes it back
BACK = 3.0  # standard errors: two levels this close are the same


@dataclass(frozen=True)
class Step:
    """A change of level.

    index : of the first point of the new level
    before, after : the levels, in the values' unit
    p : the probability that noise alone shows such a step in a series of this length
    alone : one of the levels is a single point of unknown spread; an outlier looks the same until the next release is measured
    change : the value at `index` over the measured value before it; it has the noise of two points, `ratio` that of two levels
    until : the index of the later step that brings the level back to `before` within the noise, or beyond it; None if none does
    """

    index: int
    before: float
    after: float
    p: float
    alone: bool = False
    change: float = math.nan
    until: int | None = None

    @property
    def ratio(self) -> float:
        """The level after over the level before: more than 1 is slower."""
        return self.after / self.before


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
    points = Points(np.log([values[index] for index in measured]), own)
    smallest = math.log1p(min_change)
    between = candidates.noise_between_points(points, smallest)
    cuts = candidates.candidates(points, between)
    while cuts:
        tests, noise = significance.tests(points, cuts, between, smallest)
        worst = min(range(len(cuts)), key=lambda i: (tests[i].passed, not tests[i].spike, tests[i].t))
        if tests[worst].passed:
            return _steps(points, measured, cuts, [test.p for test in tests], noise, smallest)
        del cuts[worst]
    return []


def _steps(points: Points, measured: Sequence[int], cuts: Sequence[int], p: Sequence[float], noise: Noise, smallest: float) -> list[Step]:
    """Return the steps at cuts that have passed.

    measured : the index of each point in the series
    """
    n = len(points.y)
    parts = levels_between(cuts, n)
    level = [median_of(points.y[part]) for part in parts]
    single = [part.stop - part.start == 1 and not points.own[part].any() for part in parts]
    result = []
    for i, cut in enumerate(cuts):
        back = next((cuts[j] for j in range(i + 1, len(cuts)) if _is_back(level, parts, i, j + 1, noise, smallest)), None)
        result.append(
            Step(
                index=measured[cut],
                before=math.exp(level[i]),
                after=math.exp(level[i + 1]),
                p=p[i],
                alone=single[i] or single[i + 1],
                change=math.exp(points.y[cut] - points.y[cut - 1]),
                until=None if back is None else measured[back],
            )
        )
    return result


def _is_back(level: Sequence[float], parts: Sequence[slice], before: int, later: int, noise: Noise, smallest: float) -> bool:
    """Return whether a later level is that before a step, or beyond it.

    Within the noise, or nearly: a slowdown ×5.9 that ends 14 % above where it began is fixed.
    """
    error = noise.level * math.sqrt(sum(1 / noise.count(parts[i]) for i in (before, later)))
    remaining = (level[later] - level[before]) * math.copysign(1, level[before + 1] - level[before])
    return remaining <= max(smallest, BACK * error, NEARLY * abs(level[before + 1] - level[before]))


def levels(values: Sequence[float | None], steps: Sequence[Step]) -> list[float | None]:
    """Return the level at each point: the median between steps; None for a gap."""
    result: list[float | None] = []
    for begin, end in pairwise([0, *(step.index for step in steps), len(values)]):
        logs = [math.log(value) for value in values[begin:end] if value is not None]
        result += [None if value is None else math.exp(median(logs)) for value in values[begin:end]]
    return result
