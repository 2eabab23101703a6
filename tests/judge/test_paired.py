"""The judge tells what is there, at the published rate of false alarms, with moderated variances as limma computes them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tensorcopy.judge import paired
from tensorcopy.judge.paired import ALPHA, MARGIN, Change, CountPair, Reason, Verdict, judge, moderated
from tensorcopy.measure import now, run
from tensorcopy.results.cases import Case
from tensorcopy.results.effects import JOINED, PAIRED, UNPAIRED, Difference, summed, within

VARIANCES = [1.2, 0.8, 2.5, 0.3, 1.1, 4.2, 0.9, 1.7, 0.6, 3.1]
NAN = float("nan")
CASES = 250


@pytest.mark.parametrize(
    ("variances", "freedom", "prior_freedom", "prior", "drawn"),
    [
        (
            VARIANCES,
            [5, 7, 11, 5, 9, 3, 11, 11, 8, 6],
            7.389300211,
            1.281567185,
            [
                *(1.2486487862, 1.0472979540, 2.0104019319, 0.8854321458, 1.1818616061),
                *(2.1242898196, 1.0533236419, 1.5318627869, 0.9272601402, 2.0964415039),
            ],
        ),
        ([1.0, 1.1, 0.9, 1.05, 0.95, 1.02], [5] * 6, float("inf"), 1.003333333, [1.003333333] * 6),
    ],
    ids=["several degrees of freedom", "no more spread than chance"],
)
def test_variances_are_moderated_as_by_limma(variances, freedom, prior_freedom, prior, drawn):
    """The numbers are what squeezeVar of limma 3.54.1 prints."""
    ours, our_freedom, our_prior = moderated(variances, freedom)
    assert our_freedom == pytest.approx(prior_freedom, rel=1e-8)
    assert our_prior == pytest.approx(prior, rel=1e-8)
    assert list(ours) == pytest.approx(drawn, rel=1e-8)


def launches(random, effects, count=12, layout=0.01, common=0.2):
    """Return log seconds by launch, side and case: what all sides share varies much more than the layout."""
    effects = np.asarray(effects, dtype=float)
    shape = (count, len(effects), effects.shape[1])
    own = layout * random.gamma(4, 1 / 4, effects.shape[1]) ** 0.5
    return -13 + common * random.standard_normal((count, 1, shape[2])) + effects + own * random.standard_normal(shape)


def changes(logs, before=0, after=1, **options):
    return judge({case: each for case, each in within(logs, before, after).items() if each}, **options)


def test_equal_sides_give_no_more_false_alarms_than_promised():
    random = np.random.default_rng(1)
    verdicts = [changes(launches(random, np.zeros((2, CASES)))).values() for _ in range(100)]
    alarms = sum(any(change.p <= ALPHA for change in each) for each in verdicts)
    assert alarms <= 100 * ALPHA + 3 * (100 * ALPHA * (1 - ALPHA)) ** 0.5


def test_intervals_cover_the_truth_as_often_as_they_say():
    random, size = np.random.default_rng(2), 0.02
    effects = np.zeros((2, CASES))
    effects[1] = np.log1p(size)
    intervals = [change.interval for _ in range(40) for change in changes(launches(random, effects)).values()]
    covered = sum(low <= 1 + size <= high for low, high in intervals) / len(intervals)
    assert 0.93 <= covered <= 0.97


def test_a_slowdown_of_5_percent_is_told_among_hundreds_of_cases_by_12_launches():
    random = np.random.default_rng(3)
    effects = np.zeros((2, CASES))
    effects[1, :50] = np.log(1.05)
    judged = changes(launches(random, effects))
    assert sum(judged[case].verdict is Verdict.SLOWER for case in range(50)) >= 47
    assert not [case for case in range(50, CASES) if judged[case].verdict in (Verdict.SLOWER, Verdict.FASTER)]


def test_the_factor_tells_a_change_of_a_steady_case_from_one_of_a_noisy_case():
    """A change of the smallest detectable size has the factor 1, in either direction; 6 % of a steady case have more than 8 % elsewhere."""
    random = np.random.default_rng(5)
    error = np.where(np.arange(CASES) % 2, 1.0, 3.0)
    effects = np.where(np.arange(CASES) % 2, np.log(1.06), np.log(1.08))
    judged = [*changes(error * launches(random, np.array([np.zeros(CASES), effects]) / error)).values()]
    factors = [change.factor for change in judged]
    assert np.median(factors[1::2]) > np.median(factors[::2])
    for size in (1 + judged[0].detectable, 1 / (1 + judged[0].detectable)):
        assert replace(judged[0], ratio=size).factor == pytest.approx(1)
    assert Change(Verdict.UNKNOWN, Reason.TOO_FEW_LAUNCHES, ratio=1.5).factor is None


@pytest.mark.parametrize("worse", [1, 3])
def test_the_smallest_slowdown_seen_is_called_one_9_times_in_10(worse):
    """Of all cases together, of which a quarter has `worse` times the error of the others; and of each case alone."""
    random = np.random.default_rng(4)
    error = np.where(np.arange(CASES) % 4, 1.0, worse)

    def judged(sizes):
        return changes(error * launches(random, np.array([np.zeros(CASES), sizes]) / error))

    quiet = judged(np.zeros(CASES))
    each = np.log1p([change.detectable for change in quiet.values()])
    for sizes in (np.log1p(paired.smallest_seen(quiet.values())), each):
        told = []
        for _ in range(20):
            planted = random.choice(CASES, 25, replace=False)
            effects = np.zeros(CASES)
            effects[planted] = sizes if np.isscalar(sizes) else sizes[planted]
            verdicts = judged(effects)
            told += [verdicts[case].verdict is Verdict.SLOWER for case in planted]
        assert 0.8 <= np.mean(told) <= 0.97


def test_what_would_not_have_been_seen_is_asked_of_cases_that_did_not_change():
    """A hundredfold change is decided by a few launches, which vary as it does: they tell nothing of the cases beside it."""
    random = np.random.default_rng(6)
    logs = launches(random, np.zeros((2, CASES)), count=16)
    alone = paired.smallest_seen(changes(logs[:, :, 4:]).values())
    logs[:, 1, :4] -= np.log(100) + random.normal(0, 0.3, (16, 4))
    logs[4:, :, :4] = NAN
    judged = changes(logs)
    assert [judged[case].verdict for case in range(4)] == [Verdict.FASTER] * 4
    assert min(judged[case].detectable for case in range(4)) > 8 * alone
    assert paired.smallest_seen(judged.values()) < 2 * alone
    assert paired.smallest_seen([judged[case] for case in range(4)]) is None


def test_what_disturbs_a_whole_launch_cancels():
    random = np.random.default_rng(5)
    calm = changes(launches(random, np.zeros((2, CASES)), common=0.0))
    busy = changes(launches(random, np.zeros((2, CASES)), common=0.5))
    widths = [np.median([np.log(change.interval[1] / change.interval[0]) for change in each.values()]) for each in (calm, busy)]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)


def test_releases_of_two_groups_are_compared_by_way_of_the_reference():
    random = np.random.default_rng(6)
    logs = launches(random, np.log([[1.0], [1.0], [1.2]]), count=24)
    logs[:12, 2], logs[12:, 1] = NAN, NAN  # side 0 is in every launch
    change = changes(logs, 1, 2)[0]
    assert (change.way, change.launches) == (JOINED, (12, 12))
    assert change.interval[0] < 1.2 < change.interval[1]
    direct = changes(launches(random, np.log([[1.0], [1.2]])), 0, 1)[0]
    assert direct.way == PAIRED
    assert np.log(change.interval[1] / change.interval[0]) > np.log(direct.interval[1] / direct.interval[0])


@pytest.mark.parametrize("extra", ["reference", "both"])
def test_launches_that_both_sides_were_in_are_used_whichever_others_each_was_in(extra):
    """The reference release is in the launches of each group, and a second stage measures some releases again."""
    random = np.random.default_rng(14)
    logs = launches(random, np.log([[1.0] * CASES, [1.2] * CASES, [1.5] * CASES]), count=24)
    logs[12:, 1] = NAN  # side 0 is in every launch
    logs[: 6 if extra == "both" else 0, 0] = NAN
    n = 6 if extra == "both" else 12
    found = within(logs, 0, 1)
    assert {(each.way, each.launches, each.count, each.freedom) for each in found.values()} == {(PAIRED, (n, n), n, n - 1)}
    own = (logs[12 - n : 12, 1] - logs[12 - n : 12, 0]).mean(axis=0)
    assert [each.size for each in found.values()] == pytest.approx(list(own))
    covered = [low <= 1.2 <= high for low, high in (change.interval for change in changes(logs).values())]
    assert 0.93 <= np.mean(covered) <= 0.97


def test_other_launches_are_used_where_they_tell_more():
    """Of 27 launches the sides met in 3, and the reference is in all: by way of it, the 24 are worth 6 more."""
    random = np.random.default_rng(15)
    logs = launches(random, np.log([[1.0] * CASES, [1.0] * CASES, [1.2] * CASES]), count=27)
    logs[3:15, 2], logs[15:, 1] = NAN, NAN
    found = within(logs, 1, 2)
    assert {(each.way, each.launches) for each in found.values()} == {(JOINED, (15, 15))}
    assert found[0].count > 6
    covered = [low <= 1.2 <= high for low, high in (change.interval for change in changes(logs, 1, 2).values())]
    assert 0.93 <= np.mean(covered) <= 0.97


def test_by_way_of_a_chain_of_groups_intervals_cover_the_truth():
    """Every link of a chain adds to the variance, which per-release errors would not show."""
    random = np.random.default_rng(7)
    covered = []
    for _ in range(20):
        logs = launches(random, np.zeros((4, 100)), count=24)
        logs[:8, 2:], logs[8:16, [0, 3]], logs[16:, :2] = NAN, NAN, NAN  # 0-1, 1-2, 2-3
        covered += [low <= 1 <= high for low, high in (change.interval for change in changes(logs, 0, 3).values())]
    assert 0.92 <= np.mean(covered) <= 0.98


def test_the_sum_of_two_differences_has_the_variance_of_both():
    """As computed by hand, and its intervals cover the truth: so a cost is that of two Pythons."""
    first, second = Difference(0.1, 4e-4, 8, 7, (8, 9)), Difference(-0.02, 1e-4, 12, 11, (12, 12))
    total, errors = summed([first, second]), (4e-4 / 8, 1e-4 / 12)
    assert total.size == pytest.approx(0.08)
    assert total.variance / total.count == pytest.approx(sum(errors))
    assert total.freedom == pytest.approx(sum(errors) ** 2 / (errors[0] ** 2 / 7 + errors[1] ** 2 / 11))
    assert total.launches == (8, 9)
    random, covered = np.random.default_rng(13), []
    for _ in range(10):
        older = within(launches(random, np.log([[1.0], [1.2]]).repeat(CASES, 1), count=6), 0, 1)
        newer = within(launches(random, np.log([[1.0], [1.1]]).repeat(CASES, 1), count=12, layout=0.03), 0, 1)
        judged = judge({case: summed([older[case], newer[case]]) for case in older})
        covered += [low <= 1.2 * 1.1 <= high for low, high in (change.interval for change in judged.values())]
    assert 0.93 <= np.mean(covered) <= 0.97


def test_sides_that_never_met_are_not_compared():
    logs = launches(np.random.default_rng(8), np.zeros((4, 1)))
    logs[:6, 2:], logs[6:, :2] = NAN, NAN
    assert within(logs, 0, 2) == {0: None}


def test_unpaired_launches_are_compared_with_the_variation_of_the_machine():
    """Each side was measured alone, hours apart: what varied between the launches is in the interval."""
    random = np.random.default_rng(9)
    logs = launches(random, np.zeros((2, CASES)), count=24, common=0.1)
    logs[:12, 1], logs[12:, 0] = NAN, NAN
    judged = changes(logs)
    assert {change.way for change in judged.values()} == {UNPAIRED}
    covered = np.mean([change.interval[0] <= 1 <= change.interval[1] for change in judged.values()])
    assert 0.9 <= covered <= 0.99
    assert np.median([change.interval[1] for change in judged.values()]) > 1.05


def test_two_launches_are_too_few_for_a_verdict():
    logs = launches(np.random.default_rng(10), np.log([[1.0] * 5, [2.0] * 5]), count=2)
    assert {(change.verdict, change.reason, change.more_launches) for change in changes(logs).values()} == {
        (Verdict.UNKNOWN, Reason.TOO_FEW_LAUNCHES, 1)
    }


def test_a_significant_change_below_the_margin_is_not_called_slower():
    random = np.random.default_rng(11)
    effects = np.zeros((2, CASES))
    effects[1] = np.log1p(MARGIN / 2)
    judged = changes(launches(random, effects, count=100, layout=0.005))
    assert {change.verdict for change in judged.values()} == {Verdict.UNCHANGED}
    assert sum(change.p <= ALPHA for change in judged.values()) > CASES / 2


def test_as_many_more_launches_as_suggested_decide():
    random = np.random.default_rng(12)
    effects = np.zeros((2, CASES))
    effects[1] = np.log(1.06)
    few = changes(launches(random, effects, count=4, layout=0.03))
    undecided = [change.more_launches for change in few.values() if change.verdict is Verdict.UNKNOWN and change.more_launches]
    assert len(undecided) > CASES / 2
    more = changes(launches(random, effects, count=4 + int(np.quantile(undecided, 0.9)), layout=0.03))
    assert np.mean([change.verdict is Verdict.SLOWER for change in more.values()]) > 0.8


def test_holm_adjusts_every_p_for_those_that_are_smaller():
    assert paired.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_an_outlier_of_one_launch_is_no_change_by_way_of_others():
    """A fork that another program disturbed is twice as slow: the residuals of seventeen quiet sides must not hide that."""
    random = np.random.default_rng(9)
    logs = launches(random, np.zeros((19, 50)), count=8)
    logs[:4, 18], logs[4:, 17] = NAN, NAN
    logs[6, 18] += np.log(2)
    assert {change.verdict for change in changes(logs, 17, 18).values()} <= {Verdict.UNCHANGED, Verdict.UNKNOWN}


def at_looks(logs, looks, alpha):
    """Return the changes after as many looks as the cases of these launches need."""
    seen = np.full_like(logs, NAN)

    def take(look, undecided):
        cases = undecided or range(logs.shape[2])
        for number in range(int((~np.isnan(seen)).any(axis=(1, 2)).sum()), look):
            seen[number][:, cases] = logs[number][:, cases]
        return True

    return now.judge(looks, take, lambda: SimpleNamespace(changes=changes(seen, alpha=alpha))).changes.values()


def test_looks_that_share_the_chance_of_a_false_alarm_give_no_more_of_them():
    """Judged by the last look, on as many launches as each case was left with: so whoever reads them later judges."""
    random, looks = np.random.default_rng(21), (4, 8, 16)
    alpha = ALPHA / len(looks)
    judged = [[*at_looks(launches(random, np.zeros((2, 20)), count=16, layout=0.02), looks, alpha)] for _ in range(200)]
    assert {change.launches[0] for each in judged for change in each} > {*looks}
    alarms = sum(any(change.p <= alpha for change in each) for each in judged)
    assert alarms <= 200 * ALPHA + 3 * (200 * ALPHA * (1 - ALPHA)) ** 0.5


def test_each_look_but_the_last_tells_what_it_leaves_undecided():
    """Those of the last one are in the answer."""
    random, left = np.random.default_rng(23), []
    logs = launches(random, np.zeros((2, 8)), count=16, layout=0.3)
    logs[:, 1, 0] -= np.log(100)
    take, compared = (lambda look, undecided: True), (lambda: SimpleNamespace(changes=changes(logs[:8])))
    now.judge((4, 8, 16), take, compared, lambda look, cases: left.append((look, cases)))
    assert left == [(look, [*range(1, 8)]) for look in (4, 8)]
    cases = [Case(f"theirs.time_{name}", ()) for name in "abcde"]
    assert now._left(4, cases) == "5 cases undecided after 4 launches: theirs.time_a, theirs.time_b, theirs.time_c and 2 more"
    assert now._left(8, cases[:1]) == "1 case undecided after 8 launches: theirs.time_a"


def test_launches_again_of_wide_intervals_need_no_share_of_the_chance_of_a_false_alarm():
    """Unlike a choice by the verdict: the second stage of `measure` chooses by the width alone."""
    random, case, repetitions = np.random.default_rng(22), Case("copies.BySize.time_copy", (("numel", "16"),)), 50
    alarms, again, covered = 0, [], []
    for _ in range(repetitions):
        logs = launches(random, np.zeros((2, CASES)), count=24, layout=0.014)
        chosen = [run._is_wide(case, change) for change in changes(logs[:12]).values()]
        logs[12:, :, np.logical_not(chosen)] = NAN
        judged = changes(logs).values()
        alarms += any(change.p <= ALPHA for change in judged)
        again += chosen
        covered += [change.interval[0] <= 1 <= change.interval[1] for change in judged]
    assert 0.3 < np.mean(again) < 0.7
    assert max((high / low) ** 0.5 for low, high in (change.interval for change in judged)) < 1.03, "exact, all of them"
    assert 0.93 <= np.mean(covered) <= 0.97
    assert alarms <= repetitions * ALPHA + 3 * (repetitions * ALPHA * (1 - ALPHA)) ** 0.5


@pytest.mark.parametrize(
    ("interval", "likely"),
    [
        ((1.057, 1.424), Verdict.SLOWER),
        ((0.6, 0.9), Verdict.FASTER),
        ((1.02, 1.424), None),
        ((0.6, 0.98), None),
        ((0.9, 1.2), None),
    ],
    ids=["slower", "faster", "within the margin, too", "within it on the other side", "both"],
)
def test_an_unknown_case_whose_own_interval_lies_beyond_the_margin_is_likely(interval, likely):
    """A certain one is not; nor one with another margin."""
    change = Change(Verdict.UNKNOWN, Reason.INTERVAL_TOO_WIDE, interval[0], interval)
    assert change.likely is likely
    assert replace(change, margin=0.5).likely is None
    assert replace(change, verdict=Verdict.SLOWER, reason=Reason.CHANGED).likely is None


def test_few_cases_that_do_not_change_are_called_likely():
    """One in twenty at most, by the level of an interval; so most that are called likely are so."""
    effects = np.zeros((2, CASES))
    effects[1, :100] = np.log(1.1)
    judged = changes(launches(np.random.default_rng(14), effects, count=4, layout=0.04))
    likely = {case: change.likely for case, change in judged.items() if change.likely}
    assert sum(case >= 100 for case in likely) <= ALPHA * (CASES - 100)
    assert sum(case < 100 for case in likely) > 30
    assert {likely[case] for case in likely if case < 100} == {Verdict.SLOWER}


def test_a_tracked_value_is_likely_higher_where_its_own_interval_excludes_no_change():
    assert CountPair("GB/s", 2.0, 3.0, interval=(0.5, 1.5), known=False).likely is Verdict.HIGHER
    assert CountPair("GB/s", 3.0, 2.0, interval=(-1.5, -0.5), known=False).likely is Verdict.LOWER
    assert CountPair("GB/s", 3.0, 2.0, interval=(-2.5, 0.5), known=False).likely is None
    assert CountPair("GB/s", 2.0, 3.0, interval=(0.5, 1.5)).likely is None


UNEQUAL = [(1, 2), (1, 3), (2, 2), (2, 3), (3, 3), (5, 5), (2, 12), (3, 12)]


@pytest.mark.parametrize("launches", [(1, 2), (2, 2), (3, 3), (2, 12)], ids=lambda launches: "{} against {}".format(*launches))
def test_a_tracked_value_that_only_varies_is_seldom_called_higher_or_lower(launches):
    """In at most 5 of 100 families, however few launches tell how much it varies: here each family is a single value."""
    random, families = np.random.default_rng(21), 1000
    sides = [(list(random.normal(100, 1, launches[0])), list(random.normal(100, 1, launches[1]))) for _ in range(families)]
    alarms = [paired.tracked({0: ("nats", before, after)})[0].verdict is not Verdict.UNKNOWN for before, after in sides]
    swapped = [paired.tracked({0: ("nats", after, before)})[0].verdict is not Verdict.UNKNOWN for before, after in sides[:200]]
    assert alarms[:200] == swapped
    assert 0.015 <= np.mean(alarms) <= ALPHA + 3 * (ALPHA * (1 - ALPHA) / families) ** 0.5


@pytest.mark.parametrize("launches", [each for each in UNEQUAL if min(each) > 1], ids=lambda launches: "{} against {}".format(*launches))
@pytest.mark.slow
@pytest.mark.parametrize("spread", [1 / 3, 3.0], ids=["a third", "three times"])
def test_a_side_that_varies_otherwise_gives_few_more_false_alarms(launches, spread):
    """Of two launches that vary three times as much as twelve others, 8 in 100: nothing tells their spread, and Welch's test gives 11."""
    random, families = np.random.default_rng(22), 4000
    sides = [(list(random.normal(100, spread, launches[0])), list(random.normal(100, 1, launches[1]))) for _ in range(families)]
    alarms = sum(paired.tracked({0: ("nats", *each)})[0].verdict is not Verdict.UNKNOWN for each in sides)
    assert alarms / families <= (0.095 if min(launches) == 2 else 0.065)


