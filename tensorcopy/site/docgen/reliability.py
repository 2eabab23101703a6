"""The table of docs/reliability.md: what was tried, how often, and how often it failed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorcopy.report.tables import markdown_table

FILE = Path("docs/reliability.json")  # written by docs/count_tries.py


def tries(document: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table as Markdown.

    document : by what was tried: "tries", "failed", "day" and "tests", the file that tried it
    """
    rows = [[what, f"{row['tries']:,}", str(row["failed"]), f"`{row['tests']}`", row["day"]] for what, row in document.items()]
    return markdown_table(["what was tried", "tries", "failed", "by", "day"], rows, "lrrll")
