"""A comparison as JSON and as CSV; `markdown` has Markdown, `terminal` the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isfinite
from typing import Any

from tensorcopy.analysis.comparisons import Comparison, case_name
from tensorcopy.analysis.two_sample import ALPHA, Change, CountPair, Verdict
from tensorcopy.report.comparison.markdown import comparison_text
from tensorcopy.report.comparison.wording import not_included, ordered, sentence
from tensorcopy.report.tables import csv_text
from tensorcopy.results.load import Case

HEADER = (
    "case",
    "device",
    "verdict",
    "ratio",
    "low",
    "high",
    "p",
    "p_is_bound",
    "before",
    "after",
    "confirmed",
    "repeats",
    "reason",
    "text",
)


def rows(comparison: Comparison) -> list[tuple[str, Change]]:
    """Return the name and the change of every case."""
    return [(case_name(case), change) for case, change in comparison.changes.items()]


def markdown(comparison: Comparison) -> str:
    """Return the comparison as a GitHub comment."""
    return comparison_text(comparison.labels, comparison.on, comparison.margin, rows(comparison), notes=not_included(comparison.problems))


def document(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as a document; comparison.schema.json describes that of a pull request.

    Times in seconds."""
    changes = comparison.changes
    return {
        "before": _side(comparison, 0),
        "after": _side(comparison, 1),
        "margin": comparison.margin,
        "alpha": ALPHA,
        "counts": {verdict.value: sum(change.verdict is verdict for change in changes.values()) for verdict in Verdict},
        "changes": [_row(case, change) for case, change in ordered(changes.items())],
        "problems": [problem.document() for problem in comparison.problems],
    }


def as_json(comparison: Comparison) -> str:
    return json.dumps(document(comparison), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_csv(comparison: Comparison) -> str:
    """Return a row for each case; an empty field is unknown."""
    return csv_text(HEADER, (_csv_row(case, change) for case, change in ordered(comparison.changes.items())))


FORMATS: dict[str, Callable[[Comparison], str]] = {
    "markdown": markdown,
    "json": as_json,
    "csv": as_csv,
}  # of `compare --format`, beside text


def _csv_row(case: Case, change: Change) -> list[object]:
    row = _row(case, change)
    interval, confirmed = row["interval"] or (None, None), row["confirmed"] or (None, None)
    start = [row[name] for name in ("case", "device", "verdict", "ratio")]
    p = [row["p"], str(change.p_is_bound).lower()]
    return [*start, *interval, *p, row["before"], row["after"], *confirmed, row["reason"], sentence(change)]


def _row(case: Case, change: Change) -> dict[str, Any]:
    return {
        "case": case_name(case),
        "suite": case.suite,
        "parameters": dict(case.parameters),
        "device": case.device,
        "verdict": change.verdict.value,
        "reason": change.reason.value,
        "ratio": _six(change.ratio),
        "interval": [_six(end) for end in change.interval] if change.interval else None,
        "p": _six(change.p),
        "p_is_bound": change.p_is_bound,
        "before": _six(change.before),
        "after": _six(change.after),
        "passes": change.passes,
        "more_passes": change.more_passes,
        "differences": [difference._asdict() for difference in change.differences],
        "failure": change.failure.value if change.failure else None,
        "confirmed": change.confirmed,
        "unit": change.unit,
        "count": _count(change.count) if change.count else None,
    }


def _count(count: CountPair) -> dict[str, Any]:
    return {
        "unit": count.unit,
        "before": _six(count.before),
        "after": _six(count.after),
        "repeatability": _six(count.repeatability),
        "changed": count.changed,
        "equal": count.equal,
    }


def _side(comparison: Comparison, index: int) -> dict[str, Any]:
    result = (comparison.before, comparison.after)[index]
    return {
        "label": comparison.labels[index],
        "machine": result.machine,
        "python": result.python,
        "build": result.build,
        "provenance": result.provenance,
    }


def _six(number: float | None) -> float | None:
    """Round to six figures, further ones differ from one processor to another; None for what JSON has no number for."""
    return None if number is None or not isfinite(number) else float(f"{number:.6g}")
