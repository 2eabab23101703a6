"""What a plot shows: points, lines, bands, whiskers, and labelled vertical lines. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Whisker:
    """A vertical line from low to high with a dot; an end outside the axis is drawn as an arrow.

    kind : a class, such as a verdict
    """

    x: float
    low: float
    middle: float
    high: float
    kind: str


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
    """The area between two values at each position; None is a gap."""

    points: Sequence[tuple[float, float, float] | None]  # x, low, high
    colour: int = 1


@dataclass(frozen=True)
class Rule:
    """A vertical line with a label: a flag for a detected change; other kinds stand beside their line.

    kind : "slower", "faster", "more" or "fewer" for a change; "section", "machine" or "gap"
    tip, href : as of a `PlotPoint`
    """

    x: float
    label: str
    kind: str = ""
    tip: str = ""
    href: str = ""
