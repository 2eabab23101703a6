"""The landing page's chart: copies and conversions over the releases, the Pythons joined. Pure.

`svg` is the chart without scripts; `data` is what the script draws it from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorcopy.report.numbers import count, duration
from tensorcopy.results import related
from tensorcopy.results.passes import Case
from tensorcopy.site.charts.axes import NameAxis, ValueAxis
from tensorcopy.site.charts.plot_items import Band, Line, PlotPoint
from tensorcopy.site.charts.sparkline import whole_percent
from tensorcopy.site.charts.svg_plot import Plot
from tensorcopy.site.model import explorer
from tensorcopy.site.model.explorer import ComparisonAddress
from tensorcopy.site.model.machine import Machine

SOME_TIMES = "some times"  # what the data has, in contrast to the "times" of the explorer


def data(machine: Machine, cases: Sequence[Case], comparison_address: ComparisonAddress) -> dict[str, Any]:
    """Return the history of cases as in `explorer.chart_data`, without the values that are not on the joined axis.

    Of an older Python these are the values from the joint on. The script loads the machine's other times when they are asked for.
    """
    document = {**explorer.chart_data(machine, cases, comparison_address), "quantity": SOME_TIMES}
    newest, last = document["pythons"][0], 0
    for entry in document["cases"]:
        joints = {python: release for release, python, _ in entry.get("joints", ())}
        columns, last = entry["values"], max([last, *joints.values()])
        first = newest if newest in columns else next(iter(columns))
        entry["values"] = {python: _until(rows, joints.get(python, 0)) if python != first else rows for python, rows in columns.items()}
        entry["values"] = {python: rows for python, rows in entry["values"].items() if rows[1]}
    document["memcpy"] = [
        {python: rows if python == newest else _until(rows, last) for python, rows in columns.items()} for columns in document["memcpy"]
    ]
    return document


def _until(rows: Sequence[Any], release: int) -> list[Any]:
    """Return the columns of a Python before the release with an index."""
    first, *columns = rows
    return [first, *(column[: max(0, release - first)] for column in columns)]


def svg(machine: Machine, cases: Sequence[Case], releases: Sequence[str], own: Machine | None = None) -> str:
    """Plot cases over the releases, with the range of passes and a mark at each change.

    own : another machine, whose values are marked beside these; its releases that are not on the axis are omitted
    """
    lines, bands = [], []
    for index, case in enumerate(cases):
        lines.append(Line(_points(machine, case, releases), index + 1, -1))
        lines.append(Line(_changes(machine, case, releases), index + 1, index, "change"))
        bands.append(Band(_band(machine, case, releases), index + 1))
        if own and case in own.history:
            lines.append(Line(_points(own, case, releases), index + 1, index, "own"))
    values = [point.y for line in lines for point in line.points if point]
    values += [edge for band in bands for point in band.points if point for edge in point[1:]]
    label = (
        f"{', '.join(machine.code(case['method'], case.device) for case in cases)}: {count(int(cases[0]['numel']))} elements, time per call"
    )
    return Plot(f"{label} over torch releases", NameAxis(tuple(releases)), ValueAxis.around(values), lines, bands).svg()


def _points(machine: Machine, case: Case, releases: Sequence[str]) -> list[PlotPoint | None]:
    series = machine.history[case]
    values = dict(zip(series.releases, series.values))
    return [None if (value := values.get(release)) is None else PlotPoint(place, value) for place, release in enumerate(releases)]


def _changes(machine: Machine, case: Case, releases: Sequence[str]) -> list[PlotPoint | None]:
    """Return the value at each change of level; None at all other releases."""
    series, code = machine.history[case], machine.code(case["method"], case.device)
    points: list[PlotPoint | None] = [None] * len(releases)
    for step in series.steps:
        release, value = series.releases[step.index], series.values[step.index]
        if release in releases and value is not None:
            tip = f"{code}: {whole_percent(step.ratio)} with torch {release}, to {duration(value)}"
            points[releases.index(release)] = PlotPoint(releases.index(release), value, tip)
    return points


def _band(machine: Machine, case: Case, releases: Sequence[str]) -> list[tuple[float, float, float] | None]:
    """Return the range of passes at each release, on the scale of the values."""
    series = machine.history[case]
    places = {release: index for index, release in enumerate(series.releases)}
    band: list[tuple[float, float, float] | None] = []
    for place, release in enumerate(releases):
        index = places.get(release)
        timing = related.measured(series.results[index], case) if index is not None else None
        scale = series.scale(index) if index is not None else 1.0
        band.append((place, timing.low * scale, timing.high * scale) if timing else None)
    return band