def test_a_tracked_value_is_judged_at_the_level_that_looks_leave():
    """Its interval is at that level, too: of three looks at 98.3 %, by Student's t with 4 degrees of freedom."""
    values = {"m": ("", [1.0, 1.1, 1.2], [1.25, 1.35, 1.45])}
    once, third = paired.tracked(values)["m"], paired.tracked(values, alpha=ALPHA / 3)["m"]
    assert (once.verdict, third.verdict, third.likely) == (Verdict.HIGHER, Verdict.UNKNOWN, None)
    halves = [(high - low) / 2 for low, high in (once.count.interval, third.count.interval)]
    assert halves == pytest.approx([2.776445 * 0.0816497, 3.960809 * 0.0816497], rel=1e-4)
    assert (once.level, third.level) == pytest.approx((0.95, 1 - 0.05 / 3))


def test_a_tracked_value_of_one_launch_is_judged_by_the_spread_of_the_other_side():
    """Once, with its degrees of freedom: the interval is Student's, as computed by hand."""
    change = paired.tracked({0: ("nats", [10.0], [11.0, 12.0, 13.0])})[0]
    half = 4.302653 * 1.0 * (1 / 1 + 1 / 3) ** 0.5  # the quantile of t with 2 degrees of freedom
    assert change.count.interval == pytest.approx((2 - half, 2 + half), rel=1e-6)
    assert (change.verdict, change.reason, change.compared) == (Verdict.UNKNOWN, Reason.INTERVAL_TOO_WIDE, True)


