"""Agreement of the suites' times with a reference, and disturbed turns."""

import pytest

from docs.tools import timer_crosscheck
from docs.tools.verify import Agreement, Ratio


def agreement(*ratios):
    rows = (Ratio("copies.BySize.time_copy", "x.clone()", {"numel": 16}, "Timer", ratio) for ratio in ratios)
    return Agreement("2.15.0", "Box 9000", tuple(rows))


@pytest.mark.parametrize(
    ("ratios", "holds"),
    [
        ((1.0, 1.02, 0.97), True),
        ((1.031, 1.04, 1.05), False),
        ((1.0, 1.0, 1.081), False),
        ((1.0, 1.0, 0.919), False),
    ],
    ids=["agree", "the median is off", "one above", "one below"],
)
def test_the_median_must_agree_within_three_and_every_case_within_eight_percent(ratios, holds):
    """Either limit alone would miss a constant error or a single wrong case."""
    assert agreement(*ratios).holds is holds


def test_a_turn_that_other_programs_interrupt_is_repeated(monkeypatch):
    """Its ratio has no meaning; of a machine that is always interrupted, the last turns count."""
    switches = iter([0, 1, *[1] * 100])
    times = iter([99.0] + [2.0] * 100)
    monkeypatch.setattr(timer_crosscheck, "interruptions", lambda: (0, next(switches)))
    assert list(timer_crosscheck.turns(lambda: next(times), lambda: 2.0)) == [1.0] * timer_crosscheck.TURNS
    always = iter(range(1000))
    monkeypatch.setattr(timer_crosscheck, "interruptions", lambda: (0, next(always)))
    assert list(timer_crosscheck.turns(lambda: 2.0, lambda: 1.0)) == [2.0] * timer_crosscheck.TURNS
