"""The accuracy report: what it counts, and that it exposes a bad detector."""

from __future__ import annotations

import json
import random

import pytest

from docs.tools import accuracy, known_changes, simulated_histories
from tensorcopy.analysis import change_points
from tensorcopy.analysis.change_points import Step
from tensorcopy.analysis.two_sample import Change, Reason, Verdict
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.site.pages import data
from tests.conftest import assert_golden, measured_in_passes

NEWEST = release_table.find("2.15.0")
METHODS = {"new_tensor": 2.0, "clone_detach": 1.4, "detach_clone": 1.1, "tensor": 2.2}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Injected slowdowns of four cases, and seven releases that show the noise."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(simulated_histories, "SERIES", 5)
    monkeypatch.setattr(simulated_histories, "QUIET", 5)
    draw = random.Random(7)

    def passes(factor, count):
        return [factor * (1 + draw.gauss(0, 0.01)) for _ in range(count)]

    for name, share in known_changes.VARIANTS.items():
        times = {method: passes(factor * (1 + share), 10) for method, factor in METHODS.items()}
        measured_in_passes(tmp_path / known_changes.FOLDER, NEWEST, times, machine=name)
    for release in release_table.select("2.9..2.15.0"):
        measured_in_passes(tmp_path / "results", release, {method: passes(factor, 4) for method, factor in METHODS.items()})
    return tmp_path


def test_the_report(checkout, capsys):
    """For the terminal; docs/accuracy.json has the same figures."""
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
    accuracy.main(["--dataset", "data.json"])
    assert_golden("accuracy.txt", capsys.readouterr().out)
    card = json.loads((checkout / data.ACCURACY_FILE).read_text())
    assert card["annotated"]["found"] == 1
    assert [row["change"] for row in card["two_sides"]] == [0.0, 0.05, 0.1]
    assert (
        sum(card["two_sides"][0][verdict.value] for verdict in Verdict) == card["two_sides"][0]["comparisons"] == 4 * known_changes.SPLITS
    )


def test_a_detector_that_always_alarms_is_exposed(checkout, monkeypatch):
    """It finds every slowdown, and is wrong wherever nothing changed."""
    alarm = Change(Verdict.SLOWER, Reason.CHANGED)
    monkeypatch.setattr(known_changes, "judge", lambda pairs, noise: dict.fromkeys(pairs, alarm))
    monkeypatch.setattr(change_points, "steps", lambda values, spreads=(): [Step(1, 1.0, 2.0, 0.0)])
    accuracy.main([])
    card = json.loads((checkout / data.ACCURACY_FILE).read_text())
    assert [row["slower"] / row["comparisons"] for row in card["two_sides"]] == [1.0, 1.0, 1.0]
    quiet, *_ = card["histories"]
    assert quiet["false"] == quiet["series"]


@pytest.mark.slow
@pytest.mark.parametrize("noise", simulated_histories.NOISES)
def test_no_noise_shows_more_than_one_false_step_in_fifty_series(noise):
    """With and without known spreads; heavy tails between releases show 1 in 20 where a single release may be a step."""
    for scenario in [scenario for scenario in simulated_histories.scenarios() if scenario.name == "no step" and scenario.noise == noise]:
        allowed = 0.05 if scenario.passes and noise == "Student's t" else 0.02
        assert simulated_histories.score(scenario, series=400, with_asv=False).false <= allowed * 400


def test_missing_known_changes_are_an_error(tmp_path, monkeypatch):
    """It names the command that measures them."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TensorcopyError, match="accuracy --measure"):
        accuracy.main([])


def test_a_hit_is_within_five_points():
    """A step farther away is a false alarm, and the change counts as missed."""
    series = [1.0, 1.001] * 20 + [1.3, 1.301] * 20
    assert [step.index for step in change_points.steps(series)] == [40]
    near = accuracy.annotated({"series": [{"median": series, "first_slow_index": 43}]})
    far = accuracy.annotated({"series": [{"median": series, "first_slow_index": 50}]})
    assert (near["found"], near["false"], near["delay"]) == (1, 0, -3)
    assert (far["found"], far["false"], far["delay"]) == (0, 1, None)


@pytest.mark.parametrize(
    "series",
    ["none", [], [5], [{"median": "slow", "first_slow_index": None}], [{"median": [1.0], "first_slow_index": 7}], [{"median": [0.0]}]],
)
def test_a_data_set_of_another_form_is_refused(series):
    with pytest.raises(TensorcopyError, match="not an annotated data set"):
        accuracy.annotated({"series": series})
