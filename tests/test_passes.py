"""Which sample came from which pass, and the time that follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tensorcopy.results import passes, writing
from tensorcopy.results.passes import PassSamples

SUITE = "a.B.time_c"


def record(samples, readings, name="first"):
    return {"id": name, "suites": {SUITE: {"version": "2", "samples": samples, "control_ns": readings}}}


def test_samples_are_split_by_pass():
    """In order; samples before the first record have no pass and no control."""
    records = [record([2, 0], [[9000, 9100], []]), record([1, 3], [[16000], [9000] * 3], "second")]
    parts = [("", [7.0], []), ("first", [1.0, 2.0], [9000, 9100]), ("second", [3.0], [16000])]
    assert passes.split_by_pass(records, SUITE, 0, [7.0, 1.0, 2.0, 3.0]) == parts


def test_a_case_added_after_a_pass_has_no_samples_in_it():
    """The record then has fewer cases than the suite."""
    assert passes.split_by_pass([record([2], [[1, 2]]), record([0, 1], [[], [3]], "second")], SUITE, 1, [5.0]) == [("second", [5.0], [3])]


def test_records_that_count_more_samples_than_there_are_raise():
    """Otherwise samples would be assigned to the wrong pass."""
    with pytest.raises(ValueError, match="1 samples, 2 in passes"):
        passes.split_by_pass([record([2], [[1, 2]])], SUITE, 0, [5.0])


def test_the_time_is_the_median_of_the_passes_medians():
    """A pass is one draw, however many samples it has; the range is the passes'."""
    timing = passes.timing([PassSamples((1.0, 1.0, 1.0, 1.0, 1.0)), PassSamples((3.0,)), PassSamples((2.0, 9.0, 2.0))])
    assert (timing.median, timing.low, timing.high, len(timing.usable)) == (2.0, 1.0, 3.0, 3)


def test_the_range_of_a_single_pass_is_that_of_its_samples():
    """There is no other measure of its uncertainty."""
    timing = passes.timing([PassSamples((1.0, 2.0, 6.0))])
    assert (timing.median, timing.low, timing.high) == (2.0, 1.0, 6.0)


def test_a_disturbed_pass_counts_only_where_quiet_passes_are_few():
    """Otherwise its samples are speed-corrected, if the exponent is known."""
    quiet, disturbed = PassSamples((1.0,), (1.0,), limit=passes.QUIET_SPREAD), PassSamples((2.0,), (2.0,), limit=passes.QUIET_SPREAD)
    corrected = replace(disturbed, control_exponent=1.0)
    assert passes.timing([quiet, disturbed, quiet, quiet]).high == 1.0
    assert (passes.timing([quiet, disturbed]).high, passes.timing([quiet, disturbed]).disturbed) == (2.0, False)
    assert passes.timing([quiet, corrected]).high == pytest.approx(1.0)
    assert passes.timing([corrected]).median == pytest.approx(1.0)
    assert passes.timing([disturbed]).median == 2.0
    assert passes.timing([corrected]).disturbed


def test_an_excluded_pass_keeps_its_samples():
    """The time is that of the other passes."""
    timing = passes.timing([PassSamples((1.0,)), PassSamples((5.0,), excluded="a build ran beside it")])
    assert timing.median == 1.0
    assert timing.samples == (1.0, 5.0)


def test_samples_without_control_count_as_quiet():
    """On a machine where no control was recorded every sample is used as measured."""
    pass_samples = PassSamples((1.0, 2.0), (), limit=1.0, control_exponent=1.0)
    assert pass_samples.quiet == pass_samples.speed_corrected == (1.0, 2.0)


def test_a_pass_without_samples_is_dropped():
    """A pass that only counted has none and stays."""
    timed, counted = record([2, 0], [[1, 2], []]), {"id": "second", "suites": {}}
    before, after = {SUITE: [[1.0, 2.0], None]}, {SUITE: [[9.0], None]}
    assert list(writing.still_valid([timed, counted], before, after)) == [counted]


def test_replaced_samples_leave_the_earlier_records():
    """As by `asv run` without --append-samples."""
    before = {SUITE: [[1.0, 2.0], [5.0]]}
    after = {SUITE: [[9.0], [5.0, 6.0]]}
    assert list(writing.still_valid([record([2, 1], [[1, 2], [3]])], before, after)) == [record([0, 1], [[], [3]])]
    assert writing.suites_added(before, after, {SUITE: "2"}, ["a.B 0 0 0 0 8e-06", "a.B 1 0 0 0 9e-06"]) == {
        SUITE: {"version": "2", "samples": [1, 1], "control_ns": [[8000], [9000]]}
    }
