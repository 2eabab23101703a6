"""The rules of the judge: tables of input and expected number, and what must hold of any launches."""

from __future__ import annotations

import re
from dataclasses import replace
from math import ceil, exp, inf, log, log1p

import numpy as np
import pytest
from scipy import stats

from tensorcopy.campaign import VerdictRules
from tensorcopy.judge import case_history, comparisons, paired
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import Change, Reason, Verdict, judge
from tensorcopy.releases import release_table
from tensorcopy.results import kinds, suite_specs
from tensorcopy.results.effects import Difference
from tests import launch_files

RELEASES = [release.version for release in release_table.load()][-12:]
CASE = "copies.BySize.time_copy m0 16"


@pytest.mark.parametrize(
    ("size", "spread", "count", "margin", "verdict", "reason", "more"),
    [
        (log(1.20), 0.01, 6, 0.03, "slower", "changed", None),
        (log(0.80), 0.01, 6, 0.03, "faster", "changed", None),
        (log(1.02), 0.001, 6, 0.03, "unchanged", "within_margin", None),  # significant, and below the margin
        (log(1.00), 0.02, 6, 0.03, "unchanged", "within_margin", None),
        (log(1.00), 0.03, 6, 0.03, "unknown", "interval_too_wide", 1),
        (log(1.02), 0.02, 6, 0.03, "unknown", "interval_too_wide", 22),  # 6 (0.02099 / 0.00976)² have an interval within the margin
        (log(1.10), 0.10, 6, 0.03, "unknown", "interval_too_wide", 2),  # 6 (0.1049 / 0.0953)² have an interval without 1
        (log(1.029), 0.02, 6, 0.03, "unknown", "interval_too_wide", None),  # more than a hundred
        (log(1.20), 0.01, 2, 0.03, "unknown", "too_few_launches", 1),
        (log(1.20), 0.00, 1, 0.03, "unknown", "too_few_launches", 2),
        (0.10, 0.078, 6, 0.03, "slower", "changed", None),
        (0.10, 0.078, 6, 0.40, "unchanged", "within_margin", None),  # of the same launches
    ],
)
def test_the_verdict_on_a_difference(size, spread, count, margin, verdict, reason, more):
    """Of a case alone: with fewer cases than tell a prior, the test is Student's."""
    change = judge({"a": Difference(size, spread**2, count, count - 1, (count, count))}, margin=margin)["a"]
    assert (change.verdict.value, change.reason.value, change.more_launches) == (verdict, reason, more)
    assert change.ratio == pytest.approx(exp(size))
    if count > 2:
        error, student = spread / count**0.5, stats.t(count - 1)
        assert change.p == pytest.approx(2 * student.sf(abs(size) / error))
        assert [*map(log, change.interval)] == pytest.approx([size - student.ppf(0.975) * error, size + student.ppf(0.975) * error])
        assert (change.margin, change.threshold) == (margin, pytest.approx(max(log1p(margin), student.ppf(0.975) * error)))


def test_more_launches_are_those_of_the_side_that_has_fewer():
    """The other one has enough of them."""
    launches = (3, 3), (3, 12), (12, 3), (12, 12)
    first, *same, most = (judge({"a": Difference(0.02, 0.00027, 3, 4, each)})["a"].more_launches for each in launches)
    assert [*same, most] == [first, first, pytest.approx(4 * first, abs=4)]


def test_more_launches_are_those_that_make_it_significant_among_all_cases():
    changes = judge({name: Difference(size, 0.1**2, 6, 5, (6, 6)) for name, size in (("a", 0.1), ("b", 0.0))})
    threshold = stats.t(5).ppf(1 - 0.05 / 2 / 2) * 0.1 / 6**0.5
    assert changes["a"].more_launches == ceil(6 * ((threshold / 0.1) ** 2 - 1))


def test_a_difference_by_way_of_others_has_at_least_one_degree_of_freedom():
    """As that of a few launches that are all needed to join the sides."""
    change = judge({"a": Difference(0.5, 0.01**2, 3, 0.5, (3, 3))})["a"]
    assert change.p == pytest.approx(2 * stats.t(1).sf(0.5 / (0.01 / 3**0.5)))


