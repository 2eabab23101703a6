"""How often the judge is right: of planted changes in histories, of launches until intervals are small, of tracked values."""

from __future__ import annotations

from itertools import product
from math import log

import numpy as np
import pytest

from tensorcopy.cli.compare import MOST_LAUNCHES_NOW
from tensorcopy.judge import case_history, paired
from tensorcopy.judge.paired import ALPHA, Verdict
from tensorcopy.measure import run
from tensorcopy.measure.run import FIRST
from tensorcopy.releases import release_table
from tensorcopy.results.cases import Case
from tensorcopy.results.effects import Difference, Effects, within
from tests import launch_files

RELEASES = [*release_table.load()][-12:]
CASES = [Case(launch_files.spec_of("copies.BySize.time_copy"), (("method", f"m{number}"), ("numel", "16"))) for number in range(60)]
LAUNCHES, SPREAD = 12, 0.012  # as the shipped history has them
FLAT = [1.0] * 12


def histories(levels, seed, *, tails=5):
    """Return the histories of sixty cases whose true times are `levels`; the layout of a launch varies with heavy tails (Student's t)."""
    chance = np.random.default_rng(seed)
    shape = LAUNCHES, len(RELEASES), len(CASES)
    layout = chance.standard_t(tails, shape) * SPREAD * (1 - 2 / tails) ** 0.5 * chance.gamma(6, 1 / 6, len(CASES)) ** 0.5
    logs = np.log(levels)[:, None] + layout + chance.normal(0, 0.05, (LAUNCHES, 1, 1))
    starts = tuple(f"2026-11-21T{number:02}:00:00+00:00" for number in range(LAUNCHES))
    columns = {(release.sha, "py3.11-cuda", ""): number for number, release in enumerate(RELEASES)}
    effects = Effects(starts, columns, {case: number for number, case in enumerate(CASES)}, logs)
    return [*case_history.over([launch_files.result_of(effects, place) for place in columns]).values()]


def shares(levels, seed, tails=5):
    """Return the numbers of steps by index, and the share of open cases."""
    made = histories(levels, seed, tails=tails)
    steps = [step.index for history in made for step in history.steps]
    is_open = [bool(case_history.standing(history).since) for history in made]
    return {index: steps.count(index) / len(made) for index in {*steps}}, sum(is_open) / len(made)


@pytest.mark.parametrize("tails", [3, 5, 30])
def test_a_flat_series_has_no_step_and_is_not_open(tails):
    """Over 180 series with tails as heavy as those of Student's t; change points had told .13 to .32 steps a series before."""
    found = [shares(FLAT, seed, tails) for seed in range(3)]
    assert np.mean([sum(steps.values()) for steps, _ in found]) <= 0.02
    assert np.mean([share for _, share in found]) <= 0.02


@pytest.mark.parametrize(
    ("levels", "steps", "open_share"),
    [
        ([1.0] * 6 + [1.06] * 6, {6: 0.9}, 0.9),
        ([1.06] * 6 + [1.0] * 6, {6: 0.9}, 0.0),
        ([1.0] * 6 + [1.1] + [1.0] * 5, {6: 0.95, 7: 0.95}, 0.0),
        ([1.0] * 3 + [1.1] * 2 + [1.0] * 3 + [1.08] * 2 + [1.0] * 2, {3: 0.95, 5: 0.95, 8: 0.9, 10: 0.9}, 0.0),
        ([1.01**number for number in range(12)], {}, 0.9),
    ],
    ids=["a step up", "a step down", "a bump", "two bumps", "a creep of 1 % a release"],
)
def test_planted_changes_are_found(levels, steps, open_share):
    """Where they were planted, and nowhere else; a creep has no step, and is open all the same."""
    found, share = shares(levels, 1)
    assert all(found.get(index, 0.0) >= least for index, least in steps.items()), found
    assert sum(each for index, each in found.items() if index not in steps) <= 0.04
    assert share >= open_share if open_share else share <= 0.02


# Launches until an interval is small


def measured_in_stages(chance, true, spreads):
    """Return the changes of cases with true log ratios, and their launches: while an interval is wide, its case gets as many again."""
    differences = {case: [] for case in CASES[:40]}

    def judged():
        found = {
            case: Difference(np.mean(of), np.var(of, ddof=1), len(of), len(of) - 1, (len(of), len(of))) for case, of in differences.items()
        }
        return paired.judge(found)

    count, wide = FIRST, [*differences]
    while wide and count <= MOST_LAUNCHES_NOW:
        for case, size, spread in zip(differences, true, spreads):
            if case in wide:
                differences[case] += list(size + spread * chance.standard_normal(count - len(differences[case])))
        wide = [case for case, change in judged().items() if run.is_wide(case, change, run.EXACT * paired.MARGIN)]
        count *= 2
    return judged(), {case: len(of) for case, of in differences.items()}


