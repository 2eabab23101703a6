"""The accuracy report as JSON, for the terminal and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tensorcopy.analysis.accuracy.annotated import Annotated, Score
from tensorcopy.analysis.accuracy.report import AccuracyReport
from tensorcopy.analysis.two_sample import Verdict
from tensorcopy.report.formats import escaped
from tensorcopy.report.tables import markdown_table, terminal_table

FILE = Path("docs/accuracy.json")
COMPARISONS = ("added work", "slower", "faster", "unchanged", "inconclusive", "asv: slower", "asv: faster")
HISTORIES = ("change", "noise", "passes", "found", "false steps", "asv: found", "asv: false steps")
QUIET = ("noise", "passes", "series", "false steps", "per series", "asv: false steps", "asv: per series")
ANNOTATED = ("detector", "changes found", "false alarms", "precision", "false alarms per 1,000 points", "delay (points)")


def document(report: AccuracyReport) -> dict[str, Any]:
    """Return the report as plain values; the keys are those of docs/accuracy.json."""
    names = ("torch", "python", "cpu", "day", "passes", "quiet", "releases", "sigma", "margin")
    return {
        **{name: getattr(report, name) for name in names},
        "two_sides": [
            {
                "change": row.change,
                "comparisons": row.comparisons,
                **{verdict.value: row.verdicts[verdict] for verdict in Verdict},
                "asv slower": row.asv_slower,
                "asv faster": row.asv_faster,
            }
            for row in report.comparisons
        ],
        "histories": [asdict(row) for row in report.histories],
        "annotated": _annotated(report.annotated) if report.annotated else None,
    }


def _annotated(row: Annotated) -> dict[str, Any]:
    scores = []
    for score in (row.score, row.asv):
        scores.append({**_score(score), "false per 1,000 points": 1000 * score.false / row.points} if row.points else _score(score))
    source = {"source": row.source, "licence": row.licence, "series": row.series, "points": row.points}
    return {**source, **scores[0], "asv": scores[1]}


def _score(score: Score) -> dict[str, Any]:
    return {
        "there": score.changes,
        "found": score.detected,
        "false": score.false,
        "recall": score.recall,
        "precision": score.precision,
        "delay": score.delay,
    }


def as_json(report: Mapping[str, Any]) -> str:
    """Return the text of docs/accuracy.json."""
    return json.dumps(report, indent=1, ensure_ascii=False) + "\n"


def terminal(report: Mapping[str, Any]) -> RenderableType:
    """Return the report for the terminal."""
    parts: list[RenderableType] = []
    for title, (header, *rows) in tables(report):
        parts += [terminal_table(header, rows, "l" + "r" * (len(header) - 1), title), Text("")]
    return Group(*parts)


def markdown(report: Mapping[str, Any]) -> str:
    """Return the tables of the report for docs/methodology.md."""
    parts = []
    measured_on = {name: escaped(report[name]) for name in ("torch", "cpu")}
    for title, (header, *rows) in tables({**report, **measured_on}):
        parts += [f"{title}:", markdown_table(header, rows, "l" + "r" * (len(header) - 1))]
    return "\n\n".join(parts)


def tables(report: Mapping[str, Any]) -> list[tuple[str, list[list[str]]]]:
    """Return the report as titled tables of text.

    The first row of each is its header."""
    noise = f"with noise of {100 * report['sigma']:.2g} %"
    on = f"torch {report['torch']}, {report['cpu']}, {report['day']}"
    result = [
        (
            f"Measured comparisons of {report['passes']} passes per side, {report['quiet']} of them quiet in the median case ({on})",
            _compared(report),
        ),
        (f"Simulated histories of {report['releases']} releases {noise}, without a step", _without_steps(report)),
        (
            f"Simulated histories {noise}: series in which every step was found within a release, and other steps in all",
            _with_steps(report),
        ),
    ]
    if report["annotated"]:
        row = report["annotated"]
        title = f"{row['series']} annotated series of {row['points']:,} points ({row['source']}; {row['licence']})"
        result.append((title, [list(ANNOTATED), _detector("tensorcopy", row), _detector("asv", row["asv"])]))
    return result


def _compared(report: Mapping[str, Any]) -> list[list[str]]:
    rows = [list(COMPARISONS)]
    for row in report["two_sides"]:
        counts = [row[name] for name in ("slower", "faster", "unchanged", "inconclusive", "asv slower", "asv faster")]
        title = f"{100 * row['change']:g} %" if row["change"] else "none"
        rows.append([title, *(_fraction(count, row["comparisons"]) for count in counts)])
    return rows


def _without_steps(report: Mapping[str, Any]) -> list[list[str]]:
    rows = [list(QUIET)]
    for row in report["histories"]:
        if not row["changes"]:
            ours, theirs = ((str(row[name]), f"{row[name] / row['series']:.3f}") for name in ("false", "asv_false"))
            rows.append([row["noise"], _passes(row), str(row["series"]), *ours, *theirs])
    return rows


def _with_steps(report: Mapping[str, Any]) -> list[list[str]]:
    rows = [list(HISTORIES)]
    for row in report["histories"]:
        if row["changes"]:
            ours = (_fraction(row["complete"], row["series"]), str(row["false"]))
            theirs = (_fraction(row["asv_complete"], row["series"]), str(row["asv_false"]))
            rows.append([row["name"], row["noise"], _passes(row), *ours, *theirs])
    return rows


def _passes(row: Mapping[str, Any]) -> str:
    return str(row["passes"]) if row["passes"] else "unknown"


def _detector(name: str, score: Mapping[str, Any]) -> list[str]:
    return [
        name,
        _fraction(score["found"], score["there"]),
        str(score["false"]),
        _number(score["precision"]),
        _number(score["false per 1,000 points"]),
        _number(score["delay"]),
    ]


def _fraction(count: int, total: int) -> str:
    return f"{count:,} of {total:,}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
