"""How long it will still take."""

from __future__ import annotations

from tensorcopy.measure.progress import Stage, progress

STEPS = [Stage("installing", 40.0), Stage("measuring", 80.0), Stage("publishing", 5.0)]


def test_expectations_hold_until_the_pace_is_known():
    """Ten seconds into the installation, all the rest is as expected."""
    now = progress(STEPS, 0, 0.0, 10.0)
    assert (now.doing, now.done, now.remaining) == ("installing", 0.0, 30.0 + 85.0)


def test_then_the_own_pace_counts():
    """A quarter done after 40 s: 120 s more, and the publishing."""
    now = progress(STEPS, 1, 0.25, 40.0, ": copies.BySize")
    assert (now.doing, now.done, now.remaining) == ("measuring: copies.BySize", 60 / 125, 120.0 + 5.0)


def test_a_step_that_takes_longer_never_promises_the_past():
    """Two minutes into forty seconds, it still says a second."""
    assert progress(STEPS, 0, 0.0, 120.0).remaining == 1.0 + 85.0


def test_the_end_is_the_end():
    """All done, nothing left."""
    now = progress(STEPS, 2, 1.0, 5.0)
    assert (now.done, now.remaining) == (1.0, 0.0)
