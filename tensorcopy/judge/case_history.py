"""The history of a case over the releases, of times or of exact counts: its changes, and where it stands with the newest release.

A step is a significant change between two neighbours: of two releases that were measured one after the other, as `comparisons` judges them,
so that a history contradicts no comparison.

A case is open where its newest release is significantly slower than the earlier one with the lowest time. Times are those of the fit to
all launches of the history. The lowest of many times is low by chance, so p is adjusted for the choice among the earlier releases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, log

from tensorcopy.campaign import NO_RULES, VerdictRules
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import ALPHA, Change, Verdict
from tensorcopy.releases import release_table
from tensorcopy.results.cases import Case
from tensorcopy.results.result import Result

LAST = 8  # releases, with the newest, whose slowdowns are recent: some two years of them


@dataclass(frozen=True)
class Step:
    """A significant change from the release that was measured before."""

    index: int  # of the release with which the value changed
    before: float  # the value of the release before, in the unit of the case
    after: float  # that times the change
    p: float  # the probability of such a change if nothing changed, adjusted for all cases; 0 of an exact count
    interval: tuple[float, float] | None = None  # of the ratio; of a tracked value that of the difference; None of a count
    against: str = ""  # the release that it is the change from, where that is not the one before; "" elsewhere

    @property
    def ratio(self) -> float:
        """The value after over the value before: more than 1 is slower. Of a tracked value that is not positive it means nothing."""
        return self.after / self.before if self.before else inf

    @property
    def size(self) -> float:
        """How large it is on a logarithmic scale, in either direction; infinite where the values have no logarithm."""
        return abs(log(self.ratio)) if 0 < self.ratio < inf else inf

    @property
    def rises(self) -> bool:
        """Whether the value after is larger: a slower time."""
        return self.after > self.before


@dataclass(frozen=True)
class CaseHistory:
    """One case over the releases of a history."""

    case: Case
    on: str  # the processor, history, device and Python
    unit: str  # of the values
    results: tuple[Result, ...]  # of each release, in order
    values: tuple[float | None, ...]  # None for a release that was not measured
    rules: VerdictRules = field(default=NO_RULES)

    @cached_property
    def releases(self) -> tuple[str, ...]:
        """The releases, in order."""
        return tuple(result.version for result in self.results)

    @cached_property
    def places(self) -> list[int]:
        """The indices of the releases that have a value."""
        return [index for index, value in enumerate(self.values) if value is not None]

    @cached_property
    def neighbours(self) -> dict[int, Change | None]:
        """The comparison of each release that measured it with the one before, by index."""
        return {index: self.change(self.before(index), index) for index in self.places[1:]}

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Its changes, in order of release."""
        return tuple(self._step(index, change) for index, change in self.neighbours.items() if change and change.changed)

    def _step(self, index: int, change: Change) -> Step:
        before, after = change.before or 0.0, change.after or 0.0
        interval = change.interval or (change.count.interval if change.count else None)
        return Step(index, before, before * change.size if change.interval else after, change.p or 0.0, interval, self.against(index))

    @property
    def is_compared(self) -> bool:
        """Whether a change could be seen: between two releases, of a time in enough launches."""
        return any(change and change.compared for change in self.neighbours.values())

    @property
    def unknown(self) -> tuple[int, ...]:
        """The indices of the releases of which it is unknown whether the case changed with them: that is not the same as unchanged."""
        return tuple(index for index, change in self.neighbours.items() if change and change.verdict is Verdict.UNKNOWN)

    def before(self, index: int) -> int:
        """Return the last index before with a value, of those that launches lead to if there are any."""
        earlier = [place for place in reversed(self.places) if place < index]
        return next((place for place in earlier if self.have_met(place, index)), earlier[0])

    def against(self, index: int) -> str:
        """Return the release that the one at an index is compared with, where releases between were not measured; else ""."""
        before = self.before(index)
        return self.releases[before] if before < index - 1 else ""

    def have_met(self, before: int, after: int) -> bool:
        """Return whether launches lead from one release to another: else nothing compares them."""
        return self.results[before].has_met(self.results[after], self.case)

    def change(self, before: int, after: int) -> Change | None:
        """Return the change between two of its releases, by index."""
        return comparisons.judged(Question(self.results[before], self.results[after], self.rules)).get(self.case)

    def taken_back(self, step: Step) -> int | None:
        """Return the index of the release that takes a step of a time back; None where none does.

        It is the first later one that, against the release before the step, is unchanged or has changed in the other direction.
        """
        before, back = self.before(step.index), (Verdict.UNCHANGED, Verdict.FASTER if step.rises else Verdict.SLOWER)
        later = (index for index in self.places if index > step.index)
        return next((index for index in later if (change := self.change(before, index)) and change.verdict in back), None)


