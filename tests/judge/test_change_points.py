"""Changes of level are found everywhere in a series, and noise shows almost none."""

import numpy as np
import pytest

from tensorcopy.judge import change_points

POINTS = 27  # releases


def series(random, sigma=0.016, n=POINTS, steps=(), spikes=()):
    """Return times around 12 µs; steps and spikes are given as (index, ratio)."""
    y = random.normal(0, sigma, n)
    for index, ratio in steps:
        y[index:] += np.log(ratio)
    for index, ratio in spikes:
        y[index] += np.log(ratio)
    return [float(value) for value in 12e-6 * np.exp(y)]


def indices(values, *more, **options):
    return [step.index for step in change_points.steps(values, *more, **options)]


def test_a_step_of_a_tenth_is_found_anywhere():
    """Up or down: inside, 99 % are found within a point, at the edges 95 %, with at most 1 % false steps."""
    random = np.random.default_rng(1)
    detected = [
        (index, indices(series(random, steps=[(index, ratio)])))
        for index in range(1, POINTS)
        for ratio in (1.1, 1 / 1.1) * (10 if index in (1, 2, POINTS - 2, POINTS - 1) else 4)
    ]
    hits = [sum(abs(step - index) <= 1 for step in steps) == 1 for index, steps in detected]
    at_edge = np.array([index in (1, 2, POINTS - 2, POINTS - 1) for index, _ in detected])
    assert np.mean(np.array(hits)[~at_edge]) >= 0.99
    assert np.mean(np.array(hits)[at_edge]) >= 0.95
    assert sum(len(steps) for _, steps in detected) - sum(hits) <= 0.01 * len(detected)


@pytest.mark.parametrize(("sigma", "n"), [(0.005, 27), (0.016, 10), (0.05, 27)])
def test_quiet_series_show_almost_no_steps(sigma, n):
    """At most one in a hundred."""
    random = np.random.default_rng(2)
    assert sum(len(indices(series(random, sigma, n))) for _ in range(200)) <= 2


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_spike_is_not_a_pair_of_steps(length):
    """Of up to three points of unknown spread, up or down, except at the very ends."""
    random = np.random.default_rng(3)
    for first in range(1, POINTS - length):
        for ratio in (1.3, 0.7):
            assert not indices(series(random, 0.01, spikes=[(first + i, ratio) for i in range(length)])), first


def test_outliers_do_not_hide_a_step():
    """Two of +30 % anywhere: 19 of 20 steps of a tenth with eight points per side."""
    random = np.random.default_rng(4)
    hits = 0
    for _ in range(200):
        step, *spikes = (int(random.integers(8, 20)), *(int(spike) for spike in random.choice(range(1, 26), 2, replace=False)))
        steps = indices(series(random, steps=[(step, 1.1)], spikes=[(spike, 1.3) for spike in spikes]))
        hits += len(steps) == 1 and abs(steps[0] - step) <= 2  # an outlier beside the step may be of either level
    assert hits >= 0.93 * 200


def test_heavy_tails_give_false_steps_at_the_ends_only():
    """Of a hundred series at most five, and all but one there, where an outlier looks like a level."""
    random = np.random.default_rng(5)
    steps = [step for _ in range(100) for step in change_points.steps([float(v) for v in np.exp(0.014 * random.standard_t(3, POINTS))])]
    assert len(steps) <= 5
    assert sum(step.index not in (1, POINTS - 1) for step in steps) <= 1


def test_several_steps_are_found_with_their_levels():
    """Up, back and up again: each with the level before and after, within the noise."""
    values = series(np.random.default_rng(6), 0.01, steps=[(7, 1.1), (13, 1 / 1.1), (20, 1.35)])
    steps = change_points.steps(values)
    assert [step.index for step in steps] == [7, 13, 20]
    assert [step.ratio for step in steps] == pytest.approx([1.1, 1 / 1.1, 1.35], rel=0.03)
    assert steps[0].before == pytest.approx(12e-6, rel=0.02)
    assert steps[0].after == steps[1].before
    assert all(step.p < change_points.CHANCE for step in steps)


def test_steps_of_a_reversed_or_inverted_series_are_mirrored():
    """And those in another unit are the same."""
    values = series(np.random.default_rng(7), steps=[(9, 1.2), (26, 1.3)])
    steps = change_points.steps(values)
    assert [step.index for step in steps] == [9, 26]
    mirrored = change_points.steps(values[::-1])
    assert [POINTS - step.index for step in mirrored[::-1]] == [9, 26]
    assert [1 / step.ratio for step in mirrored[::-1]] == pytest.approx([step.ratio for step in steps])
    inverted = change_points.steps([1 / value for value in values])
    assert [(step.index, 1 / step.ratio) for step in inverted] == [(step.index, pytest.approx(step.ratio)) for step in steps]
    assert indices([1e6 * value for value in values]) == [9, 26]


def test_gaps_are_skipped_but_indices_count_them():
    """The first release measured after a gap begins the new level."""
    values = series(np.random.default_rng(18), 0.01, steps=[(12, 1.2)])
    values[3] = values[11] = values[12] = values[13] = None
    (step,) = change_points.steps(values)
    assert step.index == 14
    level = change_points.levels(values, [step])
    assert [i for i, value in enumerate(level) if value is None] == [3, 11, 12, 13]
    assert [value for value in level if value] == pytest.approx([step.before] * 10 + [step.after] * 13)


