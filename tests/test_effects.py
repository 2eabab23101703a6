"""The times of a machine follow from its launches, whichever releases each of them had."""

import numpy as np
import pytest

from tensorcopy.results.cases import Case
from tensorcopy.results.effects import Effects

NAN = float("nan")
CASE = Case("copies.BySize.time_copy", (("method", "clone"), ("numel", "1")))


def effects(logs):
    """Return the effects of one case."""
    logs = np.asarray(logs, dtype=float)[:, :, None]
    names = tuple(f"launch {number}" for number in range(len(logs)))
    return Effects(names, names, {(str(column) * 40, "py3.11-cuda", ""): column for column in range(logs.shape[1])}, {CASE: 0}, logs)


def seconds(logs):
    return [timing.seconds for column in range(np.shape(logs)[1]) for timing in effects(logs).timings(column).values()]


def test_the_ratio_of_two_releases_is_that_within_launches():
    """One launch in three took place on a machine that was twice as slow."""
    logs = np.log([[1.0, 1.1], [2.0, 2.2], [1.0, 1.1]])
    assert seconds(logs) == pytest.approx([1.0, 1.1])


def test_releases_of_two_groups_are_joined_by_the_reference():
    """The machine was three times as slow when the second group was measured."""
    logs = np.log([[1.0, 1.5, NAN], [1.0, 1.5, NAN], [3.0, NAN, 6.0], [3.0, NAN, 6.0]])
    reference, first, second = seconds(logs)
    assert (first / reference, second / reference) == pytest.approx((1.5, 2.0), rel=1e-5)


def test_groups_that_share_no_release_keep_their_own_seconds():
    logs = np.log([[1.0, 1.5, NAN, NAN], [NAN, NAN, 30.0, 60.0]])
    assert seconds(logs) == pytest.approx([1.0, 1.5, 30.0, 60.0])


def test_a_side_that_was_alone_counts_as_no_evidence():
    """In the second launch the other side had failed: what is left says nothing of their difference, but its time is known."""
    from tensorcopy.results.effects import _without_lone

    logs = _without_lone(np.log([[1.0, 1.5], [7.0, NAN], [1.0, 1.5]])[:, :, None])
    timing = effects(logs[:, :, 0]).timings(0)[CASE]
    assert (timing.seconds, timing.launches) == (pytest.approx(1.0), 2)


@pytest.mark.parametrize("columns", [2, 17])
def test_the_error_of_a_release_is_that_of_its_layouts(columns):
    """Of 12 launches, and whatever all releases of a launch share."""
    random = np.random.default_rng(1)
    errors = [
        effects(random.standard_normal((12, 1)) + 0.01 * random.standard_normal((12, columns))).timings(0)[CASE].error for _ in range(60)
    ]
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(0.01 / 12**0.5, rel=0.1)


def test_one_launch_tells_no_error():
    assert np.isnan(effects(np.log([[1.0, 1.1]])).timings(0)[CASE].error)


def test_launches_of_a_single_release_vary_as_the_machine_does():
    logs = np.log([[1.0], [1.1], [0.9], [1.05]])
    timing = effects(logs).timings(0)[CASE]
    assert timing.error == pytest.approx(np.std(logs, ddof=1) / 2)
