"""What a launch keeps of the turns of a case: the effects of its sides."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from tensorcopy.measure import launch
from tensorcopy.measure.launch import Side, Turns
from tensorcopy.results.launches import UNIT


@pytest.mark.parametrize("sides", [2, 3, 6])
def test_a_difference_smaller_than_the_noise_of_a_turn_is_not_made_smaller(sides):
    """Of any number of sides: +5 % where turns vary by 10 %, and one of ten by much more."""
    chance, size = np.random.default_rng(sides), (200, sides, launch.TURNS)
    logs = log(1e-5) + chance.normal(0, 0.1, size) + (chance.random(size) < 0.1) * chance.exponential(1, size)
    logs[:, 0] += log(1.05)
    turns = {("a.time_it", number): Turns(dict(enumerate(np.exp(case).tolist())), 9) for number, case in enumerate(logs)}
    suites = {"a.time_it": {"version": "1", "param_names": ["number"], "params": [list(map(str, range(200)))]}}
    made = [Side("0" * 40, f"py3.{10 + number}-cuda", {}) for number in range(sides)]
    taken = launch.document(made, suites, turns, machine="box", id="", started="", ended="")
    effects = np.array([row.effects for row in taken.suites["a.time_it"].rows.values()]) / UNIT
    assert np.mean(effects[:, 0] - effects[:, 1]) == pytest.approx(log(1.05), abs=0.006)
