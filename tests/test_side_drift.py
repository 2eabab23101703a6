"""A drift between two sides is taken off only as far as their cases show it."""

from __future__ import annotations

import random
from math import exp, log

import pytest

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.two_sample import Verdict
from tensorcopy.results import noise, passes
from tensorcopy.results.passes import Case, PassSamples
from tensorcopy.results.reader import Result
from tests.test_machine_drift import BASELINES, COPY, drifts, measured

CASES = [
    Case("copies.BySize.time_copy", (("method", method), ("numel", str(2**power))))
    for method in ("clone_detach", "tensor", "detach_clone")
    for power in range(10, 20)
]
EXPONENTS = {case: (number * 7 % 30) / 29 for number, case in enumerate(CASES)}  # 0 to 1, whatever the size
LARGE = [case for case in CASES if int(case["numel"]) >= 2**17]
SEEDS = (0, pytest.param(1, marks=pytest.mark.slow))
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


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("baselines", [pytest.param(0.05, marks=pytest.mark.slow), 0.10])
def test_baselines_that_differ_alone_create_no_change(seed, baselines):
    """As after an update of the memcpy that they measure, with 40 passes a side."""
    rng = random.Random(seed)
    assert set(verdicts(side("a", rng), side("b", rng, baselines=log(1 + baselines))).values()) <= NOTHING


@pytest.mark.parametrize("seed", SEEDS)
def test_a_change_of_all_large_cases_is_found_with_unchanged_baselines(seed):
    """+10 % from 2^17 elements on; no other case changes."""
    rng = random.Random(seed)
    result = verdicts(side("a", rng), side("b", rng, shift=dict.fromkeys(LARGE, log(1.1))))
    assert {case for case, verdict in result.items() if verdict is Verdict.SLOWER} == set(LARGE)
    assert Verdict.FASTER not in result.values()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("equally", [False, True], ids=["by exponent", "equally"])
def test_a_drift_of_baselines_and_cases_is_no_change(seed, equally):
    """Whether the cases follow to their exponents or all take 5 % longer."""
    rng = random.Random(seed)
    slower = side("b", rng, baselines=0.05, shift=dict.fromkeys(CASES, 0.05)) if equally else side("b", rng, drift=0.05)
    assert set(verdicts(side("a", rng), slower).values()) <= NOTHING


def test_a_slowdown_is_found_although_drift_hides_it():
    """All cases ran in a faster hour; the case that did not become faster is slower."""
    rng = random.Random(1)
    slow = next(case for case in CASES if EXPONENTS[case] > 0.9)
    result = verdicts(side("a", rng), side("b", rng, drift=-0.08, shift={slow: 0.08}))
    assert [case for case, verdict in result.items() if verdict not in NOTHING] == [slow]
    assert result[slow] is Verdict.SLOWER


def test_swapped_sides_invert_the_ratio():
    """Half of the difference is taken off each side."""
    rng = random.Random(2)
    before, after = side("a", rng, 24), side("b", rng, 24, drift=0.05)
    forward, backward = (comparisons.between(*sides, ()).changes for sides in ((before, after), (after, before)))
    for case in CASES:
        assert backward[case].ratio == pytest.approx(1 / forward[case].ratio)


def test_a_side_without_baselines_is_not_shifted_against_the_other():
    """The other side's passes are corrected among themselves."""
    rng = random.Random(4)
    before, after = measured("2.14.1", drifts(rng, usual=0.1, passes=30), rng), measured("2.15.0", drifts(rng), rng)
    bare = Result(after.path, "machine", "2.15.0", "3.11", "cuda", "py3.11-cuda", {COPY: after.timings[COPY]}, provenance=after.provenance)
    drift = noise.drift_between(noise.fit_drift([before, before, bare], [COPY]), before, bare)
    assert drift.logs(COPY, bare.timings[COPY]) == bare.timings[COPY].logs
    assert sum(drift.pass_drift(COPY, part) for part in before.timings[COPY].by_pass) / 30 == pytest.approx(0.0, abs=0.02)
