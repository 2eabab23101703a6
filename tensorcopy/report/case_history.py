"""The history of a case, or of many cases, for the terminal.

And series read from a file of values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from math import exp, isnan, log, sqrt
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tensorcopy.analysis.change_points import NORMAL_MAD, Step
from tensorcopy.analysis.comparisons import case_name
from tensorcopy.analysis.series import DISPATCHER, MEDIANS, CaseGroup, CaseSeries, ReleaseChange, changes_by_release
from tensorcopy.errors import TensorcopyError
from tensorcopy.report.numbers import change_size, count, percent, quantity, signed_percent
from tensorcopy.report.tables import terminal_table
from tensorcopy.results.passes import Case
from tensorcopy.results.suite_specs import SECONDS

BAR = 32  # columns: a row fits into 80
ALIKE = 0.005  # two sizes of a change that differ by less are written once
NAME = 64  # columns of a case's name
LARGEST = 3  # changes of a group that are listed
LARGEST_FILE = 64 << 20  # bytes of a file of values
NO_CHANGE = "No change detected."


def case_table(case_series: CaseSeries) -> RenderableType:
    """Return a row for each release with its time, a bar and its change."""
    steps = {step.index: step for step in case_series.steps}
    greatest = max((value for value in case_series.values if value is not None), default=1.0)
    several = len({result.python for result in case_series.results}) > 1
    rows = []
    for index, (release, value, spread) in enumerate(zip(case_series.releases, case_series.values, case_series.spreads)):
        name = f"{release} ({case_series.results[index].python})" if several else release
        measured = case_series.measured[index]
        if value is None or measured is None:
            rows.append((name, "", "", "", "not measured"))
        else:
            bar = "█" * max(1, round(BAR * value / greatest))
            change = f"{'▲' if steps[index].ratio > 1 else '▼'} {signed_percent(steps[index].ratio)}" if index in steps else ""
            rows.append((name, quantity(measured, case_series.unit), percent(spread, 1), bar, change))
    table = terminal_table(("torch", "time" if case_series.unit == SECONDS else case_series.unit, "±", "", ""), rows, "lrrll")
    return Group(Text(f"{case_name(case_series.case)}, on {case_series.on}"), table, Text(_summary(case_series)))


def _summary(case_series: CaseSeries) -> str:
    """Return a line for each change."""
    unit, releases = case_series.unit, case_series.releases
    lines = [f"torch {releases[step.index]}: {step_text(step, releases, unit)}{_beside(step, unit)}" for step in case_series.steps]
    return "\n".join(lines) if lines else NO_CHANGE


def step_text(step: Step, releases: Sequence[str] = (), unit: str = SECONDS) -> str:
    """Return a change of level in words: "slower by 12.1 %".

    A change that a later release takes back has an end: "slower by 24.2 %, until 1.13.1". A change of a count is "5.2 % more instructions".
    """
    if unit != SECONDS:
        return f"{change_size(step.ratio)} {'more' if step.ratio > 1 else 'fewer'} {unit}"
    direction = "slower" if step.ratio > 1 else "faster"
    until = f", until {releases[step.until]}" if step.until is not None and releases else ""
    return f"{direction} by {change_size(step.ratio)}{until}{', based on a single release' if step.alone else ''}"


def _beside(step: Step, unit: str) -> str:
    """Return how the first release of a new level compares with the one before it, where that differs from the step between the levels."""
    differs = unit == SECONDS and not isnan(step.change) and abs(log(step.change / step.ratio)) >= ALIKE
    return f" ({signed_percent(step.change)} from the release before)" if differs else ""


def change_text(change: ReleaseChange) -> str:
    """Return a change of a group of cases in words.

    For example "31 of 40 copies at numel ≤ 2¹⁴ slower, median +38.0 %".
    """
    if change.group.unit != SECONDS:
        more = "more" if change.verdict == "slower" else "fewer"
        where = f"{len(change.cases)} of {change.of} cases{_relation(change.group)}"
        return f"{more} {change.group.unit} in {where}, median {signed_percent(change.ratio)}"
    name = group_name(change.group)
    if change.as_group:
        alone = f"; {len(change.cases)} of {change.of} by themselves" if change.cases else ""
        return f"{name} {change.verdict} as a group, {signed_percent(change.ratio)}{alone}"
    return f"{len(change.cases)} of {change.of} {name} {change.verdict}, median {signed_percent(change.ratio)}"


def group_name(group: CaseGroup) -> str:
    """Return a group in words: "copies at numel ≤ 2¹⁴", "primitives on cuda at numel > 2¹⁴"."""
    device = "" if group.device == "cpu" else f" on {group.device}"
    return f"{group.module}{device}{_relation(group)}"


def _relation(group: CaseGroup) -> str:
    return "" if group.small is None else f" at numel {'≤' if group.small else '>'} {count(DISPATCHER)}"


def summary_text(by_case: Mapping[Case, CaseSeries], *, all_cases: bool = False) -> RenderableType:
    """Return the changes by release and group, the newest release first.

    all_cases : list every case that changed, and not only the `LARGEST` changes of a group
    """
    heading = f"{len(by_case)} cases on {next(iter(by_case.values())).on}"
    lines = []
    for release, changes in groupby(reversed(changes_by_release(by_case)), key=lambda change: change.release):
        lines += ["", f"torch {release}"]
        for change in changes:
            shown = change.cases if all_cases else change.cases[:LARGEST]
            lines.append(f"  {change_text(change)}")
            lines += [f"    {case_name(case):<{NAME}} {signed_percent(change.steps[case].ratio):>9}" for case in shown]
            more = len(change.cases) - len(shown)
            lines += [f"    and {more} more: --all lists them"] if more else []
    return Group(Text(heading), Text("\n".join(lines) if lines else NO_CHANGE))


def read_values(path: Path) -> tuple[list[float | None], list[float]]:
    """Read values and spreads from a JSON array. Raises TensorcopyError.

    Its items are numbers, or arrays of samples; null is a gap.
    """
    try:
        document = json.loads(input_text(path))
        points = [_point(value) for value in document]
    except (OSError, ValueError, TypeError, RecursionError, OverflowError) as error:
        raise TensorcopyError(
            "not a series",
            got=f"{path}: {error}",
            allowed="a JSON array of positive numbers, or of arrays of them; null for a gap",
            next="tensorcopy history --values FILE.json",
        ) from error
    return [value for value, _ in points], [spread for _, spread in points]


def input_text(path: Path) -> str:
    """Return the text of a file that a user names. Raises OSError for one that is not regular, or too large, and ValueError."""
    if path.exists() and not path.is_file():
        raise OSError("not a regular file")  # a device or a pipe may never end
    if path.stat().st_size > LARGEST_FILE:
        raise OSError(f"more than {LARGEST_FILE >> 20} MiB")
    return path.read_text(encoding="utf-8")


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
