"""Histories as SVG, by Altair and vl-convert. Colours are the stylesheet's variables, so a picture follows light and dark."""

from __future__ import annotations

from functools import cache
from math import log10
from pathlib import Path

import altair as alt
import vl_convert

from tensorcopy.site.answers import History
from tensorcopy.units import duration, rounded

STYLESHEET = Path(__file__).with_name("tensorcopy.css")
INK, RULE = "var(--quiet)", "var(--rule)"
SERIES = [f"var(--series-{n})" for n in range(1, 6)]
SHAPES = ["circle", "square", "diamond", "triangle-up", "cross"]
WIDTH, HEIGHT = 400, 230
DASHES = [[1, 0], [4, 3], [1, 2]]
LEAST_SPAN = 1.25  # of the y axis, so that noise does not look like drama


def history(shown: History, names: dict[str, str]) -> str:
    """A line a method over the releases, on a log axis; the first environment's solid, others' dashed. `names` are the methods' codes.

    Returns an SVG element with text as text.
    """
    medians = [point.timing.median for point in shown.points]
    low, high = min(medians), max(medians)
    spread = max(high / low, LEAST_SPAN) * 1.05
    middle = (low * high) ** 0.5
    domain = [middle / spread**0.5, middle * spread**0.5]
    rows = [
        {
            "release": point.release,
            "seconds": point.timing.median,
            "method": names[point.method],
            "environment": point.environment,
            "line": f"{point.method} {point.environment}",
            "tip": f"{names[point.method]}, torch {point.release}, {point.environment}: {duration(point.timing.median)}",
        }
        for point in shown.points
    ]
    codes = [names[method] for method in shown.methods]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("release:N", sort=list(shown.releases), title=None, axis=alt.Axis(labelAngle=-60)),
        y=alt.Y(
            "seconds:Q",
            title=None,
            scale=alt.Scale(type="log", domain=domain, nice=False),
            axis=alt.Axis(values=_ticks(*domain), labelExpr=_labels(*domain)),
        ),
        color=alt.Color("method:N", sort=codes, title=None, scale=alt.Scale(domain=codes, range=SERIES[: len(codes)]), legend=_legend()),
    )
    environments = list(shown.environments)
    dashes = [DASHES[min(index, len(DASHES) - 1)] for index in range(len(environments))]
    lines = base.mark_line(strokeWidth=1.6).encode(
        detail="line:N",
        # the caption says which is which: a legend of its own does not fit a phone
        strokeDash=alt.StrokeDash("environment:N", scale=alt.Scale(domain=environments, range=dashes), legend=None),
    )
    points = base.mark_point(size=26, filled=True, opacity=1).encode(
        shape=alt.Shape("method:N", sort=codes, title=None, scale=alt.Scale(domain=codes, range=SHAPES[: len(codes)]), legend=_legend()),
        description="tip:N",
    )
    chart = (lines + points).properties(width=WIDTH, height=HEIGHT, background="transparent").configure(**_style())
    return _svg(chart.to_json())


def standalone(svg: str) -> str:
    """An SVG of this module as a file of its own: it brings the stylesheet's tokens along, light and dark."""
    tokens = STYLESHEET.read_text(encoding="utf-8").split("* {", 1)[0]
    return svg.replace("><", f"><style>{tokens}</style><", 1)


@cache
def _svg(specification: str) -> str:
    return str(vl_convert.vegalite_to_svg(specification))


def _legend() -> alt.Legend:
    return alt.Legend(orient="top", columns=2, labelLimit=260, symbolStrokeWidth=1.6)


def _ticks(low: float, high: float) -> list[float]:
    """1, 2, 5 and their tens inside the axis; where that leaves too few, even steps of one of them."""
    decades = range(int(log10(low)) - 2, int(log10(high)) + 2)
    ticks = [float(f"{step}e{decade}") for decade in decades for step in (1, 2, 5)]
    inside = [tick for tick in ticks if low <= tick <= high]
    if len(inside) >= 4:
        return inside
    step = next(tick for tick in ticks if (high - low) / tick <= 6)
    return [step * n for n in range(int(low / step) + 1, int(high / step) + 1)]


def _labels(low: float, high: float) -> str:
    """A Vega expression from a tick to its text: Vega's own formats know no µs."""
    cases = "".join(f"abs(datum.value / {tick!r} - 1) < 1e-6 ? '{rounded(tick)}' : " for tick in _ticks(low, high))
    return f"{cases}''"


def _style() -> dict[str, object]:
    text = {"labelColor": INK, "labelFont": "system-ui, sans-serif", "labelFontSize": 10.5}
    return {
        "axis": {**text, "gridColor": RULE, "domainColor": RULE, "tickColor": RULE, "labelPadding": 5},
        "axisX": {"grid": False},
        "legend": {**text, "rowPadding": 3, "columnPadding": 40, "symbolSize": 40},
        "view": {"stroke": None},
        "font": "system-ui, sans-serif",
    }
