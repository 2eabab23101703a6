"""From samples to times: which sample came from which pass, which passes count, and the time that follows."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from tensorcopy.results import passes, reader, writing
from tensorcopy.results.passes import FaultedPass, PassSamples, fault_reasons
from tensorcopy.worker import control
from tests.conftest import NEW, measured_in_passes

SUITE = "a.B.time_c"
LIMIT = 8.5 * passes.QUIET_SPREAD  # of a control that reads 8.5 on a quiet machine and 16 on a busy one


def record(samples, readings, name="first", **more):
    return {"id": name, "suites": {SUITE: {"version": "2", "samples": samples, "control_ns": readings}}, **more}


def test_samples_are_split_by_pass():
    """In order; samples before the first record have no pass. A case that was added later has none in an earlier pass."""
    records = [record([2, 0], [[9000, 9100], []]), record([1, 3], [[16000], [9000] * 3], "second")]
    parts = [("", [7.0], []), ("first", [1.0, 2.0], [9000, 9100]), ("second", [3.0], [16000])]
    assert passes.split_by_pass(records, SUITE, 0, [7.0, 1.0, 2.0, 3.0]) == parts
    assert passes.split_by_pass([record([2], [[1, 2]]), record([0, 1], [[], [3]], "second")], SUITE, 1, [5.0]) == [("second", [5.0], [3])]
    with pytest.raises(ValueError, match="1 samples, 2 in passes"):
        passes.split_by_pass([record([2], [[1, 2]])], SUITE, 0, [5.0])


def test_the_time_is_the_median_of_the_passes_medians():
    """A pass is one draw, however many samples it has; the range is the passes', or that of the samples of a single one."""
    timing = passes.timing([PassSamples((1.0, 1.0, 1.0, 1.0, 1.0)), PassSamples((3.0,)), PassSamples((2.0, 9.0, 2.0))])
    assert (timing.median, timing.low, timing.high, len(timing.usable)) == (2.0, 1.0, 3.0, 3)
    timing = passes.timing([PassSamples((1.0, 2.0, 6.0))])
    assert (timing.median, timing.low, timing.high) == (2.0, 1.0, 6.0)


def test_a_disturbed_pass_counts_only_where_quiet_passes_are_few():
    """Otherwise its samples are speed-corrected, if the exponent is known."""
    quiet, disturbed = PassSamples((1.0,), (1.0,), limit=passes.QUIET_SPREAD), PassSamples((2.0,), (2.0,), limit=passes.QUIET_SPREAD)
    corrected = replace(disturbed, control_exponent=1.0)
    assert passes.timing([quiet, disturbed, quiet, quiet]).high == 1.0
    assert (passes.timing([quiet, disturbed]).high, passes.timing([quiet, disturbed]).disturbed) == (2.0, False)
    assert passes.timing([quiet, corrected]).high == passes.timing([corrected]).median == pytest.approx(1.0)
    assert passes.timing([disturbed]).median == 2.0
    assert passes.timing([corrected]).disturbed


def test_an_excluded_pass_keeps_its_samples():
    """The time is that of the other passes; samples without a control are used as measured."""
    timing = passes.timing([PassSamples((1.0,)), PassSamples((5.0,), excluded="a build ran beside it")])
    assert (timing.median, timing.samples) == (1.0, (1.0, 5.0))
    pass_samples = PassSamples((1.0, 2.0), (), limit=1.0, control_exponent=1.0)
    assert pass_samples.quiet == pass_samples.speed_corrected == (1.0, 2.0)


def test_replaced_samples_leave_the_earlier_records():
    """As by `asv run` without --append-samples. A pass that has none left is dropped, one that only counted stays."""
    before, after = {SUITE: [[1.0, 2.0], [5.0]]}, {SUITE: [[9.0], [5.0, 6.0]]}
    assert list(writing.still_valid([record([2, 1], [[1, 2], [3]])], before, after)) == [record([0, 1], [[], [3]])]
    assert writing.suites_added(before, after, {SUITE: "2"}, ["a.B 0 0 0 0 8e-06", "a.B 1 0 0 0 9e-06"]) == {
        SUITE: {"version": "2", "samples": [1, 1], "control_ns": [[8000], [9000]]}
    }
    counted = {"id": "second", "suites": {}}
    assert list(writing.still_valid([record([2, 0], [[1, 2], []]), counted], {SUITE: [[1.0, 2.0], None]}, {SUITE: [[9.0], None]})) == [
        counted
    ]


