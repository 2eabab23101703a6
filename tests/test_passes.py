"""Which sample came from which pass, and the time that follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tensorcopy.results import pace, passes
from tensorcopy.results.passes import PassSamples
from tensorcopy.worker import control


def record(samples, readings, suite="copies.BySize.time_copy", **more):
    return {"id": "one", "suites": {suite: {"version": "2", "samples": samples, "control_ns": readings}}, **more}


def test_samples_are_divided_by_pass():
    """In asv's order; what was there before the first record is a visit of its own, without control."""
    records = [record([2, 0], [[9000, 9100], []]), record([1, 3], [[16000], [9000] * 3])]
    found = passes.by_pass(records, "copies.BySize.time_copy", 0, [7.0, 1.0, 2.0, 3.0], limit=1e-5, left_out={})
    assert [pass_samples.samples for pass_samples in found] == [(7.0,), (1.0, 2.0), (3.0,)]
    assert [pass_samples.quiet for pass_samples in found] == [(7.0,), (1.0, 2.0), ()]


def test_the_time_is_the_median_of_the_passes_medians():
    """A pass is one draw of memory layout, however many samples it has; the interval is the passes' range."""
    timing = passes.timing([PassSamples((1.0, 1.0, 1.0, 1.0, 1.0)), PassSamples((3.0,)), PassSamples((2.0, 9.0, 2.0))])
    assert (timing.median, timing.low, timing.high, len(timing.judged)) == (2.0, 1.0, 3.0, 3)


def test_of_one_pass_the_interval_is_the_samples_range():
    """There is nothing else to tell how sure it is."""
    timing = passes.timing([PassSamples((1.0, 2.0, 6.0))])
    assert (timing.median, timing.low, timing.high) == (2.0, 1.0, 6.0)


def test_a_disturbed_sample_counts_at_the_quiet_pace_if_at_all():
    """Three quiet passes count alone; else all, as the case is known to follow the control; where that is not known, as they were."""
    quiet, busy = PassSamples((1.0,), (1.0,), limit=pace.QUIET_SPREAD), PassSamples((2.0,), (2.0,), limit=pace.QUIET_SPREAD)
    assert passes.timing([quiet, busy, quiet, quiet]).high == 1.0
    assert (passes.timing([quiet, busy]).high, passes.timing([quiet, busy]).disturbed) == (2.0, False)
    assert passes.timing([quiet, replace(busy, power=1.0)]).high == pytest.approx(1.0)
    assert passes.timing([replace(busy, power=1.0)]).median == pytest.approx(1.0)
    assert passes.timing([busy]).median == 2.0
    assert passes.timing([replace(busy, power=1.0)]).disturbed


def test_a_pass_that_is_left_out_is_kept():
    """Its samples are there, the time is of the others."""
    timing = passes.timing([PassSamples((1.0,)), PassSamples((5.0,), left_out="a build ran beside it")])
    assert timing.median == 1.0
    assert timing.samples == (1.0, 5.0)


def test_a_pass_whose_control_is_far_from_the_others_is_left_out():
    """It says so with both figures; and a pass that says so itself."""
    records = [{**record([1], [[8500 + 10 * number]]), "id": str(number)} for number in range(9)]
    records += [{**record([1], [[12000]]), "id": "far"}, {**record([1], [[8500]]), "id": "said", "left_out": "a build ran beside it"}]
    assert passes.left_out(records) == {
        "far": "its control, 12.0 µs, is far from the others' 8.5 to 8.6 µs",
        "said": "a build ran beside it",
    }


def test_of_few_passes_nothing_is_unusual():
    """Two modes of one machine, each seen once."""
    assert passes.left_out([{**record([1], [[8500]]), "id": "a"}, {**record([1], [[16000]]), "id": "b"}]) == {}


@pytest.mark.parametrize(("readings", "expected"), [([8.0] * 100, 10.0), ([8.0] * 19, float("inf")), ([5.0] + [8.0] * 199, 10.0)])
def test_the_limit_of_quiet_is_a_quarter_above_the_usual_least(readings, expected):
    """Of few readings nothing is known; a single freak does not count."""
    assert control.limit(readings) == pytest.approx(expected)


def test_a_pass_of_which_nothing_is_left_goes():
    """Also where a case that is skipped has no more samples than before; a pass that only counted stays."""
    suite = "a.B.time_c"
    measured, counted = record([2, 0], [[1, 2], []], suite), {"id": "two", "suites": {}}
    before, after = {suite: [[1.0, 2.0], None]}, {suite: [[9.0], None]}
    assert passes.kept([measured, counted], before, after) == [counted]


def test_replaced_samples_leave_the_earlier_records():
    """`asv run` without --append-samples: the earlier pass has no sample of that case any more."""
    before = {"a.B.time_c": [[1.0, 2.0], [5.0]]}
    after = {"a.B.time_c": [[9.0], [5.0, 6.0]]}
    row = {"suites": {"a.B.time_c": {"version": "2", "samples": [2, 1], "control_ns": [[1, 2], [3]]}}}
    assert passes.kept([row], before, after) == [{"suites": {"a.B.time_c": {"version": "2", "samples": [0, 1], "control_ns": [[], [3]]}}}]
    assert passes.added(before, after, {"a.B.time_c": "2"}, ["a.B 0 8e-06", "a.B 1 9e-06"]) == {
        "a.B.time_c": {"version": "2", "samples": [1, 1], "control_ns": [[8000], [9000]]}
    }


def test_a_sample_without_a_control_is_not_called_disturbed():
    """On a machine where nothing was noted every sample counts."""
    (pass_samples,) = passes.by_pass([record([2], [[]])], "copies.BySize.time_copy", 0, [1.0, 2.0], limit=1.0, left_out={})
    assert pass_samples.quieted == (1.0, 2.0)
