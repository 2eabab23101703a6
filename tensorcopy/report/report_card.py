"""The report card as JSON, for the terminal and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tensorcopy.analysis.accuracy import Annotated, Card, Score
from tensorcopy.analysis.verdict import Verdict
from tensorcopy.report.tables import markdown_table, terminal_table

FILE = Path("docs/report_card.json")
COMPARISONS = ("added work", "comparisons", "slower", "faster", "unchanged", "inconclusive", "asv: slower", "asv: faster")
HISTORIES = ("step", "series", "found", "false steps per series", "delay (points)", "asv: found", "asv: false steps per series")
ANNOTATED = ("detector", "changes found", "false alarms", "precision", "false alarms per 1,000 points", "delay (points)")


def document(card: Card) -> dict[str, Any]:
    """Return the card as plain values; the keys are those of docs/report_card.json."""
    names = ("torch", "python", "cpu", "day", "passes", "quiet", "releases", "margin")
    return {
        **{name: getattr(card, name) for name in names},
        "two_sides": [
            {
                "change": row.change,
                "comparisons": row.comparisons,
                **{verdict.value: row.verdicts[verdict] for verdict in Verdict},
                "asv slower": row.asv_slower,
                "asv faster": row.asv_faster,
            }
            for row in card.comparisons
        ],
        "histories": [{"step": row.step, "series": row.series, **_score(row.score), "asv": _score(row.asv)} for row in card.histories],
        "annotated": _annotated(card.annotated) if card.annotated else None,
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


def as_json(card: Mapping[str, Any]) -> str:
    """Return the text of docs/report_card.json."""
    return json.dumps(card, indent=1, ensure_ascii=False) + "\n"


def terminal(card: Mapping[str, Any]) -> RenderableType:
    """Return the card for the terminal."""
    parts: list[RenderableType] = []
    for title, (header, *rows) in tables(card):
        parts += [terminal_table(header, rows, "l" + "r" * (len(header) - 1), title), Text("")]
    return Group(*parts)


def markdown(card: Mapping[str, Any]) -> str:
    """Return the tables of the card for docs/methodology.md."""
    parts = []
    for title, (header, *rows) in tables(card):
        parts += [f"{title}:", markdown_table(header, rows, "l" + "r" * (len(header) - 1))]
    return "\n\n".join(parts)


def tables(card: Mapping[str, Any]) -> list[tuple[str, list[list[str]]]]:
    """Return the card as titled tables of text.

    The first row of each is its header."""
    on = f"torch {card['torch']}, {card['cpu']}, {card['day']}"
    result = [
        (
            f"Measured comparisons of {card['passes']} passes per side, {card['quiet']} of them quiet in the median case ({on})",
            _compared(card),
        ),
        (f"Simulated histories of {card['releases']} releases, with the noise of the shipped passes", _simulated(card)),
    ]
    if card["annotated"]:
        row = card["annotated"]
        title = f"{row['series']} annotated series of {row['points']:,} points ({row['source']}; {row['licence']})"
        result.append((title, [list(ANNOTATED), _detector("tensorcopy", row), _detector("asv", row["asv"])]))
    return result


def _compared(card: Mapping[str, Any]) -> list[list[str]]:
    rows = [list(COMPARISONS)]
    for row in card["two_sides"]:
        counts = [row[name] for name in ("slower", "faster", "unchanged", "inconclusive", "asv slower", "asv faster")]
        title = f"{100 * row['change']:g} %" if row["change"] else "none"
        rows.append([title, f"{row['comparisons']:,}", *(_share(count, row["comparisons"]) for count in counts)])
    return rows


def _simulated(card: Mapping[str, Any]) -> list[list[str]]:
    rows = [list(HISTORIES)]
    for row in card["histories"]:
        asv = row["asv"]
        title = f"+{100 * row['step']:g} %" if row["step"] else "none"
        ours = [_share(row["found"], row["there"]), f"{row['false'] / row['series']:.3g}", _number(row["delay"])]
        theirs = [_share(asv["found"], asv["there"]), f"{asv['false'] / row['series']:.3g}"]
        rows.append([title, str(row["series"]), *ours, *theirs])
    return rows


def _detector(name: str, score: Mapping[str, Any]) -> list[str]:
    detected = f"{score['found']} of {score['there']}"
    return [
        name,
        detected,
        str(score["false"]),
        _number(score["precision"]),
        _number(score["false per 1,000 points"]),
        _number(score["delay"]),
    ]


def _share(count: int, total: int) -> str:
    return f"{100 * count / total:.3g} %" if total else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