def test_a_noisy_last_point_is_not_a_step():
    """With its own small spread it is one, as with an unknown one."""
    values = series(np.random.default_rng(9), steps=[(26, 1.15)])
    (step,) = change_points.steps(values)
    assert step.index == 26
    assert change_points.steps(values, [0.01] * POINTS) == [step]
    assert not change_points.steps(values, [0.01] * 26 + [0.1])


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_short_slowdown_of_known_spread_is_two_steps(length):
    """+30 %, 9 of 10 anywhere, and the first names the release that brings it back."""
    random = np.random.default_rng(14)
    firsts = list(range(1, POINTS - length)) * 3
    hits = 0
    for first in firsts:
        steps = change_points.steps(series(random, spikes=[(first + i, 1.3) for i in range(length)]), [0.006] * POINTS)
        hits += [(step.index, step.until) for step in steps] == [(first, first + length), (first + length, None)]
    assert hits >= 0.9 * len(firsts)


def test_bumps_of_single_releases_do_not_hide_each_other():
    """Of known spread, at any size; of unknown spread they may be outliers."""
    values = series(np.random.default_rng(15), spikes=[(8, 1.25), (15, 1.3), (20, 0.75)])
    assert indices(values, [0.006] * POINTS) == [8, 9, 15, 16, 20, 21]
    assert not indices(values)


def test_a_change_that_is_known_is_a_step():
    """However small beside the noise; its p is the known one, and other steps are found as before."""
    values = series(np.random.default_rng(19), 0.01, steps=[(9, 1.2)])
    steps = change_points.steps(values, known={20: 0.01})
    assert [(step.index, step.p) for step in steps if step.index != 9] == [(20, 0.01)]
    assert indices([1.0, 1.1], known={1: 0.01}) == [1]


@pytest.mark.parametrize("ratios", [(1.2, 1.2), (1.4, 1.5), (1 / 1.3, 1 / 1.2)])
def test_two_steps_three_releases_apart_are_both_found(ratios):
    """In the same direction, also with spreads unknown."""
    random = np.random.default_rng(16)
    detected = [(i, indices(series(random, steps=[(i, ratios[0]), (i + 3, ratios[1])]))) for i in range(2, 22) for _ in range(2)]
    assert np.mean([steps == [i, i + 3] for i, steps in detected]) >= 0.95


def test_a_step_ends_where_the_level_is_back():
    """Or beyond; the last step and one that is undone only half stay."""
    random = np.random.default_rng(17)
    values = series(random, 0.005, steps=[(5, 1.4), (11, 1 / 1.2), (18, 1 / 1.3)])
    assert [(step.index, step.until) for step in change_points.steps(values)] == [(5, 18), (11, None), (18, None)]
    values[18:] = [None] * (POINTS - 18)
    assert [(step.index, step.until) for step in change_points.steps(values)] == [(5, None), (11, None)]


def test_a_noisy_stretch_is_not_a_step():
    """Five releases a tenth slower are a level, unless their own spread is a tenth."""
    values = series(np.random.default_rng(10), steps=[(22, 1.1)])
    assert indices(values, [0.01] * POINTS) == [22]
    assert not indices(values, [0.01] * 22 + [0.15] * 5)


def test_a_step_smaller_than_the_scatter_of_outliers_is_not_reported():
    """Of 5 % where single releases take half or twice the time: with such noise, any two halves may differ by that much."""
    for seed in range(10):
        quiet, wild = (
            series(np.random.default_rng(seed), 0.004, steps=[(14, 1.05)], spikes=spikes)
            for spikes in ((), ((5, 2.0), (9, 0.5), (20, 2.0)))
        )
        assert (indices(quiet), indices(wild)) == ([14], [])


def test_a_last_point_in_a_series_with_outliers_is_not_yet_a_step():
    """It is as far out as an earlier outlier: a second such point makes a level."""
    random = np.random.default_rng(11)
    values = series(random, spikes=[(11, 1.3), (26, 1.3)])
    assert not indices(values)
    assert indices([*values, values[-1] * 1.01]) == [26]


def test_drift_and_alternation_are_not_steps():
    """A rise of 35 %, and two alternating builds: steps in at most 2 % of the series."""
    random = np.random.default_rng(12)
    drift = np.exp(np.linspace(0, 0.3, POINTS))
    turns = np.where(np.arange(POINTS) % 2, 1.1, 1.0)
    for shape in (drift, turns):
        assert sum(bool(indices(list(shape * series(random)))) for _ in range(50)) <= 1


def test_a_change_below_the_minimum_is_not_reported():
    """However clear: 0.8 % among points that agree within 0.1 %."""
    for ratio, expected in ((1.008, []), (1.012, [13])):
        assert indices(series(np.random.default_rng(13), 0.001, steps=[(13, ratio)])) == expected


@pytest.mark.parametrize("values", [[], [None] * 4, [1.0], [1.0, 2.0], [1.0, None, 2.0], [1.0] * 30, [1.0, 2.0, 3.0]])
def test_too_few_or_constant_points_show_no_step(values):
    """There is a level exactly where there is a value."""
    assert change_points.steps(values) == []
    assert [level is None for level in change_points.levels(values, [])] == [value is None for value in values]


def test_rounded_times_show_their_step():
    """A clock that rounds to a microsecond leaves no noise."""
    assert indices([12e-6] * 14 + [13e-6] * 13) == [14]


def test_a_level_within_the_noise_of_the_one_before_takes_a_step_back():
    """Two standard errors above it, and more than a hundredth: nobody could tell the two apart."""
    noise = 0.03 * np.array([1, -1, 1, -1, 1, -1, 1, -1])
    values = np.exp(np.concatenate([noise, 0.3 + noise, 0.035 + noise]))
    up, down = change_points.steps([float(value) for value in values])
    assert (up.index, up.until, down.index) == (8, 16, 16)
