"""Axes of plots: positions of values as shares of the axis, and ticks. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log2, log10
from typing import ClassVar

from tensorcopy.report.numbers import count, quantity, rounded, size

BELOW_NAMES, BELOW_NUMBERS, BELOW_ORDINALS = 46, 34, 14  # height below the plot; names are slanted
LEAST_SPAN = 1.25  # of a logarithmic axis of times, so that noise does not look like a change
Tick = tuple[float, str]


@dataclass(frozen=True)
class NameAxis:
    """A horizontal axis with a name at each position.

    shown : whether the names are written; a plot below may have them
    """

    names: tuple[str, ...]
    shown: bool = True

    @property
    def below(self) -> int:
        """The height of the names."""
        return BELOW_NAMES if self.shown else BELOW_ORDINALS

    def share(self, value: float) -> float:
        """Return the position of the value-th name."""
        return (value + 0.5) / len(self.names)

    def ticks(self) -> list[Tick]:
        """Return every name."""
        return list(enumerate(self.names)) if self.shown else []


@dataclass(frozen=True)
class NumelAxis:
    """A horizontal axis of numbers of elements: logarithmic to base 2, or linear."""

    below: ClassVar[int] = BELOW_NUMBERS
    low: int
    high: int
    linear: bool = False

    def share(self, value: float) -> float:
        """Return the position of a number of elements."""
        if self.high == self.low:
            return 0.5
        if self.linear:
            return (value - self.low) / (self.high - self.low)
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

    unit : of the values, as in `report.numbers.quantity`
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
        finite = [value for value in values if 0 < value < float("inf")] or [1e-6]
        low, high = min(finite), max(finite)
        if linear:
            return cls(0.0, high * 1.05, linear=True, unit=unit)
        middle, spread = (low * high) ** 0.5, max(high / low, LEAST_SPAN) * 1.08
        return cls(middle / spread**0.5, middle * spread**0.5, unit=unit)

    def share(self, value: float) -> float:
        """Return the position of a value."""
        if self.linear:
            return (value - self.low) / (self.high - self.low)
        if value <= 0:  # a count may be 0
            return 0.0
        return log10(value / self.low) / log10(self.high / self.low)

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
        return rounded(value) if self.unit == "seconds" else quantity(value, self.unit)


@dataclass(frozen=True)
class OrdinalAxis:
    """A horizontal axis of numbered positions without names."""

    below: ClassVar[int] = BELOW_ORDINALS
    positions: int

    def share(self, value: float) -> float:
        """Return the position of the value-th item."""
        return (value + 0.5) / self.positions

    def ticks(self) -> list[Tick]:
        """Return no ticks."""
        return []


@dataclass(frozen=True)
class RatioAxis:
    """A vertical logarithmic axis of ratios, from minus to plus `limit`, a share.

    Ticks are changes in per cent.
    """

    low: ClassVar[float] = 1.0
    limit: float

    def share(self, value: float) -> float:
        """Return the position of a ratio; no change is in the middle."""
        return 0.5 + log10(value) / log10(1 + self.limit) / 2

    def ticks(self) -> list[Tick]:
        """Return round changes in both directions."""
        step = _round_step(self.limit / 3)
        shares = [n * step for n in range(floor(self.limit / step) + 1)]
        ratios = [1 + share for share in shares] + [1 / (1 + share) for share in shares[1:]]
        return [(ratio, f"{100 * (ratio - 1):+.0f} %".replace("-", "−") if ratio != 1 else "0") for ratio in ratios]


def _round_step(about: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at least `about`."""
    decade = floor(log10(about))
    return next(step for step in (float(f"{n}e{decade}") for n in (1, 2, 5, 10)) if step >= about * 0.999)
