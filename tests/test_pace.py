"""How a case follows the machine's pace is learnt from the machine's own samples."""

from __future__ import annotations

import random

import pytest

from tensorcopy.results import pace

LIMIT = 8.5 * pace.QUIET_SPREAD  # of a control that reads 8.5 while the machine is quiet, and 16 while it is not


def release(speed, power, noise, chance):
    """Twenty samples of a release, half of them beside busy neighbours."""
    controls = [8.5] * 10 + [16.0] * 10
    return [(speed * (control / 8.5) ** power * chance.lognormvariate(0, noise), control) for control in controls]


@pytest.mark.parametrize("true", [0.0, 0.4, 1.0])
def test_the_power_is_found_whatever_the_releases_speeds(true):
    """A release that is twice as slow says the same of it."""
    chance = random.Random(1)
    releases = [release(speed, true, 0.02, chance) for speed in (1.0, 1.1, 2.0, 0.7, 1.0, 1.3)]
    assert pace.power(releases, LIMIT) == pytest.approx(true, abs=0.03)


def test_a_release_that_was_measured_at_one_pace_only_says_nothing():
    """However slow it is: its speed must not be taken for the machine's."""
    quiet = [[(1.0, 8.5)] * 10] * 3
    assert pace.power([*quiet, [(5.0, 16.0)] * 10], LIMIT) is None


def test_a_busy_sample_is_brought_to_the_quiet_pace():
    """Within the machine's own spread; a quiet one is what it is."""
    assert pace.quieted(2.0, 8.9, LIMIT, 0.5) == 2.0
    assert pace.quieted(2.0, 16.0, LIMIT, 0.0) == 2.0
    assert pace.quieted(2.0, 16.0, LIMIT, 1.0) == pytest.approx(2.0 * 8.5 / 16.0)


def test_busy_passes_of_one_release_agree_with_its_quiet_ones():
    """After control, two sets of passes of one release differ by the noise alone."""
    chance = random.Random(2)
    power = pace.power([release(1.0, 0.6, 0.03, chance) for _ in range(10)], LIMIT)
    found = [pace.quieted(sample, control, LIMIT, power) for sample, control in release(1.0, 0.6, 0.0, chance)]
    assert max(found) / min(found) < 1.03
