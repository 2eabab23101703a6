"""What a comparison says of a case, and what its heading says of all."""

import json

import pytest
from msgspec import structs

from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import Change, Reason, Verdict, exact
from tensorcopy.report import comparison as reports
from tensorcopy.report import table
from tensorcopy.report.comparison import ComparedCase
from tensorcopy.results.kinds import TRACKED
from tests import launch_files
from tests.launch_files import PROVENANCE

SLOWER = Change(Verdict.SLOWER, Reason.CHANGED, ratio=1.12, interval=(1.101, 1.142))
FASTER = Change(Verdict.FASTER, Reason.CHANGED, ratio=0.8, interval=(0.75, 0.85))
UNCHANGED = Change(Verdict.UNCHANGED, Reason.WITHIN_MARGIN, ratio=1.0, interval=(0.99, 1.02))
WIDE = Change(Verdict.UNKNOWN, Reason.INTERVAL_TOO_WIDE, ratio=1.02, interval=(0.988, 1.045), more_launches=9)
LIKELY = Change(Verdict.UNKNOWN, Reason.INTERVAL_TOO_WIDE, ratio=1.2, interval=(1.1, 1.3), more_launches=1)


def count(after):
    """Return the change of a count of 1,000 instructions."""
    return exact("instructions", [1000, 1002], [after])


def unknown(reason, **details):
    return Change(Verdict.UNKNOWN, reason, **details)


def tracked(verdict, before, after, **details):
    """Return the change of a tracked value."""
    return Change(verdict, Reason.COUNT_CHANGED, before=before, after=after, unit="GB/s", kind=TRACKED, **details)


ROWS = [
    (structs.replace(SLOWER, accepted="a check"), "▴ +12.0 % +10.1 to +14.2 % accepted: a check"),
    (WIDE, "? +2.0 % −1.2 to +4.5 % ~9 more launches"),
    (LIKELY, "? +20.0 % +10.0 to +30.0 % likely slower, ~1 more launch"),
    (unknown(Reason.NOT_MEASURED_BEFORE, failure="no cuda here"), "? not measured before: no cuda here"),
    (unknown(Reason.FAILED_AFTER, failure="KeyError: 3"), "✗ fails: KeyError: 3"),
    (unknown(Reason.ONLY_BEFORE), "? only before"),
    (unknown(Reason.OTHER_VERSION), "? in another version of the benchmark"),
    (unknown(Reason.TOO_FEW_LAUNCHES, launches=(2, 4), more_launches=1), "? too few launches: 2 and 4"),
    (unknown(Reason.NEVER_MET), "? never measured beside each other, not even by way of another release"),
    (
        tracked(Verdict.UNKNOWN, 0.5, 0.4, difference=(-0.2, 0.1)),
        "? 0.5 GB/s 0.4 GB/s −0.1 GB/s −0.2 GB/s to +0.1 GB/s varies between launches",
    ),
    (
        tracked(Verdict.UNKNOWN, 0.5, 0.4, difference=(-0.2, -0.01)),
        "? 0.5 GB/s 0.4 GB/s −0.1 GB/s −0.2 GB/s to −0.01 GB/s likely lower",
    ),
]


@pytest.mark.parametrize(("change", "cells"), ROWS, ids=[cells for _, cells in ROWS])
def test_a_row_has_the_sign_of_its_verdict_and_what_is_known(change, cells):
    """In the terminal as in Markdown."""
    report = reports.of_rows([ComparedCase("f", change)], heading="", lines=[])
    (line,) = [line for line in map(str, table.terminal(report, 1000, everything=True)) if line.startswith(cells[0])]
    assert line.split() == [cells[0], "f", *cells[2:].split()]
    (row,) = [line for line in table.markdown(report).replace("&nbsp;", " ").replace("&#62;", ">").splitlines() if "`f`" in line]
    assert [cell.strip().replace("\\", "") for cell in row.split("|")[2:-1] if cell.strip()] == [
        cell for cell in (column.text(report.rows[0]) for column in report.columns if column.text) if cell
    ]


def test_what_fails_now_comes_first_and_ends_the_heading():
    """Before what is slower; of what failed before too, nothing is told."""
    changes = {"quiet": UNCHANGED, "gain": FASTER, "loss": SLOWER, "broken": unknown(Reason.FAILED_AFTER, failure="KeyError: 3")}
    rows = [ComparedCase(name, change) for name, change in changes.items()]
    report = reports.of_rows(rows, heading=reports.moved(rows), lines=[])
    lines = table.markdown(report).splitlines()
    assert lines[0] == "### 🔴 1 of 4 cases slower (12.0 %), 1 faster (20.0 %), **1 fails**"
    assert [line.split("`")[1] for line in lines if "`" in line] == ["broken", "loss", "gain", "quiet"]
    assert next(str(line) for line in table.terminal(report, 80)).endswith(", 1 fails")


@pytest.mark.parametrize(
    ("changes", "heading"),
    [
        ([], "no case"),
        ([SLOWER, structs.replace(SLOWER, ratio=1.032), UNCHANGED], "2 of 3 cases slower (3.2 to 12.0 %), none faster"),
        ([tracked(Verdict.HIGHER, 1, 2)], "1 of 1 case higher, none lower"),
        ([SLOWER, tracked(Verdict.LOWER, 2, 1)], "1 of 2 cases slower (12.0 %), none faster, 1 lower"),
        ([exact("bytes", [10], [each]) for each in (12, 10)], "1 of 2 cases with more bytes (20.0 %), none with fewer"),
    ],
)
def test_the_heading_counts_what_changed(changes, heading):
    assert reports.moved([ComparedCase("f", change) for change in changes]) == heading


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ([LIKELY, unknown(Reason.TOO_FEW_LAUNCHES), unknown(Reason.ONLY_AFTER)], ["1 likely slower, 1 not compared, 1 only after."]),
        (
            [structs.replace(FASTER, count=count(900)), structs.replace(SLOWER, count=count(1000))],
            ["No case executes more instructions; 1 of 2 fewer."],
        ),
    ],
)
def test_the_line_below_counts_what_did_not(changes, line):
    assert reports.still(changes) == line


