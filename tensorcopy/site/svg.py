"""Small plots as SVG: axes, lines, bands, levels, marks and grids of changes. Pure.

The SVG is written by hand because the site has hundreds of plots: Vega-Lite takes 0.16 s and 60 kB for each, this module a few milliseconds
and 6 kB. Elements have classes and no colours; the stylesheet colours them, light and dark. Text stays text. A mark shows its value to a
pointer and to a screen reader; so does the tick of a change, below the axis, and it is a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, cos, floor, log2, log10, radians, sin
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeVar
from xml.sax.saxutils import escape, quoteattr

from tensorcopy.numbers import count, quantity, rounded, size

STYLESHEET = Path(__file__).parent / "static" / "tensorcopy.css"
WIDTH, HEIGHT = 480, 250
LEFT, RIGHT, TOP = 52, 10, 10
CHARACTER = 6.2  # width of a letter at font size 11
TICK = 8  # height of a row of ticks, and width of a tick
RISES = ("slower", "more", "higher")  # kinds of changes whose tick points up
SLANTED_GAP = 11  # between slanted names, their font size
CODE_CHARACTER = 6.7  # of a letter of code at that size
GRID_ROW, GRID_GAP = 22, 16  # the height of a cell of a grid, and between its parts
GRID_CELL, GRID_WIDEST, GRID_LAST, GRID_WIDTH = 86, 150, 102, 980  # the width of a cell, of the last column, and at least of the grid
GRID_CLEAR = 6  # between zero and the size of a change
ARROW = 3  # height and half the width of the arrow of an interval that ends outside
SHAPES = (
    "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
    "M-2.7-2.7h5.4v5.4h-5.4z",
    "M0-3.8l3.8 3.8l-3.8 3.8l-3.8-3.8z",
    "M0-3.6l3.6 6.4h-7.2z",
    "M-3.2-3.2l6.4 6.4m-6.4 0l6.4-6.4",
)  # relative to their first point
ENDS = ("dots", "squares")  # of a point that draws the first of SHAPES; such a point takes a fifth of the text
FIRST_POINT = re.compile(r"M(-?[\d.]+) ?(-?[\d.]+)")
T = TypeVar("T")
Coordinates = tuple[int, int]  # x and y
SLANT = radians(-55)  # of names
BELOW_NAMES, BELOW_NUMBERS, BELOW_NOTHING = 46, 34, 14  # height below the plot; names are slanted
BAR_SHARE = 0.74  # of the distance between two bars, their width
LEAST_SPAN = 1.25  # of a logarithmic axis of times, so that noise does not look like a change
Tick = tuple[float, str]


@dataclass(frozen=True)
class NameAxis:
    """A horizontal axis with a name at each position; "" for a position without one."""

    names: tuple[str, ...]

    @property
    def below(self) -> int:
        """The height below the plot."""
        return BELOW_NAMES if any(self.names) else BELOW_NOTHING

    def share(self, value: float) -> float:
        """Return the position of the value-th name."""
        return (value + 0.5) / len(self.names)

    def ticks(self) -> list[Tick]:
        """Return every name."""
        return [(place, name) for place, name in enumerate(self.names) if name]


@dataclass(frozen=True)
class NumelAxis:
    """A horizontal axis of numbers of elements: logarithmic to base 2, or linear from 0."""

    below: ClassVar[int] = BELOW_NUMBERS
    low: int
    high: int
    linear: bool = False

    def share(self, value: float) -> float:
        """Return the position of a number of elements."""
        if self.linear:
            return value / self.high
        if self.high == self.low:
            return 0.5
        return log2(value / self.low) / log2(self.high / self.low)

    def ticks(self) -> list[Tick]:
        """Return four linear steps, or at most nine powers of two."""
        if self.linear:
            return [(self.high * n / 4, size(round(self.high * n / 4)).removesuffix("B").rstrip() if n else "0") for n in range(5)]
        exponents = range(round(log2(self.low)), round(log2(self.high)) + 1)
        stride = ceil(len(exponents) / 9)
        return [(2.0**exponent, count(2**exponent)) for exponent in exponents if exponent % stride == 0]


@dataclass(frozen=True)
class ValueAxis:
    """A vertical axis of times or counts: logarithmic, or linear from 0.

    unit : of the values, as in `numbers.quantity`
    """

    low: float
    high: float
    linear: bool = False
    unit: str = "seconds"

    @classmethod
    def around(cls, values: Iterable[float], *, linear: bool = False, unit: str = "seconds") -> ValueAxis:
        """Return an axis that holds the values with a margin.

        A logarithmic one spans at least `LEAST_SPAN`.
        """
        if linear:
            known = [0.0, *values]
            margin = 0.05 * (max(known) - min(known) or 1.0)
            return cls(min(known) - margin * (min(known) < 0), max(known) + margin, linear=True, unit=unit)
        finite = [value for value in values if 0 < value < float("inf")] or [1e-6]
        low, high = min(finite), max(finite)
        middle, spread = (low * high) ** 0.5, max(high / low, LEAST_SPAN) * 1.08
        return cls(middle / spread**0.5, middle * spread**0.5, unit=unit)

    def share(self, value: float) -> float:
        """Return the position of a value."""
        if self.linear:
            return (value - self.low) / (self.high - self.low)
        if value <= 0:  # a count may be 0
            return 0.0
        return log10(value / self.low) / self._decades

    @cached_property
    def _decades(self) -> float:
        return log10(self.high / self.low)

    def ticks(self) -> list[Tick]:
        """Return round values within the axis."""
        if self.linear or self.high / self.low < 4:
            step = _round_step((self.high - self.low) / 5)
            values = [n * step for n in range(ceil(self.low / step), floor(self.high / step) + 1)]
        else:
            steps = (1, 2, 5) if self.high / self.low < 300 else (1,)
            decades = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
            values = [float(f"{step}e{decade}") for decade in decades for step in steps]
        return [(value, self._label(value) if value else "0") for value in values if self.low <= value <= self.high]

    def _label(self, value: float) -> str:
        if self.unit == "seconds":
            return rounded(value)
        return quantity(value, self.unit if self.unit in ("instructions", "bytes", "allocations", "B") else "")  # a unit may be long


@dataclass(frozen=True)
class RatioAxis:
    """A logarithmic axis of ratios, from minus to plus `limit`, a share."""

    limit: float

    def share(self, value: float) -> float:
        """Return the position of a ratio; no change is in the middle."""
        return 0.5 + log10(value) / log10(1 + self.limit) / 2


def _round_step(about: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at least `about`."""
    decade = floor(log10(about))
    return next(step for step in (float(f"{n}e{decade}") for n in (1, 2, 5, 10)) if step >= about * 0.999)


