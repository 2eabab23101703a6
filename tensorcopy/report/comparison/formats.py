"""Verdicts as a person or a program reads them: for the terminal, as JSON and CSV; as Markdown by `markdown`. Pure."""

from __future__ import annotations

import csv
import json
from collections import Counter
from io import StringIO
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tensorcopy.analysis.comparisons import Comparison, named
from tensorcopy.analysis.two_sample import ALPHA, Change, Verdict
from tensorcopy.report.comparison.markdown import comparison
from tensorcopy.report.comparison.wording import CHANGED, SIGNS, headline, ordered, percent, seconds, times
from tensorcopy.results.load import Case

Row = tuple[Case, Change]  # of `wording`, which knows a case by any name


def terminal(found: Comparison, *, every: bool = False) -> RenderableType:
    """What changed as a table, how many did not, and why the others are inconclusive.

    every : list all cases
    """
    table = Table(box=None, pad_edge=False)
    for title, justify in (("", "left"), ("case", "left"), ("before", "right"), ("after", "right"), ("ratio", "right"), ("", "left")):
        table.add_column(title, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for case, change in ordered(found.changes.items()):
        if every or change.verdict in CHANGED:
            table.add_row(
                SIGNS[change.verdict], named(case), seconds(change.before), seconds(change.after), times(change.ratio), change.sentence
            )
    parts: list[RenderableType] = [Text(f"{found.named[0]} → {found.named[1]}, on {found.on}"), Text(headline(rows(found)) + "\n")]
    if table.row_count:
        parts += [table, Text("")]
    inconclusive = any(change.verdict is Verdict.INCONCLUSIVE for change in found.changes.values())
    lines = [*counted(found), *(["--all says how many more passes would tell"] if inconclusive else [])]
    return Group(*parts, Text("\n".join(lines)))


def rows(found: Comparison) -> list[tuple[str, Change]]:
    """Every case by the name that a person gives it, and its change."""
    return [(named(case), change) for case, change in found.changes.items()]


def markdown(found: Comparison) -> str:
    """As a comment; see `markdown`."""
    return comparison(found.named, found.on, found.margin, rows(found))


def document(found: Comparison) -> dict[str, Any]:
    """Everything, for a program; times in seconds."""
    return {
        "before": _side(found, 0),
        "after": _side(found, 1),
        "margin": found.margin,
        "alpha": ALPHA,
        "counts": {verdict.value: sum(change.verdict is verdict for change in found.changes.values()) for verdict in Verdict},
        "changes": [_row(case, change) for case, change in ordered(found.changes.items())],
    }


def as_json(found: Comparison) -> str:
    return json.dumps(document(found), indent=1, ensure_ascii=False) + "\n"


def as_csv(found: Comparison) -> str:
    """A line for each case; an empty field is not known."""
    names = ["case", "device", "verdict", "ratio", "low", "high", "p", "before", "after", "held", "of", "reason"]
    text = StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for case, change in ordered(found.changes.items()):
        row = _row(case, change)
        low, high = row.pop("interval") or ("", "")
        held, of = row.pop("confirmed") or ("", "")
        writer.writerow({**{name: row[name] for name in names if name in row}, "low": low, "high": high, "held": held, "of": of})
    return text.getvalue()


def _row(case: Case, change: Change) -> dict[str, Any]:
    return {
        "case": named(case),
        "suite": case.suite,
        "parameters": dict(case.parameters),
        "device": case.device,
        "verdict": change.verdict.value,
        "ratio": _six(change.ratio),
        "interval": [_six(end) for end in change.interval] if change.interval else None,
        "p": _six(change.p),
        "before": _six(change.before),
        "after": _six(change.after),
        "confirmed": change.confirmed,
        "reason": change.reason,
    }


def _side(found: Comparison, index: int) -> dict[str, Any]:
    result = (found.before, found.after)[index]
    return {
        "named": found.named[index],
        "machine": result.machine,
        "python": result.python,
        "build": result.build,
        "ledger": result.provenance,
    }


def counted(found: Comparison) -> list[str]:
    """How many cases did not change, and what would decide the inconclusive ones."""
    rows = found.changes.values()
    same = sum(change.verdict is Verdict.UNCHANGED for change in rows)
    inconclusive = Counter(_why(change) for change in rows if change.verdict is Verdict.INCONCLUSIVE)
    lines = [f"{same} unchanged: no change larger than {percent(found.margin)}"] if same else []
    lines += [f"{count} inconclusive: {why}" for why, count in inconclusive.most_common()]
    return lines


def _why(change: Change) -> str:
    """An inconclusive change's reason, as far as it is shared with others."""
    return change.reason.partition(", ")[0] if not change.interval else "neither a change nor its absence is sure"


def _six(number: float | None) -> float | None:
    """Six figures: further ones differ from one processor to the next."""
    return None if number is None else float(f"{number:.6g}")
