"""A case over the releases of a history: its changes, what they mean, and where it stands with the newest release.

A step is a significant change between two neighbours: of two releases that were measured one after the other, as `comparisons` judges them,
so that a history contradicts no comparison.

A case is open where its newest release is significantly slower than the earlier one with the lowest time. Times are those of the fit to
all launches of the history. The lowest of many times is low by chance, so p is adjusted for the choice among the earlier releases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from math import inf, log

from tensorcopy.campaign import NO_RULES, VerdictRules
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Comparison, Question
from tensorcopy.judge.paired import ALPHA, Change, Verdict, has_changed
from tensorcopy.releases import release_table
from tensorcopy.results.cases import Case
from tensorcopy.results.kinds import TOLERANCES
from tensorcopy.results.result import Result

LAST = 8  # releases, with the newest, whose slowdowns are recent: some two years of them
MOST_BACK = 0.05  # relative, the largest slowdown that is back: the layouts of two released binaries differ by 2 to 3 % each


class OpenSince(Enum):
    """When an open case last became slower; one that is back to an earlier level is no news."""

    NEW = "new"
    RECENT = "recent"
    OLDER = "older"
    BACK = "back to an earlier level"


@dataclass(frozen=True)
class Step:
    """A significant change from the release that was measured before."""

    index: int  # of the release with which the value changed
    before: float  # the value of the release before, in the unit of the case
    after: float  # that times the change
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
    rules: VerdictRules = NO_RULES

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
        steps = []
        for index, change in self.neighbours.items():
            if change and change.changed:
                before, place = change.before or 0.0, self.before(index)
                after = before * change.size if change.interval else change.after or 0.0
                against = self.releases[place] if place < index - 1 else ""
                steps.append(Step(index, before, after, change.interval or change.difference, against))
        return tuple(steps)

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
        return next((place for place in earlier if self.results[place].has_met(self.results[index], self.case)), earlier[0])

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

    def count_ratio(self, before: str, after: str) -> float | None:
        """Return the ratio of the instructions of a timed case with two releases; None where one of them was not counted."""
        counts = {result.version: result.count_of(self.case) for result in self.results if self.case.spec.timed}
        first, second = counts.get(before), counts.get(after)
        return second / first if first and second else None

    def is_back(self, index: int) -> bool:
        """Return whether a slowdown only loses what the release before had gained; index : of the slower release.

        The release before was faster than the one before that, its whole interval; against the latter the slower one is unchanged, its
        whole interval within the margin, or faster, and does not execute more instructions, where they were counted. A slowdown by more
        than `MOST_BACK` is news, whatever was gained before it.
        """
        if index not in self.places[2:]:
            return False
        before = self.before(index)
        gained, lost = self.neighbours.get(before), self.neighbours[index]
        has_gained = gained and gained.interval and gained.interval[1] < 1
        if not (has_gained and lost and lost.verdict is Verdict.SLOWER and lost.size <= 1 + MOST_BACK):
            return False
        earlier = self.before(before)
        total, ratio = self.change(earlier, index), self.count_ratio(self.releases[earlier], self.releases[index])
        is_level = total is not None and total.verdict in (Verdict.UNCHANGED, Verdict.FASTER)
        return is_level and (ratio is None or ratio < 1 or are_same(ratio))


def are_same(ratio: float) -> bool:
    """Return whether the instructions of two releases agree within 1 %."""
    return not has_changed(1.0, ratio, TOLERANCES["instructions"])


def over(results: Sequence[Result], rules: VerdictRules = NO_RULES) -> dict[Case, CaseHistory]:
    """Return the history of each case over the results of a history, in order of release.

    Cases are those of the newest result first, timed ones before counted ones and those that only fail. A result with times on other
    devices alone is no part of a timed case's history: what was timed on a device stands as if no other were.
    """
    results = [result for result in results if not result.revision]
    newest, by_case = results[-1], dict[Case, CaseHistory]()
    devices = [{case.device for case in result.timings if case.spec.compared} for result in results]
    timed = dict.fromkeys(case for result in results[::-1] for case in result.timings)
    counted = [case for result in results[::-1] for case, value in result.counts.items() if value or not case.spec.stands_beside]
    failing = [case for case in newest.failures if not case.spec.stands_beside]
    cases = [case for case in dict.fromkeys([*timed, *counted, *failing]) if case.spec.compared]
    for case in cases:
        own, device = results, case.device
        if case in timed:
            own = [result for result, on in zip(results, devices) if device in on or not on or case in result.failures]
        measured = (result.value_of(case) for result in own)
        values = tuple(None if value == 0 and case.spec.stands_beside else value for value in measured)
        on = f"{newest.hardware(device)} ({newest.history}, {device}), Python {newest.python}"
        by_case[case] = CaseHistory(case, on, case.spec.unit, tuple(own), values, rules)
    return by_case


def between(question: Question, results: Sequence[Result]) -> Comparison:
    """Return the comparison of two results of a history, with what is back; results : those of the history, in order of release."""
    return with_back(comparisons.between(question), over(results, question.rules))


def with_back(comparison: Comparison, by_case: Mapping[Case, CaseHistory]) -> Comparison:
    """Return a comparison that knows which of its slower cases are back to an earlier level: where its sides are neighbours in a history.

    by_case : the history of both sides, as `over` has it
    """
    back = set()
    for case, change in comparison.changes.items():
        history = by_case.get(case)
        if change.verdict is Verdict.SLOWER and history and comparison.after in history.results:
            index = history.results.index(comparison.after)
            if history.is_back(index) and history.results[history.before(index)] is comparison.before:
                back.add(case)
    return replace(comparison, back=frozenset(back))


def releases_of(histories: Iterable[CaseHistory]) -> list[str]:
    """Return every release of some histories, in order of version: one may have only some of them."""
    return release_table.in_order({release for each in histories for release in each.releases})


@dataclass(frozen=True)
class Standing:
    """Where a timed case stands."""

    history: CaseHistory
    newest: int  # the index of the last release that measured it
    best: int | None  # the index of the earlier release with the lowest time; None where none is lower
    best_release: str  # that release; "" without one
    times: tuple[float, float]  # with the best release, and with the newest one
    cost: Change | None  # the change from the best release to the newest one
    ratio: float  # the time with the newest release over that with the best one; 1 without a better one
    since: OpenSince | None  # when it last became slower; None unless the newest release of the history is slower than the best one
    step: Step | None  # of an open case its last slowdown that stays, of one that is back that slowdown; None where it crept

    @property
    def case(self) -> Case:
        """The case."""
        return self.history.case

    @property
    def release(self) -> str:
        """The release with which an open case became slower; "" where it crept."""
        return self.history.releases[self.step.index] if self.step else ""

    @property
    def accepted(self) -> str:
        """Why it is known and stays, as tensorcopy.toml says of the release since which it is slower; "" where it does not."""
        return self.history.rules.why(self.case.name, self.release or self.history.releases[self.newest])


def standing(history: CaseHistory) -> Standing | None:
    """Return where a case stands; None for counts, and where nothing was measured."""
    if not history.places or not history.case.kind.decides:
        return None
    newest, times = history.places[-1], [value or inf for value in history.values]
    earlier = [index for index in history.places[:-1] if history.results[index].has_met(history.results[newest], history.case)]
    lowest = min(earlier, key=times.__getitem__, default=newest)
    best = lowest if times[lowest] < times[newest] else None
    cost = None if best is None else history.change(best, newest)
    # p of the comparison with each earlier release is adjusted for all cases; the chance of a false alarm among all of them is their sum
    is_slower = cost is not None and cost.verdict is Verdict.SLOWER and (cost.p or 0.0) * len(earlier) <= ALPHA
    is_open = is_slower and newest == len(history.releases) - 1
    since, step = _since(history, lowest) if is_open else (None, None)
    release = "" if best is None else history.releases[best]
    ends = times[newest if best is None else best], times[newest]
    return Standing(history, newest, best, release, ends, cost, cost.size if cost else 1.0, since, step)


def _since(history: CaseHistory, best: int) -> tuple[OpenSince, Step | None]:
    """Return when an open case last became slower, and with which of its changes; best : the index of its fastest release."""
    lasting = [step for step in history.steps if step.index > best and step.rises and history.taken_back(step) is None]
    if news := [step for step in lasting if not history.is_back(step.index)]:
        newest, last = len(history.releases) - 1, news[-1].index
        return OpenSince.NEW if last == newest else OpenSince.RECENT if last > newest - LAST else OpenSince.OLDER, news[-1]
    return (OpenSince.BACK, lasting[-1]) if lasting else (OpenSince.OLDER, None)


def standings(by_case: Mapping[Case, CaseHistory]) -> dict[Case, Standing]:
    """Return where each timed case stands, as `standing`."""
    return {case: each for case, history in by_case.items() if (each := standing(history))}
