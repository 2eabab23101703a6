"""A case's history as the terminal shows it; and series from a file of values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import exp, log, sqrt
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.change_points import Step
from tensorcopy.analysis.series import DISPATCHER, MEDIANS, CaseSeries, ReleaseChange, changes_by_release
from tensorcopy.errors import TensorcopyError
from tensorcopy.report.units import count, duration
from tensorcopy.results.load import Case

BAR = 32  # columns


def drawn(case_series: CaseSeries) -> RenderableType:
    """A line for each release: its time, its bar, the step that it made."""
    table = Table(box=None, pad_edge=False)
    for title, justify in (("torch", "left"), ("time", "right"), ("±", "right"), ("", "left"), ("", "left")):
        table.add_column(title, justify=justify)  # type: ignore[arg-type]
    steps = {step.index: step for step in case_series.steps}
    greatest = max((value for value in case_series.values if value is not None), default=1.0)
    for index, (name, value, spread) in enumerate(zip(case_series.releases, case_series.values, case_series.spreads)):
        if value is None:
            table.add_row(name, "", "", "", "not measured")
        else:
            bar = "█" * max(1, round(BAR * value / greatest))
            table.add_row(name, duration(value), f"{100 * spread:.1f} %", bar, said(steps[index]) if index in steps else "")
    return Group(Text(f"{comparisons.named(case_series.case)}, on {case_series.on}"), table, Text(_ended(case_series)))


def _ended(case_series: CaseSeries) -> str:
    if not case_series.steps:
        return "No step is seen."
    last = case_series.steps[-1]
    return f"{len(case_series.steps)} step{'s' if len(case_series.steps) > 1 else ''}; the last with {case_series.releases[last.index]}."


def said(step: Step) -> str:
    """A step in words: "slower by 12.1 %"."""
    word = "slower" if step.ratio > 1 else "faster"
    alone = ", seen in one release only" if step.alone else ""
    return f"{word} by {100 * abs(step.ratio - 1):.1f} %{alone}"


def kind(release_change: ReleaseChange) -> str:
    """Which cases changed: "cpu cases at numel ≤ 2¹⁴"."""
    return f"{release_change.device} cases at numel {'≤' if release_change.small else '>'} {count(DISPATCHER)}"


def sentence(release_change: ReleaseChange) -> str:
    """A change in words: "31 of 40 cpu cases at numel ≤ 2¹⁴ slower, median +38.0 %"."""
    return f"{len(release_change.cases)} of {release_change.of} {kind(release_change)} {release_change.verdict}, median {_signed(release_change.ratio)}"


def summed_up(found: Mapping[Case, CaseSeries]) -> RenderableType:
    """What moved together at each release: by device, and apart where the dispatcher decides and where the memory does."""
    table = Table(box=None, pad_edge=False)
    for title in ("torch", "what moved", "median", "most of all"):
        table.add_column(title, overflow="fold")
    for release_change in changes_by_release(found):
        case, step = release_change.most
        moved = f"{len(release_change.cases)} of {release_change.of} {kind(release_change)} {release_change.verdict}"
        table.add_row(release_change.release, moved, _signed(release_change.ratio), f"{comparisons.named(case)} {_signed(step.ratio)}")
    heading = Text(f"{len(found)} cases on {next(iter(found.values())).on}")
    return Group(heading, table if table.row_count else Text("No step is seen."))


def _signed(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def of_values(path: Path) -> tuple[list[float | None], list[float]]:
    """A series and its spreads from a JSON array: of numbers, or of arrays of samples; null is a gap. Raises TensorcopyError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        points = [_point(one) for one in document]
    except (OSError, ValueError, TypeError) as error:
        raise TensorcopyError(
            "not a series",
            got=f"{path}: {error}",
            allowed="a JSON array of positive numbers, or of arrays of them; null for a gap",
            next="tensorcopy history --values FILE.json",
        ) from error
    return [value for value, _ in points], [spread for _, spread in points]


def _point(one: Any) -> tuple[float | None, float]:
    """A value and its own standard error; samples of one point are its draws."""
    if one is None or one == []:
        return None, 0.0
    samples = [float(value) for value in (one if isinstance(one, list) else [one])]
    if not all(0 < value < float("inf") for value in samples):
        raise ValueError(f"{one!r} is not positive")
    logs = [log(value) for value in samples]
    if len(logs) < 3:
        return exp(median(logs)), 0.0
    middle = median(logs)
    stray = median(abs(value - middle) for value in logs) / 0.6745
    return exp(middle), MEDIANS * stray / sqrt(len(logs))
