"""The accuracy report: what it counts is right where the truth is known, and a wrong judge is exposed."""

import json
from dataclasses import replace

import pytest

from docs.tools import accuracy, goals, simulated_histories
from tensorcopy.judge import change_points, comparisons, paired
from tensorcopy.judge.paired import Verdict
from tests import launch_files

RELEASES = ("2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0")
METHODS = ("new_tensor", "clone_detach", "detach_clone", "tensor", "empty_like_copy")
CASES = [f"copies.BySize.time_copy {method} {numel}" for method in METHODS for numel in (1, 16, 1024, 2**17, 2**20)]
NOISE = 0.01  # of a side's layout in a launch


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Seven releases that do not differ, in twelve launches; slowdowns of known size."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(simulated_histories, "DRAWS", 10)
    launch_files.write(tmp_path / "results", {case: dict.fromkeys(RELEASES, 5.0) for case in CASES}, noise=NOISE)
    planted = {f"2.15.0#{name}": 5.0 * (1 + share) for name, share in accuracy.PLANTED.items()}
    sides = {"2.14.1": 5.0, "2.15.0": 5.0, "2.15.0#twin": 5.0, **planted}
    for machine, launches, noise in ((accuracy.QUIET, 12, NOISE), (accuracy.BUSY, 12, 2 * NOISE)):
        launch_files.write(tmp_path / accuracy.FOLDER, dict.fromkeys(CASES, sides), machine=machine, launches=launches, noise=noise)
    now = {"2.15.0": 5.0, "2.15.0#+2%": 5.1}
    launch_files.write(tmp_path / accuracy.FOLDER, dict.fromkeys(CASES[:6], now), machine=accuracy.NOW, launches=40, noise=NOISE)
    return tmp_path


def report(checkout):
    """Return the rows of the report by name."""
    (checkout / "docs").mkdir(exist_ok=True)
    accuracy.main(["report"])
    document = json.loads((checkout / accuracy.FILE).read_text())
    assert not any("+3%" in row["name"] for row in document["rows"])
    return {row["name"]: row["value"] for row in document["rows"]}


def figure(rows, name):
    """Return the first number of the row whose name has a text."""
    value = next(value for each, value in rows.items() if name in each)
    return float(value.removeprefix("> ").split()[0])


def test_the_figures_are_right_where_nothing_changed(checkout):
    """With noise of 1 % in twelve launches: intervals of 0.8 %, 95 % of which cover, and no false alarm; +5 % is always told."""
    rows = report(checkout)
    assert 0.6 < figure(rows, "newest pair: half width") < 1.1
    assert 90 < figure(rows, "that cover 0") < 99
    assert 90 < figure(rows, "cover the truth") < 99
    assert figure(rows, "joint 95 % interval") > 90
    assert figure(rows, "other launches: comparisons with a false alarm") <= 5
    assert figure(rows, "twin in the same 12 launches") == 0
    assert figure(rows, "planted +5 %") == 100
    assert figure(rows, "planted +3 %") > 90
    assert figure(rows, "a minute for each case") == 6
    assert figure(rows, "newest pair: neither changed nor unchanged") < 10
    assert figure(rows, "all neighbours: neither changed nor unchanged") < 10
    assert figure(rows, "by 5 % that compare detects") == 100
    assert 1.5 < figure(rows, "busy processes") < 2.5
    assert 2 <= figure(rows, "newest release that the history detects") <= 6
    assert figure(rows, "false steps") <= 1


def test_a_missed_goal_is_named():
    """A reader needs no arithmetic."""
    assert goals.at_most([0.017, 0.011], [0.015, 0.025]) == ("≤ 1.5 / 2.5 %", True)
    assert goals.at_most([0.04, 0.2], [0.05]) == ("≤ 5 %", False)  # a goal of the first figure only
    assert goals.between(0.914, 0.93, 0.97) == ("93 to 97 %", True)
    assert goals.at_least(6 / 6, 0.9) == ("≥ 90 %", False)


def test_a_judge_that_always_alarms_is_exposed(checkout, monkeypatch):
    """It tells every slowdown, and is wrong wherever nothing changed."""
    judge = paired.judge

    def alarm(differences, **options):
        return {case: replace(change, verdict=Verdict.SLOWER) for case, change in judge(differences, **options).items()}

    monkeypatch.setattr(paired, "judge", alarm)
    comparisons.between.cache_clear()
    rows = report(checkout)
    comparisons.between.cache_clear()
    assert figure(rows, "planted +5 %") == 100
    assert figure(rows, "other launches: comparisons with a false alarm") == 100
    assert figure(rows, "twin in the same") == len(CASES)
    assert figure(rows, "false steps") > 25


def test_a_hit_is_within_five_points():
    """A step farther away is a false alarm, and the change counts as missed."""
    series = [1.0, 1.001] * 20 + [1.3, 1.301] * 20
    assert [step.index for step in change_points.steps(series)] == [40]
    near = accuracy.annotated({"series": [{"median": series, "first_slow_index": 43}]})
    far = accuracy.annotated({"series": [{"median": series, "first_slow_index": 50}]})
    assert (near.value, far.value) == ("1 of 1; 0", "0 of 1; 1")
