"""The history of a case, or of many cases, for the terminal.

And series read from a file of values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import exp, log, sqrt
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tensorcopy.analysis.change_points import NORMAL_MAD, Step
from tensorcopy.analysis.comparisons import case_name
from tensorcopy.analysis.series import DISPATCHER, MEDIANS, CaseSeries, ReleaseChange, changes_by_release
from tensorcopy.errors import TensorcopyError
from tensorcopy.report.tables import terminal_table
from tensorcopy.report.units import count, duration
from tensorcopy.results.load import Case

BAR = 32  # columns
NO_CHANGE = "No change detected."


def case_table(case_series: CaseSeries) -> RenderableType:
    """Return a row for each release with its time, a bar and its change."""
    steps = {step.index: step for step in case_series.steps}
    greatest = max((value for value in case_series.values if value is not None), default=1.0)
    rows = []
    for index, (release, value, spread) in enumerate(zip(case_series.releases, case_series.values, case_series.spreads)):
        if value is None:
            rows.append((release, "", "", "", "not measured"))
        else:
            bar = "█" * max(1, round(BAR * value / greatest))
            rows.append((release, duration(value), f"{100 * spread:.1f} %", bar, step_text(steps[index]) if index in steps else ""))
    table = terminal_table(("torch", "time", "±", "", ""), rows, "lrrll")
    return Group(Text(f"{case_name(case_series.case)}, on {case_series.on}"), table, Text(_summary(case_series)))


def _summary(case_series: CaseSeries) -> str:
    """Return how many changes there are, and the release of the latest."""
    if not case_series.steps:
        return NO_CHANGE
    latest = case_series.releases[case_series.steps[-1].index]
    return f"1 change, in {latest}." if len(case_series.steps) == 1 else f"{len(case_series.steps)} changes; the latest in {latest}."


def step_text(step: Step) -> str:
    """Return a change of level in words: "slower by 12.1 %"."""
    direction = "slower" if step.ratio > 1 else "faster"
    return f"{direction} by {100 * abs(step.ratio - 1):.1f} %{', based on a single release' if step.alone else ''}"


def change_text(change: ReleaseChange) -> str:
    """Return a change of many cases in words.

    For example "31 of 40 cpu cases at numel ≤ 2¹⁴ slower, median +38.0 %".
    """
    return f"{_count(change)}, median {_signed(change.ratio)}"


def _count(change: ReleaseChange) -> str:
    kind = f"{change.device} cases at numel {'≤' if change.small else '>'} {count(DISPATCHER)}"
    return f"{len(change.cases)} of {change.of} {kind} {change.verdict}"


def summary_table(by_case: Mapping[Case, CaseSeries]) -> RenderableType:
    """Return the changes by release, for each device and for small and large tensors."""
    rows = []
    for change in changes_by_release(by_case):
        case, step = change.most
        rows.append((change.release, _count(change), _signed(change.ratio), f"{case_name(case)} {_signed(step.ratio)}"))
    heading = Text(f"{len(by_case)} cases on {next(iter(by_case.values())).on}")
    return Group(heading, terminal_table(("torch", "cases", "median", "largest change"), rows, "llll") if rows else Text(NO_CHANGE))


def _signed(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def read_values(path: Path) -> tuple[list[float | None], list[float]]:
    """Read values and spreads from a JSON array. Raises TensorcopyError.

    Its items are numbers, or arrays of samples; null is a gap.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        points = [_point(value) for value in document]
    except (OSError, ValueError, TypeError) as error:
        raise TensorcopyError(
            "not a series",
            got=f"{path}: {error}",
            allowed="a JSON array of positive numbers, or of arrays of them; null for a gap",
            next="tensorcopy history --values FILE.json",
        ) from error
    return [value for value, _ in points], [spread for _, spread in points]


def _point(value: Any) -> tuple[float | None, float]:
    """Return a value and its relative standard error.

    Of several samples their median and its error.
    """
    if value is None or value == []:
        return None, 0.0
    samples = [float(sample) for sample in (value if isinstance(value, list) else [value])]
    if not all(0 < sample < float("inf") for sample in samples):
        raise ValueError(f"{value!r} is not positive")
    logs = [log(sample) for sample in samples]
    middle = median(logs)
    if len(logs) < 3:
        return exp(middle), 0.0
    deviation = median(abs(sample - middle) for sample in logs) / NORMAL_MAD
    return exp(middle), MEDIANS * deviation / sqrt(len(logs))