@pytest.mark.parametrize(("readings", "limit"), [([8.0] * 100, 10.0), ([8.0] * 19, float("inf")), ([5.0] + [8.0] * 199, 10.0)])
def test_the_quiet_limit_is_a_quarter_above_the_lowest_hundredth(readings, limit):
    """Fewer than 20 readings give no limit, and one outlier does not lower it."""
    assert control.limit(readings) == pytest.approx(limit)


def test_a_pass_whose_control_is_far_from_the_others_is_excluded():
    """The reason has both figures; a record may also exclude its pass itself. Too few passes exclude none."""
    records = [record([1], [[8500 + 10 * number]], str(number)) for number in range(9)]
    records += [record([1], [[12000]], "far"), record([1], [[8500]], "by hand", left_out="a build ran beside it")]
    assert passes.excluded_passes(records) == {
        "far": "its control, 12.0 µs, is far from the others' 8.5 to 8.6 µs",
        "by hand": "a build ran beside it",
    }
    assert passes.excluded_passes([record([1], [[8500]], "a"), record([1], [[16000]], "b")]) == {}


USUAL = [FaultedPass(time, 0.0) for time in (340e-6, 350e-6, 330e-6)]
FAULTED = FaultedPass(6670e-6, 512.0)


def test_a_pass_with_many_times_the_time_and_the_faults_is_excluded():
    """The reason has both; a slow pass alone is noise, and faults of many passes are the case's own."""
    assert fault_reasons([*USUAL, FAULTED]) == [
        *("", "", ""),
        "its calls took 19.6 times as long as in the other passes, with 512 page faults each instead of 0",
    ]
    for kept in (
        [*USUAL, replace(FAULTED, faults=0.0)],
        [*USUAL, replace(FAULTED, time=350e-6)],
        [*USUAL, replace(FAULTED, faults=None)],
        [replace(each, faults=None) for each in USUAL] + [FAULTED],
        [replace(each, faults=500.0) for each in USUAL] + [FAULTED],
        [*USUAL[:2], FAULTED],
        [*USUAL, FAULTED, FAULTED, FAULTED],
    ):
        assert set(fault_reasons(kept)) == {""}


def test_only_the_case_that_met_the_faults_loses_the_pass(tmp_path):
    """Its time does not have it; a result that recorded no faults loses nothing."""
    path = measured_in_passes(tmp_path, NEW, {"tensor": [1.0, 1.01, 0.99, 1.0, 19.0], "clone_detach": [1.0, 1.01, 0.99, 1.0, 1.02]})
    assert [len(timing.usable) for timing in reader.load_results(tmp_path).results[0].timings.values()] == [5, 5]
    document = json.loads(path.read_text())
    for each, count in zip(document["passes"], (0, 0, 0, 0, 512)):
        each["suites"]["copies.BySize.time_copy"]["interruptions"] = {"0": [[count, 0, 0]] * 3, "1": [[0, 0, 9]] * 3}
    path.write_text(json.dumps(document))
    tensor, clone = reader.load_results(tmp_path).results[0].timings.values()
    assert [bool(each.excluded) for each in tensor.by_pass] == [False] * 4 + [True]
    assert (len(tensor.usable), len(clone.usable), tensor.high) == (4, 5, pytest.approx(1.01e-6))


def busy_release(time, exponent, noise, rng):
    """Return twenty samples of a release with their control, half of them disturbed."""
    controls = [8.5] * 10 + [16.0] * 10
    return [(time * (reading / 8.5) ** exponent * rng.lognormvariate(0, noise), reading) for reading in controls]


@pytest.mark.parametrize("exponent", [0.0, 0.4, 1.0])
def test_the_exponent_does_not_depend_on_how_fast_the_releases_are(exponent):
    """Nor does a release that was measured only when disturbed count: it would be taken for a slow machine."""
    rng = random.Random(1)
    releases = [busy_release(time, exponent, 0.02, rng) for time in (1.0, 1.1, 2.0, 0.7, 1.0, 1.3)]
    assert passes.control_exponent(releases, LIMIT) == pytest.approx(exponent, abs=0.03)
    assert passes.control_exponent([*[[(1.0, 8.5)] * 10] * 3, [(5.0, 16.0)] * 10], LIMIT) is None
