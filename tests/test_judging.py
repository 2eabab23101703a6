"""compare and explain: what is typed, what is seen, and the exit code."""

from __future__ import annotations

import csv
import json
import os
from io import StringIO
from pathlib import Path

import pytest

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.two_sample import Change, Verdict
from tensorcopy.cli import main
from tensorcopy.releases import release_table
from tensorcopy.report.comparison import formats, markdown
from tests.conftest import ROOT, compared, measured_in_passes

GOLDEN = ROOT / "tests" / "golden"
OLD, NEW = release_table.find("2.14.1"), release_table.find("2.15.0")
STRAYS = (-0.012, -0.008, -0.003, 0.0, 0.002, 0.005, 0.009, 0.013)
NAMES = ("2.14.1", "2.15.0")


def passes(factor, shift=0):
    """Eight passes around a time, those of one case not in step with another's."""
    return [factor * (1 + STRAYS[(number * 3 + shift) % 8]) for number in range(8)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two releases: one case slower, one faster, one the same, one undecided, one only there since."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    before = {"new_tensor": passes(2.0), "clone_detach": passes(1.4, 1), "detach_clone": passes(1.1, 2), "tensor": passes(2.2, 3)}
    after = {"new_tensor": passes(2.5, 4), "clone_detach": passes(1.2, 5), "detach_clone": passes(1.101, 6), "tensor": passes(2.262, 7)}
    measured_in_passes(tmp_path / "results", OLD, before)
    measured_in_passes(tmp_path / "results", NEW, {**after, "empty_like_copy": passes(1.5)})
    return tmp_path / "results"


def golden(name, text):
    """Compare with what a person has looked at; TENSORCOPY_GOLDEN=write keeps what there is now, to be looked at."""
    path = GOLDEN / name
    if os.environ.get("TENSORCOPY_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("form", "suffix"), [("text", "txt"), ("markdown", "md"), ("json", "json"), ("csv", "csv")])
def test_every_format_is_as_it_was_looked_at(folder, capsys, form, suffix):
    """The terminal's, the comment's, and a program's two."""
    assert main(["compare", *NAMES, "--format", form]) == 0
    golden(f"compare.{suffix}", capsys.readouterr().out)


def test_the_evidence_is_as_it_was_looked_at(folder, capsys):
    """Every pass, the interval, the test and the ledgers."""
    assert main(["explain", "copies.BySize new_tensor numel=16", *NAMES]) == 0
    golden("explain.txt", capsys.readouterr().out)


def test_json_and_csv_say_the_same(folder, capsys):
    """A row for each case, times in seconds."""
    main(["compare", *NAMES, "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    main(["compare", *NAMES, "--format", "csv"])
    rows = list(csv.DictReader(StringIO(capsys.readouterr().out)))
    assert document["counts"] == {"slower": 1, "faster": 1, "unchanged": 1, "inconclusive": 2}
    assert [(row["case"], row["verdict"]) for row in rows] == [(one["case"], one["verdict"]) for one in document["changes"]]
    assert float(rows[0]["before"]) == document["changes"][0]["before"] == pytest.approx(2e-6, rel=0.02)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([*NAMES], 0),
        ([*NAMES, "--fail-on", "slower"], 1),
        ([*reversed(NAMES), "--fail-on", "slower"], 1),
        ([*NAMES, "--fail-on", "slower", "--case", " detach_clone "], 0),
        (["2.14.1", "9.9.9"], 2),
        (["2.14.1", "2.13.0"], 2),
        (["2.14.1@mars", "2.15.0"], 2),
        (["nowhere:2.14.1", "2.15.0"], 2),
        ([*NAMES, "--case", "empty_like"], 3),
        ([*NAMES, "--case", "no such case"], 3),
        ([*NAMES, "--device", "cuda"], 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_the_exit_code_tells_what_came_of_it(folder, capsys, arguments, code):
    """0 nothing slower, or nobody asked; 1 something slower; 2 it could not be done; 3 nothing was compared."""
    assert main(["compare", *arguments]) == code
    said = capsys.readouterr().err
    assert said.startswith("tensorcopy: ") is (code in (2, 3))


@pytest.mark.parametrize(
    "option", [["--margin", "0"], ["--margin", "much"], ["--case", "("], ["--format", "xml"]], ids=lambda value: " ".join(value)
)
def test_a_wrong_option_is_named(folder, capsys, option):
    """And what is allowed."""
    with pytest.raises(SystemExit) as ended:
        main(["compare", *NAMES, *option])
    assert ended.value.code == 2
    assert option[1] in capsys.readouterr().err


def test_a_wider_margin_tells_less(folder, capsys):
    """What is at most 5 % is then no change."""
    main(["compare", *NAMES, "--margin", "5", "--format", "json"])
    verdicts = {one["parameters"]["method"]: one["verdict"] for one in json.loads(capsys.readouterr().out)["changes"]}
    assert verdicts["tensor"] == "unchanged"
    assert verdicts["new_tensor"] == "slower"


def test_folders_of_results_are_sides(folder, tmp_path, capsys):
    """The newest release of each, or the one that is named."""
    measured_in_passes(tmp_path / "other", NEW, {"new_tensor": passes(3.0)})
    assert main(["compare", str(folder), str(tmp_path / "other"), "--format", "json", "--case", "new_tensor"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["changes"][0]["ratio"] == pytest.approx(3 / 2.5, rel=0.02)
    assert (found["before"]["named"], found["after"]["named"]) == ("torch 2.15.0+cu13, results", "torch 2.15.0+cu13, other")
    assert main(["compare", f"{folder}:2.14.1", f"{tmp_path / 'other'}:2.15.0", "--format", "json", "--case", "new_tensor"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"][0]["ratio"] == pytest.approx(3 / 2.0, rel=0.02)


def test_two_machines_may_differ_in_what_they_are(folder, capsys):
    """One machine must not: then it is another that was measured."""
    measured_in_passes(folder, NEW, {"new_tensor": passes(1.0)}, machine="fast", cpu="Faster 1")
    assert main(["compare", "2.15.0@box", "2.15.0@fast", "--case", "new_tensor", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"][0]["verdict"] == "faster"
    measured_in_passes(folder, OLD, {"new_tensor": passes(1.0)}, cpu="Faster 1")
    assert main(["compare", "2.14.1@box", "2.15.0@box", "--case", "new_tensor", "--format", "json"]) == 3
    assert "cpu: Faster 1 / Box 9000" in json.loads(capsys.readouterr().out)["changes"][0]["reason"]


def test_another_numpy_tells_nothing_of_torchs_conversions():
    """Of its copies it does."""
    case = {group: comparisons.Case(f"{group}.BySize.time_it", (("method", "m"),)) for group in ("copies", "conversions")}
    one = comparisons.Result(Path(), "box", "", "3.11", "cuda", "", {}, provenance={"numpy": "1.26.4"})
    assert comparisons._provenance(one, case["copies"], one) == {}
    assert comparisons._provenance(one, case["conversions"], one) == {"numpy": "1.26.4"}


@pytest.mark.parametrize("case", ["_tensor", "no such case", "("])
def test_explain_wants_one_case(folder, capsys, case):
    """And says what there is."""
    if case == "(":
        with pytest.raises(SystemExit):
            main(["explain", case, *NAMES])
    else:
        assert main(["explain", case.replace("_tensor", "tensor"), *NAMES]) == 2
        assert "copies.BySize new_tensor numel=16" in capsys.readouterr().err


def test_the_summary_of_two_changes_is_between_them():
    """Not the greater of the two."""
    rows = [(name, Change(Verdict.SLOWER, "by much", ratio=ratio, interval=(ratio, ratio))) for name, ratio in (("a", 1.1), ("b", 1.3))]
    assert "slower | 2 | 1.20× | 1.10 … 1.30 |" in markdown.comparison(("before", "after"), "a machine", 0.03, rows)


def test_a_comment_is_cut_between_lines_and_says_so(folder):
    """GitHub refuses a longer one; its folds are closed."""
    found = compared(*NAMES, folder, margin=0.03)
    whole = formats.markdown(found)
    cut = markdown.comparison(found.named, found.on, found.margin, formats.rows(found), len(whole) - 40)
    assert cut.count("<details>") == cut.count("</details>")
    assert "--format json has all" in cut


def test_text_from_results_stays_text_in_a_comment():
    """A machine's name is somebody else's: no tag, no link, nobody called, no control of a terminal."""
    assert markdown.escaped("<img src=x> `a` |b| [c](d) @someone\n# e \x1b[31m\u202e http://a www.b") == (
        r"&#60;img src=x&#62; &#96;a&#96; \|b\| \[c\](d) @&#8203;someone \#&#8203; e \[31m http:&#8203;//a www&#8203;.b"
    )
    assert markdown.code("a`b|c\nd_e <!-- f") == r"`a'b\|c d_e <! -- f`"
