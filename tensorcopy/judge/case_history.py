"""The history of a case over the releases, of times or of exact counts: its changes, and where it stands with the newest release.

A release has wheels for some Pythons only, so no Python reaches from the oldest release to the newest. `joined` puts two of them on one
axis: where both measured a release, the older Python's earlier values are scaled by the ratio of the two there. From there on the newer
Python decides, and what only the older one shows is marked.

The best release is the last one of the lowest level between two changes, and not the lowest time: the lowest of many times is low by
chance. A case whose newest release is slower than that has an open regression. Only releases whose launches lead to those of the newest
one have levels: the others' times differ from its as the machine does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from itertools import pairwise
from math import log, log1p, prod

from tensorcopy.campaign import NO_RULES, VerdictRules
from tensorcopy.judge import change_points, comparisons
from tensorcopy.judge.change_points import Step
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import Change, Verdict, has_changed
from tensorcopy.releases import release_table
from tensorcopy.results.cases import Case
from tensorcopy.results.effects import UNPAIRED
from tensorcopy.results.result import Result
from tensorcopy.results.suite_specs import SECONDS, is_tracked

CHANGED = (Verdict.SLOWER, Verdict.FASTER)
LAST = 8  # releases, with the newest, whose slowdowns are recent: some two years of them
Values = Sequence[float | None]


@dataclass(frozen=True)
class Joint:
    """The release at which the axis passes from an older Python to a newer one."""

    index: int  # of the first release on the newer Python
    factor: float  # by which the older Python's values before it are scaled to the newer one's; joints further on scale them again
    older: Result  # of that release on the older Python


@dataclass(frozen=True)
class CaseHistory:
    """One case over the releases of the table, on one machine and build; its Pythons are joined."""

    case: Case
    on: str  # the processor, machine, device, Python and build
    unit: str  # of the values
    releases: tuple[str, ...]
    results: tuple[Result, ...]  # of each release
    values: tuple[float | None, ...]  # None for a release that was not measured
    spreads: tuple[float, ...]  # each value's relative standard error, `Timing.spread`; of a count, the relative difference of its repeats
    steps: tuple[Step, ...]
    joints: tuple[Joint, ...] = ()  # in order of release
    rules: VerdictRules = NO_RULES
    older: tuple[CaseHistory, ...] = ()  # the same case on each older Python
    older_steps: tuple[Step, ...] = ()  # that only an older Python shows, of releases where a newer one decides

    @property
    def all_steps(self) -> tuple[Step, ...]:
        """All changes, in order of release; one that an older Python alone shows comes after that of the newer one."""
        return tuple(sorted((*self.steps, *self.older_steps), key=lambda step: step.index))

    @property
    def measured(self) -> tuple[float | None, ...]:
        """The values as measured, each on its own Python."""
        return tuple(value / self.scale(index) if value is not None else None for index, value in enumerate(self.values))

    @cached_property
    def places(self) -> list[int]:
        """The indices of the releases that have a value."""
        return [index for index, value in enumerate(self.values) if value is not None]

    @cached_property
    def unpaired(self) -> tuple[bool, ...]:
        """Of each release whether its launches had it alone, while others' had several: its time is compared with none of these."""
        alone = [result.is_unpaired(self.case) for result in self.results]
        return tuple(each and not all(alone[index] for index in self.places) for each in alone)

    @cached_property
    def neighbours(self) -> dict[int, Change | None]:
        """The comparison of each release that measured it with the one before, by index; None of an exact count, which has none."""
        if not (self.case.spec.timed or self.case.tracked):
            return dict.fromkeys(self.places[1:])
        changes = {index: comparisons.between(Question(*self.sides(index), self.rules)).changes for index in self.places[1:]}
        return {index: of_pair.get(self.case) for index, of_pair in changes.items()}

    @property
    def is_compared(self) -> bool:
        """Whether a change could be seen: between two releases, of a time in enough launches."""
        return any(not self.case.spec.timed or (change and change.interval) for change in self.neighbours.values())

    @property
    def unknown(self) -> tuple[int, ...]:
        """The indices of the releases of which it is unknown whether the case changed with them: that is not the same as unchanged."""
        return tuple(index for index, change in self.neighbours.items() if change and change.verdict is Verdict.UNKNOWN)

    def sides(self, index: int) -> tuple[Result, Result]:
        """Return the result measured before an index and the one at it, both of one Python."""
        return self.links(self._before(index), index)[0]

    def links(self, before: int, after: int) -> tuple[tuple[Result, Result], ...]:
        """Return the pairs of results, each of one Python, that lead from one index to a later one; none from an index to itself."""
        between = [joint for joint in self.joints if before < joint.index <= after]
        starts = [self.results[index] for index in (before, *(joint.index for joint in between))]
        pairs = zip(starts, [*(joint.older for joint in between), self.results[after]])
        return tuple(pair for pair in pairs if pair[0] is not pair[1])

    def have_met(self, before: int, after: int) -> bool:
        """Return whether the launches of two indices lead from one to the other, or had each alone: else nothing compares them."""
        return all(first.has_met(second, self.case) for first, second in self.links(before, after))

    def change(self, before: int, after: int) -> Change | None:
        """Return the change between two of its releases, across its Pythons."""
        return comparisons.chained(self.links(before, after), self.rules).get(self.case)

    def sides_of(self, step: Step) -> tuple[Result, Result]:
        """Return the results that a change is between, the earlier first."""
        if not step.only_on:
            return self.sides(step.index)
        older = next(each for each in self.older if each.results[0].python == step.only_on)
        return older.sides(older.releases.index(self.releases[step.index]))

    def against(self, index: int) -> str:
        """Return the release that the one at an index is compared with, where releases between were not measured; else ""."""
        before = self._before(index)
        return self.releases[before] if before < index - 1 else ""

    def _before(self, index: int) -> int:
        """Return the last index before with a value, of those that may be compared if there are any."""
        earlier = [place for place in reversed(self.places) if place < index]
        return next((place for place in earlier if self.have_met(place, index)), earlier[0])

    def scale(self, index: int) -> float:
        """Return the factor by which the value at an index is scaled."""
        return prod(joint.factor for joint in self.joints if index < joint.index)


