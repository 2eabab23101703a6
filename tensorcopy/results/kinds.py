"""The kinds of values: a time, an exact count, and a value that a suite tracks. A row has what differs between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from tensorcopy.numbers import percent, signed_interval, signed_percent, tracked_difference, value_range

# Relative, by unit, up to which two exact counts are equal; 0 for all others. Of 1,743 pairs of releases whose instructions were counted
# 2 are equal to the digit, 907 within 1 %
TOLERANCES: Mapping[str, float] = {"instructions": 0.01}
BESIDE = ("instructions", "bytes", "allocations")  # units of exact counts that stand beside times, and are compared by themselves


def _relative_size(before: float, after: float, unit: str) -> str:
    return signed_percent(after / before) if before else tracked_difference(after, unit)


def spread(values: Sequence[float]) -> float:
    """Return by how much the values of launches differ, relatively; 0 where that has no meaning."""
    return max(values) / min(values) - 1 if min(values) > 0 else 0.0


def _spread_text(values: Sequence[float], unit: str) -> str:
    return percent(spread(values), 1) if spread(values) else ""


@dataclass(frozen=True)
class Kind:
    """What is done with the values of a case, and what is said of them.

    test : by which `judge.comparisons` tells a change: the differences within launches, a tolerance, or the values of all launches
    size : of a change from one value to another in a unit, with its sign: "+12.1 %", "−0.05 GB/s"
    interval : of a change, in a unit: "+10.4 to +13.8 %", of a tracked value that of the difference
    variation : of the values of launches in a unit, as text: "0.2 %", "0.44 to 0.46 GB/s"; of a time its error is that
    """

    name: str
    test: Literal["moderated t", "tolerance", "Student's t"]
    combine: Callable[[Sequence[float]], float]  # the values of launches into one; of times the fit does it
    falls: str  # the verdict on a value that is smaller, see `judge.paired.Verdict`
    stays: str
    rises: str
    decides: bool = False  # whether it is in exit codes, the badge and what is open: its words are slower and faster
    size: Callable[[float, float, str], str] = _relative_size
    variation: Callable[[Sequence[float], str], str] = _spread_text
    interval: Callable[[Sequence[float], str], str] = lambda ends, unit: signed_interval(ends)

    @property
    def by_difference(self) -> bool:
        """Whether a change is told as a difference, in the unit of the values, and not as a ratio."""
        return self.test == "Student's t"

    def verdict(self, before: float, after: float) -> str:
        """Return the word for a change from one value to another."""
        return self.rises if after > before else self.falls if after < before else self.stays


TIME = Kind("time", "moderated t", combine=fmean, falls="faster", stays="unchanged", rises="slower", decides=True)
COUNT = Kind("count", "tolerance", combine=min, falls="fewer", stays="equal", rises="more")  # a disturbance only adds to a count
TRACKED = Kind(
    "tracked",
    "Student's t",
    combine=fmean,
    falls="lower",
    stays="equal",
    rises="higher",
    size=lambda before, after, unit: tracked_difference(after - before, unit),
    variation=value_range,
    interval=lambda ends, unit: " to ".join(tracked_difference(end, unit) for end in ends),
)
KINDS: dict[str, Kind] = {kind.name: kind for kind in (TIME, COUNT, TRACKED)}
