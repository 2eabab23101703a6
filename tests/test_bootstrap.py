"""The draws that are left out, because no p depends on them, change no p."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tensorcopy.analysis import bootstrap, two_sample
from tensorcopy.analysis.bootstrap import FEW_DRAWS, Plan

PASSES = [(3, 3), (3, 4), (5, 6), (6, 6), (4, 12), (20, 40)]


def plans(passes: tuple[int, int]) -> list[Plan]:
    """Return plans with pools of normal deviations, and of a few equal ones."""
    generator = random.Random(7)
    pools = [[abs(generator.gauss(0, 1.25)) for _ in range(114)], [generator.choice([0.0, 1.0, 2.0]) for _ in range(30)]]
    return [
        Plan(tuple(sorted(pool)), degrees, passes, scales) for pool in pools for degrees in (6, 30) for scales in ((1.0, 1.0), (1.0, 0.4))
    ]


@pytest.mark.parametrize("passes", PASSES)
@pytest.mark.parametrize("draws", [FEW_DRAWS + 500, pytest.param(13_750, marks=pytest.mark.slow)])
def test_a_small_p_is_that_of_all_draws(passes, draws):
    """For every shift whose p is computed again: those that few draws give a p below `CLOSER`."""
    tested = 0
    for plan in plans(passes):
        first, second = bootstrap._sides(plan, draws)
        drawn = np.abs(bootstrap.hodges_lehmann(first.T, second.T)).astype(float)
        few, many = plan.null(FEW_DRAWS), plan.null(draws)
        shifts = {float(shift) * factor for shift in few.tail[-50:] for factor in (1.0, 1.0 + 1e-9, 1.3, 10.0)}
        for shift in (shift for shift in shifts if few.p(shift)[0] < two_sample.CLOSER):
            larger = int((drawn >= shift).sum())
            assert many.p(shift) == ((1 + larger) / (1 + draws), larger == 0)
            tested += 1
    assert tested > 500


def test_few_draws_are_all_kept():
    """An interval is a quantile of them, and any shift has a p."""
    null = plans((6, 6))[0].null(FEW_DRAWS)
    assert len(null.tail) == FEW_DRAWS
    assert null.half(0.05) == null.half(0.05) == float(np.quantile(null.tail, 0.95))
    assert null.p(0.0) == (1.0, False)
