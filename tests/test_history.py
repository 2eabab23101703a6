"""Steps are found where they are, up to both ends of the window, and noise shows next to none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tensorcopy.analysis import change_points

POINTS = 27  # releases


def series(chance, sigma=0.016, n=POINTS, steps=(), spikes=()):
    """Times around 12 µs; steps and spikes as (index, ratio)."""
    y = chance.normal(0, sigma, n)
    for index, ratio in steps:
        y[index:] += np.log(ratio)
    for index, ratio in spikes:
        y[index] += np.log(ratio)
    return [float(value) for value in 12e-6 * np.exp(y)]


def indices(values, *more, **options):
    return [step.index for step in change_points.steps(values, *more, **options)]


@pytest.mark.parametrize("ratio", [1.1, 1 / 1.1], ids=["slower", "faster"])
def test_a_tenth_is_seen_wherever_it_happens(ratio):
    """At every index, ten series each: 99 % are seen once, within a point, and nothing else with them but in 1 %."""
    chance = np.random.default_rng(1)
    found = [(index, indices(series(chance, steps=[(index, ratio)]))) for index in range(1, POINTS) for _ in range(10)]
    seen = [sum(abs(one - index) <= 1 for one in steps) == 1 for index, steps in found]
    assert np.mean(seen) >= 0.99
    assert sum(len(steps) for _, steps in found) - sum(seen) <= 0.01 * len(found)


@pytest.mark.parametrize("n", [10, 27, 60])
@pytest.mark.parametrize("sigma", [0.005, 0.016, 0.05])
def test_quiet_series_show_next_to_no_step(sigma, n):
    """One in a hundred at most."""
    chance = np.random.default_rng(2)
    assert sum(len(indices(series(chance, sigma, n))) for _ in range(200)) <= 2


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_spike_is_no_pair_of_steps(length):
    """Of up to three points, at any place but the window's very ends, up or down."""
    chance = np.random.default_rng(3)
    for first in range(1, POINTS - length):
        for ratio in (1.3, 0.7):
            assert not indices(series(chance, 0.01, spikes=[(first + i, ratio) for i in range(length)])), first


def test_outliers_hide_no_step():
    """Two of +30 %, anywhere: a step of a tenth with eight points on either side is found."""
    chance = np.random.default_rng(4)
    for _ in range(50):
        step, *spikes = (int(chance.integers(8, 20)), *(int(one) for one in chance.choice(range(1, 26), 2, replace=False)))
        found = indices(series(chance, steps=[(step, 1.1)], spikes=[(one, 1.3) for one in spikes]))
        assert len(found) == 1
        assert abs(found[0] - step) <= 2  # an outlier beside the step may be of either level


def test_heavy_tails_show_steps_at_the_ends_alone():
    """Student's t with three degrees of freedom, a hundred series: five at most, and all but one of a single point, which says so."""
    chance = np.random.default_rng(5)
    found = [step for _ in range(100) for step in change_points.steps([float(v) for v in np.exp(0.014 * chance.standard_t(3, POINTS))])]
    assert len(found) <= 5
    assert sum(not step.alone for step in found) <= 1
    assert all(step.index in (1, POINTS - 1) for step in found if step.alone)


def test_several_steps_are_found_with_their_levels():
    """Up, back and up again: each with the level before and after, within the noise."""
    values = series(np.random.default_rng(6), 0.01, steps=[(7, 1.1), (13, 1 / 1.1), (20, 1.35)])
    found = change_points.steps(values)
    assert [step.index for step in found] == [7, 13, 20]
    assert [step.ratio for step in found] == pytest.approx([1.1, 1 / 1.1, 1.35], rel=0.03)
    assert found[0].before == pytest.approx(12e-6, rel=0.02)
    assert found[0].after == found[1].before
    assert all(step.p < change_points.CHANCE for step in found)


def test_reversed_or_inverted_the_steps_are_mirrored():
    """And in another unit they are the same."""
    values = series(np.random.default_rng(7), steps=[(9, 1.2), (26, 1.3)])
    found = change_points.steps(values)
    assert [step.index for step in found] == [9, 26]
    mirrored = change_points.steps(values[::-1])
    assert [POINTS - step.index for step in mirrored[::-1]] == [9, 26]
    assert [1 / step.ratio for step in mirrored[::-1]] == pytest.approx([step.ratio for step in found])
    inverted = change_points.steps([1 / value for value in values])
    assert [(step.index, 1 / step.ratio) for step in inverted] == [(step.index, pytest.approx(step.ratio)) for step in found]
    assert indices([1e6 * value for value in values]) == [9, 26]