def joined(axes: Sequence[Sequence[Result]], rules: VerdictRules = NO_RULES) -> dict[Case, CaseHistory]:
    """Return the history of each case over several Pythons.

    axes : for each Python, the newest first, its results in order of release; see `select.history`
    """
    newest, *others = (_over(axis, rules) for axis in axes)
    by_case = dict(newest)
    for case, older in ((case, older) for of_axis in others for case, older in of_axis.items()):
        by_case[case] = _extended(by_case[case], older) if case in by_case else older
    return {case: _with_steps(each, [older[case] for older in others if case in older]) for case, each in by_case.items()}


def _with_steps(history: CaseHistory, older: Sequence[CaseHistory]) -> CaseHistory:
    """Return a history with its changes; older : the same case on each older Python."""
    steps = tuple(replace(step, against=history.against(step.index)) for step in _steps(history))
    older_steps = tuple(step for each in older for step in _only_on(each, history, {(step.index, step.rises) for step in steps}))
    return replace(history, steps=steps, older=tuple(older), older_steps=older_steps)


def _only_on(older: CaseHistory, history: CaseHistory, shown: set[tuple[int, bool]]) -> Iterator[Step]:
    """Yield the significant changes of an older Python that the history does not show in the same direction."""
    python = older.results[0].python
    decides_until = max((joint.index for joint in history.joints if joint.older.python == python), default=-1)
    for step in _significant(older):
        release = older.releases[step.index]
        index = history.releases.index(release) if release in history.releases else 0
        is_its_own = index <= decides_until or history.results[index] is older.results[step.index]
        if index and not is_its_own and (index, step.rises) not in shown:
            before = older.sides(step.index)[0].version
            yield replace(step, index=index, against=before if before != history.releases[index - 1] else "", only_on=python)


def _extended(newer: CaseHistory, older: CaseHistory) -> CaseHistory:
    """Return a history with an older Python's earlier releases before it, where both measured the first of the newer one."""
    first = newer.places[0] if newer.places else 0
    place = older.releases.index(newer.releases[first]) if newer.places and newer.releases[first] in older.releases else 0
    shared, value = older.values[place], newer.values[first]
    if shared is None or value is None or not any(each is not None for each in older.values[:place]):
        return newer
    factor = 1.0 if newer.case.tracked else (value or shared) / shared
    earlier = (each * factor if each is not None else None for each in older.values[:place])
    joint = Joint(place, factor / newer.scale(first), older.results[place])
    return replace(
        newer,
        on=f"{newer.on}, before torch {newer.releases[first]}: Python {older.results[0].python}",
        releases=(*older.releases[:place], *newer.releases[first:]),
        results=(*older.results[:place], *newer.results[first:]),
        values=(*earlier, *newer.values[first:]),
        spreads=(*older.spreads[:place], *newer.spreads[first:]),
        joints=(joint, *(replace(each, index=each.index + place - first) for each in newer.joints)),
    )


def releases_of(histories: Iterable[CaseHistory]) -> list[str]:
    """Return every release of some histories, in order of version: one may have only some of them."""
    return release_table.in_order({release for each in histories for release in each.releases})


