"""A pass's mood is told by its floors, and taken off what follows them, as far as it does."""

from __future__ import annotations

import random
from math import exp
from pathlib import Path
from statistics import median, pstdev

import pytest

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.two_sample import Verdict
from tensorcopy.report.comparison import explain
from tensorcopy.results import noise, passes
from tensorcopy.results.load import Case, Result
from tensorcopy.results.noise import AS_MEASURED
from tensorcopy.results.passes import PassSamples

FLOORS = [Case("floors.ByBytes.time_memcpy", (("memory", "kept"), ("nbytes", str(4**power)))) for power in range(12)]
COPY = Case("copies.BySize.time_copy", (("method", "clone_detach"), ("numel", "1024")))


def measured(name, drifts, chance, *, speed=1.0, power=1.0, numpy="1.26.4"):
    """A result whose passes were in these moods (logarithms); its copy takes so many µs, and follows them to that power."""

    def timing(usual, follows):
        times = [usual * exp(follows * one + chance.gauss(0, 0.01)) for one in drifts]
        return passes.timing([PassSamples((time,), name=f"{name}-{number}") for number, time in enumerate(times)])

    timings = {floor: timing(1e-7 * (1 + index), 1.0) for index, floor in enumerate(FLOORS)}
    provenance = {"torch": name, "numpy": numpy, "cpu": "a processor", "python": "3.11.7"}
    path = Path("results") / "machine" / f"{name}.json"
    return Result(
        path, "machine", name, "3.11", "cuda", "py3.11-cuda", {**timings, COPY: timing(speed * 1e-6, power)}, provenance=provenance
    )


def drifts(chance, *, usual=0.0, passes=20):
    return [chance.gauss(usual, 0.04) for _ in range(passes)]


@pytest.fixture
def chance():
    return random.Random(4)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_a_case_follows_the_mood_to_a_power_of_its_own(chance, power):
    """It is learnt within each result: that one is twice as slow, and one was measured in a bad hour, says nothing of it."""
    results = [
        measured("2.13.0", drifts(chance), chance, power=power),
        measured("2.14.1", drifts(chance, usual=0.1), chance, speed=2.0, power=power),
        measured("2.15.0", drifts(chance), chance, speed=1.1, power=power),
    ]
    assert noise.fit_drift(results, [COPY]).powers[COPY] == pytest.approx(power, abs=0.1)


def test_what_strays_with_the_mood_strays_no_more(chance):
    """What is left is the case's own noise."""
    one, other = measured("2.14.1", drifts(chance), chance), measured("2.15.0", drifts(chance), chance)
    drift = noise.fit_drift([one, other], [COPY])
    assert pstdev(one.timings[COPY].logs) > 0.03
    assert pstdev(drift.logs(COPY, one.timings[COPY])) < 0.015
    assert [len(samples) for samples in drift.passes(COPY, one.timings[COPY])] == [1] * 20


def test_two_sides_in_different_moods_are_the_same(chance):
    """As measured, the later one would be slower by some 5 %."""
    one, other = measured("2.14.1", drifts(chance), chance), measured("2.15.0", drifts(chance, usual=0.05), chance)
    assert comparisons.between(one, other, ()).changes[COPY].verdict is Verdict.UNCHANGED
    raw = comparisons.between(one, measured("2.15.0", drifts(chance, usual=0.05), chance, numpy="2.3.5"), ()).changes[COPY]
    assert raw.ratio == pytest.approx(1.05, abs=0.03)


def test_a_change_is_seen_through_the_moods(chance):
    """It is torch's: the floors do not share it. Of what was measured it could not be told."""
    one, other = measured("2.14.1", drifts(chance), chance), measured("2.15.0", drifts(chance, usual=-0.05), chance, speed=1.05)
    change = comparisons.between(one, other, ()).changes[COPY]
    assert (change.verdict, change.ratio) == (Verdict.SLOWER, pytest.approx(1.05, abs=0.01))
    assert comparisons.between(one, other, ()).drift.pass_drift(COPY, one.timings[COPY].by_pass[0]) is not None


def test_the_evidence_says_what_was_taken_off_a_pass(chance):
    """Beside its time as measured; of a case that follows fully, all of the mood."""
    one, other = measured("2.14.1", drifts(chance), chance), measured("2.15.0", [0.1] * 10 + [0.0] * 10, chance)
    lines = explain.evidence(comparisons.between(one, other, ()), COPY).splitlines()
    taken_off = [float(line.split("mood ")[1].split()[0]) for line in lines if "mood " in line][20:]
    assert median(taken_off[:10]) - median(taken_off[10:]) == pytest.approx(10, abs=1.5)


@pytest.mark.parametrize("chance_of", range(20))
def test_nothing_is_found_where_only_the_mood_changed(chance_of):
    """Whatever the case makes of it."""
    chance = random.Random(chance_of)
    power = chance.random()
    sides_ = [measured(name, drifts(chance, usual=chance.gauss(0, 0.03)), chance, power=power) for name in ("2.14.1", "2.15.0")]
    assert comparisons.between(*sides_, ()).changes[COPY].verdict in (Verdict.UNCHANGED, Verdict.INCONCLUSIVE)


def test_floors_of_another_machine_or_numpy_tell_nothing(chance):
    """Their times are no moods of this one's."""
    one = measured("2.14.1", drifts(chance), chance)
    assert noise.same_machine(one, measured("2.15.0", drifts(chance), chance))
    other = measured("2.15.0", drifts(chance), chance, numpy="2.3.5")
    assert not noise.same_machine(one, other)
    assert comparisons.between(one, other, ()).drift.pass_drift(COPY, one.timings[COPY].by_pass[0]) is None


def test_few_passes_are_judged_as_measured(chance):
    """They cannot tell how a case follows the mood."""
    one, other = (measured(name, drifts(chance, passes=10), chance) for name in ("2.14.1", "2.15.0"))
    drift = noise.fit_drift([one, other], [COPY])
    assert drift.passes(COPY, one.timings[COPY]) == AS_MEASURED.passes(COPY, one.timings[COPY])


def test_a_case_on_an_accelerator_is_judged_as_measured(chance):
    """What the host's floors tell is not its mood, and the device's own are torch's copies."""
    there = Case("copies.Throughput.time_copy", (("method", "clone_detach"), ("numel", "1024"), ("device", "cuda")))
    results = [measured(name, drifts(chance), chance) for name in ("2.14.1", "2.15.0")]
    for result in results:
        result.timings[there] = result.timings[COPY]
    drift = noise.fit_drift(results, [COPY, there])
    assert drift.logs(there, results[0].timings[there]) == results[0].timings[there].logs != drift.logs(COPY, results[0].timings[COPY])


def test_a_pass_without_floors_is_judged_as_measured(chance):
    """As those are that somebody measures of a few suites."""
    one, other = measured("2.14.1", drifts(chance), chance), measured("2.15.0", drifts(chance), chance)
    bare = Result(other.path, "machine", "2.15.0", "3.11", "cuda", "py3.11-cuda", {COPY: other.timings[COPY]}, provenance=other.provenance)
    drift = noise.fit_drift([one, one, bare], [COPY])
    assert drift.logs(COPY, bare.timings[COPY]) == bare.timings[COPY].logs
    assert drift.logs(COPY, one.timings[COPY]) != one.timings[COPY].logs