def test_gaps_are_no_points_and_indices_count_them():
    """The first release that was measured after a gap begins the new level; it is nobody's guess when it came."""
    values = series(np.random.default_rng(18), 0.01, steps=[(12, 1.2)])
    values[3] = values[11] = values[12] = values[13] = None
    (step,) = change_points.steps(values)
    assert step.index == 14
    level = change_points.levels(values, [step])
    assert [i for i, one in enumerate(level) if one is None] == [3, 11, 12, 13]
    assert [one for one in level if one] == pytest.approx([step.before] * 10 + [step.after] * 13)


def test_a_point_that_is_known_to_be_noisy_is_no_step():
    """The same last point is one where its spread is known to be small, and is then not marked as alone."""
    values = series(np.random.default_rng(9), steps=[(26, 1.15)])
    (step,) = change_points.steps(values)
    assert (step.index, step.alone) == (26, True)
    assert change_points.steps(values, [0.01] * POINTS) == [replace(step, alone=False)]
    assert not change_points.steps(values, [0.01] * 26 + [0.1])


def test_a_noisy_stretch_is_no_step():
    """Five releases a tenth slower are a level, unless their own spread is a tenth."""
    values = series(np.random.default_rng(10), steps=[(22, 1.1)])
    assert indices(values, [0.01] * POINTS) == [22]
    assert not indices(values, [0.01] * 22 + [0.15] * 5)


def test_a_last_point_in_a_series_with_outliers_waits_for_the_next():
    """As far out as another point was that came back: it takes a second one to be a level."""
    chance = np.random.default_rng(11)
    values = series(chance, spikes=[(11, 1.3), (26, 1.3)])
    assert not indices(values)
    assert indices([*values, values[-1] * 1.01]) == [26]


def test_drift_and_alternation_are_no_steps():
    """A tenth more in every ninth release, two builds by turns: a hundred series each, two with steps at most."""
    chance = np.random.default_rng(12)
    drift = np.exp(np.linspace(0, 0.3, POINTS))
    turns = np.where(np.arange(POINTS) % 2, 1.1, 1.0)
    for shape in (drift, turns):
        assert sum(bool(indices(list(shape * series(chance)))) for _ in range(100)) <= 2


def test_what_is_too_small_to_tell_is_not_told():
    """However sure: 1 % among points that agree within 0.1 %."""
    values = series(np.random.default_rng(13), 0.001, steps=[(13, 1.01)])
    assert not indices(values)
    assert indices(values, least=0.005) == [13]


@pytest.mark.parametrize("values", [[], [None] * 4, [1.0], [1.0, 2.0], [1.0, None, 2.0], [1.0] * 30, [1.0, 2.0, 3.0]])
def test_too_few_points_or_no_noise_at_all_show_no_step(values):
    """And no level is invented where nothing was measured."""
    assert change_points.steps(values) == []
    assert [level is None for level in change_points.levels(values, [])] == [value is None for value in values]


def test_times_without_noise_show_their_step():
    """A clock that rounds everything to a microsecond leaves none."""
    assert indices([12e-6] * 14 + [13e-6] * 13) == [14]


def test_what_moved_together_is_told_by_direction():
    """Slower cases first, with the median of their ratios; a case whose step is at another release is not among them."""
    up, far_up, down = (change_points.Step(5, 1.0, after, 1e-4) for after in (1.2, 1.5, 0.8))
    moved = {
        "a": [up],
        "b": [change_points.Step(2, 1.0, 3.0, 1e-4), far_up],
        "c": [down],
        "d": [],
        "e": [change_points.Step(6, 1.0, 2.0, 1e-4)],
    }
    assert change_points.grouped(moved, 5) == [
        change_points.Group("slower", ("a", "b"), pytest.approx(1.35)),
        change_points.Group("faster", ("c",), pytest.approx(0.8)),
    ]
    assert change_points.grouped(moved, 3) == []
