"""The time of a side: the usual call when nothing disturbs it; and what a launch keeps of it, the effects of its sides."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from math import log
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from tensorcopy.measure import launch, process
from tensorcopy.measure.launch import Benchmark, Turns, differing
from tensorcopy.results import launches
from tensorcopy.results.launches import UNIT
from tensorcopy.worker import turns
from tensorcopy.worker.turns import fastest, usual, waiting
from tests import launch_files


def timed(chance, microseconds, disturbed):
    """Return a loop of which most windows are disturbed, by up to three times."""

    def seconds(calls):
        return calls * microseconds * 1e-6 * (1 + (chance.random() < disturbed) * 2 * chance.random())

    return SimpleNamespace(calls=1000, windows=turns.WINDOWS, seconds=seconds)


@pytest.mark.parametrize("disturbed", [0.0, 0.5, 0.8])
def test_what_disturbs_a_window_does_not_count(disturbed):
    """With half of the windows disturbed, a mean would be 1.5 times as large."""
    loop = timed(np.random.default_rng(1), 10, disturbed)
    assert usual([fastest(loop) for _ in range(launch.TURNS)]) == pytest.approx(1e-5, rel=0.01)


def test_all_calls_of_a_turn_are_in_its_windows():
    asked = []
    loop = SimpleNamespace(calls=1000, windows=8, seconds=lambda calls: asked.append(calls) or calls * 1e-6)
    assert fastest(loop) == pytest.approx(1e-6)
    assert asked == [125] * 8
    asked.clear()
    loop.calls = 1
    assert fastest(loop) == pytest.approx(1e-6)
    assert asked == [1]


def test_the_usual_turn_is_the_geometric_mean_of_the_fastest_third():
    """Of fewer than three turns, the fastest."""
    assert usual([9.0, 1.0, 8.0, 4.0, 7.0, 6.0]) == pytest.approx(2.0)
    assert usual([3.0, 2.0]) == 2.0


def test_a_call_that_sleeps_gives_up_the_core():
    """One that computes does not: its time on the core is what it takes undisturbed."""
    assert waiting(lambda: time.sleep(0.001))
    assert not all(waiting(lambda: sum(range(1000))) for _ in range(20))
    seconds = [0.001]
    assert not all(waiting(lambda: time.sleep(seconds.pop()) if seconds else None) for _ in range(20))


def test_a_declared_number_of_calls_is_kept():
    """As with asv; nothing is called to find another one."""
    loop = turns.AsvLoop(SimpleNamespace(number=3, _build_params=tuple, _setups=[]))
    loop.calibrate()
    assert loop.calls == 3


@pytest.mark.parametrize("sides", [2, 3, 6])
def test_a_difference_smaller_than_the_noise_of_a_turn_is_not_made_smaller(sides):
    """Of any number of sides: +5 % where turns are slower by up to 20 %, and one of ten by much more."""
    chance, size = np.random.default_rng(sides), (200, sides, launch.TURNS)
    logs = log(1e-5) + 0.2 * chance.random(size) + (chance.random(size) < 0.1) * chance.exponential(1, size)
    logs[:, 0] += log(1.05)
    by_case = {("a.time_it", number): [Turns(seconds, 9) for seconds in np.exp(case).tolist()] for number, case in enumerate(logs)}
    suites = {"a.time_it": Benchmark("a.time_it", launch_files.spec_of("a.time_it"), "1", ["number"], [list(map(str, range(200)))])}
    effects = np.array([row.effects for row in launch.stored(suites, by_case)["a.time_it"].rows.values()]) / UNIT
    assert np.mean(effects[:, 0] - effects[:, 1]) == pytest.approx(log(1.05), abs=0.006)


@pytest.mark.parametrize(
    ("faults", "different"),
    [
        ([0, 16384], {0}),
        ([16384, 0, 0], {0}),
        ([None, 0, 16384], {1}),  # of three sides, one has no time of the case
        ([1000, 1000, 1900], set()),
        ([1000, 1000, 2100], {2}),  # more than twice as many as the median
        ([1000, 1000, 520], set()),
        ([1000, 1000, 480], {2}),
        ([0, 0, 60], set()),  # a few pages
        ([0, 0, 70], {2}),
        ([None], set()),
    ],
)
def test_sides_that_copy_without_page_faults_are_found(faults, different):
    """Their memory was there before: at 2^24 such a copy takes a third of the time."""
    assert differing([Turns() if each is None else Turns([1e-6], faults=each) for each in faults]) == different


@pytest.mark.parametrize(("torches", "forgotten"), [(("a", "b"), ["a", "b"]), (("a",), ["a"]), (("a", "a"), [])])
def test_the_page_cache_is_drawn_anew(tmp_path, monkeypatch, torches, forgotten):
    """Of each torch, before any process imports it; two sides with the same torch share its state."""
    acts = []
    monkeypatch.setattr(process, "Process", lambda *_: acts.append("start") or Mock())
    monkeypatch.setattr(process, "forget_pages", lambda folder: acts.append(folder.name))
    sides = [replace(launch_files.side("2.15.0"), torch=tmp_path / name) for name in torches]
    with process.started(sides, 0):
        pass
    assert sorted(acts[: len(forgotten)]) == forgotten
    assert acts[len(forgotten) :] == ["start"] * len(torches)


def test_an_answer_has_the_form_and_the_number_of_its_request(tmp_path):
    """A benchmark may write into the descriptor of the answers: what is not the answer is passed over."""
    lines = ['{"ready": true}', "faster", "[]", '{"n": "two", "turn": 3}', '{"n": 1, "turn": [9, 9]}']
    lines += ['{"n": 2, "turn": [1e-9]}', '{"ended": 0}', '{"n": 2, "turn": [2e-6, 7]}', '{"n": 3, "value": 0}', '{"n": 4, "skipped": ""}']
    python = tmp_path / "python"
    python.write_text("\n".join(["#!/bin/sh", *(f"echo '{line}'" for line in lines), "exec cat >/dev/null\n"]))
    python.chmod(0o755)
    with process.started([replace(launch_files.side("2.15.0"), python=python, variables=dict(os.environ))]) as (own,):
        assert own.ask(9, turn=0).turn == (2e-6, 7)
        assert own.ask(9, value="a.track_it", index=0).value == 0.0
        assert own.ask(9, case="a.time_it", index=0).skipped == ""


def test_a_reason_of_one_side_is_not_said_of_all(tmp_path):
    """One text for all sides stands for those of each, where each has it."""
    case = "copies.BySize.time_copy tensor 16"
    for before, stored in ((1.0, {"1": "not here"}), (None, {launches.ALL: "not here"})):
        (path,) = launch_files.write(tmp_path / str(before), {case: {"2.14.1": before, "2.15.0": None}}, launches=1)
        assert launches.read(path).suites["copies.BySize.time_copy"].skipped["0"] == stored
