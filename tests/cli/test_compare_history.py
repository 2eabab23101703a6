"""The output of `tensorcopy history`."""

import csv
import json
import re
from collections import Counter
from datetime import timedelta
from io import StringIO

import pytest

from tensorcopy.cli import main
from tensorcopy.releases import release_table
from tests import launch_files
from tests.conftest import assert_golden

CLONE_DETACH = "copies.BySize.time_copy clone_detach 16"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Results of eight releases: a case is slower from 2.12.1 on, one is faster from 2.11.0 on, and one is unchanged."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    versions = [release.version for release in release_table.load().select("2.8.0..2.15.0")]
    times = {
        "clone_detach": [1.4] * 4 + [1.7] * 4,
        "detach_clone": [1.2] * 3 + [1.0] * 5,
        "tensor": [2.0] * 8,
    }
    cases = {f"copies.BySize.time_copy {method} 16": dict(zip(versions, row)) for method, row in times.items()}
    launch_files.write(tmp_path / "results", cases)
    return tmp_path / "results"


@pytest.mark.parametrize(
    ("arguments", "golden"),
    [(["clone_detach"], "history.txt"), ([], "histories.txt"), (["--open"], "open.txt")],
    ids=["one", "all", "open"],
)
def test_the_history_is_printed(folder, capsys, arguments, golden):
    """Of a case each release with its error and change, of several what changed at each; a speedup is no open regression.

    No line is wider than the terminal.
    """
    assert main(["history", *arguments]) == 0
    text = capsys.readouterr().out
    assert_golden(golden, text)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(("releases", "launches"), [(("2.15.0",), 12), (("2.14.1", "2.15.0"), 1)], ids=["one release", "one launch"])
def test_what_cannot_be_seen_is_not_called_unchanged(tmp_path, monkeypatch, capsys, releases, launches):
    """Neither "No change" nor "0 methods" stands where nothing was compared; an unknown error is no error of 0.0 %."""
    monkeypatch.chdir(tmp_path)
    times = dict(zip(releases, (1.0, 1.5)))
    launch_files.write(tmp_path / "results", {f"copies.BySize.time_copy tensor {numel}": times for numel in (1, 16)}, launches=launches)
    for arguments in ([], ["numel=16"], ["--open"]):
        assert main(["history", *arguments]) == 0
        shown = capsys.readouterr().out
        assert re.search("no two releases could be compared", shown, re.IGNORECASE)
        assert "0.0 %" not in shown


