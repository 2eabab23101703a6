"""Machine drift shows in memcpy baselines and is divided out of other cases."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from math import exp
from pathlib import Path
from statistics import median, pstdev

import pytest

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.two_sample import Verdict
from tensorcopy.report import terminal
from tensorcopy.results import noise, passes
from tensorcopy.results.noise import AS_MEASURED
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
    assert noise.fit_drift(results, [COPY]).exponents[COPY] == pytest.approx(exponent, abs=0.1)


def test_corrected_passes_vary_by_their_own_noise_only(rng):
    """As measured they vary three times as much."""
    first, second = measured("2.14.1", drifts(rng), rng), measured("2.15.0", drifts(rng), rng)
    drift = noise.fit_drift([first, second], [COPY])
    assert pstdev(first.timings[COPY].logs) > 0.03
    assert pstdev(drift.logs(COPY, first.timings[COPY])) < 0.015
    assert [len(samples) for samples in drift.passes(COPY, first.timings[COPY])] == [1] * 20


def test_two_sides_with_different_drift_are_unchanged(rng):
    """As measured, the later one would be slower by some 5 %."""
    before, after = measured("2.14.1", drifts(rng), rng), measured("2.15.0", drifts(rng, usual=0.05), rng)
    assert comparisons.between(before, after, ()).changes[COPY].verdict is Verdict.UNCHANGED
    uncorrected = comparisons.between(before, measured("2.15.0", drifts(rng, usual=0.05), rng, numpy="2.3.5"), ()).changes[COPY]
    assert uncorrected.ratio == pytest.approx(1.05, abs=0.03)


def test_a_side_that_only_its_baselines_show_to_be_faster_is_compared_as_measured(rng):
    """A case that did not follow them is no slower: nothing else confirms the drift."""
    before, after = measured("2.14.1", drifts(rng), rng), measured("2.15.0", drifts(rng, usual=-0.05), rng, time=1.05e-6)
    comparison = comparisons.between(before, after, ())
    assert comparison.changes[COPY].verdict is Verdict.UNCHANGED
    assert comparison.drift.pass_drift(COPY, before.timings[COPY].by_pass[0]) is not None


def test_the_evidence_shows_the_drift_of_each_pass(rng):
    """For a case that follows it fully, all of the drift is divided out."""
    before, after = measured("2.14.1", drifts(rng), rng), measured("2.15.0", [0.1] * 10 + [0.0] * 10, rng)
    lines = terminal.evidence(comparisons.between(before, after, ()), COPY)
    percents = [float(text) for text in re.findall(r"drift ([+-][0-9.]+) %", lines)][20:]
    assert median(percents[:10]) - median(percents[10:]) == pytest.approx(10, abs=1.5)


@pytest.mark.parametrize("seed", range(20))
def test_drift_alone_is_never_a_change(seed):
    """Whatever the exponent of the case."""
    rng = random.Random(seed)
    exponent = rng.random()
    both = [measured(name, drifts(rng, usual=rng.gauss(0, 0.03)), rng, exponent=exponent) for name in ("2.14.1", "2.15.0")]
    assert comparisons.between(*both, ()).changes[COPY].verdict in (Verdict.UNCHANGED, Verdict.INCONCLUSIVE)


def test_baselines_of_another_machine_or_numpy_are_not_used(rng):
    """Their times differ for other reasons than drift."""
    before = measured("2.14.1", drifts(rng), rng)
    assert noise.same_machine(before, measured("2.15.0", drifts(rng), rng))
    after = measured("2.15.0", drifts(rng), rng, numpy="2.3.5")
    assert not noise.same_machine(before, after)
    assert comparisons.between(before, after, ()).drift.pass_drift(COPY, before.timings[COPY].by_pass[0]) is None


def test_few_passes_are_compared_as_measured(rng):
    """The exponent of a case cannot be fitted to them."""
    first, second = (measured(name, drifts(rng, passes=10), rng) for name in ("2.14.1", "2.15.0"))
    drift = noise.fit_drift([first, second], [COPY])
    assert drift.passes(COPY, first.timings[COPY]) == AS_MEASURED.passes(COPY, first.timings[COPY])


def test_a_case_on_an_accelerator_is_compared_as_measured(rng):
    """The host's baselines do not show its drift; the device's are torch's own."""
    on_device = Case("copies.Throughput.time_copy", (("method", "clone_detach"), ("numel", "1024"), ("device", "cuda")))
    results = [measured(name, drifts(rng), rng) for name in ("2.14.1", "2.15.0")]
    for result in results:
        result.timings[on_device] = result.timings[COPY]
    drift = noise.fit_drift(results, [COPY, on_device])
    as_measured = results[0].timings[COPY].logs
    assert drift.logs(on_device, results[0].timings[on_device]) == as_measured != drift.logs(COPY, results[0].timings[COPY])


def test_a_pass_without_baselines_is_compared_as_measured(rng):
    """As after a run of a few suites only."""
    first, second = measured("2.14.1", drifts(rng), rng), measured("2.15.0", drifts(rng), rng)
    timings = {COPY: second.timings[COPY]}
    bare = Result(second.path, "machine", "2.15.0", "3.11", "cuda", "py3.11-cuda", timings, provenance=second.provenance)
    drift = noise.fit_drift([first, first, bare], [COPY])
    assert drift.logs(COPY, bare.timings[COPY]) == bare.timings[COPY].logs
    assert drift.logs(COPY, first.timings[COPY]) != first.timings[COPY].logs


def test_the_drift_does_not_depend_on_the_order_of_results(rng):
    """A series is fitted once for all of its comparisons."""
    results = [measured(name, drifts(rng), rng) for name in ("2.13.0", "2.14.1", "2.15.0")]
    first, second = (noise.DriftFit(tuple(order)) for order in (results, results[::-1]))
    assert first.drifts == second.drifts
    assert first.exponent(COPY) == second.exponent(COPY) is not None


def test_kept_noise_is_that_of_the_model(rng):
    """A result that is read again is not mistaken for the earlier one at its path."""
    before, after = measured("2.14.1", drifts(rng), rng), measured("2.15.0", drifts(rng), rng)
    fit = noise.fit([before, after])
    again = replace(after, timings=measured("2.15.0", drifts(rng), rng).timings)
    for results in ([before, after], [before, again], [again, before]):
        assert fit.noise(results, [COPY]) == fit.model([COPY]).noise(results, [COPY])
    assert noise.fit([after, before]) is fit
    assert noise.fit([again, before]) is not fit
