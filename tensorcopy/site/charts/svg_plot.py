"""Small plots as SVG: lines, bands, levels and marks over a named or a numeric axis. Pure.

Drawn by hand, for there are hundreds of them: Vega-Lite takes 0.16 s and 60 kB for each, this a few milliseconds and 6 kB. Nothing is
coloured here: classes name what a thing is, and the stylesheet's tokens colour it, light and dark. Text stays text, a mark tells its number
to a pointer and to a screen reader, and may be a link.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log2, log10
from xml.sax.saxutils import escape, quoteattr

from tensorcopy.report.units import count, rounded, size

WIDTH, HEIGHT = 480, 250
LEFT, RIGHT, TOP = 52, 10, 10
BELOW_NAMES, BELOW_NUMBERS = 46, 34  # names stand at a slant
CHARACTER = 6.2  # units wide, of the 11 that a letter is high
LEAST_SPAN = 1.25  # of a logarithmic axis of times, so that noise does not look like drama
SHAPES = (
    "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
    "M-2.7-2.7h5.4v5.4h-5.4z",
    "M0-3.8L3.8 0L0 3.8L-3.8 0z",
    "M0-3.6L3.6 2.8h-7.2z",
    "M-3.2-3.2L3.2 3.2M-3.2 3.2L3.2-3.2",
)


@dataclass(frozen=True)
class Names:
    """A horizontal axis of names, one place each."""

    names: tuple[str, ...]

    below = BELOW_NAMES

    def part(self, value: float) -> float:
        return (value + 0.5) / len(self.names)

    def ticks(self) -> list[tuple[float, str]]:
        return list(enumerate(self.names))


@dataclass(frozen=True)
class Numels:
    """A horizontal axis of numbers of elements: logarithmic to base 2, or linear."""

    low: int
    high: int
    linear: bool = False

    below = BELOW_NUMBERS

    def part(self, value: float) -> float:
        if self.high == self.low:
            return 0.5
        if self.linear:
            return (value - self.low) / (self.high - self.low)
        return log2(value / self.low) / log2(self.high / self.low)

    def ticks(self) -> list[tuple[float, str]]:
        if self.linear:
            return [(self.high * n / 4, size(round(self.high * n / 4)).removesuffix("B").rstrip() if n else "0") for n in range(5)]
        exponents = range(round(log2(self.low)), round(log2(self.high)) + 1)
        every = ceil(len(exponents) / 9)
        return [(2.0**exponent, count(2**exponent)) for exponent in exponents if exponent % every == 0]


@dataclass(frozen=True)
class Seconds:
    """A vertical axis of times: logarithmic, or linear from 0."""

    low: float
    high: float
    linear: bool = False

    @classmethod
    def around(cls, values: Iterable[float], *, linear: bool = False) -> Seconds:
        """An axis that holds the values with some room; a logarithmic one spans at least `LEAST_SPAN`."""
        found = [value for value in values if 0 < value < float("inf")] or [1e-6]
        low, high = min(found), max(found)
        if linear:
            return cls(0.0, high * 1.05, linear=True)
        middle, spread = (low * high) ** 0.5, max(high / low, LEAST_SPAN) * 1.08
        return cls(middle / spread**0.5, middle * spread**0.5)

    def part(self, value: float) -> float:
        if self.linear:
            return (value - self.low) / (self.high - self.low)
        return log10(value / self.low) / log10(self.high / self.low)

    def ticks(self) -> list[tuple[float, str]]:
        if self.linear or self.high / self.low < 4:
            step = _round_step((self.high - self.low) / 5)
            values = [n * step for n in range(ceil(self.low / step), floor(self.high / step) + 1)]
        else:
            steps = (1, 2, 5) if self.high / self.low < 300 else (1,)
            decades = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
            values = [float(f"{step}e{decade}") for decade in decades for step in steps]
        return [(value, rounded(value) if value else "0") for value in values if self.low <= value <= self.high]


@dataclass(frozen=True)
class Places:
    """A horizontal axis of so many places without names."""

    number: int

    below = 14

    def part(self, value: float) -> float:
        return (value + 0.5) / self.number

    def ticks(self) -> list[tuple[float, str]]:
        return []


@dataclass(frozen=True)
class Ratios:
    """A vertical axis of ratios, logarithmic, as changes in per cent; it ends at plus and minus `widest`, a share."""

    widest: float

    low = 1.0

    def part(self, value: float) -> float:
        return 0.5 + log10(value) / log10(1 + self.widest) / 2

    def ticks(self) -> list[tuple[float, str]]:
        step = _round_step(self.widest / 3)
        shares = [n * step for n in range(floor(self.widest / step) + 1)]
        there = [1 + share for share in shares] + [1 / (1 + share) for share in shares[1:]]
        return [(ratio, f"{100 * (ratio - 1):+.0f} %".replace("-", "−") if ratio != 1 else "0") for ratio in there]


@dataclass(frozen=True)
class Whiskers:
    """A vertical line from low to high at each place, and a dot on it; all of one kind are one path."""

    points: Sequence[tuple[float, float, float, float]]  # x, low, middle, high
    kind: str


@dataclass(frozen=True)
class Point:
    """A place on a line. `tip` is what a pointer over it reads; `href` where it leads."""

    x: float
    y: float
    tip: str = ""
    href: str = ""


@dataclass(frozen=True)
class Line:
    """Points joined where they follow on each other; None is a gap.

    colour : 1 to 5, of the stylesheet's series; shape : of its marks, -1 for none; kind : a class more, such as "floor" or "old"
    """

    points: Sequence[Point | None]
    colour: int = 1
    shape: int = 0
    kind: str = ""


@dataclass(frozen=True)
class Band:
    """What lies between two values at each place; None is a gap."""

    points: Sequence[tuple[float, float, float] | None]  # x, low, high
    colour: int = 1


@dataclass(frozen=True)
class Rule:
    """A vertical line with a word: a step, a machine that changed."""

    x: float
    word: str
    kind: str = "step"


@dataclass(frozen=True)
class Plot:
    """A picture. `label` says in a sentence what it shows."""

    label: str
    x: Names | Numels | Places
    y: Seconds | Ratios
    lines: Sequence[Line] = ()
    bands: Sequence[Band] = ()
    rules: Sequence[Rule] = ()
    whiskers: Sequence[Whiskers] = ()

    def svg(self) -> str:
        """An SVG element, text as text, without a colour or a style of its own."""
        parts = [*_grid(self), *(_band(self, band) for band in self.bands), *(_rule(self, rule) for rule in self.rules)]
        parts += [_line(self, line) for line in self.lines]
        parts += [mark for line in self.lines for mark in _marks(self, line)]
        parts += [_whiskers(self, some) for some in self.whiskers]
        place = f'xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 {WIDTH} {HEIGHT}"'
        return f"<svg {place} aria-label={_quoted(self.label)}>{''.join(parts)}</svg>"

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a value lies, in units of the picture."""
        return (
            LEFT + (WIDTH - LEFT - RIGHT) * self.x.part(x),
            HEIGHT - self.x.below - (HEIGHT - self.x.below - TOP) * min(1.0, max(0.0, self.y.part(y))),
        )


