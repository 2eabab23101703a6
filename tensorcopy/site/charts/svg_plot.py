"""Small plots as SVG: lines, bands, levels, whiskers and marks. Pure.

The SVG is written by hand because the site has hundreds of plots: Vega-Lite takes 0.16 s and 60 kB for each, this module a few milliseconds
and 6 kB. Elements have classes and no colours; the stylesheet colours them, light and dark. Text stays text. A mark shows its value to a
pointer and to a screen reader, and may be a link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from tensorcopy.site.charts.axes import NameAxis, NumelAxis, OrdinalAxis, RatioAxis, ValueAxis

WIDTH, HEIGHT = 480, 250
LEFT, RIGHT, TOP = 52, 10, 10
CHARACTER = 6.2  # width of a letter at font size 11
SLANTED_GAP = 11  # between slanted names, their font size
SHAPES = (
    "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
    "M-2.7-2.7h5.4v5.4h-5.4z",
    "M0-3.8L3.8 0L0 3.8L-3.8 0z",
    "M0-3.6L3.6 2.8h-7.2z",
    "M-3.2-3.2L3.2 3.2M-3.2 3.2L3.2-3.2",
)


@dataclass(frozen=True)
class Whiskers:
    """Vertical lines from low to high with a dot each, drawn as one path of one class."""

    points: Sequence[tuple[float, float, float, float]]  # x, low, middle, high
    kind: str


@dataclass(frozen=True)
class PlotPoint:
    """A point of a line.

    tip : its text for a pointer and a screen reader
    href : its link; "" for none
    """

    x: float
    y: float
    tip: str = ""
    href: str = ""


@dataclass(frozen=True)
class Line:
    """Consecutive points, joined; None is a gap.

    colour : 1 to 5, a series of the stylesheet
    shape : of its marks; -1 for none
    kind : an additional class, such as "baseline" or "old"
    """

    points: Sequence[PlotPoint | None]
    colour: int = 1
    shape: int = 0
    kind: str = ""


@dataclass(frozen=True)
class Band:
    """The area between two values at each position; None is a gap."""

    points: Sequence[tuple[float, float, float] | None]  # x, low, high
    colour: int = 1


@dataclass(frozen=True)
class Rule:
    """A vertical line with a label, such as a detected change."""

    x: float
    label: str
    kind: str = "step"


@dataclass(frozen=True)
class Plot:
    """A plot; `label` describes it in a sentence."""

    label: str
    x: NameAxis | NumelAxis | OrdinalAxis
    y: ValueAxis | RatioAxis
    lines: Sequence[Line] = ()
    bands: Sequence[Band] = ()
    rules: Sequence[Rule] = ()
    whiskers: Sequence[Whiskers] = ()

    def svg(self) -> str:
        """Return an SVG element without colours or styles."""
        parts = [*_grid(self), *(_band(self, band) for band in self.bands), *(_rule(self, rule) for rule in self.rules)]
        parts += [_line(self, line) for line in self.lines]
        parts += [mark for line in self.lines for mark in _marks(self, line)]
        parts += [_whiskers(self, whiskers) for whiskers in self.whiskers]
        attributes = f'xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 {WIDTH} {HEIGHT}"'
        return f"<svg {attributes} aria-label={quoteattr(self.label)}>{''.join(parts)}</svg>"

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the coordinates of a value."""
        return (
            LEFT + (WIDTH - LEFT - RIGHT) * self.x.share(x),
            HEIGHT - self.x.below - (HEIGHT - self.x.below - TOP) * min(1.0, max(0.0, self.y.share(y))),
        )


def _grid(plot: Plot) -> list[str]:
    bottom = HEIGHT - plot.x.below
    parts = []
    for value, text in plot.y.ticks():
        y = _number(plot.at(plot.x.low if isinstance(plot.x, NumelAxis) else 0, value)[1])
        parts.append(
            f'<path class="grid" d="M{LEFT} {y}H{WIDTH - RIGHT}"/><text x="{LEFT - 6}" y="{y}" dy=".32em" class="y">{escape(text)}</text>'
        )
    parts.append(f'<path class="axis" d="M{LEFT} {bottom}H{WIDTH - RIGHT}"/>')
    return parts + _names(plot, bottom)


