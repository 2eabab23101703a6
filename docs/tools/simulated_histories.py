"""Score the detection of steps on simulated histories: single steps, steps that go again, staircases and none.

With several kinds of noise, and with the spread of each point unknown or known from its passes. Everything is seeded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from docs.tools import asv_detection
from tensorcopy.analysis import change_points
from tensorcopy.analysis.change_points import NORMAL_MAD
from tensorcopy.numbers import counted, percent

POINTS = 27  # releases in a simulated series
SIGMA = 0.016  # of a point's noise: as in the shipped history
PASSES = 8  # of a release where its spread is known, each with that noise
SERIES = 500  # of each kind with steps
QUIET = 1000  # of each kind without: one false step in fifty of them is 20 ± 4.5
SEED = 1
WITHIN = 1  # release from the true one that counts as found
MEDIAN_ERROR = 1.253  # standard error of a median of normal values over that of their mean
T3_QUARTILE = 0.7649  # of Student's distribution with three degrees of freedom; a normal one's is 0.6745
CORRELATION = 0.5
DRIFT = 0.10  # over the series

Floats = Any
Shape = list[tuple[int, float]]  # index and ratio of each step


@dataclass(frozen=True)
class Scenario:
    """One kind of simulated history.

    shape : returns the steps of a series at random
    passes : of each release; 0 if only its value is known
    """

    name: str
    noise: str
    passes: int
    shape: Callable[[Floats], Shape]


@dataclass(frozen=True)
class Simulated:
    """How detectors did on one kind of simulated history.

    changes : true steps in each series
    complete : series in which every true step was found; false : other steps, in all series together
    """

    name: str
    noise: str
    passes: int
    series: int
    changes: int
    complete: int
    false: int
    asv_complete: int
    asv_false: int


def scenarios() -> list[Scenario]:
    """Return every kind of history in the report."""
    inside, edges = range(3, POINTS - 2), (1, 2, POINTS - 2, POINTS - 1)
    kinds = [(noise, passes) for noise in NOISES for passes in (0, PASSES) if passes or noise != "normal, passes Student's t"]
    result = [Scenario("no step", noise, passes, lambda _: []) for noise, passes in kinds]
    result += [Scenario(f"+{percent(size)}", "normal", 0, _single(inside, 1 + size)) for size in (0.02, 0.03, 0.05, 0.10, 0.25)]
    result += [Scenario("+10 %", noise, 0, _single(inside, 1.1)) for noise, passes in kinds if not passes and noise != "normal"]
    result += [Scenario(f"{name} at an edge", "normal", 0, _single(edges, ratio)) for name, ratio in (("+10 %", 1.1), ("−10 %", 1 / 1.1))]
    for size in (0.10, 0.30):
        for length in (1, 2, 3):
            name = f"+{percent(size)} for {counted(length, 'release')}"
            result.append(Scenario(name, "normal", PASSES, _pair(range(1, POINTS - length), length, 1 + size, 1 / (1 + size))))
    result.append(Scenario("+10 % for 6 releases", "normal", 0, _pair(range(4, POINTS - 9), 6, 1.1, 1 / 1.1)))
    for first, second in ((0.2, 0.2), (0.4, 0.5)):
        name = f"+{percent(first)}, three releases later +{percent(second)}"
        result.append(Scenario(name, "normal", 0, _pair(range(2, POINTS - 4), 3, 1 + first, 1 + second)))
    return result


def simulate(report_share: Callable[[float], None]) -> Iterator[Simulated]:
    """Yield how our detector and asv's do on each kind of history."""
    rows = scenarios()
    for number, scenario in enumerate(rows):
        report_share(number / len(rows))
        yield score(scenario)


