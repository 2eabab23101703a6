"""Tables and sentences of docs/ from files that other tools write: how right the verdicts are, and agreement with another timer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensorcopy import files
from tensorcopy.errors import TensorcopyError
from tensorcopy.numbers import unbroken
from tensorcopy.report.table import escaped

ACCURACY = Path("docs/accuracy.json")  # written by docs.tools.accuracy
AGREEMENT = Path("docs/agreement.json")  # written by docs.tools.verify


def _shown(path: Path, command: str, text: Callable[[Any], str]) -> str | None:
    """Return what is shown of a file that a command wrote; None where there is none. Raises TensorcopyError."""
    if not path.exists():
        return None
    try:
        return text(json.loads(files.read_text(path)))
    except (OSError, LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise TensorcopyError(
            f"{path} cannot be read",
            got=f"{type(error).__name__}: {error}",
            allowed=f"a file as {command} writes it",
            next=f"git checkout {path}",
        ) from error


def accuracy(report: Any) -> str:
    """Return how often verdicts and histories are right, with the goals that are missed."""
    title = f"{report['machine']}, {report['launches']} launches, {report['day']}; by size: {report['sizes']} elements"
    lines = [f"{escaped(title)}:\n", "| | measured | goal |", "|---|--:|--:|"]
    for row in report["rows"]:
        goal = f"{row['goal']}, **missed**" if row["missed"] else escaped(row["goal"])
        lines.append(unbroken(f"| {escaped(row['name'])} | {escaped(row['value'])} | {goal} |"))
    return "\n".join(lines)


def agreement(checked: Any) -> str:
    """Return the ratio of the suites' time to that of torch's Timer, of the suites together."""
    suites = checked["suites"].values()
    cases = sum(row["cases"] for row in suites)
    low, high = min(row["min"] for row in suites), max(row["max"] for row in suites)
    source = escaped(f"torch {checked['torch']} on {checked['on']}, {checked['day']}")
    return (
        f"The suites' time divided by the Timer's is {checked['median']:.3f} in the median of {cases} cases, "
        f"{low:.3f} to {high:.3f} over all ({source})."
    )


PARTS: dict[str, Callable[[object], str | None]] = {
    "accuracy": lambda site: _shown(ACCURACY, "docs.tools.accuracy", accuracy),
    "agreement": lambda site: _shown(AGREEMENT, "docs.tools.verify --keep", agreement),
}