VARIANCES, FREEDOM = [1.2, 0.8, 2.5, 0.3, 1.1, 4.2, 0.9, 1.7, 0.6, 3.1], [5, 7, 11, 5, 9, 3, 11, 11, 8, 6]


@pytest.mark.parametrize(
    ("variances", "freedom", "prior_freedom", "prior", "drawn"),
    [
        (VARIANCES, FREEDOM, 7.389300211, 1.281567185, [1.2486487862, 1.0472979540, 2.0104019319, 0.8854321458, 1.1818616061]),
        ([1.0, 1.1, 0.9, 1.05, 0.95, 1.02], [5] * 6, inf, 1.003333333, [1.003333333] * 5),
        ([1.0, 2.0, 9.0], [5] * 3, 0.0, 0.0, [1.0, 2.0, 9.0]),
    ],
    ids=["several degrees of freedom", "no more spread than chance", "too few cases"],
)
def test_variances_are_moderated_as_by_limma(variances, freedom, prior_freedom, prior, drawn):
    """The numbers are what squeezeVar of limma 3.54.1 prints."""
    ours, our_freedom, our_prior = paired.moderated(variances, freedom)
    assert (our_freedom, our_prior) == pytest.approx((prior_freedom, prior), rel=1e-8)
    assert list(ours)[:5] == pytest.approx(drawn[: len(ours)], rel=1e-8)


# Counts and tracked values


@pytest.mark.parametrize(
    ("unit", "before", "after", "margin", "verdict", "ratio"),
    [
        ("instructions", 1000, 1009, None, "equal", 1.009),
        ("instructions", 1000, 1010, None, "more", 1.010),
        ("instructions", 1010, 1000, None, "fewer", 1000 / 1010),
        ("instructions", 1000, 1030, 0.04, "equal", 1.03),
        ("instructions", 1000, 1003, 0.002, "more", 1.003),
        ("bytes", 0, 64, None, "more", inf),
        ("bytes", 0, 0, None, "equal", 1.0),
        ("bytes", 4194300, 4194310, None, "more", 4194310 / 4194300),
    ],
)
def test_the_verdict_on_a_count(unit, before, after, margin, verdict, ratio):
    """It is exact within the tolerance of its unit, or within what is asked for."""
    change = paired.exact(unit, [before], [after], margin=margin)
    assert (change.verdict.value, change.ratio) == (verdict, pytest.approx(ratio))
    assert change.changed is (verdict != "equal")


def test_an_exact_count_differs_by_as_much_as_on_the_side_that_repeats_less_well():
    assert paired.exact("bytes", [1000, 1002], [2000, 2020]).repeatability == pytest.approx(0.01)
    assert paired.exact("bytes", [1000], [2000]).repeatability is None


@pytest.mark.parametrize(
    ("before", "after", "verdict", "reason"),
    [
        ([1.0, 1.0], [2.0, 2.0], "higher", "count_changed"),
        ([1.0], [2.0], "unknown", "too_few_launches"),
        ([1.0], [1.0], "equal", "count_unchanged"),
        ([2.49, 2.5, 2.51], [2.39, 2.4, 2.41], "lower", "count_changed"),
        ([2.3, 2.5, 2.7], [2.4, 2.5, 2.7], "unknown", "interval_too_wide"),
        ([2.5], [2.39, 2.4, 2.41, 2.4], "lower", "count_changed"),  # of one launch: it varies as the other side's do
    ],
)
def test_the_verdict_on_a_tracked_value(before, after, verdict, reason):
    """Where launches differ it is Student's and Welch's test, the wider interval of both."""
    change = paired.of_values({"a": ("GB/s", before, after)})["a"]
    assert (change.verdict.value, change.reason.value, change.launches) == (verdict, reason, (len(before), len(after)))
    if change.difference:
        tests = [stats.ttest_ind(after, before, equal_var=equal) for equal in (True, False)[: min(len(before), len(after))]]
        assert change.p == pytest.approx(max(each.pvalue for each in tests))
        widest = max((each.confidence_interval(0.95) for each in tests), key=lambda each: each.high - each.low)
        assert change.difference == pytest.approx((widest.low, widest.high))


