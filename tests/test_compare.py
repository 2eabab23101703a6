"""Two sets of samples: the verdict, its reason, and what must not change it."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tensorcopy.analysis.two_sample import ALPHA, MARGIN, Change, Samples, Verdict, holm, judge

OPPOSITE = {Verdict.SLOWER: Verdict.FASTER, Verdict.FASTER: Verdict.SLOWER}
SECONDS = 1e-6


def side(factors, **more):
    """A side with a pass of three samples around each factor."""
    return Samples(tuple((SECONDS * x, SECONDS * x * 1.001, SECONDS * x * 0.999) for x in factors), **more)


def change(before, after, **more):
    return judge({"case": (before, after)}, **more)["case"]


def noisy(seed, passes, ratio=1.0, sigma=0.01):
    random = np.random.default_rng(seed)
    return side(ratio * np.exp(random.normal(0, sigma, passes)))


def shifted(strays, ratio=1.0):
    return side([ratio * exp(stray) for stray in strays])


PASSES = st.lists(st.floats(-0.04, 0.04), min_size=3, max_size=8)
RATIOS = st.sampled_from([0.7, 0.9, 0.96, 1.0, 1.02, 1.06, 1.3])


@pytest.mark.parametrize(
    ("ratio", "verdict", "sentence"),
    [
        (1.2, Verdict.SLOWER, "slower by 19."),
        (0.8, Verdict.FASTER, "faster by 20."),
        (1.0, Verdict.UNCHANGED, "unchanged: no change larger than "),
        (1.03, Verdict.INCONCLUSIVE, "inconclusive: between "),
    ],
)
def test_the_verdict_is_the_first_word_of_a_sentence(ratio, verdict, sentence):
    """Then how much, and what else it might be."""
    found = change(noisy(1, 10), noisy(2, 10, ratio))
    assert found.verdict is verdict
    assert found.sentence.startswith(sentence)


@settings(max_examples=40, deadline=None)
@given(PASSES, PASSES, RATIOS)
def test_swapped_sides_swap_slower_and_faster(before, after, ratio):
    """And turn the ratio and its interval upside down."""
    one, other = change(shifted(before), shifted(after, ratio)), change(shifted(after, ratio), shifted(before))
    assert other.verdict is OPPOSITE.get(one.verdict, one.verdict)
    assert other.p == one.p
    assert other.ratio == pytest.approx(1 / one.ratio)
    assert other.interval == pytest.approx((1 / one.interval[1], 1 / one.interval[0]))


@settings(max_examples=40, deadline=None)
@given(PASSES, PASSES, RATIOS, st.sampled_from([1e-3, 0.5, 7.0, 1e4]))
def test_another_unit_changes_nothing(before, after, ratio, factor):
    """Milliseconds compare like microseconds."""
    one = change(shifted(before), shifted(after, ratio))
    assume(abs(abs(log(one.ratio)) - log(1 + MARGIN)) > 1e-9)
    other = change(shifted(before, factor), shifted(after, ratio * factor))
    assert other.verdict is one.verdict
    assert other.ratio == pytest.approx(one.ratio)
    assert other.p == pytest.approx(one.p, abs=2e-3)  # ties fall either way


@settings(max_examples=40, deadline=None)
@given(PASSES, PASSES, RATIOS, st.randoms())
def test_the_order_of_passes_and_samples_is_no_evidence(before, after, ratio, random):
    """Shuffled, they give the same change."""
    one, other = shifted(before), shifted(after, ratio)
    shuffled = []
    for some in (one, other):
        passes = [tuple(random.sample(samples, len(samples))) for samples in some.passes]
        random.shuffle(passes)
        shuffled.append(Samples(tuple(passes)))
    assert change(*shuffled) == change(one, other)


@settings(max_examples=40, deadline=None)
@given(PASSES, PASSES, RATIOS, st.integers(2, 4))
def test_more_of_the_same_turns_nothing_that_is_the_same_slower(before, after, ratio, times):
    """Neither samples within passes, nor passes."""
    one, other = shifted(before), shifted(after, ratio)
    first = change(one, other)
    more_samples = [Samples(tuple(samples * times for samples in some.passes)) for some in (one, other)]
    assert change(*more_samples) == first
    if first.verdict is Verdict.UNCHANGED:
        more_passes = [Samples(some.passes * times) for some in (one, other)]
        assert change(*more_passes).verdict is Verdict.UNCHANGED


def test_a_sample_more_in_a_pass_is_no_evidence():
    """A thousand samples of one pass are one draw of a process and its place in memory."""
    few = [side([1.0, 1.04, 0.97]), side([1.08, 1.03, 1.12])]
    many = [Samples(tuple(samples * 1000 for samples in some.passes)) for some in few]
    assert change(*many).p == change(*few).p


def test_nothing_is_found_in_noise():
    """A thousand cases judged together, of few passes as of many, with tails as of no normal distribution."""
    random = np.random.default_rng(3)
    for passes in (4, 10):
        cases = {
            case: (side(np.exp(0.02 * random.standard_t(3, passes))), side(np.exp(0.02 * random.standard_t(3, passes))))
            for case in range(250)
        }
        assert not [found for found in judge(cases).values() if found.verdict in OPPOSITE]


def test_sides_of_many_passes_tell_their_own_noise():
    """What was measured in a worse month does not hide a change, what was measured in a better one does not make one."""
    random = np.random.default_rng(6)
    worse, better = ([list(random.normal(0, sigma, 4)) for _ in range(20)] for sigma in (0.2, 0.001))
    assert change(noisy(1, 40, sigma=0.03), noisy(2, 40, 1.05, sigma=0.03), noise={"case": worse}).verdict is Verdict.SLOWER
    assert change(noisy(1, 10, sigma=0.03), noisy(2, 10, 1.05, sigma=0.03), noise={"case": worse}).verdict is Verdict.INCONCLUSIVE
    pairs = {seed: (noisy(seed, 40, sigma=0.1), noisy(100 + seed, 40, sigma=0.1)) for seed in range(40)}
    still = judge(pairs, noise=dict.fromkeys(pairs, better))
    assert {one.verdict for one in still.values()} <= {Verdict.UNCHANGED, Verdict.INCONCLUSIVE}


def test_what_is_known_of_the_noise_finds_what_four_passes_alone_do_not():
    """A case's passes on other releases tell how its passes stray."""
    random = np.random.default_rng(4)
    cases = {case: (noisy(2 * case, 4, sigma=0.02), noisy(2 * case + 1, 4, 1.15 if case % 2 else 1.0, sigma=0.02)) for case in range(60)}
    noise = {case: [list(random.normal(0, 0.02, 4)) for _ in range(20)] for case in cases}

    def found(changes):
        return {case for case, one in changes.items() if one.verdict is Verdict.SLOWER}

    slower = {case for case in cases if case % 2}
    assert found(judge(cases, noise=noise)) == slower
    assert found(judge(cases)) < slower


