"""Two sets of samples: the verdict, its reason, and what must not influence it."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tensorcopy.analysis.two_sample import (
    ALPHA,
    MARGIN,
    Failure,
    FieldDifference,
    Reason,
    Samples,
    Verdict,
    holm,
    judge,
)

OPPOSITE = {Verdict.SLOWER: Verdict.FASTER, Verdict.FASTER: Verdict.SLOWER}
SECONDS = 1e-6


def side(factors, **more):
    """Return a side with a pass of three samples around each factor."""
    return Samples(tuple((SECONDS * x, SECONDS * x * 1.001, SECONDS * x * 0.999) for x in factors), **more)


def change(before, after, **more):
    return judge({"case": (before, after)}, **more)["case"]


def noisy(seed, passes, ratio=1.0, sigma=0.01):
    random = np.random.default_rng(seed)
    return side(ratio * np.exp(random.normal(0, sigma, passes)))


def shifted(deviations, ratio=1.0):
    return side([ratio * exp(deviation) for deviation in deviations])


PASSES = st.lists(st.floats(-0.04, 0.04), min_size=3, max_size=8)
RATIOS = st.sampled_from([0.7, 0.9, 0.96, 1.0, 1.02, 1.06, 1.3])


@pytest.mark.parametrize(
    ("ratio", "verdict", "reason"),
    [
        (1.2, Verdict.SLOWER, Reason.CHANGED),
        (0.8, Verdict.FASTER, Reason.CHANGED),
        (1.0, Verdict.UNCHANGED, Reason.WITHIN_MARGIN),
        (1.03, Verdict.INCONCLUSIVE, Reason.INTERVAL_TOO_WIDE),
    ],
)
def test_each_verdict_has_its_reason(ratio, verdict, reason):
    """And the number of passes on each side."""
    result = change(noisy(1, 10), noisy(2, 10, ratio))
    assert (result.verdict, result.reason, result.passes) == (verdict, reason, (10, 10))


@settings(max_examples=40, deadline=None)
@given(PASSES, PASSES, RATIOS)
def test_swapped_sides_swap_slower_and_faster(before, after, ratio):
    """The ratio and its interval are inverted, the p-value stays."""
    forward, backward = change(shifted(before), shifted(after, ratio)), change(shifted(after, ratio), shifted(before))
    assert backward.verdict is OPPOSITE.get(forward.verdict, forward.verdict)
    assert backward.p == forward.p
    assert backward.ratio == pytest.approx(1 / forward.ratio)
    assert backward.interval == pytest.approx((1 / forward.interval[1], 1 / forward.interval[0]))


@settings(max_examples=40, deadline=None)
@given(PASSES, PASSES, RATIOS, st.sampled_from([1e-3, 0.5, 7.0, 1e4]))
def test_the_unit_does_not_matter(before, after, ratio, factor):
    """Milliseconds compare like microseconds."""
    first = change(shifted(before), shifted(after, ratio))
    assume(abs(abs(log(first.ratio)) - log(1 + MARGIN)) > 1e-9)
    second = change(shifted(before, factor), shifted(after, ratio * factor))
    assert second.verdict is first.verdict
    assert second.ratio == pytest.approx(first.ratio)
    assert second.p == pytest.approx(first.p, abs=2e-3)  # ties are broken either way


@settings(max_examples=40, deadline=None)
@given(PASSES, PASSES, RATIOS, st.randoms())
def test_the_order_of_passes_and_samples_does_not_matter(before, after, ratio, random):
    """Shuffled, they give the same change."""
    sides = shifted(before), shifted(after, ratio)
    shuffled = []
    for samples_of_side in sides:
        passes = [tuple(random.sample(samples, len(samples))) for samples in samples_of_side.passes]
        random.shuffle(passes)
        shuffled.append(Samples(tuple(passes)))
    assert change(*shuffled) == change(*sides)


@settings(max_examples=40, deadline=None)
@given(PASSES, PASSES, RATIOS, st.integers(2, 4))
def test_repeated_data_make_no_unchanged_case_slower(before, after, ratio, times):
    """Repeated samples change nothing.

    Repeated passes leave an unchanged case unchanged.
    """
    sides = shifted(before), shifted(after, ratio)
    original = change(*sides)
    more_samples = [Samples(tuple(samples * times for samples in side.passes)) for side in sides]
    assert change(*more_samples) == original
    if original.verdict is Verdict.UNCHANGED:
        more_passes = [Samples(side.passes * times) for side in sides]
        assert change(*more_passes).verdict is Verdict.UNCHANGED


def test_noise_alone_gives_no_change():
    """For 250 cases together, with few and many passes, and heavy tails."""
    random = np.random.default_rng(3)
    for passes in (4, 10):
        cases = {
            case: (side(np.exp(0.02 * random.standard_t(3, passes))), side(np.exp(0.02 * random.standard_t(3, passes))))
            for case in range(250)
        }
        assert not [change for change in judge(cases).values() if change.verdict in OPPOSITE]


def test_sides_with_many_passes_use_their_own_noise():
    """Noisier results do not hide a change; quieter results do not create one."""
    random = np.random.default_rng(6)
    worse, better = ([list(random.normal(0, sigma, 4)) for _ in range(20)] for sigma in (0.2, 0.001))
    assert change(noisy(1, 40, sigma=0.03), noisy(2, 40, 1.05, sigma=0.03), noise={"case": worse}).verdict is Verdict.SLOWER
    assert change(noisy(1, 10, sigma=0.03), noisy(2, 10, 1.05, sigma=0.03), noise={"case": worse}).verdict is Verdict.INCONCLUSIVE
    pairs = {seed: (noisy(seed, 40, sigma=0.1), noisy(100 + seed, 40, sigma=0.1)) for seed in range(40)}
    still = judge(pairs, noise=dict.fromkeys(pairs, better))
    assert {result.verdict for result in still.values()} <= {Verdict.UNCHANGED, Verdict.INCONCLUSIVE}


def test_the_noise_of_other_results_finds_what_four_passes_alone_miss():
    """A case's passes on other releases show how much its passes vary."""
    random = np.random.default_rng(4)
    cases = {case: (noisy(2 * case, 4, sigma=0.02), noisy(2 * case + 1, 4, 1.15 if case % 2 else 1.0, sigma=0.02)) for case in range(60)}
    noise = {case: [list(random.normal(0, 0.02, 4)) for _ in range(20)] for case in cases}

    def slower(changes):
        return {case for case, result in changes.items() if result.verdict is Verdict.SLOWER}

    expected = {case for case in cases if case % 2}
    assert slower(judge(cases, noise=noise)) == expected
    assert slower(judge(cases)) < expected


