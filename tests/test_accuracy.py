"""The report card: what it counts, and that it exposes a bad detector."""

from __future__ import annotations

import json
import random

import pytest

from tensorcopy.analysis import accuracy, change_points
from tensorcopy.analysis.change_points import Step
from tensorcopy.analysis.verdict import Change, Reason, Verdict
from tensorcopy.asv_plugin import detection
from tensorcopy.cli import main
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import injected_slowdowns
from tensorcopy.releases import release_table
from tensorcopy.report import report_card
from tests.conftest import assert_golden, measured_in_passes

NEWEST = release_table.find("2.15.0")
METHODS = {"new_tensor": 2.0, "clone_detach": 1.4, "detach_clone": 1.1, "tensor": 2.2}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Injected slowdowns of four cases, and seven releases that show the noise."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(accuracy, "SERIES", 40)
    draw = random.Random(7)

    def passes(factor, count):
        return [factor * (1 + draw.gauss(0, 0.01)) for _ in range(count)]

    for name, share in injected_slowdowns.VARIANTS.items():
        times = {method: passes(factor * (1 + share), 10) for method, factor in METHODS.items()}
        measured_in_passes(tmp_path / injected_slowdowns.FOLDER, NEWEST, times, machine=name)
    for release in release_table.select("2.9..2.15.0"):
        measured_in_passes(tmp_path / "results", release, {method: passes(factor, 4) for method, factor in METHODS.items()})
    return tmp_path


def test_the_card(checkout, capsys):
    """For the terminal; docs/report_card.json has the same figures."""
    (checkout / "data.json").write_text(
        json.dumps(
            {
                "source": "somewhere",
                "licence": "CC0",
                "series": [
                    {"median": [1.0, 1.01] * 10, "first_slow_index": None},
                    {"median": [1.0, 1.01] * 9 + [1.5, 1.51] * 9, "first_slow_index": 18},
                ],
            }
        )
    )
    assert main(["report-card", "--dataset", "data.json"]) == 0
    assert_golden("report-card.txt", capsys.readouterr().out)
    card = json.loads((checkout / report_card.FILE).read_text())
    assert card["annotated"]["found"] == 1
    assert [row["change"] for row in card["two_sides"]] == [0.0, 0.05, 0.1]
    assert sum(card["two_sides"][0][verdict.value] for verdict in Verdict) == card["two_sides"][0]["comparisons"] == 4 * accuracy.SPLITS


def test_a_detector_that_always_alarms_is_exposed(checkout, monkeypatch):
    """It finds every slowdown, and is wrong wherever nothing changed."""
    alarm = Change(Verdict.SLOWER, Reason.CHANGED)
    monkeypatch.setattr(accuracy, "judge", lambda pairs, noise: dict.fromkeys(pairs, alarm))
    monkeypatch.setattr(accuracy.change_points, "steps", lambda values: [Step(1, 1.0, 2.0, 0.0)])
    main(["report-card"])
    card = json.loads((checkout / report_card.FILE).read_text())
    assert [row["slower"] / row["comparisons"] for row in card["two_sides"]] == [1.0, 1.0, 1.0]
    quiet, *_ = card["histories"]
    assert quiet["false"] == quiet["series"]


def test_missing_injected_slowdowns_are_an_error(tmp_path, monkeypatch, capsys):
    """It names the command that measures them."""
    monkeypatch.chdir(tmp_path)
    assert main(["report-card"]) == 2
    assert "tensorcopy report-card --measure" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{", "{}", '{"series": [{}]}', "[]"])
def test_an_invalid_data_set_is_an_error(tmp_path, capsys, text):
    """Before anything is computed."""
    path = tmp_path / "data.json"
    path.write_text(text)
    assert main(["report-card", "--dataset", str(path)]) == 2
    assert capsys.readouterr().err.startswith("tensorcopy: ")


def test_a_hit_is_within_five_points():
    """A step farther away is a false alarm, and the change counts as missed."""
    series = [1.0, 1.001] * 20 + [1.3, 1.301] * 20
    assert [step.index for step in change_points.steps(series)] == [40]
    near = accuracy.annotated({"series": [{"median": series, "first_slow_index": 43}]}, detection)
    far = accuracy.annotated({"series": [{"median": series, "first_slow_index": 50}]}, detection)
    assert (near.score.detected, near.score.false, near.score.delay) == (1, 0, -3)
    assert (far.score.detected, far.score.false, far.score.delay) == (0, 1, None)
    with pytest.raises(TensorcopyError):
        accuracy.annotated({"series": "none"}, detection)
