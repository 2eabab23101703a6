"""Sparklines: the history of a case as a line that fits into a table's cell. Pure.

The line is grey up to the last change of level; after it, it has the colour of that change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from tensorcopy.analysis.series import CaseSeries
from tensorcopy.report.numbers import quantity
from tensorcopy.site.charts.svg_plot import Place, outline, stretches
from tensorcopy.site.filters import NARROW_SPACE

STRIDE, HEIGHT, MARGIN = 6, 30, 3  # of the view box: from release to release, and the room above and below the line
LEAST_SPAN = log(1.6)  # of the vertical axis, so that noise does not look like a change


@dataclass(frozen=True)
class Sparkline:
    """A case's line, its newest value and its last change.

    value : with its unit, as measured: "5.20 µs"
    change, verdict, release : of the last change: "−20 %", "faster", "2.10.0"; "" without one
    """

    svg: str
    value: str
    change: str = ""
    verdict: str = ""
    release: str = ""


def sparkline(series: CaseSeries, releases: Sequence[str]) -> Sparkline:
    """Return the sparkline of a case that was measured at least once.

    releases : of the horizontal axis; all sparklines of a table have the same
    """
    newest = next(value for value in reversed(series.measured) if value is not None)
    value = quantity(newest, series.unit)
    if not series.steps:
        return Sparkline(_svg(series, releases, 0, ""), value)
    last = series.steps[-1]
    verdict = "slower" if last.ratio > 1 else "faster"
    return Sparkline(_svg(series, releases, last.index, verdict), value, whole_percent(last.ratio), verdict, series.releases[last.index])


def whole_percent(ratio: float) -> str:
    """Format a ratio as a change in whole per cent: "−20 %", "+860 %"."""
    return f"{100 * (ratio - 1):+.0f}{NARROW_SPACE}%".replace("-", "−")


def _svg(series: CaseSeries, releases: Sequence[str], last: int, verdict: str) -> str:
    """Return an SVG of two lines: up to the last change, and from it on."""
    points = _points(series, releases)
    before = f'<path d="{_path(points[: last + 1])}"/>' if last else ""
    lines = f'{before}<path class="now" d="{_path(points[last:])}"/>'
    names, box = f"spark {verdict}".rstrip(), f"0 0 {STRIDE * max(1, len(releases) - 1)} {HEIGHT}"
    return f'<svg class="{names}" viewBox="{box}" preserveAspectRatio="none">{lines}</svg>'


def _points(series: CaseSeries, releases: Sequence[str]) -> list[Place | None]:
    """Return each value's position, on a logarithmic axis around the values; None for a gap."""
    places = {release: STRIDE * index for index, release in enumerate(releases)}
    logs = [None if value is None else log(value) for value in series.values]
    measured = [value for value in logs if value is not None]
    low, high = min(measured), max(measured)
    middle, scale = (low + high) / 2, (HEIGHT - 2 * MARGIN) / max(high - low, LEAST_SPAN)
    return [
        None if value is None else (places[release], round(HEIGHT / 2 - scale * (value - middle)))
        for release, value in zip(series.releases, logs)
    ]


def _path(points: Sequence[Place | None]) -> str:
    """Join points, with a gap at each None; a point between two gaps is a dash."""
    return "".join(outline(stretch) + ("" if stretch[1:] else "h1") for stretch in stretches(points))
