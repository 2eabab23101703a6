"""Exact counts are evidence before the clock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tensorcopy.analysis import comparisons, series
from tensorcopy.analysis.two_sample import Change, CountPair, Reason, Verdict
from tensorcopy.releases.release_table import ReleaseIndex
from tensorcopy.report import sentences
from tensorcopy.results import related
from tensorcopy.results.passes import Case
from tests.conftest import NEW, OLD, measured

BY_SIZE = "instructions.BySize.track_instructions"
COUNTED = Case(BY_SIZE, (("method", "clone_detach"), ("numel", "16"), ("requires_grad", "False")))
TIMED = Case("copies.BySize.time_copy", (("method", "clone_detach"), ("numel", "16")))
INCONCLUSIVE = Change(Verdict.INCONCLUSIVE, Reason.INTERVAL_TOO_WIDE, ratio=1.01, interval=(0.96, 1.06), p=0.5, before=1e-6, after=1.01e-6)


def count(before: float, after: float, repeatability: float = 0.002) -> CountPair:
    return CountPair("instructions", before, after, repeatability, max(comparisons.LEAST_COUNT, 2 * repeatability))


@pytest.mark.parametrize(
    ("suite", "parameters", "counted"),
    [
        ("copies.BySize.time_copy", {"method": "clone_detach", "numel": "16"}, COUNTED),
        (
            "conversions.ByGrad.time_conversion",
            {"method": "detach_clone_numpy", "numel": "1024", "requires_grad": "True"},
            Case(BY_SIZE, (("method", "detach_clone_numpy"), ("numel", "1024"), ("requires_grad", "True"))),
        ),
        (
            "copies.ByLayout.time_copy",
            {"method": "tensor", "numel": "131072", "layout": "strided"},
            Case("instructions.ByLayout.track_instructions", (("method", "tensor"), ("numel", "131072"), ("layout", "strided"))),
        ),
        (
            "copies.ByDtype.time_copy",
            {"method": "tensor", "numel": "131072", "dtype": "bool"},
            Case("instructions.ByDtype.track_instructions", (("method", "tensor"), ("numel", "131072"), ("dtype", "bool"))),
        ),
        (
            "copies.ByDtype.time_copy",
            {"method": "tensor", "numel": "131072", "dtype": "float32"},
            Case(BY_SIZE, (("method", "tensor"), ("numel", "131072"), ("requires_grad", "False"))),
        ),
        (
            "primitives.BySize.time_primitive",
            {"method": "cpu", "numel": "1"},
            Case("instructions.Others.track_instructions", (("method", "cpu"), ("numel", "1"), ("requires_grad", "False"))),
        ),
        ("threads.ByThreads.time_copy", {"method": "tensor", "numel": "16777216", "threads": "1"}, None),
        ("copies.Latency.time_copy", {"method": "tensor", "numel": "16", "device": "cuda"}, None),
        ("floors.Control.time_sum", {}, None),
    ],
)
def test_the_count_of_a_timed_case_has_the_same_method_and_tensor(suite, parameters, counted):
    """Where nothing is counted, such as on a device, there is none."""
    assert related.counted_case(Case(suite, tuple(parameters.items()))) == counted


def test_a_changed_count_decides_an_inconclusive_time():
    """The sentence names the count first, and the interval of the time."""
    change = comparisons.with_count(INCONCLUSIVE, count(10_000, 10_520))
    assert (change.verdict, change.reason) == (Verdict.SLOWER, Reason.COUNT_CHANGED)
    assert change.size == pytest.approx(1.052)
    assert sentences.sentence(change) == "slower: 5.2 % more instructions; time within ±6.0 %"


def test_an_equal_count_makes_an_interval_around_no_change_unchanged():
    """It is no longer inconclusive; nor is one with a difference below a change."""
    change = comparisons.with_count(INCONCLUSIVE, count(10_000, 10_010))
    assert (change.verdict, change.reason) == (Verdict.UNCHANGED, Reason.COUNT_UNCHANGED)
    assert sentences.sentence(change) == "unchanged: same instructions; time within ±6.0 %"
    smaller = comparisons.with_count(INCONCLUSIVE, count(10_000, 9_960))
    assert sentences.sentence(smaller) == "unchanged: 0.4 % fewer instructions; time within ±6.0 %"


@pytest.mark.parametrize(
    ("interval", "change_of_count"),
    [((1.01, 1.06), 10_010), ((0.5, 2.5), 10_010)],
    ids=["the time excludes no change", "the interval is too wide"],
)
def test_otherwise_an_inconclusive_time_stays_inconclusive(interval, change_of_count):
    """An equal count does not explain a time that differs, and a wide interval shows nothing."""
    change = comparisons.with_count(replace(INCONCLUSIVE, interval=interval), count(10_000, change_of_count))
    assert change.verdict is Verdict.INCONCLUSIVE


def test_a_time_that_changed_keeps_its_verdict():
    """The count beside it is named, also where it is the same."""
    slower = Change(Verdict.SLOWER, Reason.CHANGED, ratio=1.2, interval=(1.18, 1.22), p=0.001)
    change = comparisons.with_count(slower, count(10_000, 10_000))
    assert (change.verdict, change.reason) == (Verdict.SLOWER, Reason.CHANGED)
    assert sentences.sentence(change) == "slower by 20.0 % (18.0 to 22.0 %); same instructions"


def test_a_count_does_not_contradict_a_significant_direction_of_the_time():
    """More instructions that take less time are not slower."""
    change = comparisons.with_count(replace(INCONCLUSIVE, interval=(0.9, 0.98)), count(10_000, 10_500))
    assert change.verdict is Verdict.INCONCLUSIVE


def test_a_change_is_at_least_twice_the_repeatability():
    """Two counts of one case that differ by 3 % make a change of 5 % none."""
    assert not count(10_000, 10_500, repeatability=0.03).changed
    assert count(10_000, 10_700, repeatability=0.03).changed


def test_repeated_counts_give_the_repeatability_and_the_smallest_counts():
    """A disturbance only adds to a count."""
    before = replace(measured(OLD, {("clone_detach", 16): 1e-6}), counts={COUNTED: 10_100.0}, count_repeats={COUNTED: (10_100.0, 10_000.0)})
    after = replace(measured(NEW, {("clone_detach", 16): 1e-6}), counts={COUNTED: 10_150.0})
    change = comparisons.count_change(before, after, TIMED)
    assert (change.before, change.after) == (10_000, 10_150)
    assert change.repeatability == pytest.approx(0.01)
    assert not change.changed


def test_counts_of_two_machines_are_not_compared():
    """valgrind reports another processor there."""
    sides = [
        replace(measured(release, {("clone_detach", 16): 1e-6}, machine=machine), counts={COUNTED: 1000.0})
        for release, machine in ((OLD, "a"), (NEW, "b"))
    ]
    assert comparisons.count_change(*sides, TIMED) is None


def test_a_comparison_takes_counts_into_account(monkeypatch):
    """Five passes within 1 % of each other, and 2 % more instructions."""
    monkeypatch.setattr("tensorcopy.releases.release_table.load", lambda: ReleaseIndex((OLD, NEW)))
    sides = [
        replace(measured(release, {("clone_detach", 16): time}), counts={COUNTED: value})
        for release, time, value in ((OLD, 1e-6, 1000.0), (NEW, 1.005e-6, 1020.0))
    ]
    assert comparisons.between(*sides, ()).changes[TIMED].reason is Reason.COUNT_CHANGED
    assert comparisons.between(*sides, (), margin=0.1).changes[TIMED].reason is not Reason.COUNT_CHANGED


def test_a_counted_case_has_exact_steps():
    """Each release against the one before; a gap is skipped."""
    steps = series.exact_steps([1000, 1000, None, 1050, 1049, 900], 0.0)
    assert [(step.index, round(step.ratio, 3)) for step in steps] == [(3, 1.05), (5, round(900 / 1049, 3))]
