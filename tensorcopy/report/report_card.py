"""The report card as text: docs/report_card.json, tables for the terminal, the pages and docs/methodology.md. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

FILE = Path("docs/report_card.json")


def document(found: Mapping[str, Any]) -> str:
    """docs/report_card.json."""
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def printed(found: Mapping[str, Any]) -> RenderableType:
    """The card for the terminal."""
    return Group(*(_table(title, rows) for title, rows in tables(found)))


def tables(found: Mapping[str, Any]) -> list[tuple[str, list[list[str]]]]:
    """The card as titled tables of text, each row's first cell its name and the first row the heads."""
    judged = [["what was done to one side", "compared", "slower", "faster", "unchanged", "inconclusive", "asv: slower", "asv: faster"]]
    for row in found["two_sides"]:
        title = f"{100 * row['change']:g} % more work" if row["change"] else "nothing"
        counted = [row["slower"], row["faster"], row["unchanged"], row["inconclusive"], row["asv slower"], row["asv faster"]]
        judged.append([title, f"{row['comparisons']:,}", *(_share(count, row["comparisons"]) for count in counted)])
    simulated = [["step", "series", "found", "false steps a series", "points late", "asv: found", "asv: false steps a series"]]
    for row in found["histories"]:
        theirs = row["asv"]
        simulated.append(
            [
                f"+{100 * row['step']:g} %" if row["step"] else "none",
                str(row["series"]),
                _share(row["found"], row["there"]),
                f"{row['false'] / row['series']:.3g}",
                _number(row["delay"]),
                _share(theirs["found"], theirs["there"]),
                f"{theirs['false'] / row['series']:.3g}",
            ]
        )
    of = f"torch {found['torch']}, {found['cpu']}, {found['day']}"
    parts = [
        (
            f"Two sides of {found['passes']} passes each, of which {found['quiet']} were quiet in the median case, really measured ({of})",
            judged,
        ),
        (f"Simulated histories of {found['releases']} releases, with the noise of the shipped passes", simulated),
    ]
    if found["annotated"]:
        row = found["annotated"]
        rows = [["judge", "changes found", "false alarms", "precision", "false alarms per 1,000 points", "points late"]]
        for name, one in (("tensorcopy", row), ("asv", row["asv"])):
            hits, late = f"{one['found']} of {one['there']}", _number(one["delay"])
            rows.append([name, hits, str(one["false"]), _number(one["precision"]), _number(one["false per 1,000 points"]), late])
        parts.append((f"{row['series']} annotated series of {row['points']:,} points ({row['source']}; {row['licence']})", rows))
    return parts


def markdown(found: Mapping[str, Any]) -> str:
    """The card's tables, as docs/methodology.md has them."""
    lines = []
    for title, (heads, *rows) in tables(found):
        lines += [f"{title}:", "", f"| {' | '.join(heads)} |", f"|---|{'--:|' * (len(heads) - 1)}"]
        lines += [f"| {' | '.join(row)} |" for row in rows] + [""]
    return "\n".join(lines).rstrip()


def _table(title: str, rows: list[list[str]]) -> RenderableType:
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for index, head in enumerate(rows[0]):
        table.add_column(head, justify="right" if index else "left")
    for row in rows[1:]:
        table.add_row(*row)
    return Group(table, Text(""))


def _share(count: int, of: int) -> str:
    """A count as a share, with the count where it is small."""
    return "" if not of else f"{100 * count / of:.3g} %"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
