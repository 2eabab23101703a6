"""The times of a machine follow from its launches, whichever releases each of them had."""

import numpy as np
import pytest

from tensorcopy.results.cases import Case
from tensorcopy.results.effects import Effects
from tests.launch_files import result_of, spec_of

NAN = float("nan")
CASE = Case(spec_of("copies.BySize.time_copy"), (("method", "clone"), ("numel", "1")))


def effects(logs):
    """Return the effects of one case."""
    logs = np.asarray(logs, dtype=float)[:, :, None]
    names = tuple(f"launch {number}" for number in range(len(logs)))
    return Effects(names, {(str(column) * 40, "py3.11-cuda", ""): column for column in range(logs.shape[1])}, {CASE: 0}, logs)


def test_groups_that_share_no_release_keep_their_own_seconds():
    made = effects(np.log([[1.0, 1.5, NAN, NAN], [NAN, NAN, 30.0, 60.0]]))
    seconds = [timing.seconds for place in made.columns for timing in result_of(made, place).timings.values()]
    assert seconds == pytest.approx([1.0, 1.5, 30.0, 60.0])


def many(logs):
    """Return the effects of many cases: log seconds by launch, column and case."""
    names = tuple(f"launch {number}" for number in range(len(logs)))
    columns = {(str(column) * 40, "py3.11-cuda", ""): column for column in range(logs.shape[1])}
    cases = {Case(CASE.spec, (("method", "clone"), ("numel", str(number + 1)))): number for number in range(logs.shape[2])}
    return Effects(names, columns, cases, logs)


def coverage(made):
    """Return the share of intervals that cover the truth, 0, of a time relative to all sides together; None where none is printed."""
    timings = [list(result_of(made, place).timings.values()) for place in made.columns]
    logs = np.log([[timing.seconds for timing in of_column] for of_column in timings])
    halves = np.log([[timing.factor() for timing in of_column] for of_column in timings])
    distances = np.abs(logs - logs.mean(axis=0) if len(logs) > 1 else logs)
    return float((distances <= halves).mean()) if halves.any() else None


@pytest.mark.parametrize("sides", [1, 2, 17])
@pytest.mark.parametrize("launches", [1, 2, 3, 12])
def test_the_interval_of_a_time_covers_the_truth(launches, sides):
    """As often as it says, and one launch tells none; what sides share is no error of theirs, and all that one alone has."""
    random, cases = np.random.default_rng(1), 4000 // sides
    common = 0.05 * random.standard_normal((launches, 1, cases)) if sides > 1 else 0.0
    covered = coverage(many(common + 0.01 * random.standard_normal((launches, sides, cases))))
    assert covered is None if launches == 1 else 0.93 <= covered <= 0.97


def test_the_interval_of_a_time_covers_the_truth_of_launches_with_other_sides():
    """As in the second stage of a measurement, and of releases that met only by way of the reference."""
    random = np.random.default_rng(2)
    logs = 0.05 * random.standard_normal((12, 1, 800)) + 0.01 * random.standard_normal((12, 5, 800))
    logs[:4, 3:], logs[4:8, 1:3] = NAN, NAN  # side 0 is the reference
    logs[8:, 1] = NAN
    assert 0.93 <= coverage(many(logs)) <= 0.97


def test_launches_of_a_single_release_vary_as_the_machine_does():
    """Its time is their median, whose variance is 0.298 times theirs, where that of the mean is a quarter."""
    logs = np.log([[1.0], [1.1], [0.9], [1.05]])
    timing = result_of(effects(logs), ("0" * 40, "py3.11-cuda", "")).timings[CASE]
    assert timing.error == pytest.approx(np.std(logs, ddof=1) * 0.2982**0.5, rel=0.01)
    assert np.log(timing.interval[1] / timing.seconds) == pytest.approx(3.1824 * timing.error, rel=1e-3)  # Student's t, 3 degrees