@dataclass(frozen=True)
class PlotPoint:
    """A point of a line.

    tip : its text for a pointer and a screen reader
    """

    x: float
    y: float
    tip: str = ""


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
    """The area between two values at each position; None is a gap. kind : an additional class"""

    points: Sequence[tuple[float, float, float] | None]  # x, low, high
    colour: int = 1
    kind: str = ""


@dataclass(frozen=True)
class Dots:
    """Small points that are not joined."""

    points: Sequence[tuple[float, float]]
    colour: int = 1


@dataclass(frozen=True)
class Bars:
    """One part of stacked bars.

    spans : position, lower and upper value, of each bar that has the part
    colour : its number in the stylesheet
    """

    spans: Sequence[tuple[float, float, float]]
    colour: int


@dataclass(frozen=True)
class Rule:
    """A vertical line with a label, or the tick of a detected change, whose label is what it shows to a pointer.

    kind : of a tick the verdict, such as "slower"; "before" for what ends there, with its label to the left; "gap" has its label
        upright, and no line
    href : where a tick leads
    """

    x: float
    label: str
    kind: str = ""
    href: str = ""


class Stroke(NamedTuple):
    """A part of a path, relative to its start."""

    start: Coordinates
    path: str
    end: Coordinates


@dataclass(frozen=True)
class Plot:
    """A plot; `label` describes it in a sentence.

    ticks : changes, below the axis: those up in one row, those down in the next
    kind : an additional class: the script shows the rows of a position of a "case"
    """

    label: str
    x: NameAxis | NumelAxis
    y: ValueAxis
    lines: Sequence[Line] = ()
    bands: Sequence[Band] = ()
    bars: Sequence[Bars] = ()
    dots: Sequence[Dots] = ()
    rules: Sequence[Rule] = ()
    ticks: Sequence[Rule] = ()
    kind: str = ""

    def svg(self) -> str:
        """Return an SVG element without colours or styles."""
        parts = [*_grid(self), *(_band(self, band) for band in self.bands), *(_rule(self, rule) for rule in self.rules)]
        parts += [_bars(self)] if self.bars else []
        parts += [_dots(self, dots) for dots in self.dots if dots.points]
        parts += [_line(self, line) for line in self.lines]
        parts += [_ticks(self)] if self.ticks else []
        parts += [_marks(self, line) for line in self.lines]
        attributes = f'xmlns="http://www.w3.org/2000/svg" class="plot{_kind(self.kind)}" viewBox="0 0 {WIDTH} {HEIGHT}"'
        return f"<svg {attributes} aria-label={quoteattr(self.label)}>{''.join(parts)}</svg>"

    @cached_property
    def bottom(self) -> float:
        """Where the values end, above the horizontal axis' texts."""
        return HEIGHT - self.x.below - self.below_ticks

    @property
    def below_ticks(self) -> int:
        """The height of the ticks, between the axis and its names."""
        return 2 * TICK if self.ticks else 0

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the coordinates of a value."""
        return self.across(x), self.bottom - (self.bottom - TOP) * min(1.0, max(0.0, self.y.share(y)))

    def across(self, x: float) -> float:
        """Return the horizontal coordinate of a value."""
        return LEFT + (WIDTH - LEFT - RIGHT) * self.x.share(x)


@dataclass(frozen=True)
class GridCell:
    """A change in a grid: a horizontal line from low to high with a dot.

    kind : a class, such as a verdict
    size : beside it, "" for none; href : where that leads, "" for nowhere
    """

    low: float
    middle: float
    high: float
    kind: str
    size: str = ""
    href: str = ""


@dataclass(frozen=True)
class GridRow:
    """A row of a grid.

    cells : of each column; None for an empty one
    others : what stands in the last column, each part with its class
    """

    name: str
    href: str
    cells: Sequence[GridCell | None]
    others: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class ChangeGrid:
    """Changes by row and column, with their intervals on one axis; `label` describes them in a sentence.

    others : the name of the last column
    sections : rows by heading
    axis : of each cell
    """

    label: str
    columns: Sequence[str]
    others: str
    sections: Mapping[str, Sequence[GridRow]]
    axis: RatioAxis

    def svg(self) -> str:
        """Return an SVG element without colours or styles."""
        rows, centres = [row for of_section in self.sections.values() for row in of_section], self._centres
        right = self._left + self._cell_width * len(self.columns)
        width, height = max(GRID_WIDTH, right + GRID_LAST), GRID_ROW * (len(rows) + len(self.sections) + 1)
        heads = "".join(f'<text x="{x}" y="14">{escape(name)}</text>' for x, name in zip(centres, self.columns))
        heads += f'<text x="{right + GRID_LAST // 2}" y="14">{escape(self.others)}</text>'
        lines, titles, names, sizes, others = "", "", "", "", ""
        strokes: dict[str, list[Stroke]] = {}
        dots: dict[str, list[Coordinates]] = {}
        y = GRID_ROW
        for title, of_section in self.sections.items():
            titles += f'<text x="0" y="{y + 16}">{escape(title)}</text>'
            y += GRID_ROW
            lines += "".join(f"M{x} {y}v{GRID_ROW * len(of_section)}" for x in centres)
            for row in of_section:
                lines += f"M0 {y}H{width}"
                middle = y + GRID_ROW // 2
                names += f'<a href={quoteattr(row.href)}><text x="0" y="{middle}">{escape(row.name)}</text></a>'
                for zero, cell in zip(centres, row.cells):
                    if cell:
                        strokes.setdefault(cell.kind, []).extend(self._whisker(cell, zero, middle))
                        dots.setdefault(cell.kind, []).append((self._across(zero, cell.middle), middle))
                        sizes += _size_beside(cell, zero, middle) if cell.size else ""
                for place, (kind, text) in enumerate(row.others):
                    x = right + GRID_GAP + place * (GRID_LAST - GRID_GAP) // 2
                    others += f'<text class="{kind}" x="{x}" y="{middle}">{escape(text)}</text>'
                y += GRID_ROW
        whiskers = "".join(
            f'<g class="whisker {kind}"><path d="{_joined(of_kind)}"/><path class="dot" d="{_points(dots[kind])}"/></g>'
            for kind, of_kind in strokes.items()
        )
        attributes = f'xmlns="http://www.w3.org/2000/svg" class="plot by-method" viewBox="0 0 {width} {height}"'
        return (
            f'<svg {attributes} aria-label={quoteattr(self.label)}><path class="grid" d="{lines}"/><g class="x">{heads}</g>'
            f'<g class="title">{titles}</g><g class="code">{names}</g>{whiskers}<g class="sizes">{sizes}{others}</g></svg>'
        )

    @property
    def _left(self) -> int:
        """Where the first cell begins, behind the longest name."""
        return GRID_GAP + round(CODE_CHARACTER * max(len(row.name) for of_section in self.sections.values() for row in of_section))

    @cached_property
    def _cell_width(self) -> int:
        """The width of a cell: few columns are wider."""
        return min(GRID_WIDEST, max(GRID_CELL, (GRID_WIDTH - self._left - GRID_LAST) // len(self.columns)))

    @property
    def _centres(self) -> list[int]:
        """Where no change is, of each column."""
        return [self._left + self._cell_width * place + self._cell_width // 2 for place in range(len(self.columns))]

    def _across(self, zero: int, ratio: float) -> int:
        """Return the horizontal coordinate of a ratio in a cell."""
        return round(zero + (self._cell_width - GRID_GAP // 2) * (min(1.0, max(0.0, self.axis.share(ratio))) - 0.5))

    def _whisker(self, cell: GridCell, zero: int, y: int) -> list[Stroke]:
        """Return the line of a cell, and an arrow at each end outside the axis."""
        low, high = self._across(zero, cell.low), self._across(zero, cell.high)
        strokes = [Stroke((low, y), f"h{high - low}", (high, y))]
        for is_outside, edge, arrow in ((self.axis.share(cell.low) < 0, low, ARROW), (self.axis.share(cell.high) > 1, high, -ARROW)):
            if is_outside:
                path = f"l{_step((0, 0), (-arrow, ARROW))}l{_step((0, 0), (arrow, ARROW))}"
                strokes.append(Stroke((edge + arrow, y - ARROW), path, (edge + arrow, y + ARROW)))
        return strokes


def _size_beside(cell: GridCell, zero: int, y: int) -> str:
    """Return the size of a change on the other side of zero than its line, with its link."""
    is_left = cell.middle > 1
    x, anchor = (zero - GRID_CLEAR, ' text-anchor="end"') if is_left else (zero + GRID_CLEAR, "")
    text = f'<text class="{cell.kind}" x="{x}" y="{y}"{anchor}>{escape(cell.size)}</text>'
    return f"<a href={quoteattr(cell.href)}>{text}</a>" if cell.href else text


def _grid(plot: Plot) -> list[str]:
    """Return the horizontal lines with their values, and the axis with its names."""
    ticks = [(_number(plot.at(plot.x.low if isinstance(plot.x, NumelAxis) else 0, value)[1]), text) for value, text in plot.y.ticks()]
    right = WIDTH - RIGHT
    lines = "".join(f"M{LEFT} {y}H{right}" for y, _ in ticks)
    texts = "".join(f'<text x="{LEFT - 6}" y="{y}">{escape(text)}</text>' for y, text in ticks)
    axis = f'<path class="axis" d="M{LEFT} {_number(plot.bottom)}H{right}"/>'
    return [f'<path class="grid" d="{lines}"/><g class="y">{texts}</g>{axis}', _names(plot)]


def _names(plot: Plot) -> str:
    """Return the texts below the horizontal axis, without overlapping ones."""
    slanted = isinstance(plot.x, NameAxis)
    parts, last = [], float("-inf")
    for value, text in plot.x.ticks():
        x = plot.across(value)
        if x - last < (SLANTED_GAP if slanted else len(text) * CHARACTER):
            continue
        last = x
        y = plot.bottom + plot.below_ticks + (12 if slanted else 18)
        across, down = (x * cos(SLANT) + y * sin(SLANT), y * cos(SLANT) - x * sin(SLANT)) if slanted else (x, y)
        parts.append(f'<text x="{_number(across)}" y="{_number(down)}">{escape(text)}</text>')
    return f'<g class="n" transform="rotate(-55)">{"".join(parts)}</g>' if slanted else f'<g class="x">{"".join(parts)}</g>'


def _line(plot: Plot, line: Line) -> str:
    """Draw a line; of equal values in a row only the first and the last."""
    path = ""
    for stretch in stretches(line.points):
        ends = zip([None, *stretch], stretch, [*stretch[1:], None])
        points = [point for before, point, after in ends if not before or not after or not before.y == point.y == after.y]
        path += outline([_place(plot, point.x, point.y) for point in points])
    return f'<path class="line s{line.colour}{_kind(line.kind)}" d="{path}"/>' if path else ""


def _marks(plot: Plot, line: Line) -> str:
    """Draw the marks of a line: those with a text one by one, others as one path."""
    if line.shape < 0:
        return ""
    plain, marks = [], []
    for point in line.points:
        if point is not None:
            place = _place(plot, point.x, point.y)
            if point.tip:
                marks.append(f'<g><title>{escape(point.tip)}</title><path d="{_shapes(line.shape, [place])}"/></g>')
            else:
                plain.append(place)
    marks += [f'<path d="{_shapes(line.shape, plain)}"/>'] if plain else []
    if not marks:
        return ""
    ends = dict(enumerate(ENDS)).get(line.shape % len(SHAPES), "")
    return f'<g class="mark s{line.colour}{_kind(ends)}{_kind(line.kind)}">{"".join(marks)}</g>'


def _shapes(number: int, places: Sequence[Coordinates]) -> str:
    """Return the path of a mark at each place."""
    if number % len(SHAPES) < len(ENDS):
        return _points(places)
    shape = SHAPES[number % len(SHAPES)]
    first = FIRST_POINT.match(shape)
    right, down = (float(first[1]), float(first[2])) if first else (0.0, 0.0)
    return "".join(f"M{_number(x + right)} {_number(y + down)}{shape[first.end() if first else 0 :]}" for x, y in places)


def _band(plot: Plot, band: Band) -> str:
    """Draw each stretch without a gap as an outline, and a single position as a bar."""
    path = []
    for stretch in stretches(band.points):
        if len(stretch) == 1:
            x, low, high = stretch[0]
            (left, bottom), (_, top) = plot.at(x, low), plot.at(x, high)
            path.append(f"M{_number(left - 3)} {_number(bottom)}h6V{_number(top)}h-6z")
        else:
            upper = [plot.at(x, high) for x, _, high in stretch]
            lower = [plot.at(x, low) for x, low, _ in reversed(stretch)]
            path.append(outline([(round(x), round(y)) for x, y in upper + lower]) + "z")
    return f'<path class="band s{band.colour}{_kind(band.kind)}" d="{"".join(path)}"/>'


def _dots(plot: Plot, dots: Dots) -> str:
    return f'<path class="launches s{dots.colour}" d="{_points([_place(plot, x, y) for x, y in dots.points])}"/>'


def _bars(plot: Plot) -> str:
    """Draw stacked bars: of each part one path, whose strokes are as wide as the bars."""
    width = BAR_SHARE * (plot.across(1) - plot.across(0))
    paths = []
    for bars in plot.bars:
        spans = [(_place(plot, x, low), _place(plot, x, high)) for x, low, high in bars.spans]
        strokes = [Stroke(bottom, f"v{top[1] - bottom[1]}", top) for bottom, top in spans if bottom != top]
        paths += [f'<path class="p{bars.colour}" d="{_joined(strokes)}"/>'] if strokes else []
    return f'<g class="bars" stroke-width="{_number(width)}">{"".join(paths)}</g>'


def _joined(strokes: Sequence[Stroke]) -> str:
    """Return a path of strokes, each relative to the one before, which takes less text."""
    first, *others = strokes
    moves = [f"m{_step(before.end, stroke.start)}{stroke.path}" for before, stroke in zip(strokes, others)]
    return "".join([f"M{first.start[0]} {first.start[1]}{first.path}", *moves])


def _points(places: Sequence[Coordinates]) -> str:
    """Return a path of points."""
    return _joined([Stroke(place, "h0", place) for place in places])


def _rule(plot: Plot, rule: Rule) -> str:
    """Draw the line with its label to the left, or the label of a gap."""
    x = plot.across(rule.x)
    if rule.kind == "gap":
        return f'<text class="gap" transform="rotate(-90)" x="{_number(6 - plot.bottom)}" y="{_number(x)}">{escape(rule.label)}</text>'
    line = f'<path class="rule{_kind(rule.kind)}" d="M{_number(x)} {TOP}V{_number(plot.bottom)}"/>'
    return f'{line}<text class="rule end" x="{_number(x - 4)}" y="{TOP + 8}">{escape(rule.label)}</text>'


def _ticks(plot: Plot) -> str:
    """Draw a tick for each change, an arrow up or down: those with a label one by one, others of a kind as one path."""
    parts, plain = [], dict[str, str]()
    for tick in plot.ticks:
        up = tick.kind in RISES
        top = f"{round(plot.across(tick.x))} {round(plot.bottom) + (3 if up else 2 * TICK)}"  # of an arrow, its point
        path = f"M{top}l3 {'6' if up else '-6'}h-6z"
        if tick.label:
            parts.append(f'<a class="{tick.kind}" href={quoteattr(tick.href)}><title>{escape(tick.label)}</title><path d="{path}"/></a>')
        else:
            plain[tick.kind] = plain.get(tick.kind, "") + path
    parts += [f'<path class="{kind}" d="{path}"/>' for kind, path in plain.items()]
    return f'<g class="ticks">{"".join(parts)}</g>'


def stretches(points: Sequence[T | None]) -> list[list[T]]:
    """Divide points at the gaps."""
    stretches: list[list[T]] = [[]]
    for point in points:
        if point is None:
            stretches.append([])
        else:
            stretches[-1].append(point)
    return [stretch for stretch in stretches if stretch]


def outline(points: Sequence[Coordinates]) -> str:
    """Return a path through points, each relative to the one before, which takes less text."""
    lines = [f"h{end[0] - start[0]}" if start[1] == end[1] else f"l{_step(start, end)}" for start, end in zip(points, points[1:])]
    return "".join([f"M{points[0][0]} {points[0][1]}", *lines])


def _step(start: Coordinates, end: Coordinates) -> str:
    """Return the way from one point to another; a minus sign needs no space before it."""
    across, down = end[0] - start[0], end[1] - start[1]
    return f"{across}{'' if down < 0 else ' '}{down}"


def _place(plot: Plot, x: float, y: float) -> Coordinates:
    """Return the coordinates of a value in whole numbers."""
    across, down = plot.at(x, y)
    return round(across - 0.01), round(down)  # a half is always rounded down, so that equal distances stay equal


def _kind(kind: str) -> str:
    return f" {kind}" if kind else ""


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


@lru_cache
def colours() -> dict[str, tuple[str, str]]:
    """Return the stylesheet's colours by name, each light and dark."""
    tokens = re.findall(r"^  --([a-z0-9-]+): light-dark\((.+?), (.+?)\);$", STYLESHEET.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: (light, dark) for name, light, dark in tokens}
