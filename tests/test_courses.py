"""A case over the releases: what `tensorcopy history` prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tensorcopy.analysis import series
from tensorcopy.cli import main
from tensorcopy.releases import release_table
from tensorcopy.results import load
from tests.conftest import measured_in_passes
from tests.test_judging import golden, passes


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Eight releases: one case steps up at 2.12.1, another down at 2.11.0, a third stays."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for number, release in enumerate(release_table.select("2.8.0..")):
        times = {
            "clone_detach": passes(1.4 if number < 4 else 1.7, number),
            "detach_clone": passes(1.2 if number < 3 else 1.0, number + 1),
            "tensor": passes(2.0, number + 2),
        }
        measured_in_passes(tmp_path / "results", release, times)
    return tmp_path / "results"


def test_one_case_is_drawn_with_its_steps(folder, capsys):
    """Each release's time, how sure it is, and the step that it made."""
    assert main(["history", "copies.BySize clone_detach numel=16"]) == 0
    golden("history.txt", capsys.readouterr().out)


def test_several_cases_are_summed_up_by_release(folder, capsys):
    """What moved together, and how much."""
    assert main(["history"]) == 0
    golden("histories.txt", capsys.readouterr().out)


def test_a_release_that_was_not_measured_is_a_gap(folder, capsys):
    """Not a point, and not a step."""
    next(folder.glob("box/5c488690*.json")).unlink()
    found = series.series_by_case(load.load_results(folder).results)
    assert len(next(iter(found.values())).releases) == 7


@pytest.mark.parametrize(
    ("document", "steps"),
    [
        ([1.0] * 10 + [1.2] * 10, [10]),
        ([[1.0, 1.01, 0.99]] * 10 + [[1.2, 1.21, 1.19]] * 10, [10]),
        ([1.0] * 10 + [None] + [1.2] * 10, [11]),
        ([1.0] * 20, []),
        ([], []),
    ],
    ids=["numbers", "samples", "gap", "quiet", "empty"],
)
def test_a_plain_list_of_values_is_a_series_too(tmp_path, capsys, document, steps):
    """Indices of the first points of new levels, as JSON."""
    path = tmp_path / "values.json"
    path.write_text(json.dumps(document))
    assert main(["history", "--values", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == steps


@pytest.mark.parametrize("text", ["[1, -1]", '["a"]', "{", "7", "[1, NaN]"])
def test_what_is_no_series_is_one_line(tmp_path, capsys, text):
    """With what is allowed."""
    path = tmp_path / "values.json"
    path.write_text(text)
    assert main(["history", "--values", str(path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tensorcopy: not a series: got ")
    assert error.count("\n") == 1


def test_several_series_are_a_line_each(tmp_path, capsys):
    """In the order in which they were named."""
    for name, document in (("stays", [1.0] * 20), ("steps", [1.0] * 10 + [1.2] * 10)):
        (tmp_path / name).write_text(json.dumps(document))
    assert main(["history", "--values", str(tmp_path / "steps"), str(tmp_path / "stays")]) == 0
    assert capsys.readouterr().out == "[10]\n[]\n"


def test_an_unknown_case_is_one_line(folder, capsys):
    """With the first of those there are."""
    assert main(["history", "sideways"]) == 2
    assert "copies.BySize clone_detach numel=16" in capsys.readouterr().err


def test_a_missing_file_is_one_line(capsys):
    """Not a traceback."""
    assert main(["history", "--values", str(Path("nowhere.json"))]) == 2
    assert "nowhere.json" in capsys.readouterr().err
