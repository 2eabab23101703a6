"""Where a case stands with the newest release: what changed since the first, and what it still costs against the best one.

The best release is the last one of the lowest level between two changes, and not the lowest time: the lowest of many times is low by
chance. A case whose newest release is slower than that has an open regression. Only releases whose launches lead to those of the newest
one have levels: the others' times differ from its as the machine does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from tensorcopy.judge import change_points, comparisons
from tensorcopy.judge.change_points import Step
from tensorcopy.judge.paired import Change, Verdict
from tensorcopy.judge.series import CaseSeries
from tensorcopy.results.effects import UNPAIRED
from tensorcopy.results.suite_specs import SECONDS

LAST = 8  # releases, with the newest, whose slowdowns are recent: some two years of them


class Age(Enum):
    """When an open case last became slower: with the newest release, with another of the last `LAST`, or earlier."""

    NEW = "new"
    RECENT = "recent"
    OLDER = "older"


@dataclass(frozen=True)
class Standing:
    """Where a timed case stands.

    newest : the index of the last release that measured it
    first : the change from the first release that measured it; None for a single release
    best : the index of the best release before; None where none has a lower level
    cost : the change from that release to the newest one; None without it
    steps : the changes of the series, of the releases that are compared with the newest one
    """

    series: CaseSeries
    newest: int
    first: Change | None
    best: int | None
    cost: Change | None
    steps: tuple[Step, ...]

    @property
    def is_open(self) -> bool:
        """Whether the newest release of the series measured the case, and is slower than the best one."""
        is_last = self.newest == len(self.series.releases) - 1
        return is_last and self.cost is not None and self.cost.verdict is Verdict.SLOWER

    @property
    def is_unpaired(self) -> bool:
        """Whether the launches of the newest release had it alone: its cost has all the variation of the machine."""
        return self.cost is not None and self.cost.way == UNPAIRED

    @property
    def ratio(self) -> float:
        """The time with the newest release over that with the best one; 1 without a better one."""
        return self.cost.size if self.cost else 1.0

    @property
    def best_release(self) -> str:
        """The best release; "" without one."""
        return "" if self.best is None else self.series.releases[self.best]

    @property
    def slower(self) -> tuple[Step, ...]:
        """The slowdowns since the best release of an open case."""
        since = self.best if self.is_open else None
        return () if since is None else tuple(step for step in self.steps if step.index > since and step.ratio > 1)

    @property
    def open(self) -> tuple[Step, ...]:
        """Those that no later release took back; none where only what is left of several adds up."""
        return tuple(step for step in self.slower if step.until is None)

    @cached_property
    def age(self) -> Age:
        """The age of the last of its open slowdowns, or of all without one; older where none of these is a step either."""
        return min((self._age_of(step) for step in self.open or self.slower), key=[*Age].index, default=Age.OLDER)

    def _age_of(self, step: Step) -> Age:
        if step.index == self.newest:
            return Age.NEW
        return Age.RECENT if step.index > self.newest - LAST else Age.OLDER

    @property
    def latest(self) -> Step | None:
        """The largest of its open slowdowns of its age; None without one."""
        return max((step for step in self.open if self._age_of(step) is self.age), key=lambda step: step.ratio, default=None)

    @property
    def closed(self) -> tuple[Step, ...]:
        """The slowdowns that a later release took back."""
        return tuple(step for step in self.series.steps if step.ratio > 1 and step.until is not None)

    @property
    def since(self) -> tuple[str, ...]:
        """The releases of the open slowdowns."""
        return tuple(self.series.releases[step.index] for step in self.open)

    @property
    def acknowledged(self) -> str:
        """Why it is known and stays, as tensorcopy.toml says of each of its open slowdowns, or of all without one; "" where it does not."""
        name = self.series.case.name
        reasons = [self.series.verdicts.why(name, self.series.releases[step.index]) for step in self.open or self.slower]
        return "; ".join(dict.fromkeys(reasons)) if all(reasons) else ""

    @property
    def largest(self) -> Step | None:
        """The largest open slowdown; None without one."""
        return max(self.open, key=lambda step: step.ratio, default=None)

    @property
    def times(self) -> tuple[float, float]:
        """The times with the best release and with the newest one, on the newest Python's scale."""
        values = self.series.values
        return values[self.newest if self.best is None else self.best] or 0.0, values[self.newest] or 0.0


