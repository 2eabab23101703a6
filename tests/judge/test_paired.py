"""The judge tells what is there, at the published rate of false alarms, with moderated variances as limma computes them."""

import numpy as np
import pytest
from msgspec.structs import replace

from tensorcopy.judge import paired
from tensorcopy.judge.paired import ALPHA, Change, Reason, Verdict, judge
from tensorcopy.results.effects import JOINED, PAIRED, within
from tensorcopy.results.kinds import TRACKED

NAN = float("nan")
CASES = 250


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


def test_as_many_more_launches_as_suggested_decide():
    random = np.random.default_rng(12)
    effects = np.zeros((2, CASES))
    effects[1] = np.log(1.06)
    few = changes(launches(random, effects, count=4, layout=0.03))
    undecided = [change.more_launches for change in few.values() if change.verdict is Verdict.UNKNOWN and change.more_launches]
    assert len(undecided) > CASES / 2
    more = changes(launches(random, effects, count=4 + int(np.quantile(undecided, 0.9)), layout=0.03))
    assert np.mean([change.verdict is Verdict.SLOWER for change in more.values()]) > 0.8


def test_an_outlier_of_one_launch_is_no_change_by_way_of_others():
    """A fork that another program disturbed is twice as slow: the residuals of seventeen quiet sides must not hide that."""
    random = np.random.default_rng(9)
    logs = launches(random, np.zeros((19, 50)), count=8)
    logs[:4, 18], logs[4:, 17] = NAN, NAN
    logs[6, 18] += np.log(2)
    assert {change.verdict for change in changes(logs, 17, 18).values()} <= {Verdict.UNCHANGED, Verdict.UNKNOWN}


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
    unknown = Change(Verdict.UNKNOWN, Reason.INTERVAL_TOO_WIDE, kind=TRACKED)
    ends = {(0.5, 1.5): Verdict.HIGHER, (-1.5, -0.5): Verdict.LOWER, (-2.5, 0.5): None}
    assert {each: replace(unknown, difference=each).likely for each in ends} == ends
    assert replace(unknown, verdict=Verdict.HIGHER, difference=(0.5, 1.5)).likely is None


UNEQUAL = [(1, 2), (1, 3), (2, 2), (2, 3), (3, 3), (5, 5), (2, 12), (3, 12)]


@pytest.mark.parametrize("launches", UNEQUAL, ids=lambda launches: "{} against {}".format(*launches))
@pytest.mark.slow
def test_a_tracked_value_that_only_varies_is_seldom_called_higher_or_lower(launches):
    """In at most 5 of 100 families, however few launches tell how much it varies: here each family is a single value."""
    random, families = np.random.default_rng(21), 1000
    sides = [(list(random.normal(100, 1, launches[0])), list(random.normal(100, 1, launches[1]))) for _ in range(families)]
    alarms = [paired.of_values({0: ("nats", before, after)})[0].verdict is not Verdict.UNKNOWN for before, after in sides]
    swapped = [paired.of_values({0: ("nats", after, before)})[0].verdict is not Verdict.UNKNOWN for before, after in sides[:200]]
    assert alarms[:200] == swapped
    assert 0.015 <= np.mean(alarms) <= ALPHA + 3 * (ALPHA * (1 - ALPHA) / families) ** 0.5


@pytest.mark.parametrize("launches", [each for each in UNEQUAL if min(each) > 1], ids=lambda launches: "{} against {}".format(*launches))
@pytest.mark.slow
@pytest.mark.parametrize("spread", [1 / 3, 3.0], ids=["a third", "three times"])
def test_a_side_that_varies_otherwise_gives_few_more_false_alarms(launches, spread):
    """Of two launches that vary three times as much as twelve others, 8 in 100: nothing tells their spread, and Welch's test gives 11."""
    random, families = np.random.default_rng(22), 4000
    sides = [(list(random.normal(100, spread, launches[0])), list(random.normal(100, 1, launches[1]))) for _ in range(families)]
    alarms = sum(paired.of_values({0: ("nats", *each)})[0].verdict is not Verdict.UNKNOWN for each in sides)
    assert alarms / families <= (0.095 if min(launches) == 2 else 0.065)