def _grid(plot: Plot) -> list[str]:
    bottom = HEIGHT - plot.x.below
    parts = []
    for value, text in plot.y.ticks():
        y = _number(plot.at(plot.x.low if isinstance(plot.x, Numels) else 0, value)[1])
        parts.append(
            f'<path class="grid" d="M{LEFT} {y}H{WIDTH - RIGHT}"/><text x="{LEFT - 6}" y="{y}" dy=".32em" class="y">{escape(text)}</text>'
        )
    parts.append(f'<path class="axis" d="M{LEFT} {bottom}H{WIDTH - RIGHT}"/>')
    slant = isinstance(plot.x, Names)
    last = -1e9
    for value, text in plot.x.ticks():
        x = plot.at(value, plot.y.low or 1)[0]
        if x - last < (11 if slant else len(text) * CHARACTER):
            continue  # it would stand on the one before
        last = x
        machine_differences = f' transform="rotate(-55 {_number(x)} {bottom + 12})"' if slant else ""
        parts.append(
            f'<text x="{_number(x)}" y="{bottom + (12 if slant else 18)}" class="{"n" if slant else "x"}"{machine_differences}>{escape(text)}</text>'
        )
    return parts


def _line(plot: Plot, line: Line) -> str:
    drawn, pen = [], "M"
    for point in line.points:
        if point is None:
            pen = "M"
        else:
            x, y = plot.at(point.x, point.y)
            drawn.append(f"{pen}{_number(x)} {_number(y)}")
            pen = "L"
    return f'<path class="line s{line.colour}{_kind(line.kind)}" d="{"".join(drawn)}"/>'