def _names(plot: Plot, bottom: float) -> list[str]:
    """Return the texts below the horizontal axis, without overlapping ones."""
    parts, last = [], float("-inf")
    for value, text in plot.x.ticks():
        x = plot.at(value, plot.y.low or 1)[0]
        slanted = isinstance(plot.x, NameAxis)
        if x - last < (SLANTED_GAP if slanted else len(text) * CHARACTER):
            continue
        last = x
        if slanted:
            attributes = f'y="{bottom + 12}" class="n" transform="rotate(-55 {_number(x)} {bottom + 12})"'
        else:
            attributes = f'y="{bottom + 18}" class="x"'
        parts.append(f'<text x="{_number(x)}" {attributes}>{escape(text)}</text>')
    return parts


def _line(plot: Plot, line: Line) -> str:
    path, command = [], "M"
    for point in line.points:
        if point is None:
            command = "M"
        else:
            x, y = plot.at(point.x, point.y)
            path.append(f"{command}{_number(x)} {_number(y)}")
            command = "L"
    return f'<path class="line s{line.colour}{_kind(line.kind)}" d="{"".join(path)}"/>'


def _marks(plot: Plot, line: Line) -> list[str]:
    if line.shape < 0:
        return []
    marks = []
    for point in line.points:
        if point is not None:
            x, y = plot.at(point.x, point.y)
            title = f"<title>{escape(point.tip)}</title>" if point.tip else ""
            attributes = f'transform="translate({_number(x)} {_number(y)})" d="{SHAPES[line.shape % len(SHAPES)]}"'
            mark = f'<path class="mark s{line.colour}{_kind(line.kind)}" {attributes}'
            marks.append(f"<a href={quoteattr(point.href)}>{title}{mark}/></a>" if point.href else f"{mark}>{title}</path>")
    return marks


def _band(plot: Plot, band: Band) -> str:
    """Draw each stretch without a gap as an outline, and a single position as a bar."""
    path = []
    for stretch in _stretches(band.points):
        if len(stretch) == 1:
            x, low, high = stretch[0]
            (left, bottom), (_, top) = plot.at(x, low), plot.at(x, high)
            path.append(f"M{_number(left - 3)} {_number(bottom)}h6V{_number(top)}h-6z")
        else:
            upper = [plot.at(x, high) for x, _, high in stretch]
            lower = [plot.at(x, low) for x, low, _ in reversed(stretch)]
            path.append("M" + "L".join(f"{_number(x)} {_number(y)}" for x, y in upper + lower) + "z")
    return f'<path class="band s{band.colour}" d="{"".join(path)}"/>'


def _whiskers(plot: Plot, whiskers: Whiskers) -> str:
    lines, dots = [], []
    for position, low, middle, high in whiskers.points:
        (x, bottom), (_, centre), (_, top) = plot.at(position, low), plot.at(position, middle), plot.at(position, high)
        lines.append(f"M{_number(x)} {_number(bottom)}V{_number(top)}")
        dots.append(f"M{_number(x)} {_number(centre)}h0")
    return f'<path class="whisker {whiskers.kind}" d="{"".join(lines)}"/><path class="dot {whiskers.kind}" d="{"".join(dots)}"/>'


def _stretches(points: Sequence[tuple[float, float, float] | None]) -> list[list[tuple[float, float, float]]]:
    """Divide points at the gaps."""
    stretches: list[list[tuple[float, float, float]]] = [[]]
    for point in points:
        if point is None:
            stretches.append([])
        else:
            stretches[-1].append(point)
    return [stretch for stretch in stretches if stretch]


def _rule(plot: Plot, rule: Rule) -> str:
    """Draw the line with its label to the right, or to the left near the right edge."""
    x = plot.at(rule.x, plot.y.low or 1)[0]
    left = x > WIDTH * 0.7
    line = f'<path class="rule{_kind(rule.kind)}" d="M{_number(x)} {TOP}V{HEIGHT - plot.x.below}"/>'
    kind = "rule end" if left else "rule"
    return f'{line}<text class="{kind}" x="{_number(x - 4 if left else x + 4)}" y="{TOP + 8}">{escape(rule.label)}</text>'


def _kind(kind: str) -> str:
    return f" {kind}" if kind else ""


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
