"""The accuracy report: how often the verdicts are right, as `docs.tools.accuracy` has counted it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tensorcopy.report.numbers import percent
from tensorcopy.site import addresses
from tensorcopy.site.model.content import Content
from tensorcopy.site.page import File, Page

FILE = Path("docs/accuracy.json")
TITLE = "Accuracy report"
COMPARISONS = ("added work", "slower", "faster", "unchanged", "inconclusive", "asv: slower", "asv: faster")
HISTORIES = ("change", "noise", "passes", "found", "false steps", "asv: found", "asv: false steps")
QUIET = ("noise", "passes", "series", "false steps", "per series", "asv: false steps", "asv: per series")
ANNOTATED = ("detector", "changes found", "false alarms", "precision", "false alarms per 1,000 points", "delay (points)")


def pages(content: Content) -> Iterator[Page | File]:
    """Yield the accuracy report as a page and as JSON."""
    yield Page(addresses.ACCURACY, "accuracy-report.html", TITLE, {"tables": tables(content.card) if content.card else []})
    if content.card:
        yield File(addresses.ACCURACY_DATA, as_json(content.card))


def as_json(report: Mapping[str, Any]) -> str:
    """Return the text of docs/accuracy.json."""
    return json.dumps(report, indent=1, ensure_ascii=False) + "\n"


def tables(report: Mapping[str, Any]) -> list[tuple[str, list[list[str]]]]:
    """Return the report as titled tables of text.

    The first row of each is its header."""
    noise = f"with noise of {percent(report['sigma'])}"
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
        title = percent(row["change"]) if row["change"] else "none"
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
