"""Tables as CSV, as Markdown and for the terminal.

In `align`, a letter for each column: l for left, r for right.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Literal

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

RULES = {"l": "---", "r": "--:"}
JUSTIFY: dict[str, Literal["left", "right"]] = {"l": "left", "r": "right"}


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV with a header line; None is an empty field."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> str:
    """Return a table as lines of GitHub Markdown.

    Cells are taken as they are: escape text that is not yours.
    """
    lines = [_markdown_row(header), f"|{'|'.join(RULES[letter] for letter in align)}|", *map(_markdown_row, rows)]
    return "\n".join(lines)


def _markdown_row(cells: Sequence[str]) -> str:
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def terminal_table(header: Sequence[str], rows: Iterable[Sequence[RenderableType]], align: str, title: str | None = None) -> Table:
    """Return a table without borders for the terminal, whose long cells are folded."""
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for name, letter in zip(header, align):
        table.add_column(name, justify=JUSTIFY[letter], overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))  # brackets in data are no markup
    return table
