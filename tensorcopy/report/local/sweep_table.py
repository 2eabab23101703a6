"""Curves as multiples of one of them, and as text. From what `size_sweep` measured, as plain values. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

from rich.table import Table

from tensorcopy.errors import TensorcopyError
from tensorcopy.report.units import duration

BARS = "▁▂▃▄▅▆▇█"
COLUMNS = 4  # sizes whose times stand in a table

Document = Mapping[str, Any]


def divisors(curves: Sequence[Document], relative_to: str) -> dict[int, float]:
    """By size, what times are to be divided by: a method's time, or one second where `relative_to` is "".

    Raises TensorcopyError for a method that was not measured.
    """
    if not relative_to:
        return {point["numel"]: 1.0 for point in curves[0]["points"]}
    for curve in curves:
        if curve["name"] == relative_to:
            return {point["numel"]: point["median"] for point in curve["points"]}
    names = ", ".join(curve["name"] for curve in curves)
    raise TensorcopyError("no such method was measured", got=repr(relative_to), allowed=names, next="tensorcopy methods lists them")


def table(document: Document, relative_to: str = "") -> Table:
    """A line for each method: its course over the sizes, in eight steps of a logarithmic scale from the methods' least to their greatest
    time, and its time at some sizes. The least at each size stands out. The floor's course may lie below the scale.

    Raises TensorcopyError, see `divisors`.
    """
    curves = [*document["curves"], document["floor"]]
    by = divisors(curves, relative_to)
    values = [[point["median"] / by[point["numel"]] for point in curve["points"]] for curve in curves]
    least, greatest = (log(extreme(value for row in values[:-1] for value in row)) for extreme in (min, max))
    numels = [point["numel"] for point in curves[0]["points"]]
    shown = sorted({round(step * (len(numels) - 1) / (COLUMNS - 1)) for step in range(COLUMNS)})
    found = Table(box=None, pad_edge=False)
    found.add_column("")
    found.add_column(f"{_power(numels[0])} … {_power(numels[-1])}", no_wrap=True)
    for index in shown:
        found.add_column(_power(numels[index]), justify="right", no_wrap=True)
    for curve, row in zip(curves, values):
        floor = curve is curves[-1]
        bars = "".join(BARS[min(7, max(0, round(7 * (log(value) - least) / ((greatest - least) or 1))))] for value in row)
        cells = [f"{row[index]:.2f}×" if relative_to else duration(row[index]) for index in shown]
        fastest = [min(one[index] for one in values[:-1]) for index in shown]
        told = [f"[bold]{cell}[/]" if row[index] == best and not floor else cell for cell, index, best in zip(cells, shown, fastest)]
        found.add_row(f"[dim]floor: {curve['code']}[/]" if floor else curve["code"], bars, *told)
    return found


def _power(numel: int) -> str:
    exponent = numel.bit_length() - 1
    return "2" + str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")) if numel == 2**exponent else str(numel)