def standing(series: CaseSeries, last: int = 0) -> Standing | None:
    """Return where a case stands; None for counts, and where nothing was measured.

    last : the number of releases among which the best is sought, with the newest; 0 for all
    """
    measured = [index for index, value in enumerate(series.values) if value is not None]
    if not measured or series.unit != SECONDS:
        return None
    newest = measured[-1]
    compared = [index for index in measured if series.have_met(index, newest)]
    steps = tuple(step for step in series.steps if step.index in compared)
    levels = change_points.levels([value if index in compared else None for index, value in enumerate(series.values)], steps)
    current = levels[newest] or 0.0
    earliest = newest - last + 1 if last else 0
    lower: dict[int, float] = {}
    for step in steps:
        level_end = max((index for index in compared if index < step.index), default=-1)
        level = levels[level_end]
        if level_end >= earliest and level and level < current:
            lower[level_end] = level
    best = min(lower, key=lambda index: lower[index], default=None)
    return Standing(
        series,
        newest,
        first=change(series, compared[0], newest) if newest > compared[0] else None,
        best=best,
        cost=None if best is None else change(series, best, newest),
        steps=steps,
    )


def change(series: CaseSeries, before: int, after: int) -> Change | None:
    """Return the change of a case between two releases of its history, across its Pythons."""
    return comparisons.chained(series.links(before, after), series.verdicts).get(series.case)


@dataclass(frozen=True)
class OpenRegression:
    """The open cases of one method on one device, the largest cost first."""

    standings: tuple[Standing, ...]

    @property
    def worst(self) -> Standing:
        """The case with the largest cost."""
        return self.standings[0]

    @property
    def acknowledged(self) -> str:
        """Why all of its cases are known and stay; "" where one is not acknowledged."""
        reasons = [standing.acknowledged for standing in self.standings]
        return "; ".join(dict.fromkeys(reasons)) if all(reasons) else ""

    @property
    def number_acknowledged(self) -> int:
        """How many of its cases are known and stay."""
        return sum(bool(each.acknowledged) for each in self.standings)

    @cached_property
    def by_age(self) -> dict[Age, OpenRegression]:
        """Its cases of each age that has any, the newest first."""
        ages = {age: tuple(each for each in self.standings if each.age is age) for age in Age}
        return {age: OpenRegression(members) for age, members in ages.items() if members}

    @property
    def method(self) -> str:
        """The method's name, or the suite's where it has no methods."""
        case = self.worst.series.case
        return dict(case.parameters).get("method", case.spec.label)


def open_regressions(standings: Iterable[Standing]) -> list[OpenRegression]:
    """Return the open regressions by method, the most expensive first."""
    by_method: dict[tuple[str, str], list[Standing]] = {}
    for each in standings:
        if each.is_open:
            case = each.series.case
            by_method.setdefault((dict(case.parameters).get("method", case.suite), case.device), []).append(each)
    regressions = (OpenRegression(tuple(sorted(members, key=lambda each: -each.ratio))) for members in by_method.values())
    return sorted(regressions, key=lambda each: -each.worst.ratio)


def by_age(regressions: Iterable[OpenRegression]) -> dict[Age, list[OpenRegression]]:
    """Return the open cases of each age that has any by method, the newest first, and the most expensive method first."""
    parts = [each.by_age for each in regressions]
    ages = {age: [ages[age] for ages in parts if age in ages] for age in Age}
    return {age: sorted(of_age, key=lambda each: -each.worst.ratio) for age, of_age in ages.items() if of_age}