def over(results: Sequence[Result], rules: VerdictRules = NO_RULES) -> dict[Case, CaseHistory]:
    """Return the history of each case over the results of a history, in order of release.

    A result with times on other devices alone is no part of a timed case's history: what was timed on a device stands as if no other were.
    """
    results = [result for result in results if not result.revision]
    newest, by_case = results[-1], {}
    timed = [{case.device for case in result.timings if case.spec.compared} for result in results]
    for case in cases(results):
        own, device = results, case.device
        if any(case in result.timings for result in results):
            own = [result for result, devices in zip(results, timed) if device in devices or not devices or case in result.failures]
        measured = [result.measured(case) for result in own]
        values = tuple(each.value if each and (each.value or not case.spec.stands_beside) else None for each in measured)
        on = f"{newest.hardware(device)} ({newest.history}, {device}), Python {newest.python}"
        by_case[case] = CaseHistory(case, on, case.spec.unit, tuple(own), values, rules)
    return by_case


def cases(results: Sequence[Result]) -> tuple[Case, ...]:
    """Return the cases of `over`, in its order: of the newest result first, timed ones before counted ones and those that only fail."""
    timed = [case for result in results[::-1] for case in result.timings]
    counted = [case for result in results[::-1] for case, value in result.counts.items() if value or not case.spec.stands_beside]
    failing = [case for case in results[-1].failures if not case.spec.stands_beside]
    return tuple(case for case in dict.fromkeys([*timed, *counted, *failing]) if case.spec.compared)


def releases_of(histories: Iterable[CaseHistory]) -> list[str]:
    """Return every release of some histories, in order of version: one may have only some of them."""
    return release_table.in_order({release for each in histories for release in each.releases})


@dataclass(frozen=True)
class Standing:
    """Where a timed case stands."""

    history: CaseHistory
    newest: int  # the index of the last release that measured it
    first: Change | None  # the change from the first release that measured it; None for a single release
    best: int | None  # the index of the earlier release with the lowest time; None where none is lower
    cost: Change | None  # the change from that release to the newest one
    is_open: bool  # whether the newest release of the history measured the case, and is significantly slower than the best one
    since: Step | None  # of an open case, its last slowdown that no later release took back; None where it crept

    @property
    def ratio(self) -> float:
        """The time with the newest release over that with the best one; 1 without a better one."""
        return self.cost.size if self.cost else 1.0

    @property
    def best_release(self) -> str:
        """The best release; "" without one."""
        return "" if self.best is None else self.history.releases[self.best]

    @property
    def accepted(self) -> str:
        """Why it is known and stays, as tensorcopy.toml says of the release since which it is slower; "" where it does not."""
        history = self.history
        since = self.newest if self.since is None else self.since.index
        return history.rules.why(history.case.name, history.releases[since])

    @property
    def times(self) -> tuple[float, float]:
        """The times with the best release and with the newest one."""
        values = self.history.values
        return values[self.newest if self.best is None else self.best] or 0.0, values[self.newest] or 0.0


def standing(history: CaseHistory) -> Standing | None:
    """Return where a case stands; None for counts, and where nothing was measured."""
    if not history.places or not history.case.kind.decides:
        return None
    newest = history.places[-1]
    earlier = [index for index in history.places[:-1] if history.have_met(index, newest)]
    lowest = min(earlier, key=lambda index: history.values[index] or inf, default=newest)
    best = lowest if (history.values[lowest] or inf) < (history.values[newest] or 0.0) else None
    cost = None if best is None else history.change(best, newest)
    is_newest = newest == len(history.releases) - 1
    # p of the comparison with each earlier release is adjusted for all cases; the chance of a false alarm among all of them is their sum
    is_open = is_newest and cost is not None and cost.verdict is Verdict.SLOWER and (cost.p or 0.0) * len(earlier) <= ALPHA
    slower = [step for step in history.steps if is_open and best is not None and step.index > best and step.rises]
    since = next((step for step in reversed(slower) if history.taken_back(step) is None), None)
    first = history.change(earlier[0], newest) if earlier else None
    return Standing(history, newest, first, best, cost, is_open, since)


def standings(by_case: Mapping[Case, CaseHistory]) -> dict[Case, Standing]:
    """Return where each timed case stands, as `standing`."""
    return {case: each for case, history in by_case.items() if (each := standing(history))}