def test_a_row_of_a_document_has_every_field_of_its_change():
    """Under names of their own where two sides have one each; what is about a count has its prefix."""
    same = {"before": 1e-6, "after": 1.2e-6, "ratio": 1.2, "p": 0.2, "margin": 0.04, "more_launches": 5, "failure": "KeyError: 3"}
    same["way"] = "by way of other releases"
    change = structs.replace(LIKELY, **same, launches=(3, 7), count=count(1052), error=0.05, threshold=0.1)
    (row,) = json.loads(table.as_json(reports.of_rows([ComparedCase("f", change)], heading="", lines=[])))["rows"]
    assert row == {
        **{"case": "f", "suite": "", "parameters": {}, "device": "", "metric": "time"},
        **{"verdict": "unknown", "likely": "slower", "reason": "interval_too_wide", "accepted": "", **same},
        **{"low": 1.1, "high": 1.3, "level": 0.95, "launches_before": 3, "launches_after": 7},
        **{"detectable": float(f"{change.detectable:.6g}"), "factor": float(f"{change.factor:.6g}")},
        **{"count_unit": "instructions", "count_verdict": "more", "count_before": 1000, "count_after": 1052, "count_ratio": 1.052},
        **{"count_interval": None, "count_repeatability": 0.002, "back": False, "note": "likely slower, ~5 more launches"},
    }


def compared(folder, *cases, after=1.0, **options):
    """Return the comparison of launches in which cases take a microsecond with 2.14.1, and `after` with 2.15.0."""
    launch_files.write(folder, {case: {"2.14.1": 1.0, "2.15.0": after} for case in cases}, **options)
    return comparisons.between(Question(*launch_files.load(folder, "2.14.1", "2.15.0")))


def test_cases_that_share_a_name_are_told_apart(tmp_path):
    """Two functions of one class may count the same case in one unit: the text has the function, the data the suite."""
    for release, nbytes in (("2.14.1", 64), ("2.15.0", 128)):
        cases = {f"memory.Host.track_{name} tensor 16 cpu": nbytes for name in ("peak", "allocated")}
        launch_files.write_counts(tmp_path, release, {**cases, "instructions.BySize.track_instructions tensor 16 False": nbytes})
    before, after = launch_files.load(tmp_path, "2.14.1", "2.15.0")
    report = reports.report(comparisons.between(Question(before, after), "bytes"))  # and not of what is counted in another unit
    assert len({report.name(row) for row in report.rows}) == 2
    text = "\n".join(map(str, table.terminal(report, 80)))
    assert text.count("128 B") == 2
    assert "track_" in text
    rows = json.loads(table.as_json(report))["rows"]
    assert {row["suite"] for row in rows} == {"memory.Host.track_peak", "memory.Host.track_allocated"}


def test_the_line_above_rows_has_the_code_that_they_run(tmp_path):
    """Once, as the newer side recorded it; another's suite has none."""
    launch_files.write_counts(tmp_path, "2.15.0", {}, methods={"new_tensor": launch_files.observed(code="x.new_tensor(x)")})
    cases = *(f"copies.BySize.time_copy new_tensor {numel}" for numel in (1, 16)), "theirs.time_it n=1"
    lines = [str(line) for line in table.terminal(reports.report(compared(tmp_path, *cases, after=2.0)), 80)]
    assert lines.count("  copies.BySize new_tensor: x.new_tensor(x)") == 1
    assert "  theirs.time_it" in lines


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"numpy": "2.0.0"}, [("numpy", PROVENANCE["numpy"], "2.0.0")]),
        ({"tensorcopy": "99.0"}, []),
        ({"gpu": {"clock": 1}}, [("gpu clock", "", "1")]),
    ],
)
def test_the_evidence_has_what_differs_and_may_change_a_time(tmp_path, changes, shown):
    environment = compared(tmp_path, "theirs.time_it", sides={"2.15.0": changes}).environment
    assert [each for each in environment if not each[0].startswith("torch")] == shown


def test_what_is_shown_says_which_devices_have_other_cases(tmp_path):
    """Also where cases are chosen of those of a device."""
    comparison = compared(tmp_path, "copies.BySize.time_copy tensor 16", "copies.Latency.time_copy tensor 16 cuda")
    for shown in (comparison.selected(device="cpu"), comparison.selected(device="cpu").selected("BySize")):
        assert "Cases on cuda: --device cuda." in reports.notes(shown)


def test_cases_without_a_size_are_named_in_what_would_be_noticed(tmp_path):
    """After those with one; "elements" stands once."""
    sized = (f"copies.BySize.time_copy tensor {numel}" for numel in (16, 2**20))
    (note, *_) = reports.notes(compared(tmp_path, *sized, "theirs.time_it n=1"))
    assert note.startswith("9 times in 10, we would notice a slowdown of 3.")
    assert note.endswith(" % (without a size); a smaller one may be missed.")
    assert note.count("elements") == 1
