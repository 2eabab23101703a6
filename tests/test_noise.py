"""Machine drift is divided out as far as the cases show it, and each side's spread is its own, filled up with others."""

from __future__ import annotations

import random
from math import exp, log
from pathlib import Path

import pytest

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.two_sample import Verdict
from tensorcopy.results import noise, passes
from tensorcopy.results.noise import (
    ENOUGH,
    FEWEST_CASES,
    deviations,
    moderated_spread,
)
from tensorcopy.results.passes import Case, PassSamples
from tensorcopy.results.reader import Result

BASELINES = [Case("floors.ByBytes.time_memcpy", (("memory", "kept"), ("nbytes", str(4**power)))) for power in range(12)]
COPY = Case("copies.BySize.time_copy", (("method", "clone_detach"), ("numel", "1024")))


def measured(name, drifts, rng, *, time=1e-6, exponent=1.0, numpy="1.26.4"):
    """Return a result whose passes drifted (logarithms) and whose copy follows."""

    def timing(usual, exponent):
        times = [usual * exp(exponent * drift + rng.gauss(0, 0.01)) for drift in drifts]
        return passes.timing([PassSamples((time,), name=f"{name}-{number}") for number, time in enumerate(times)])

    timings = {baseline: timing(1e-7 * (1 + index), 1.0) for index, baseline in enumerate(BASELINES)}
    timings[COPY] = timing(time, exponent)
    provenance = {"torch": name, "numpy": numpy, "cpu": "a processor", "python": "3.11.7"}
    path = Path("results") / "machine" / f"{name}.json"
    return Result(path, "machine", name, "3.11", "cuda", "py3.11-cuda", timings, provenance=provenance)


def drifts(rng, *, usual=0.0, passes=20):
    return [rng.gauss(usual, 0.04) for _ in range(passes)]


@pytest.fixture
def rng():
    return random.Random(4)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_the_exponent_of_a_case_is_fitted_within_each_result(rng, exponent):
    """A result that is slower, or measured in a slow hour, does not change it."""
    results = [
        measured("2.13.0", drifts(rng), rng, exponent=exponent),
        measured("2.14.1", drifts(rng, usual=0.1), rng, time=2e-6, exponent=exponent),
        measured("2.15.0", drifts(rng), rng, time=1.1e-6, exponent=exponent),
    ]
    assert noise.fit(results).model([COPY]).exponents[COPY] == pytest.approx(exponent, abs=0.1)


def test_baselines_of_another_machine_or_numpy_are_not_used(rng):
    """Their times differ for other reasons than drift."""
    before = measured("2.14.1", drifts(rng), rng)
    assert noise.same_machine(before, measured("2.15.0", drifts(rng), rng))
    after = measured("2.15.0", drifts(rng), rng, numpy="2.3.5")
    assert not noise.same_machine(before, after)
    assert comparisons.between(before, after, ()).drift.pass_drift(COPY, before.timings[COPY].by_pass[0]) is None


CASES = [
    Case("copies.BySize.time_copy", (("method", method), ("numel", str(2**power))))
    for method in ("clone_detach", "tensor", "detach_clone")
    for power in range(10, 20)
]
EXPONENTS = {case: (number * 7 % 30) / 29 for number, case in enumerate(CASES)}  # 0 to 1, whatever the size
LARGE = [case for case in CASES if int(case["numel"]) >= 2**17]
NOTHING = {Verdict.UNCHANGED, Verdict.INCONCLUSIVE}


def side(name, rng, count=40, *, drift=0.0, baselines=0.0, shift=None):
    """Return a result of `count` passes, with 1 % of noise in each time and 2 % of drift in each pass.

    drift : the usual drift of its hour; baselines, shift : by how much its baselines and each case were slower besides (logarithms)
    """
    hours = [rng.gauss(drift, 0.02) for _ in range(count)]

    def timing(usual, exponent, more):
        times = [usual * exp(exponent * hour + more + rng.gauss(0, 0.01)) for hour in hours]
        return passes.timing([PassSamples((time,), name=f"{name}-{number}") for number, time in enumerate(times)])

    timings = {baseline: timing(1e-7, 1.0, baselines) for baseline in BASELINES}
    timings |= {case: timing(1e-6, EXPONENTS[case], (shift or {}).get(case, 0.0)) for case in CASES}
    template = measured(name, [0.0], rng)
    return Result(template.path, "machine", name, "3.11", "cuda", "py3.11-cuda", timings, provenance=template.provenance)


def verdicts(before, after):
    return {case: change.verdict for case, change in comparisons.between(before, after, ()).changes.items()}


@pytest.mark.parametrize("baselines", [0.05, 0.10])
def test_baselines_that_differ_alone_create_no_change(baselines):
    """As after an update of the memcpy that they measure, with 40 passes a side."""
    rng = random.Random(0)
    assert set(verdicts(side("a", rng), side("b", rng, baselines=log(1 + baselines))).values()) <= NOTHING


def test_a_change_of_all_large_cases_is_found_with_unchanged_baselines():
    """+10 % from 2^17 elements on; no other case changes."""
    rng = random.Random(0)
    result = verdicts(side("a", rng), side("b", rng, shift=dict.fromkeys(LARGE, log(1.1))))
    assert {case for case, verdict in result.items() if verdict is Verdict.SLOWER} == set(LARGE)
    assert Verdict.FASTER not in result.values()


@pytest.mark.parametrize("equally", [False, True], ids=["by exponent", "equally"])
def test_a_drift_of_baselines_and_cases_is_no_change(equally):
    """Whether the cases follow to their exponents or all take 5 % longer."""
    rng = random.Random(0)
    slower = side("b", rng, baselines=0.05, shift=dict.fromkeys(CASES, 0.05)) if equally else side("b", rng, drift=0.05)
    assert set(verdicts(side("a", rng), slower).values()) <= NOTHING


def group(passes, width):
    """Return values with a mean deviation of about `width` from 1."""
    return [1.0 + width * (-1) ** number for number in range(passes)]


def sides(first, second, others, **more):
    return moderated_spread(deviations((first, second), others), **more)


def test_few_passes_are_filled_up_with_the_other_side_and_other_results():
    """Four passes have 3 degrees of freedom, the other side 3, and other results the rest."""
    result = sides(group(4, 0.1), group(4, 0.1), [group(8, 0.1)] * 20)
    assert result.degrees == (ENOUGH, ENOUGH)
    assert result.shared == ENOUGH - 3 - 3
    assert result.sides == pytest.approx((0.11, 0.11), abs=0.005)


def test_an_hour_in_which_all_cases_vary_more_widens_what_other_results_show():
    """The mean over at least `FEWEST_CASES` cases; a quieter hour never narrows it."""
    busy, quiet = (deviations((group(8, value), group(8, value)), [group(8, 0.1)] * 20) for value in (0.2, 0.05))
    assert noise.busy_hour([busy] * FEWEST_CASES) == pytest.approx(2.0)
    assert noise.busy_hour([busy] * (FEWEST_CASES - 1)) == 1.0
    assert noise.busy_hour([quiet] * FEWEST_CASES) == 1.0
    assert moderated_spread(busy, 2.0).sides[0] > 1.25 * moderated_spread(busy).sides[0]
