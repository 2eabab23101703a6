"""The spread of each side is its own, filled up with the other side and others."""

from __future__ import annotations

import numpy as np
import pytest

from tensorcopy.results import noise
from tensorcopy.results.noise import CONTRADICTS, ENOUGH, FEWEST_CASES, LARGEST, deviations, moderated_spread, scaled_deviations


def group(passes, width):
    """Return values with a mean deviation of about `width` from 1."""
    return [1.0 + width * (-1) ** number for number in range(passes)]


def sides(first, second, others, **more):
    return moderated_spread(deviations((first, second), others), **more)


def width(passes, value):
    """Return the spread of `group`: its deviations are scaled by √(n / (n - 1))."""
    return value * (passes / (passes - 1)) ** 0.5


def test_deviations_are_from_the_groups_own_median():
    """Scaled by √(n / (n - 1)); a group of one value adds nothing."""
    scaled, degrees = scaled_deviations([[1.0, 2.0, 4.0], [7.0], []])
    assert scaled == pytest.approx([1.5**0.5, 0.0, 2 * 1.5**0.5])
    assert degrees == 2


def test_few_passes_are_filled_up_with_the_other_side_and_other_results():
    """Four passes have 3 degrees of freedom, the other side 3, and other results the rest."""
    result = sides(group(4, 0.1), group(4, 0.1), [group(8, 0.1)] * 20)
    assert result.degrees == (ENOUGH, ENOUGH)
    assert result.shared == ENOUGH - 3 - 3
    assert result.sides == pytest.approx((0.11, 0.11), abs=0.005)


def test_few_passes_without_other_results_use_both_sides():
    """As a t-test with a pooled variance does."""
    result = sides(group(4, 0.1), group(4, 0.2), [])
    assert result.degrees == (6, 6)
    assert result.sides == pytest.approx((width(4, 0.025**0.5),) * 2)


@pytest.mark.parametrize("passes", [3, 4, 8])
def test_a_side_that_strays_fifteen_fold_widens_from_three_passes_on(passes):
    """To most of its own spread, and the quiet side hardly widens."""
    usual = [group(8, 0.1)] * 20
    varying, quiet = sides([1.0 + 1.5 * number for number in range(passes)], group(passes, 0.1), usual).sides
    own = float(np.mean(scaled_deviations([[1.5 * number for number in range(passes)]])[0]))
    assert varying > 0.7 * own
    assert quiet < 0.2


def test_a_side_within_chance_keeps_the_weight_of_the_others():
    """Up to `CONTRADICTS` times the variance of the prior."""
    usual = [group(8, 0.1)] * 20
    assert sides(group(4, 0.1 * (CONTRADICTS - 1) ** 0.5), group(4, 0.1), usual).degrees[0] == ENOUGH
    assert sides(group(4, 0.1 * (2 * CONTRADICTS) ** 0.5), group(4, 0.1), usual).degrees[0] < 2 / 3 * ENOUGH


@pytest.mark.parametrize("others", [0.01, 1.0])
def test_enough_passes_of_both_sides_need_no_other_results(others):
    """A noisier or quieter history changes neither spread nor degrees of freedom."""
    passes = ENOUGH // 2 + 1
    both = group(passes, 0.1), group(passes, 0.1)
    with_others, without = sides(*both, [group(8, others)] * 20), sides(*both, [])
    assert (with_others.degrees, with_others.shared) == (without.degrees, 0)
    assert with_others.sides == pytest.approx(without.sides)


def test_one_odd_result_hardly_widens_the_others():
    """It counts as `LARGEST` times the median result."""
    usual, odd = [group(8, 0.1)] * 19, group(8, 10.0)
    variance = deviations((group(4, 0.1), group(4, 0.1)), [*usual, odd]).usual
    assert variance == pytest.approx(width(8, 0.1) ** 2 * (19 + LARGEST**2) / 20)


def test_an_hour_in_which_all_cases_vary_more_widens_what_other_results_show():
    """The mean over at least `FEWEST_CASES` cases; a quieter hour never narrows it."""
    busy, quiet = (deviations((group(8, value), group(8, value)), [group(8, 0.1)] * 20) for value in (0.2, 0.05))
    assert noise.busy_hour([busy] * FEWEST_CASES) == pytest.approx(2.0)
    assert noise.busy_hour([busy] * (FEWEST_CASES - 1)) == 1.0
    assert noise.busy_hour([quiet] * FEWEST_CASES) == 1.0
    assert moderated_spread(busy, 2.0).sides[0] > 1.25 * moderated_spread(busy).sides[0]


def test_the_pool_has_the_shape_of_normal_noise():
    """Not longer tails, although the median of each group is one of its values."""
    random = np.random.default_rng(1)
    for passes in (3, 5, 8):
        groups = [list(random.normal(0, 1, passes)) for _ in range(400)]
        pool = np.array(moderated_spread(deviations((groups[0], groups[1]), groups[2:])).pool)
        assert pool.mean() == pytest.approx(1.0, abs=0.001)
        assert (pool**2).mean() ** 0.5 == pytest.approx((np.pi / 2) ** 0.5, rel=0.05)


def test_the_pool_is_the_same_for_all_pairs_of_a_series():
    """Whichever two of the results are the sides, the draws are computed once."""
    random = np.random.default_rng(2)
    results = [list(random.normal(0, 0.03, 5)) for _ in range(6)]
    pools = {moderated_spread(deviations((results[i], results[i + 1]), results[:i] + results[i + 2 :])).pool for i in range(5)}
    assert len(pools) == 1


def test_sides_with_enough_passes_of_their_own_are_drawn_alone():
    """From 31 passes a side on, the shape of their noise is known as well."""
    random = np.random.default_rng(3)
    others = [list(random.normal(0, 0.03, 5)) for _ in range(6)]
    for passes, alone in ((ENOUGH, False), (ENOUGH + 1, True)):
        both = list(random.normal(0, 0.03, passes)), list(random.normal(0, 0.03, passes))
        assert (sides(*both, others).pool == sides(*both, []).pool) is alone


def test_passes_without_any_spread_have_none():
    """A timer that always reads the same is no division by zero."""
    result = sides([1.0] * 4, [1.0] * 4, [[1.0] * 4] * 3)
    assert result.sides == (0.0, 0.0)
    assert set(result.pool) == {0.0}
