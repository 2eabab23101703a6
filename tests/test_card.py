"""The report card: what it counts, and that it can tell a bad judge."""

from __future__ import annotations

import json
import random

import pytest

from tensorcopy.analysis import accuracy, change_points
from tensorcopy.analysis.change_points import Step
from tensorcopy.analysis.two_sample import Change, Verdict
from tensorcopy.asv_plugin import detection
from tensorcopy.cli import main
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import injected_slowdowns
from tensorcopy.releases import release_table
from tensorcopy.report import report_card
from tests.conftest import measured_in_passes
from tests.test_judging import golden

NEWEST = release_table.find("2.15.0")
METHODS = {"new_tensor": 2.0, "clone_detach": 1.4, "detach_clone": 1.1, "tensor": 2.2}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Known changes of four cases, and seven releases that tell how passes stray."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(accuracy, "SERIES", 40)
    draw = random.Random(7)

    def passes(factor, count):
        return [factor * (1 + draw.gauss(0, 0.01)) for _ in range(count)]

    for name, share in injected_slowdowns.VARIANTS.items():
        times = {method: passes(factor * (1 + share), 10) for method, factor in METHODS.items()}
        measured_in_passes(tmp_path / injected_slowdowns.FOLDER, NEWEST, times, machine=name)
    for release in release_table.select("2.9.."):
        measured_in_passes(tmp_path / "results", release, {method: passes(factor, 4) for method, factor in METHODS.items()})
    return tmp_path


def test_the_card_is_as_it_was_looked_at(checkout, capsys):
    """For the terminal; docs/report_card.json has the same."""
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
    golden("report-card.txt", capsys.readouterr().out)
    kept = json.loads((checkout / report_card.FILE).read_text())
    assert kept["annotated"]["found"] == 1
    assert [row["change"] for row in kept["two_sides"]] == [0.0, 0.05, 0.1]
    assert sum(kept["two_sides"][0][verdict.value] for verdict in Verdict) == kept["two_sides"][0]["comparisons"] == 4 * accuracy.SPLITS


def test_a_judge_that_always_cries_is_found_out(checkout, monkeypatch):
    """On the card he has found everything, and is wrong wherever nothing changed."""
    cry = Change(Verdict.SLOWER, "")
    monkeypatch.setattr(accuracy, "judge", lambda pairs, noise: dict.fromkeys(pairs, cry))
    monkeypatch.setattr(accuracy.change_points, "steps", lambda values: [Step(1, 1.0, 2.0, 0.0)])
    main(["report-card"])
    found = json.loads((checkout / report_card.FILE).read_text())
    assert [row["slower"] / row["comparisons"] for row in found["two_sides"]] == [1.0, 1.0, 1.0]
    quiet, *_ = found["histories"]
    assert quiet["false"] == quiet["series"]


def test_known_changes_that_nobody_measured_are_named(tmp_path, monkeypatch, capsys):
    """With the command that measures them."""
    monkeypatch.chdir(tmp_path)
    assert main(["report-card"]) == 2
    assert "tensorcopy report-card --measure" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{", "{}", '{"series": [{}]}', "[]"])
def test_another_file_is_no_data_set(tmp_path, capsys, text):
    """It is refused before anything is computed."""
    path = tmp_path / "data.json"
    path.write_text(text)
    assert main(["report-card", "--dataset", str(path)]) == 2
    assert capsys.readouterr().err.startswith("tensorcopy: ")


def test_a_hit_is_within_five_points():
    """A step farther away is a false alarm, and the change is missed."""
    series = [1.0, 1.001] * 20 + [1.3, 1.301] * 20
    assert [step.index for step in change_points.steps(series)] == [40]
    near = accuracy.annotated({"series": [{"median": series, "first_slow_index": 43}]}, detection)
    far = accuracy.annotated({"series": [{"median": series, "first_slow_index": 50}]}, detection)
    assert (near["found"], near["false"], near["delay"]) == (1, 0, -3)
    assert (far["found"], far["false"], far["delay"]) == (0, 1, None)
    with pytest.raises(TensorcopyError):
        accuracy.annotated({"series": "none"}, detection)