def score(scenario: Scenario, series: int = 0, *, with_asv: bool = True) -> Simulated:
    """Return how detectors do on one kind of history.

    series : by default `SERIES`, or `QUIET` without steps
    with_asv : also how asv's does
    """
    random = np.random.default_rng(SEED)
    number = series or (SERIES if scenario.shape(np.random.default_rng(SEED)) else QUIET)
    changes, ours, theirs = 0, [0, 0], [0, 0]
    for _ in range(number):
        shape = scenario.shape(random)
        values, spreads = _series(scenario, shape, random)
        truth = [index for index, _ in shape]
        changes = len(truth)
        _count(ours, [step.index for step in change_points.steps(values, spreads)], truth)
        _count(theirs, asv_detection.steps(values) if with_asv else [], truth)
    return Simulated(scenario.name, scenario.noise, scenario.passes, number, changes, *ours, *theirs)


def _count(counts: list[int], steps: Sequence[int], truth: Sequence[int]) -> None:
    """Add to the series with every step found, and to the false steps."""
    hits = [
        min((step for step in steps if abs(step - index) <= WITHIN), key=lambda step: abs(step - index), default=None) for index in truth
    ]
    counts[0] += bool(truth) and None not in hits and len(set(hits)) == len(truth)
    counts[1] += len(set(steps) - set(hits))


def _series(scenario: Scenario, shape: Shape, random: Floats) -> tuple[list[float], list[float]]:
    """Return the values of a series and their relative standard errors; none if unknown.

    With passes, these and the scatter between releases add up to the same noise.
    """
    y = np.zeros(POINTS)
    for index, ratio in shape:
        y[index:] += log(ratio)
    between_releases, of_passes = NOISES[scenario.noise]
    if not scenario.passes:
        return [float(value) for value in np.exp(y + between_releases(random, SIGMA))], []
    error = MEDIAN_ERROR * SIGMA / scenario.passes**0.5
    passes = np.stack([of_passes(random, SIGMA) for _ in range(scenario.passes)], axis=1)
    middle = np.median(passes, axis=1)
    deviation = float(np.median(np.abs(passes - middle[:, None]))) / NORMAL_MAD * (scenario.passes / (scenario.passes - 1)) ** 0.5
    y += between_releases(random, (SIGMA**2 - error**2) ** 0.5) + middle
    return [float(value) for value in np.exp(y)], [MEDIAN_ERROR * deviation / scenario.passes**0.5] * POINTS


def _normal(random: Floats, sigma: float) -> Floats:
    return random.normal(0, sigma, POINTS)


def _student(random: Floats, sigma: float) -> Floats:
    """Return heavy-tailed noise with the quartiles of normal noise."""
    return random.standard_t(3, POINTS) * sigma * NORMAL_MAD / T3_QUARTILE


def _correlated(random: Floats, sigma: float) -> Floats:
    """Return first-order autoregressive noise."""
    y = random.normal(0, sigma, POINTS)
    for i in range(1, POINTS):
        y[i] = CORRELATION * y[i - 1] + (1 - CORRELATION**2) ** 0.5 * y[i]
    return y


def _drifting(random: Floats, sigma: float) -> Floats:
    return random.normal(0, sigma, POINTS) + np.linspace(0, log(1 + DRIFT), POINTS) * random.choice((-1, 1))


# between releases, and of the passes of one release where they are known
NOISES: dict[str, tuple[Callable[[Floats, float], Floats], Callable[[Floats, float], Floats]]] = {
    "normal": (_normal, _normal),
    "normal, passes Student's t": (_normal, _student),
    "Student's t": (_student, _normal),
    "correlation 0.5": (_correlated, _normal),
    "drift of 10 %": (_drifting, _normal),
}


def _single(indices: Sequence[int], ratio: float) -> Callable[[Floats], Shape]:
    return lambda random: [(int(random.choice(indices)), ratio)]


def _pair(indices: Sequence[int], length: int, first: float, second: float) -> Callable[[Floats], Shape]:
    def shape(random: Floats) -> Shape:
        index = int(random.choice(indices))
        return [(index, first), (index + length, second)]

    return shape
