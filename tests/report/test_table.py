"""The four projections of a report: columns of a terminal, Markdown in which nothing links, JSON, and CSV in which nothing is computed."""

import csv
import json
import re
from dataclasses import replace
from io import StringIO

import pytest
from markdown_it import MarkdownIt

from tensorcopy.report import table
from tensorcopy.report.table import Report, ReportColumn, ReportSection

MADE = Report(
    "2 of 3 cases are slower",
    (
        ReportColumn("time", lambda row: row[1], "seconds", lambda row: row[3]),
        ReportColumn(key="name", value=lambda row: row[0]),
        ReportColumn("empty", lambda row: ""),
        ReportColumn("", lambda row: row[2], left=True),
    ),
    (
        ReportSection("", [("f n=1 k=x", "1.5 µs", "a note", 1.5e-6), ("f n=2 k=x", "20 ns", "", 2 / 3)]),
        ReportSection("1 unchanged", [("g", "", "", float("nan"))], folded=True),
    ),
    alarm="1 fails",
    notes=["Measured here."],
    name=lambda row: row[0],
    mark=lambda row: "▲" if row[1] else "=",
    fields={"device": "cpu"},
)


def printed(report, width, **options):
    """Return the lines of a terminal."""
    return [line for text in table.terminal(report, width, **options) for line in str(text).split("\n")]


@pytest.mark.parametrize(("alarm", "styled"), [("", []), ("1 fails", ["1 fails"])])
def test_only_the_alarm_of_a_heading_is_red(alarm, styled):
    first = next(table.terminal(replace(MADE, alarm=alarm), 80))
    assert [first.plain[span.start : span.end] for span in first.spans] == styled


def test_a_wide_terminal_has_whole_names_and_all_rows_where_they_are_asked_for():
    """For grep; each row is a line."""
    assert printed(MADE, 1000, everything=True) == [
        "2 of 3 cases are slower, 1 fails",
        "",
        "  case         time",
        "▲ f n=1 k=x  1.5 µs  a note",
        "▲ f n=2 k=x   20 ns",
        "",
        "1 unchanged",
        "= g",
        "",
        "Measured here.",
    ]


def test_no_line_is_wider_than_the_terminal_unless_a_name_is():
    """Sentences are folded between words, a number stays with its unit; a name or a note that does not fit has a line of its own."""
    long = ("a_name_that_is_longer_than_its_column", "1.5 µs", "a note of many words, which is folded between them", 1.0)
    report = replace(MADE, heading="A case is slower by 3.1 % and takes 1.4 µs", sections=[ReportSection("", [long])])
    for width in (30, 36, 40):
        lines = printed(report, width)
        assert [line for line in lines if len(line) > width and line != f"▲ {long[0]}"] == []
        assert [line for line in lines if line.strip().startswith(("%", "µs"))] == []
        assert f"▲ {long[0]}" in lines
        assert " ".join(" ".join(lines).split()).count(long[2]) == 1


def test_a_long_section_ends_with_the_number_of_its_other_rows():
    """Those of a section that is not limited are all there."""
    rows = [(f"f n={number}", "1 s", "", 1.0) for number in range(table.MOST + 2)]
    report = replace(MADE, sections=[ReportSection("", rows)])
    assert "  and 2 more: --all" in printed(report, 80)
    assert not any("more: --all" in line for line in printed(report, 80, everything=True))
    assert not any("more: --all" in line for line in printed(replace(report, sections=[ReportSection("", rows, limited=False)]), 80))


def test_json_and_csv_have_the_data_of_every_row():
    """With six digits; what is no number is null, or an empty cell."""
    assert json.loads(table.as_json(MADE)) == {
        "heading": "2 of 3 cases are slower, 1 fails",
        "device": "cpu",
        "rows": [{"seconds": 1.5e-6, "name": "f n=1 k=x"}, {"seconds": 0.666667, "name": "f n=2 k=x"}, {"seconds": None, "name": "g"}],
        "notes": ["Measured here."],
    }
    assert table.as_csv(MADE) == "seconds,name\n1.5e-06,f n=1 k=x\n0.666667,f n=2 k=x\n,g\n"


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("@x", "'@x"),
        ("-1", "'-1"),
        (" +1", "' +1"),
        *((sign, f"'{sign}") for sign in "＝＋－＠"),
        ("a=b", "a=b"),
        (-1.5, "-1.5"),
        (None, ""),
    ],
)
def test_a_cell_is_no_formula(cell, shown):
    (_, (read, _)) = csv.reader(StringIO(table.csv_text(["x", "y"], [[cell, 1]])))
    assert read == shown


def test_a_long_text_is_cut_after_a_line_and_its_folds_are_closed():
    text = "<details>\n" + "a line\n" * 100 + "</details>\n"
    cut = table.cut(text, 200)
    assert cut.startswith("<details>\na line\n")
    assert cut.count("<details>") == cut.count("</details>") == 1
    shown = cut.split("\n\n</details>")[0]
    assert f"Cut here: {len(text) - len(shown):,} more characters" in cut
    assert table.cut(text, len(text)) == text


# Text of a result stays text on GitHub

ENTITIES = ["&commat;name", "GH&#45;1", "&lt;b&gt;"]  # which GitHub decodes, and then takes for a mention, a reference or HTML
WRITTEN = ["#1", "GH-1", "gh-1", ":+1:", "a:smile:", "$x$", "$$\\href{https://evil.example}{x}$$"]
WRITTEN += ["[a](https:b)", "https://evil.example", "www.evil.example"]


@pytest.mark.parametrize("text", WRITTEN + ENTITIES)
def test_what_github_makes_of_text_is_broken(text):
    """References, emoji, formulas and addresses; they are read as they were written."""
    children = MarkdownIt("gfm-like", {"linkify": False}).parse(f"on {table.escaped(text)}.")[1].children
    tags = [child.content for child in children if child.type == "html_inline"]
    assert set(tags) <= {"<span>", "</span>"}
    parts = [child.content for child in children if child.type == "text"]
    assert "".join(parts).replace("\u200b", "") == f"on {text}."
    for part in parts:
        assert not re.search(r"(?i)\bgh-\d|:[\w+-]+:|://|www\.|\$.|#\d", part), part


HOSTILE = "`tick` | @user <!-- x --> #12 $a$ <b>\x07\u202e"


def test_a_name_and_a_note_of_anybody_are_text():
    """In a code span, or escaped: neither ends its cell, nor mentions a user, nor is HTML."""
    text = table.markdown(replace(MADE, sections=[ReportSection(HOSTILE, [(HOSTILE, HOSTILE, HOSTILE, 1.0)])], heading=HOSTILE, alarm=""))
    tokens = [each for token in MarkdownIt("gfm-like", {"linkify": False}).parse(text) for each in (token, *(token.children or ()))]
    assert {each.content for each in tokens if each.type == "html_inline"} <= {"<span>", "</span>"}
    assert not any(each.type in ("link_open", "image", "html_block") for each in tokens)
    assert sum(each.type == "td_open" for each in tokens) == 3
    assert all(each.isprintable() or each == "\n" for each in text)
    assert not re.search(r"@(?!&)user", re.sub(r"`[^`]*`", "", text))