def test_tracked_values_are_judged_together():
    values = {"a": ("GB/s", [1.0, 1.1, 1.2], [1.3, 1.4, 1.52])}
    others = {number: ("GB/s", [1.0, 2.0, 3.0], [1.0, 2.0, 3.1]) for number in range(5)}
    assert paired.of_values(values)["a"].p * 6 == pytest.approx(paired.of_values(values | others)["a"].p)
    assert [paired.of_values(each)["a"].verdict.value for each in (values, values | others)] == ["higher", "unknown"]


@pytest.mark.parametrize(
    ("verdict", "details", "word"),
    [
        (Verdict.UNKNOWN, {"interval": (1.04, 1.2)}, "likely slower"),
        (Verdict.UNKNOWN, {"interval": (0.8, 0.96)}, "likely faster"),
        (Verdict.UNKNOWN, {"interval": (1.02, 1.2)}, "unknown"),
        (Verdict.UNKNOWN, {"interval": (1.04, 1.2), "margin": 0.10}, "unknown"),
        (Verdict.SLOWER, {"interval": (1.04, 1.2)}, "slower"),
        (Verdict.UNKNOWN, {}, "unknown"),
        (Verdict.UNKNOWN, {"kind": kinds.TRACKED, "difference": (0.5, 1.5)}, "likely higher"),
        (Verdict.UNKNOWN, {"kind": kinds.TRACKED, "difference": (-1.5, -0.5)}, "likely lower"),
        (Verdict.UNKNOWN, {"kind": kinds.TRACKED, "difference": (-2.5, 0.5)}, "unknown"),
        (Verdict.HIGHER, {"kind": kinds.TRACKED, "difference": (0.5, 1.5)}, "higher"),
    ],
)
def test_what_is_likely(verdict, details, word):
    """Where its own interval lies beyond the margin, or that of a tracked value excludes no change."""
    assert comparisons.word(Change(verdict, Reason.INTERVAL_TOO_WIDE, **details)) == word


# Which cases go together, and which rule holds


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        ("copies.BySize.time_copy a 16384", ("cpu", 0)),
        ("copies.BySize.time_copy a 16385", ("cpu", 1)),
        ("copies.BySize.time_copy a 131072", ("cpu", 1)),
        ("copies.BySize.time_copy a 1048576", ("cpu", 2)),
        ("copies.BySize.time_copy a 1048577", ("cpu", 3)),
        ("copies.Latency.time_copy a 16 cuda", ("cuda", 0)),
        ("several.time_it", ("cpu", -1)),
    ],
)
def test_the_kind_of_a_case(case, kind):
    assert comparisons.kind(launch_files.case(case)) == kind


@pytest.mark.parametrize(("sides", "accepted"), [(("2.14.1", "2.15.0"), "a check"), (("2.15.0#base", "2.15.0#head"), "")])
def test_a_slowdown_is_accepted_of_torch_alone(tmp_path, sides, accepted):
    """That of a project's own revision, with one torch, is another one."""
    launch_files.write(tmp_path, {CASE: dict(zip(sides, (1.0, 1.5)))})
    rules = VerdictRules(((re.compile("m0"), "2.15.0", "a check"),), tuple(RELEASES))
    (change,) = comparisons.between(Question(*launch_files.load(tmp_path, *sides), rules)).changes.values()
    assert (change.verdict, change.accepted) == (Verdict.SLOWER, accepted)