def _marks(plot: Plot, line: Line) -> list[str]:
    if line.shape < 0:
        return []
    found = []
    for point in line.points:
        if point is not None:
            x, y = plot.at(point.x, point.y)
            title = f"<title>{escape(point.tip)}</title>" if point.tip else ""
            place = f'transform="translate({_number(x)} {_number(y)})" d="{SHAPES[line.shape % len(SHAPES)]}"'
            mark = f'<path class="mark s{line.colour}{_kind(line.kind)}" {place}'
            found.append(f"<a href={_quoted(point.href)}>{title}{mark}/></a>" if point.href else f"{mark}>{title}</path>")
    return found


def _band(plot: Plot, band: Band) -> str:
    """Each stretch without a gap as an outline; a single place as a bar."""
    drawn = []
    for stretch in _stretches(band.points):
        if len(stretch) == 1:
            x, low, high = stretch[0]
            (left, bottom), (_, top) = plot.at(x, low), plot.at(x, high)
            drawn.append(f"M{_number(left - 3)} {_number(bottom)}h6V{_number(top)}h-6z")
        else:
            there = [plot.at(x, high) for x, _, high in stretch]
            back = [plot.at(x, low) for x, low, _ in reversed(stretch)]
            drawn.append("M" + "L".join(f"{_number(x)} {_number(y)}" for x, y in there + back) + "z")
    return f'<path class="band s{band.colour}" d="{"".join(drawn)}"/>'


def _whiskers(plot: Plot, some: Whiskers) -> str:
    lines, dots = [], []
    for place, low, middle, high in some.points:
        (x, bottom), (_, at), (_, top) = plot.at(place, low), plot.at(place, middle), plot.at(place, high)
        lines.append(f"M{_number(x)} {_number(bottom)}V{_number(top)}")
        dots.append(f"M{_number(x)} {_number(at)}h0")
    return f'<path class="whisker {some.kind}" d="{"".join(lines)}"/><path class="dot {some.kind}" d="{"".join(dots)}"/>'


def _stretches(points: Sequence[tuple[float, float, float] | None]) -> list[list[tuple[float, float, float]]]:
    found: list[list[tuple[float, float, float]]] = [[]]
    for point in points:
        if point is None:
            found.append([])
        else:
            found[-1].append(point)
    return [stretch for stretch in found if stretch]


def _rule(plot: Plot, rule: Rule) -> str:
    """The line, and its word beside it: to its left where it stands far to the right."""
    x = plot.at(rule.x, plot.y.low or 1)[0]
    left = x > WIDTH * 0.7
    line = f'<path class="rule{_kind(rule.kind)}" d="M{_number(x)} {TOP}V{HEIGHT - plot.x.below}"/>'
    kind = "rule end" if left else "rule"
    return f'{line}<text class="{kind}" x="{_number(x - 4 if left else x + 4)}" y="{TOP + 8}">{escape(rule.word)}</text>'


def _kind(kind: str) -> str:
    return f" {kind}" if kind else ""


def _round_step(about: float) -> float:
    """1, 2 or 5 times a power of ten, not less than `about`."""
    decade = floor(log10(about))
    return next(step for step in (float(f"{n}e{decade}") for n in (1, 2, 5, 10)) if step >= about * 0.999)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _quoted(text: str) -> str:
    """An attribute's value, in quotes."""
    return quoteattr(text)
