"""The rows of the accuracy report: a figure as text, its goal, and whether the number behind it misses the goal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensorcopy.numbers import percent

Goal = tuple[str, bool]  # as text, and whether it is missed


class Row(NamedTuple):
    """One figure as text, and what it should be; "" for no goal."""

    name: str
    value: str
    goal: str = ""
    missed: bool = False


def at_most(figures: Sequence[float], goals: Sequence[float]) -> Goal:
    """Return the goal of some shares, each of which should be no larger than its own."""
    return f"≤ {' / '.join(f'{100 * goal:g}' for goal in goals)} %", any(figure > goal for figure, goal in zip(figures, goals))


def at_least(figure: float, goal: float) -> Goal:
    """Return the goal of a share that should not be smaller."""
    return f"≥ {percent(goal)}", figure < goal


def between(figure: float, low: float, high: float) -> Goal:
    """Return the goal of a share that should not be outside."""
    return f"{100 * low:g} to {percent(high)}", not low <= figure <= high