def cases(axes: Sequence[Sequence[Result]]) -> tuple[Case, ...]:
    """Return the cases of `joined`, in its order: of the newest result first, timed ones before counted ones and those that only fail."""
    found: list[Case] = []
    for axis in axes:
        counted = [case for result in axis[::-1] for case, value in result.counts.items() if value > 0 or case.tracked]
        failing = [case for case in axis[-1].failures if case.spec.timed or case.tracked]
        timed = [case for case in (*(case for result in axis[::-1] for case in result.timings), *failing) if case.spec.timed]
        found += [*(case for case in timed if case.spec.compared), *counted, *failing]
    return tuple(dict.fromkeys(found))


def _over(results: Sequence[Result], rules: VerdictRules) -> dict[Case, CaseHistory]:
    """Return each case over results in order of release, without its steps.

    A result with times on other devices alone is no part of a timed case's history: what was timed on a device stands as if no other were.
    """
    newest, by_case = results[-1], {}
    timed = [{case.device for case in result.timings if case.spec.compared} for result in results]
    for case in cases([results]):
        over, device = results, case.device
        values: list[float | None]
        if case.spec.timed:
            over = [result for result, devices in zip(results, timed) if device in devices or not devices or case in result.failures]
            timings = [result.timings.get(case) for result in over]
            values, spreads = [each.seconds if each else None for each in timings], [each.spread if each else 0.0 for each in timings]
        else:
            counts = [result.count_of(case) for result in over]
            values = [count.value if count and (count.value > 0 or case.tracked) else None for count in counts]
            spreads = [count.error if count and not case.tracked else 0.0 for count in counts]
        on = f"{newest.hardware(device)} ({newest.machine}, {device}), Python {newest.python}, {newest.series_key.build} build"
        releases = tuple(result.version for result in over)
        by_case[case] = CaseHistory(case, on, case.spec.unit, releases, tuple(over), tuple(values), tuple(spreads), (), rules=rules)
    return by_case


def _steps(history: CaseHistory) -> tuple[Step, ...]:
    """Return the changes: of counts exactly, of times and tracked values as judged, and those of times that the levels around show.

    Every change between a release and the one before it that `comparisons` calls slower or faster is one, so that the history contradicts
    no comparison.
    """
    significant = _significant(history)
    if not history.case.spec.timed:
        return significant
    known = {step.index: step.p for step in significant}
    comparable = [None if alone and index not in known else history.values[index] for index, alone in enumerate(history.unpaired)]
    return sized(change_points.steps(comparable, history.spreads, known=known), history.values, history.neighbours)


def _significant(history: CaseHistory) -> tuple[Step, ...]:
    """Return the changes from the release before that need no other release: of counts exactly, of the others as judged."""
    case, values, changes = history.case, history.values, history.neighbours.items()
    if case.tracked:
        pairs = ((index, each.count) for index, each in changes if each and each.count and each.count.changed)
        return tuple(Step(index, pair.before, pair.after, p=0.0, interval=pair.interval) for index, pair in pairs)
    if not case.spec.timed:
        return tuple(exact_steps(values, history.spreads))
    return tuple(_step(Step(index, 1, 1, each.p or 0.0), values, each) for index, each in changes if each and each.verdict in CHANGED)


def _step(step: Step, values: Values, change: Change) -> Step:
    """Return a step with the size of the change from the release before, and its interval."""
    before = next(value for value in reversed(values[: step.index]) if value is not None)
    return replace(step, before=before, after=before * change.size, interval=change.interval, by_levels=change.verdict not in CHANGED)


def sized(steps: Sequence[Step], values: Values, changes: Mapping[int, Change | None]) -> tuple[Step, ...]:
    """Return steps with the size of the change from the release before, and its interval.

    changes : from the release before, by index

    A step between levels that the comparison leaves unknown stays where the interval excludes 1, and where both the levels and the releases
    differ by the margin: what the comparison would not call slower if it were certain is no step. A single release that goes and comes back
    must differ from both of its neighbours.
    """
    found = {}
    for step in steps:
        if (change := changes.get(step.index)) and change.interval:
            low, high = change.interval
            is_large = min(step.size, abs(log(change.size))) >= log1p(change.margin)
            if change.verdict in CHANGED or (change.verdict is Verdict.UNKNOWN and not low <= 1 <= high and is_large):
                found[step.index] = _step(step, values, change)
    following = dict(pairwise(index for index, value in enumerate(values) if value is not None))
    for first, second in pairwise(steps):
        pair = {first.index, second.index}
        if following[first.index] == second.index and first.rises is not second.rises and not pair <= found.keys():
            found = {index: step for index, step in found.items() if index not in pair or not step.by_levels}
    return tuple(replace(step, until=step.until if step.until in found else None) for step in found.values())