def test_no_open_regression_is_said_in_words(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.chdir(tmp_path)
    times = {"2.14.1": 1.0, "2.15.0": 1.0}
    launch_files.write(tmp_path / "results", {f"copies.BySize.time_copy tensor {numel}": times for numel in (1, 16)}, launches=12)
    assert main(["history", "--open"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("None of 2 cases on Box 9000 is slower with torch 2.15.0 than with an earlier release\n")
    assert re.search(r"we would notice a slowdown of \d\.\d % \(≤ 2¹⁴ elements\)", shown)


def test_open_regressions_are_json(folder, capsys):
    """Each with the release and the size of its slowdown, and why it is accepted in tensorcopy.toml."""
    row = '[[accepted]]\ncase = "clone_detach"\nuntil = "2.15.0"\nwhy = "a check: pytorch#1"\n'
    for written, why in (("", ""), (row, "a check: pytorch#1")):
        (folder.parent / "tensorcopy.toml").write_text(written, encoding="utf-8")
        assert main(["history", "--format", "json", "--fail-on", "slower"]) == (not why)
        document = json.loads(capsys.readouterr().out)
        assert (document["device"], document["cases"], document["compared"]) == ("cpu", 3, 3)
        (case,) = document["rows"]
        assert (case["method"], case["open_since"]) == ("clone_detach", "recent")
        assert (case["case"], case["accepted"]) == ("copies.BySize clone_detach numel=16", why)
        assert case["low"] < case["ratio"] < case["high"]
        assert case["ratio"] == pytest.approx(1.7 / 1.4, rel=0.01)
        assert (case["since"]["release"], case["since"]["against"]) == ("2.12.1", "2.11.0")


def test_a_case_s_launches_are_csv_and_json(folder, capsys):
    """In seconds, with the start of each; the JSON also has each release with its time, half its interval and its changes."""
    assert main(["history", "clone_detach", "--format", "csv"]) == 0
    rows = [*csv.DictReader(StringIO(capsys.readouterr().out))]
    assert {row["unit"] for row in rows} == {"seconds"}
    assert {*Counter(release for release, _ in {(row["release"], row["launch"]) for row in rows}).values()} == {12}
    for loaded in launch_files.load(folder):
        times = [float(row["value"]) for row in rows if row["release"] == loaded.version]
        assert times == pytest.approx(loaded.launch_times(launch_files.case(CLONE_DETACH)), rel=1e-5)
    assert main(["history", "clone_detach", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(row["release"], row["launch"]) for row in document["rows"]] == [(row["release"], row["launch"]) for row in rows]
    for release, loaded in zip(document["releases"], launch_files.load(folder), strict=True):
        timing = loaded.timings[launch_files.case(CLONE_DETACH)]
        assert (release["release"], release["value"]) == (loaded.version, timing.seconds)
        assert release["half_interval"] == pytest.approx(timing.interval[1] / timing.seconds - 1, rel=1e-5)
    assert [(each["release"], each["step"]["ratio"] > 1) for each in document["releases"] if each["step"]] == [("2.12.1", True)]


CHANGES = {"clone_detach": ("2.12.1", "slower", 1.7 / 1.4), "detach_clone": ("2.11.0", "faster", 1.0 / 1.2)}


@pytest.mark.parametrize("form", ["csv", "json"])
def test_the_changes_of_many_cases_are_csv_and_json(folder, capsys, form):
    """A row for each case that a release changed."""
    assert main(["history", "--format", form]) == 0
    text = capsys.readouterr().out
    rows = [*csv.DictReader(StringIO(text))] if form == "csv" else json.loads(text)["rows"]
    assert {row["case"]: (row["release"], row["verdict"]) for row in rows} == {
        f"copies.BySize {method} numel=16": (release, verdict) for method, (release, verdict, _) in CHANGES.items()
    }
    for row in rows:
        assert float(row["ratio"]) == pytest.approx(CHANGES[row["case"].split()[1]][2], rel=0.02)


def test_a_method_has_the_largest_slowdown_and_the_largest_cost_of_its_cases(folder, capsys):
    """Of two cases that the newest release slowed, each has one of the two; with --all, each has its own."""
    versions = [release.version for release in release_table.load().select("2.8.0..2.15.0")]
    times = {1: [1.0] * 7 + [1.3], 1024: [1.0] * 3 + [1.5] * 4 + [1.5 * 1.1]}
    cases = {f"copies.BySize.time_copy new_tensor {numel}": dict(zip(versions, row)) for numel, row in times.items()}
    launch_files.write(folder, cases, start=launch_files.START + timedelta(days=1))
    assert main(["history", "--open"]) == 0
    cells = next(line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("new_tensor"))
    assert cells[1:3] == ["2", "2.15.0"]
    assert (float(cells[3]), float(cells[6])) == pytest.approx((30, 65), abs=1)
    assert main(["history", "--open", "new_tensor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    of_case = {line.split()[0]: float(re.search(r"([\d.]+) %", line)[1]) for line in lines if line.startswith("  numel=")}
    assert of_case == pytest.approx({"numel=1": 30, "numel=1024": 65}, abs=1)
    assert sum("last slowdown with 2.15.0: " in line for line in lines) == 2


def test_a_slowdown_that_is_back_to_an_earlier_level_is_no_news(tmp_path, monkeypatch, capsys):
    """Nothing fails on it; `history` says what it is, and counts it apart, as `compare` does (whole/test_one_answer.py)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    _, earlier, before, after = versions = [release.version for release in release_table.load()][-4:]
    times = {CLONE_DETACH: dict(zip(versions, (1.04, 1.04, 1.0, 1.04)))}
    launch_files.write(tmp_path / "results", times, noise=0.001)
    assert main(["compare", before, after]) == 0
    assert f"Back to an earlier level: only torch {before} was faster." in capsys.readouterr().out
    assert main(["history", "--open", "--fail-on", "slower"]) == 0
    shown = capsys.readouterr().out
    assert f"; those that only lost what {before} had gained stand last: no news" in " ".join(shown.split())
    assert f"\n\nback to the level of {earlier}: no news\ncopies.BySize clone_detach\n  numel=16 " in shown
    assert main(["history", "clone_detach"]) == 0
    shown = capsys.readouterr().out
    assert re.search(rf"^{after} .*▴ \+4\.0 %", shown, re.MULTILINE)
    assert shown.endswith("▴ back to an earlier level: only the release before was faster.\n")
    assert main(["history", "clone_detach", "--format", "json"]) == 0
    steps = {row["release"]: row["step"] for row in json.loads(capsys.readouterr().out)["releases"] if row["step"]}
    assert {release: (step["until"], step["back"]) for release, step in steps.items()} == {before: (after, False), after: (None, True)}
