"""The curves of a size sweep as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from tensorcopy.errors import TensorcopyError
from tensorcopy.report.tables import terminal_table
from tensorcopy.report.units import count, duration

BARS = "▁▂▃▄▅▆▇█"
COLUMNS = 4  # sizes whose times are shown

Document = Mapping[str, Any]


def divisors(curves: Sequence[Document], relative_to: str) -> dict[int, float]:
    """Return the divisor of times by size: a method's time; 1 if `relative_to` is "".

    Raises TensorcopyError for a method that was not measured.
    """
    if not relative_to:
        return {point["numel"]: 1.0 for point in curves[0]["points"]}
    for curve in curves:
        if curve["name"] == relative_to:
            return {point["numel"]: point["median"] for point in curve["points"]}
    names = ", ".join(curve["name"] for curve in curves)
    raise TensorcopyError("no such method was measured", got=repr(relative_to), allowed=names, next="tensorcopy methods lists them")


def table(document: Document, relative_to: str = "") -> RenderableType:
    """Return a row for each method with its curve and its time at some sizes.

    A curve has eight steps of a logarithmic scale.
    The scale spans the methods' times; the memcpy baseline may be below it. The fastest time at each size is bold. Raises TensorcopyError
    for a method that was not measured.
    """
    curves = [*document["curves"], document["baseline"]]
    by = divisors(curves, relative_to)
    values = [[point["median"] / by[point["numel"]] for point in curve["points"]] for curve in curves]
    low, high = (log(extreme(value for row in values[:-1] for value in row)) for extreme in (min, max))
    numels = [point["numel"] for point in curves[0]["points"]]
    shown = sorted({round(step * (len(numels) - 1) / (COLUMNS - 1)) for step in range(COLUMNS)})
    fastest = {index: min(row[index] for row in values[:-1]) for index in shown}
    rows: list[list[RenderableType]] = []
    for curve, row in zip(curves, values):
        is_baseline = curve is curves[-1]
        bars = "".join(BARS[min(7, max(0, round(7 * (log(value) - low) / ((high - low) or 1))))] for value in row)
        texts = {index: f"{row[index]:.2f}×" if relative_to else duration(row[index]) for index in shown}
        styles = {index: "bold" if row[index] == fastest[index] and not is_baseline else "" for index in shown}
        name = Text(f"memcpy baseline: {curve['code']}", "dim") if is_baseline else Text(curve["code"])
        rows.append([name, bars, *(Text(text, styles[index]) for index, text in texts.items())])
    header = ("", f"{count(numels[0])} … {count(numels[-1])}", *(count(numels[index]) for index in shown))
    return terminal_table(header, rows, "ll" + "r" * len(shown))