def test_a_quieter_hour_does_not_speak_for_a_busy_one():
    """Other releases strayed by a hundredth; these two, which are alike, stray by a twentieth: nothing is found."""
    random = np.random.default_rng(8)
    cases, noise = {}, {}
    for case in range(100):
        one, other = (tuple((float(np.exp(stray)),) for stray in random.normal(0, 0.05, 20)) for _ in range(2))
        cases[case] = Samples(one), Samples(other)
        noise[case] = [list(random.normal(0, 0.01, 8)) for _ in range(20)]
    verdicts = {change.verdict for change in judge(cases, noise=noise).values()}
    assert not verdicts & {Verdict.SLOWER, Verdict.FASTER}


def test_holm_divides_by_what_is_left():
    """Holm, 1979: the least by all, the next by one fewer, and never less than one before it."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.9, 0.9]) == [1.0, 1.0]


def test_many_cases_ask_more_of_each():
    """What is clear alone is not clear among hundreds."""
    pair = (noisy(5, 4), noisy(6, 4, 1.06))
    alone = judge({0: pair})[0]
    among = judge({0: pair, **{case: (noisy(7 + case, 4), noisy(700 + case, 4)) for case in range(1, 100)}})[0]
    assert alone.verdict is Verdict.SLOWER
    assert among.verdict is Verdict.INCONCLUSIVE
    assert among.p > ALPHA > alone.p


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (Samples(failure="out of memory"), noisy(1, 4), "no result before: out of memory"),
        (noisy(1, 4), Samples(), "no result after"),
        (noisy(1, 4), Samples(((),)), "no result after"),
        (noisy(1, 4), Samples(((1e-6, 0.0),) * 4), "a sample after is no time"),
        (Samples(((float("nan"),),) * 4), noisy(1, 4), "a sample before is no time"),
        (noisy(1, 2), noisy(2, 4), "too few quiet passes, 2 before and 4 after: about 1 more pass would tell"),
        (replace(noisy(1, 4), provenance={"cpu": "one"}), replace(noisy(2, 4), provenance={"cpu": "two"}), "differs, cpu: one / two"),
    ],
    ids=["failed", "missing", "empty", "zero", "nan", "few", "ledger"],
)
def test_unknown_is_never_a_change(before, after, said):
    """However large it looks."""
    found = change(before, replace(after, passes=tuple(tuple(5 * x for x in samples) for samples in after.passes)))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert said in found.reason
    assert found.interval is None


def test_what_only_one_ledger_tells_is_not_known_to_differ():
    """An earlier version of the suites wrote less."""
    one, other = (
        replace(noisy(1, 10), provenance={"cpu": "one", "governor": "performance"}),
        replace(noisy(2, 10), provenance={"cpu": "one"}),
    )
    assert change(one, other).verdict is Verdict.UNCHANGED


def test_what_would_decide_is_enough():
    """So many more passes, as noisy as these, do decide it."""
    random = np.random.default_rng(9)
    strays = random.normal(0, 0.03, 400)
    found = change(side(np.exp(strays[:5])), side(np.exp(strays[5:10])))
    assert found.verdict is Verdict.INCONCLUSIVE
    more = int(found.reason.rpartition("about ")[2].split()[0])
    enough = 2 * (5 + more)  # the estimate of a spread from ten passes may be off by half
    after = change(side(np.exp(strays[:enough])), side(np.exp(strays[200 : 200 + enough])))
    assert after.verdict is Verdict.UNCHANGED


def test_a_sentence_tells_what_was_confirmed():
    """By how many measurements, and of how many."""
    found = Change(Verdict.SLOWER, "by 12.0 %, between 10.1 and 14.2 %", confirmed=(2, 2))
    assert found.sentence == "slower by 12.0 %, between 10.1 and 14.2 %; held in 2 of 2"