@pytest.mark.parametrize(
    ("base", "values", "combined"),
    [(kinds.COUNT, ([3.0, 5.0], [7.0, 6.0]), (5.0, 7.0)), (kinds.TRACKED, ([3.0, 3.1, 3.0], [7.0, 7.1, 7.2]), (3.1, 7.2))],
    ids=["an exact one", "one that varies"],
)
def test_a_kind_of_values_is_one_row(tmp_path, monkeypatch, base, values, combined):
    """Its words, its test and how launches are combined."""
    row = replace(base, name="score", combine=max, falls="fewer", rises="more", stays="equal")
    monkeypatch.setitem(kinds.KINDS, "score", row)
    of_kind = suite_specs.SuiteSpec.of_kind
    monkeypatch.setattr(
        suite_specs.SuiteSpec, "of_kind", property(lambda spec: row if spec.name == "mine.track_score" else of_kind.fget(spec))
    )
    for release, of_release in zip(("2.14.1", "2.15.0"), values):
        launch_files.write_counts(tmp_path, release, {"mine.track_score": of_release}, units={"mine.track_score": "points"})
    results = launch_files.load(tmp_path, "2.14.1", "2.15.0")
    (change,) = comparisons.between(Question(*results)).changes.values()
    assert (change.verdict.value, change.before, change.after, change.kind.name) == ("more", *combined, "score")
    (history,) = case_history.over(results).values()
    assert [(step.index, step.before, step.after, step.interval) for step in history.steps] == [(1, *combined, change.difference)]
    assert case_history.standing(history) is None


# What holds of any launches


def results_of(folder, times, order=1, **how):
    """Return the results of both sides of launches with these times, the first first."""
    launch_files.write(folder, {case: dict(sides) for case, sides in [*times.items()][::order]}, **how)
    return launch_files.load(folder, "2.14.1", "2.15.0")


@pytest.fixture
def times():
    """Times of both sides by case and launch; what all have in common varies more than the sides."""
    chance = np.random.default_rng(7)
    made = {}
    for number in range(6):
        common = chance.normal(0, 0.1, 7)
        pair = [2.0 * np.exp(common + chance.normal(0, 0.01, 7) + side * (number - 2) / 20) for side in (0, 1)]
        made[f"copies.BySize.time_copy m{number} 16"] = dict(
            zip(("2.14.1", "2.15.0"), ([float(f"{each:.9g}") for each in side] for side in pair))
        )
    return made


def changes_of(results):
    return {case.name: each for case, each in comparisons.between(Question(*results)).changes.items()}


def numbers(change):
    return change.ratio, *change.interval, change.p


def test_reversed_sides_are_inverted(tmp_path, times):
    before, after = results_of(tmp_path, times)
    there, back = changes_of((before, after)), changes_of((after, before))
    opposite = {"slower": "faster", "faster": "slower"}
    for case, change in there.items():
        assert back[case].verdict.value == opposite.get(change.verdict.value, change.verdict.value)
        assert (1 / back[case].ratio, *(1 / end for end in back[case].interval[::-1]), back[case].p) == pytest.approx(numbers(change))
        assert (back[case].before, back[case].after) == (change.after, change.before)
    assert {change.verdict.value for change in there.values()} >= {"slower", "faster"}


@pytest.mark.parametrize("what", ["unit", "order of cases", "order of launches", "a side alone"])
def test_what_changes_no_verdict(tmp_path, times, what):
    """Neither the unit, nor the order, nor a launch of one side, which says nothing of the difference."""
    expected = changes_of(results_of(tmp_path / "a", times))
    other, order = dict(times), 1
    if what == "unit":
        other = {case: {side: [1000 * each for each in values] for side, values in sides.items()} for case, sides in times.items()}
    if what == "order of cases":
        order = -1
    if what == "order of launches":
        other = {case: {side: values[::-1] for side, values in sides.items()} for case, sides in times.items()}
    if what == "a side alone":
        launch_files.write(tmp_path / "b", {case: {"2.15.0": 9.0} for case in times}, start=launch_files.START - 30 * launch_files.EVERY)
    changes = changes_of(results_of(tmp_path / "b", other, order))
    for case, change in expected.items():
        assert changes[case].verdict is change.verdict
        assert numbers(changes[case]) == pytest.approx(numbers(change), rel=2e-4), case


def test_values_that_differ_in_their_last_digits_are_judged_without_a_warning():
    """As peaks of memory may; a warning is an error in these tests."""
    assert paired.of_values({"a": ("B", [3e8, 3e8], [3e8, 300000000.0000001])})["a"].verdict is paired.Verdict.UNKNOWN