def test_tracked_values_are_judged_together():
    """Significant alone, and not among ten."""
    one, quiet = ("", [1.0, 1.1, 1.2], [1.25, 1.35, 1.45]), ("", [1.0, 1.1, 1.2], [1.01, 1.1, 1.19])
    assert paired.tracked({"m": one})["m"].verdict is Verdict.HIGHER
    together = paired.tracked({"m": one, **{f"m{number}": quiet for number in range(9)}})
    assert {change.verdict for change in together.values()} == {Verdict.UNKNOWN}
    assert together["m"].p == pytest.approx(10 * paired.tracked({"m": one})["m"].p)


def test_a_side_with_few_launches_is_not_judged_whatever_the_other_has():
    """Two of them would pass for an estimate of their spread."""
    change = judge({"m": Difference(0.5, 1e-6, 3.0, 4.0, (2, 12), UNPAIRED)})["m"]
    assert (change.verdict, change.reason, change.interval, change.more_launches) == (Verdict.UNKNOWN, Reason.TOO_FEW_LAUNCHES, None, 1)


def test_another_way_of_comparing_has_a_spread_of_its_own():
    """Differences within launches vary less than those of sides that did not meet, and neither widens the other's intervals."""
    random = np.random.default_rng(1)
    within_launches, apart = (
        {f"{way} {number}": Difference(0.0, spread * random.chisquare(5) / 5, 6, 5, (6, 6), way) for number in range(20)}
        for way, spread in ((PAIRED, 1e-6), (UNPAIRED, 1e-2))
    )
    alone, together = judge(within_launches), judge({**within_launches, **apart})
    assert [together[case].interval for case in alone] == [change.interval for change in alone.values()]


def test_a_sum_of_differences_is_worth_the_launches_that_give_its_variance():
    """Of 4 and 12 launches with equal variances: 3 launches, each with the sum of both, and so the sum of the squared errors."""
    total = summed([Difference(0.1, 2e-4, 4, 3, (4, 4)), Difference(0.2, 2e-4, 12, 11, (12, 12))])
    assert (total.size, total.count, total.launches) == (pytest.approx(0.3), pytest.approx(3.0), (4, 4))
    assert total.variance / total.count == pytest.approx(2e-4 / 4 + 2e-4 / 12)
