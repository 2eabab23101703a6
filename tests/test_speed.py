"""Disturbed samples are corrected by the control, as the case follows it."""

from __future__ import annotations

import random

import pytest

from tensorcopy.results import passes

LIMIT = 8.5 * passes.QUIET_SPREAD  # of a control that reads 8.5 on a quiet machine and 16 on a busy one


def release(time, exponent, noise, rng):
    """Return twenty samples of a release with their control, half of them disturbed."""
    controls = [8.5] * 10 + [16.0] * 10
    return [(time * (control / 8.5) ** exponent * rng.lognormvariate(0, noise), control) for control in controls]


@pytest.mark.parametrize("exponent", [0.0, 0.4, 1.0])
def test_the_exponent_does_not_depend_on_how_fast_the_releases_are(exponent):
    """A release that is twice as slow gives the same exponent."""
    rng = random.Random(1)
    releases = [release(time, exponent, 0.02, rng) for time in (1.0, 1.1, 2.0, 0.7, 1.0, 1.3)]
    assert passes.control_exponent(releases, LIMIT) == pytest.approx(exponent, abs=0.03)


def test_a_release_measured_only_when_disturbed_does_not_count():
    """Otherwise a slow release would be taken for a slow machine."""
    quiet = [[(1.0, 8.5)] * 10] * 3
    assert passes.control_exponent([*quiet, [(5.0, 16.0)] * 10], LIMIT) is None


def test_a_disturbed_sample_is_corrected_to_the_quiet_speed():
    """Down to the usual quiet control; a quiet sample is unchanged."""
    assert passes.at_quiet_speed(2.0, 8.9, LIMIT, 0.5) == 2.0
    assert passes.at_quiet_speed(2.0, 16.0, LIMIT, 0.0) == 2.0
    assert passes.at_quiet_speed(2.0, 16.0, LIMIT, 1.0) == pytest.approx(2.0 * 8.5 / 16.0)


def test_corrected_samples_of_one_release_agree_with_its_quiet_ones():
    """Quiet and corrected samples differ by the noise alone."""
    rng = random.Random(2)
    exponent = passes.control_exponent([release(1.0, 0.6, 0.03, rng) for _ in range(10)], LIMIT)
    corrected = [passes.at_quiet_speed(sample, control, LIMIT, exponent) for sample, control in release(1.0, 0.6, 0.0, rng)]
    assert max(corrected) / min(corrected) < 1.03