def test_a_side_that_contradicts_its_neighbours_is_not_known_to_a_fifth():
    """Four passes of 198 µs to 2.98 ms, a case that other releases run in 100 µs within 5 %."""
    random = np.random.default_rng(10)
    before, strayed = side(100 * np.exp(random.normal(0, 0.05, 4))), side([198, 935, 1510, 2980])
    noise = {"case": [list(random.normal(0, 0.05, 4)) for _ in range(20)]}
    result = change(before, strayed, noise=noise)
    low, high = result.interval
    assert result.ratio == pytest.approx(11, rel=0.2)
    assert low < 5 < 25 < high


@pytest.mark.parametrize(
    ("passes", "sigma"),
    [(3, 0.02), pytest.param(4, 0.02, marks=pytest.mark.slow), (5, 0.08), pytest.param(9, 0.08, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("others", [pytest.param(0, marks=pytest.mark.slow), 16])
def test_two_equal_sides_with_few_passes_are_equal(passes, sigma, others):
    """193 cases together; from five passes on also where one side of half of them varies four times as much as all others."""
    random = np.random.default_rng(11)
    pairs, noise = {}, {}
    for case in range(193):
        pairs[case] = noisy(1000 + case, passes, sigma=0.02), noisy(5000 + case, passes, sigma=sigma if case % 2 else 0.02)
        noise[case] = [list(random.normal(0, 0.02, 5)) for _ in range(others)]
    assert not [result for result in judge(pairs, noise=noise).values() if result.verdict in OPPOSITE]


def test_a_busy_hour_of_both_sides_creates_no_change():
    """Four passes a side vary three times as much as other results, in all cases."""
    random = np.random.default_rng(13)
    pairs = {case: (noisy(case, 4, sigma=0.06), noisy(500 + case, 4, sigma=0.06)) for case in range(193)}
    noise = {case: [list(random.normal(0, 0.02, 5)) for _ in range(16)] for case in pairs}
    assert not [result for result in judge(pairs, noise=noise).values() if result.verdict in OPPOSITE]


def test_a_p_at_the_resolution_of_the_draws_is_a_bound():
    """No draw was as large; a p that draws reach is not one."""
    assert change(noisy(1, 10), noisy(2, 10, 2.0)).p_is_bound
    assert not change(noisy(1, 10), noisy(2, 10)).p_is_bound
    assert judge({0: (noisy(1, 10), noisy(2, 10, 2.0)), 1: (noisy(3, 10), noisy(4, 10))})[1].p_is_bound is False


def test_a_side_with_a_few_passes_beside_many_is_no_more_certain():
    """Three passes against forty: the interval is that of the three."""
    few, many = noisy(1, 3, sigma=0.03), noisy(2, 40, sigma=0.03)
    low, high = change(few, many).interval
    same_low, same_high = change(noisy(2, 40, sigma=0.03), noisy(3, 40, sigma=0.03)).interval
    assert log(high / low) > 2 * log(same_high / same_low)


def test_holm_multiplies_by_the_number_of_remaining_cases():
    """Holm (1979): the smallest p by all, the next by one fewer, and never a decrease."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.9, 0.9]) == [1.0, 1.0]


def test_many_cases_raise_the_bar_for_each():
    """A change that is significant alone is not among a hundred cases."""
    pair = (noisy(5, 4), noisy(6, 4, 1.06))
    alone = judge({0: pair})[0]
    among = judge({0: pair, **{case: (noisy(7 + case, 4), noisy(700 + case, 4)) for case in range(1, 100)}})[0]
    assert alone.verdict is Verdict.SLOWER
    assert among.verdict is Verdict.INCONCLUSIVE
    assert among.p > ALPHA > alone.p


@pytest.mark.parametrize(
    ("before", "after", "reason", "details"),
    [
        (Samples(failure=Failure.NEVER_QUIET), noisy(1, 4), Reason.NO_SAMPLES_BEFORE, {"failure": Failure.NEVER_QUIET}),
        (noisy(1, 4), Samples(), Reason.NO_SAMPLES_AFTER, {"failure": None, "passes": (4, 0)}),
        (noisy(1, 4), Samples(((),)), Reason.NO_SAMPLES_AFTER, {"passes": (4, 0)}),
        (noisy(1, 4), Samples(((1e-6, 0.0),) * 4), Reason.NOT_A_TIME_AFTER, {}),
        (Samples(((float("nan"),),) * 4), noisy(1, 4), Reason.NOT_A_TIME_BEFORE, {}),
        (noisy(1, 2), noisy(2, 4), Reason.TOO_FEW_PASSES, {"passes": (2, 4), "more_passes": 1}),
        (
            replace(noisy(1, 4), provenance={"cpu": "a"}),
            replace(noisy(2, 4), provenance={"cpu": "b"}),
            Reason.PROVENANCE_DIFFERS,
            {"differences": (FieldDifference("cpu", "a", "b"),)},
        ),
    ],
    ids=["failed", "missing", "empty", "zero", "nan", "few", "provenance"],
)
def test_an_unknown_side_is_never_a_change(before, after, reason, details):
    """However large the ratio looks."""
    result = change(before, replace(after, passes=tuple(tuple(5 * x for x in samples) for samples in after.passes)))
    assert (result.verdict, result.reason, result.interval) == (Verdict.INCONCLUSIVE, reason, None)
    assert {name: getattr(result, name) for name in details} == details


def test_a_field_that_one_side_lacks_is_not_a_difference():
    """Earlier versions of the suites recorded fewer fields."""
    before = replace(noisy(1, 10), provenance={"cpu": "a", "governor": "performance"})
    after = replace(noisy(2, 10), provenance={"cpu": "a"})
    assert change(before, after).verdict is Verdict.UNCHANGED


def test_the_suggested_number_of_passes_decides():
    """With as much noise as before."""
    deviations = np.random.default_rng(9).normal(0, 0.03, 400)
    first = change(side(np.exp(deviations[:5])), side(np.exp(deviations[5:10])))
    assert first.verdict is Verdict.INCONCLUSIVE
    enough = 2 * (5 + first.more_passes)  # the estimate of a spread from ten passes may be off by half
    second = change(side(np.exp(deviations[:enough])), side(np.exp(deviations[200 : 200 + enough])))
    assert second.verdict is Verdict.UNCHANGED
