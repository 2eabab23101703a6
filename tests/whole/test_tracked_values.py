"""What third-party suites track, and what fails in them: measured, stored, judged and printed."""

import csv
import json
import re
from io import StringIO

import pytest

from tensorcopy.cli import main
from tensorcopy.numbers import quantity
from tests import launch_files

BEFORE, AFTER = "2.14.1", "2.15.0"
LONG = "passed" * 12  # longer than the column of names
UNITS = {"rate": "GB/s", "loss": "nats", "epoch": "seconds", "peak": "bytes"}
VALUES = {  # of each launch, before and after
    "share": ([0.45, 0.45], [0.455, 0.455]),
    LONG: ([1.0, 1.0], [1.0, 1.0]),
    "once": ([3.0], [4.0]),
    "loss": ([-0.75, -0.75], [0.0, 0.0]),
    "rate": ([2.49, 2.5, 2.51], [2.59, 2.6, 2.61]),
    "epoch": ([11.0, 13.0, 12.0], [12.5, 11.5, 13.5]),
    "peak": ([2.0**20] * 2, [2.0**19] * 2),
}
JUDGED = {  # the verdict, and what the terminal has behind the sign and the name
    "share": ("higher", "0.45 0.455 +0.005"),
    LONG: ("equal", "1 1 0"),
    "once": ("unknown", "3 4 +1 too few launches: 1 and 1"),
    "loss": ("higher", "−0.75 nats 0 nats +0.75 nats"),
    "rate": ("higher", "2.5 GB/s 2.6 GB/s +0.1 GB/s +0.0773 GB/s to +0.123 GB/s"),
    "epoch": ("unknown", "12 s 12.5 s +0.5 s −1.77 s to +2.77 s varies between launches"),
    "peak": ("lower", "1 MiB 512 KiB −512 KiB"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The results of a suite that tracks values over two releases, and of a benchmark that fails with the newer one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    units = {f"several.track_{name}": unit for name, unit in UNITS.items()}
    for place, release in enumerate((BEFORE, AFTER)):
        values = {f"several.track_{name}": sides[place] for name, sides in VALUES.items()}
        launch_files.write_counts(tmp_path / "results", release, values, units=units)
    times = {"several.time_broken": {BEFORE: 1.0, AFTER: "RuntimeError: no kernel"}, "several.time_kept": {BEFORE: 1.0, AFTER: 1.0}}
    times["several.time_skipped"] = {AFTER: None}
    launch_files.write(tmp_path / "results", times)
    return tmp_path / "results"


def test_a_tracked_value_is_higher_or_lower_where_launches_tell(folder, monkeypatch, capsys):
    """Exactly where those of each side agree, else by an interval; one launch tells nothing, and nothing is slower or faster."""
    assert main(["compare", BEFORE, AFTER, "--format", "json"]) == 2
    document = json.loads(capsys.readouterr().out)
    rows = {row["case"].removeprefix("several.track_"): row for row in document["rows"] if row["metric"] != "time"}
    assert {name: row["verdict"] for name, row in rows.items()} == {name: verdict for name, (verdict, _) in JUDGED.items()}
    assert (rows["epoch"]["metric"], rows["peak"]["metric"], rows["rate"]["metric"]) == ("s", "B", "GB/s")
    assert main(["compare", BEFORE, AFTER, "--format", "csv"]) == 2
    in_csv = {row["case"].removeprefix("several.track_"): row for row in csv.DictReader(StringIO(capsys.readouterr().out))}
    for name, row in rows.items():
        assert (in_csv[name]["verdict"], float(in_csv[name]["after"])) == (row["verdict"], row["after"])
        assert json.loads(in_csv[name]["count_interval"] or "null") == row["count_interval"]
    monkeypatch.setenv("COLUMNS", "1000")
    assert main(["compare", BEFORE, AFTER, "--all"]) == 2
    shown = {
        line.split()[1].removeprefix("several.track_"): line.split()[2:]
        for line in capsys.readouterr().out.splitlines()
        if " several." in line
    }
    assert {name: " ".join(shown[name]) for name in JUDGED} == {name: cells for name, (_, cells) in JUDGED.items()}


def test_a_case_that_fails_is_named_with_its_error_in_every_answer(folder, capsys):
    """And counts in the exit code; each value is printed as it is, in its unit."""
    assert main(["compare", BEFORE, AFTER]) == 2
    text = capsys.readouterr().out
    assert "none of 9 cases slower, none faster, 3 higher, 1 lower, 1 fails\n" in text
    assert "1 unchanged (within ±3 %), 1 equal." in text
    assert re.search(r"^✗ several\.time_broken +1\.\d\d µs .*fails: RuntimeError: no kernel$", text, re.MULTILINE)
    assert main(["compare", BEFORE, AFTER, "--case", "kept"]) == 0
    capsys.readouterr()
    assert main(["history", "several.track_loss"]) == 0
    assert re.search(r"^2\.15\.0 .*△ \+0\.75 nats$", capsys.readouterr().out, re.MULTILINE)
    assert main(["history", "several.time_broken"]) == 0
    assert "failed: RuntimeError: no kernel" in capsys.readouterr().out
    assert main(["history"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^△ several nats +1 of 1 +higher +\+0\.75 nats$", text, re.MULTILINE)
    assert "2 of 9 cases could not be decided with some release." in text


def test_an_undecided_value_was_compared(folder, capsys):
    """It stands beside its interval, and is no reason for the exit code of nothing compared; a value of one launch is."""
    assert main(["compare", BEFORE, AFTER, "--case", "track_epoch", "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert "1 undecided</summary>" in text
    assert "not compared" not in text
    assert "| −1.77&nbsp;s to +2.77&nbsp;s | varies between launches |" in text
    assert main(["compare", BEFORE, AFTER, "--case", "track_once", "--format", "markdown"]) == 3
    assert "<summary>1 not compared (too few launches)</summary>" in capsys.readouterr().out


def test_what_is_unknown_is_not_called_no_change(tmp_path, monkeypatch, capsys):
    """What all launches show to be the same is."""
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.chdir(tmp_path)
    noisy = {BEFORE: [1.0, 1.4, 1.1, 0.8], AFTER: [1.3, 0.9, 0.8, 1.2]}
    for name, times in (("noisy", noisy), ("kept", {BEFORE: 1.0, AFTER: 1.0})):
        launch_files.write(tmp_path / name / "results", {f"several.time_{name}": times}, common=0.0)
        monkeypatch.chdir(tmp_path / name)
        assert main(["history"]) == 0
        printed = capsys.readouterr().out
        assert printed.startswith(f"several.time_{name} over 2 releases of torch: no change found")
        assert ("no change found; 1 could not be decided\n" in printed) is (name == "noisy")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0012142, "ms", "0.0012142 ms"),
        (0.9993, "unit", "0.9993"),
        (1642.0, "", "1\u2009642"),
        (-0.5, "nats", "−0.5 nats"),
        (1.5e-9, "V", "1.5e−09 V"),
        (-(2.0**21), "B", "−2 MiB"),
        (1642.4, "instructions", "1\u2009642"),
    ],
)
def test_a_value_has_its_digits_and_its_unit(value, unit, text):
    assert quantity(value, unit) == text
