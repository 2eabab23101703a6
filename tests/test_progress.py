"""The progress of a job and its remaining time."""

from __future__ import annotations

import pytest

from tensorcopy.measure.run_passes import Progress, Reporter, Stage, progress

STAGES = [Stage("installing", 40.0), Stage("measuring", 80.0), Stage("publishing", 5.0)]


def test_expected_times_hold_until_the_pace_is_known():
    """Ten seconds into the installation, the rest takes as long as expected."""
    now = progress(STAGES, 0, 0.0, 10.0)
    assert (now.doing, now.done, now.remaining) == ("installing", 0.0, 30.0 + 85.0)


def test_a_known_pace_replaces_the_expected_time():
    """A quarter done after 40 s: 120 s remain, and publishing."""
    now = progress(STAGES, 1, 0.25, 40.0, "copies.BySize")
    assert (now.doing, now.done, now.remaining) == ("measuring: copies.BySize", 60 / 125, 120.0 + 5.0)


def test_a_finished_job_has_no_remaining_time():
    """All is done after the last stage."""
    now = progress(STAGES, 2, 1.0, 5.0)
    assert (now.done, now.remaining) == (1.0, 0.0)


@pytest.mark.parametrize(("elapsed", "share"), [(10.0, 0.25), (36.0, 0.9), (400.0, 0.9)])
def test_a_stage_without_a_share_advances_by_its_expected_time(elapsed, share):
    """It never reaches the end before it has ended."""
    reports: list[Progress] = []
    Reporter(STAGES, reports.append).waiting_at(0, 0.0, elapsed)
    assert reports[0].done == share * 40 / 125