def exact_steps(values: Values, spreads: Sequence[float]) -> list[Step]:
    """Return the changes of a counted case over the releases, each from the count before it.

    spreads : by how much the repeats of each count differ
    """
    measured = [(index, value, spread) for index, (value, spread) in enumerate(zip(values, spreads)) if value]
    return [
        Step(index, before, after, p=0.0)
        for (_, before, first), (index, after, second) in pairwise(measured)
        if has_changed(before, after, comparisons.least_change(max(first, second)))
    ]


def direction(unit: str, *, rises: bool) -> Verdict:
    """Return the verdict on a value in a unit that has changed."""
    tracked = (Verdict.LOWER, Verdict.HIGHER) if is_tracked(unit) else (Verdict.FEWER, Verdict.MORE)
    return ((Verdict.FASTER, Verdict.SLOWER) if unit == SECONDS else tracked)[rises]


class Age(Enum):
    """When an open case last became slower: with the newest release, with another of the last `LAST`, or earlier."""

    NEW = "new"
    RECENT = "recent"
    OLDER = "older"


@dataclass(frozen=True)
class Standing:
    """Where a timed case stands."""

    history: CaseHistory
    newest: int  # the index of the last release that measured it
    first: Change | None  # the change from the first release that measured it; None for a single release
    best: int | None  # the index of the best release before; None where none has a lower level
    cost: Change | None  # the change from that release to the newest one
    is_open: bool  # whether the newest release of the history measured the case, and is slower than the best one
    steps: tuple[Step, ...]  # of the releases that are compared with the newest one
    slower: tuple[Step, ...]  # the slowdowns since the best release of an open case
    open: tuple[Step, ...]  # those that no later release took back; none where only what is left of several adds up
    closed: tuple[Step, ...]  # the slowdowns of the history that a later release took back
    age: Age  # of the last of the open slowdowns, or of all without one; older where none of these is a step either
    latest: Step | None  # the largest of the open slowdowns of this age

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
        return "" if self.best is None else self.history.releases[self.best]

    @property
    def rank(self) -> tuple[float, float]:
        """Its place among open cases of an age, the lowest first: by that slowdown, then by its cost; an older one by its cost alone."""
        return -(self.latest.ratio if self.latest and self.age is not Age.OLDER else 1.0), -self.ratio

    @property
    def since(self) -> tuple[str, ...]:
        """The releases of the open slowdowns."""
        return tuple(self.history.releases[step.index] for step in self.open)

    @property
    def acknowledged(self) -> str:
        """Why it is known and stays, as tensorcopy.toml says of each of its open slowdowns, or of all without one; "" where it does not."""
        history = self.history
        return reasons(history.rules.why(history.case.name, history.releases[step.index]) for step in self.open or self.slower)

    @property
    def times(self) -> tuple[float, float]:
        """The times with the best release and with the newest one, on the newest Python's scale."""
        values = self.history.values
        return values[self.newest if self.best is None else self.best] or 0.0, values[self.newest] or 0.0


def reasons(each: Iterable[str]) -> str:
    """Return all reasons, each once; "" where one is missing."""
    every = dict.fromkeys(each)
    return "; ".join(every) if all(every) else ""


def standing(history: CaseHistory, last: int = 0) -> Standing | None:
    """Return where a case stands; None for counts, and where nothing was measured.

    last : the number of releases among which the best is sought, with the newest; 0 for all
    """
    if not history.places or history.unit != SECONDS:
        return None
    newest = history.places[-1]
    compared = [index for index in history.places if history.have_met(index, newest)]
    steps = tuple(step for step in history.steps if step.index in compared)
    levels = change_points.levels([value if index in compared else None for index, value in enumerate(history.values)], steps)
    current = levels[newest] or 0.0
    ends = [max((index for index in compared if index < step.index), default=-1) for step in steps]
    lower = {end: level for end in ends if end >= (newest - last + 1 if last else 0) and (level := levels[end]) and level < current}
    best = min(lower, key=lower.__getitem__, default=None)
    cost = None if best is None else history.change(best, newest)
    is_open = newest == len(history.releases) - 1 and cost is not None and cost.verdict is Verdict.SLOWER
    slower = tuple(step for step in steps if is_open and best is not None and step.index > best and step.ratio > 1)
    still = tuple(step for step in slower if step.until is None)
    ages = {step: Age.NEW if step.index == newest else Age.RECENT if step.index > newest - LAST else Age.OLDER for step in slower}
    age = min((ages[step] for step in still or slower), key=[*Age].index, default=Age.OLDER)
    return Standing(
        history,
        newest,
        first=history.change(compared[0], newest) if newest > compared[0] else None,
        best=best,
        cost=cost,
        is_open=is_open,
        steps=steps,
        slower=slower,
        open=still,
        closed=tuple(step for step in history.steps if step.ratio > 1 and step.until is not None),
        age=age,
        latest=max((step for step in still if ages[step] is age), key=lambda step: step.ratio, default=None),
    )
