"""The spread of passes is pooled over releases, widened, or their own."""

from __future__ import annotations

import pytest

from tensorcopy.results.noise.spread import ALONE_FROM, WIDEN_FROM, pooled_spread, scaled_deviations


def group(passes, width):
    """Return an odd number of values, all but the median `width` away from 1."""
    return [1.0, *(1.0 + width * (-1) ** number for number in range(passes - 1))]


def test_deviations_are_from_the_groups_own_median():
    """Scaled by √(n / (n - 1)); a group of one value adds nothing."""
    deviations, degrees = scaled_deviations([[1.0, 2.0, 4.0], [7.0], []])
    assert deviations == pytest.approx([1.5**0.5, 0.0, 2 * 1.5**0.5])
    assert degrees == 2


def test_few_passes_use_the_pool_of_all_releases():
    """Their own spread is not trusted, whatever it is."""
    spread = pooled_spread([group(5, 0.5), group(5, 0.5)], [group(9, 0.1)] * 10)
    assert spread.degrees == 4 + 4 + 10 * 8
    assert spread.widening == 1.0
    assert list(spread.pool) == sorted(spread.pool)


def test_passes_that_vary_more_than_the_pool_widen_it():
    """From `WIDEN_FROM` degrees of freedom on. Passes that vary less never narrow it."""
    passes = WIDEN_FROM // 2 + 1
    assert pooled_spread([group(passes, 0.2)] * 2, [group(passes, 0.1)] * 20).widening == pytest.approx(2.0)
    assert pooled_spread([group(passes, 0.05)] * 2, [group(passes, 0.1)] * 20).widening == 1.0


def test_many_passes_are_used_alone():
    """From `ALONE_FROM` degrees of freedom on, other releases do not matter."""
    own = [group(ALONE_FROM // 2 + 1, 0.2)] * 2
    assert pooled_spread(own, [group(9, 0.1)] * 20) == pooled_spread(own, [])
    assert pooled_spread(own, []).degrees == ALONE_FROM