@pytest.mark.parametrize("spread", [0.012, pytest.param(0.03, marks=pytest.mark.slow)])
@pytest.mark.parametrize("tails", ["as the prior has it", pytest.param("lighter", marks=pytest.mark.slow)])
def test_precision_decides_how_long_is_measured_and_alpha_stays_whole(spread, tails):
    """False alarms in at most 5 % of families of equal cases, and intervals that cover 93 to 97 % of the true values."""
    chance = np.random.default_rng(7)

    def spreads():
        return spread * ((8 / chance.chisquare(8, 40)) ** 0.5 if tails == "as the prior has it" else chance.gamma(4, 0.25, 40) ** 0.5)

    families = [measured_in_stages(chance, np.zeros(40), spreads()) for _ in range(100)]
    assert np.mean([any(change.changed for change in changes.values()) for changes, _ in families]) <= 0.05
    covered = [change.interval[0] <= 1 <= change.interval[1] for changes, _ in families for change in changes.values()]
    assert 0.93 <= np.mean(covered) <= 0.97
    assert {count for _, counts in families for count in counts.values()} >= {FIRST, 2 * FIRST}


def test_a_case_is_chosen_by_its_width_whatever_its_difference_is():
    chance = np.random.default_rng(1)
    spreads = np.full(40, 0.02)
    state = chance.bit_generator.state
    _, none = measured_in_stages(chance, np.zeros(40), spreads)
    chance.bit_generator.state = state
    _, large = measured_in_stages(chance, np.full(40, log(1.2)), spreads)
    assert none == large


# What is promised of a comparison


def test_the_smallest_slowdown_seen_is_called_one_9_times_in_10():
    """Of all cases together, of which a quarter has three times the error of the others; and of each case alone."""
    chance, number = np.random.default_rng(4), 250
    error = np.where(np.arange(number) % 4, 0.01, 0.03) * chance.gamma(4, 1 / 4, number) ** 0.5

    def judged(sizes):
        logs = 0.2 * chance.standard_normal((12, 1, number)) + error * chance.standard_normal((12, 2, number))
        return paired.judge(within(logs + np.array([np.zeros(number), sizes]), 0, 1))

    quiet = judged(np.zeros(number))
    of_each = np.log1p([change.detectable for change in quiet.values()])
    for sizes in (np.full(number, np.log1p(paired.smallest_seen(quiet.values()))), of_each):
        told = []
        for _ in range(20):
            planted = chance.choice(number, 25, replace=False)
            verdicts = judged(np.where(np.isin(np.arange(number), planted), sizes, 0.0))
            told += [verdicts[case].verdict is Verdict.SLOWER for case in planted]
        assert 0.8 <= np.mean(told) <= 0.97


UNEQUAL = [(1, 2), (1, 3), (2, 2), (2, 3), (3, 3), (5, 5), (2, 12), (3, 12)]
SEVERAL = [launches for launches in UNEQUAL if min(launches) > 1]  # a single launch tells no spread of its own


@pytest.mark.slow
@pytest.mark.parametrize(("launches", "spread"), [*product(UNEQUAL, [1.0]), *product(SEVERAL, [1 / 3, 3.0])])
def test_a_tracked_value_that_only_varies_is_seldom_called_higher_or_lower(launches, spread):
    """In at most 5 of 100 families, however few launches tell how much it varies: here each family is a single value.

    Where one side varies more, in few more; of two launches against twelve, in 8: nothing tells their spread, and Welch's test gives 11.
    """
    chance, families = np.random.default_rng(21), 2000
    sides = [(list(chance.normal(100, spread, launches[0])), list(chance.normal(100, 1, launches[1]))) for _ in range(families)]
    alarms = [paired.of_values({0: ("nats", *each)})[0].verdict is not Verdict.UNKNOWN for each in sides]
    swapped = [paired.of_values({0: ("nats", *each[::-1])})[0].verdict is not Verdict.UNKNOWN for each in sides[:200]]
    assert alarms[:200] == swapped
    most = ALPHA + 3 * (ALPHA * (1 - ALPHA) / families) ** 0.5
    assert np.mean(alarms) <= (most if spread == 1 else 0.095 if min(launches) == 2 else 0.065)
    assert spread != 1 or np.mean(alarms) >= 0.015
