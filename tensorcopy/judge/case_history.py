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
from math import log, log1p

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


@dataclass(frozen=True)
class Joint:
    """The release at which the axis passes from an older Python to a newer one.

    index : of the first release on the newer Python
    factor : by which the older Python's values before it are scaled to the newer one's; joints further on scale them again
    older : the older Python's result of that release
    """

    index: int
    factor: float
    older: Result


@dataclass(frozen=True)
class CaseHistory:
    """One case over the releases of the table, on one machine and build; its Pythons are joined.

    on : the processor, machine, device, Python and build
    unit : of the values
    results : of each release
    values : None for a release that was not measured
    spreads : each value's relative standard error, see `Timing.spread`; of a count, the relative difference of its repeats
    joints : where values of an older Python are scaled
    rules : of the campaign
    older : the same case on each older Python; older_steps : changes that only it shows, of releases where a newer one decides
    """

    case: Case
    on: str
    unit: str
    releases: tuple[str, ...]
    results: tuple[Result, ...]
    values: tuple[float | None, ...]
    spreads: tuple[float, ...]
    steps: tuple[Step, ...]
    joints: tuple[Joint, ...] = ()
    rules: VerdictRules = NO_RULES
    older: tuple[CaseHistory, ...] = ()
    older_steps: tuple[Step, ...] = ()

    @property
    def all_steps(self) -> tuple[Step, ...]:
        """All changes, in order of release; one that an older Python alone shows comes after that of the newer one."""
        return tuple(sorted((*self.steps, *self.older_steps), key=lambda step: step.index))

    @property
    def measured(self) -> tuple[float | None, ...]:
        """The values as measured, each on its own Python."""
        return tuple(value / self.scale(index) if value is not None else None for index, value in enumerate(self.values))

    @cached_property
    def unpaired(self) -> tuple[bool, ...]:
        """Of each release whether its launches had it alone, while others' had several: its time is compared with none of these."""
        alone = [result.is_unpaired(self.case) for result in self.results]
        paired = [value is not None and not each for value, each in zip(self.values, alone)]
        return tuple(each and any(paired) for each in alone)

    @cached_property
    def neighbours(self) -> dict[int, Change | None]:
        """The comparison of each release that measured it with the one before, by index; None of an exact count, which has none."""
        later = [index for index, value in enumerate(self.values) if value is not None][1:]
        if not (self.case.spec.timed or self.case.tracked):
            return dict.fromkeys(later)
        return {index: comparisons.between(Question(*self.sides(index), self.rules)).changes.get(self.case) for index in later}

    @property
    def is_compared(self) -> bool:
        """Whether a change could be seen: between two releases, of a time in enough launches."""
        if not self.case.spec.timed:
            return bool(self.neighbours)
        return any(change is not None and change.interval for change in self.neighbours.values())

    @property
    def unknown(self) -> tuple[int, ...]:
        """The indices of the releases of which it is unknown whether the case changed with them: that is not the same as unchanged."""
        return tuple(index for index, change in self.neighbours.items() if change and change.verdict is Verdict.UNKNOWN)

    def sides(self, index: int) -> tuple[Result, Result]:
        """Return the result measured before an index and the one at it, both of one Python."""
        before, after = self.results[self._before(index)], self.results[index]
        if before.python != after.python:
            return before, next(joint.older for joint in self.joints if joint.index == index)
        return before, after

    def links(self, before: int, after: int) -> tuple[tuple[Result, Result], ...]:
        """Return the pairs of results, each of one Python, that lead from one index to a later one; none from an index to itself."""
        pairs, start = [], before
        for joint in sorted(self.joints, key=lambda joint: joint.index):
            if start < joint.index <= after:
                pairs.append((self.results[start], joint.older))
                start = joint.index
        return (*pairs, (self.results[start], self.results[after])) if start < after else tuple(pairs)

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
        earlier = [place for place in reversed(range(index)) if self.values[place] is not None]
        return next((place for place in earlier if self.have_met(place, index)), earlier[0])

    def scale(self, index: int) -> float:
        """Return the factor by which the value at an index is scaled."""
        factor = 1.0
        for joint in self.joints:
            factor *= joint.factor if index < joint.index else 1.0
        return factor


def joined(axes: Sequence[Sequence[Result]], rules: VerdictRules = NO_RULES) -> dict[Case, CaseHistory]:
    """Return the history of each case over several Pythons.

    axes : for each Python, the newest first, its results in order of release; see `select.history`
    rules : of the campaign
    """
    by_case, older_histories = _over(axes[0], rules), [_over(axis, rules) for axis in axes[1:]]
    for of_axis in older_histories:
        for case, older in of_axis.items():
            newer = by_case.get(case)
            extended = _extended(newer, older) if newer else None
            if extended:
                by_case[case] = extended
            elif newer is None:
                by_case[case] = older
    return {case: _with_steps(each, [older[case] for older in older_histories if case in older]) for case, each in by_case.items()}


def _with_steps(history: CaseHistory, older_histories: Sequence[CaseHistory]) -> CaseHistory:
    """Return a history with its changes.

    older_histories : of the case, on each older Python
    """
    complete = replace(history, steps=tuple(replace(step, against=history.against(step.index)) for step in _steps(history)))
    older_steps = tuple(step for older in older_histories for step in _only_on(older, complete))
    return replace(complete, older=tuple(older_histories), older_steps=older_steps)


def _only_on(older: CaseHistory, joined_history: CaseHistory) -> Iterator[Step]:
    """Yield the significant changes of an older Python that the history does not show in the same direction."""
    python = older.results[0].python
    places = {release: index for index, release in enumerate(joined_history.releases)}
    shown = {(step.index, step.rises) for step in joined_history.steps}
    decides_until = max((joint.index for joint in joined_history.joints if joint.older.python == python), default=-1)
    for step in _significant(older):
        index = places.get(older.releases[step.index], 0)
        is_its_own = index <= decides_until or joined_history.results[index] is older.results[step.index]
        if index and not is_its_own and (index, step.rises) not in shown:
            before = older.sides(step.index)[0].version
            against = before if before != joined_history.releases[index - 1] else ""
            yield replace(step, index=index, against=against, only_on=python)


def _extended(newer: CaseHistory, older: CaseHistory) -> CaseHistory | None:
    """Return a history with an older Python's earlier releases before it.

    None where the older Python has no earlier release, or shares none that was measured on both.
    """
    first = next((index for index, value in enumerate(newer.values) if value is not None), None)
    if first is None:
        return None
    place = {release: index for index, release in enumerate(older.releases)}.get(newer.releases[first])
    shared = older.values[place] if place is not None else None
    if place is None or shared is None or not any(value is not None for value in older.values[:place]):
        return None
    factor = 1.0 if newer.case.tracked else (newer.values[first] or shared) / shared
    tail = slice(first, None)
    values = (*(value * factor if value is not None else None for value in older.values[:place]), *newer.values[tail])
    spreads = (*older.spreads[:place], *newer.spreads[tail])
    return replace(
        newer,
        on=f"{newer.on}, before torch {newer.releases[first]}: Python {older.results[0].python}",
        releases=(*older.releases[:place], *newer.releases[tail]),
        results=(*older.results[:place], *newer.results[tail]),
        values=values,
        spreads=spreads,
        joints=(
            Joint(place, factor / newer.scale(first), older.results[place]),
            *(replace(j, index=j.index + place - first) for j in newer.joints),
        ),
    )


def releases_of(histories: Iterable[CaseHistory]) -> list[str]:
    """Return every release of some histories, in order of version: one may have only some of them."""
    return release_table.in_order({release for each in histories for release in each.releases})


def cases(axes: Sequence[Sequence[Result]]) -> tuple[Case, ...]:
    """Return the cases of `joined`, in its order: without their histories, which take long.

    The newest result's cases come first, timed ones before counted ones.
    """
    return tuple(dict.fromkeys(case for axis in axes for case in _cases(axis)))


def _cases(results: Sequence[Result]) -> list[Case]:
    """Return the cases of results in order of release: timed ones, then counted ones, then tracked ones that only fail."""
    newest_first = results[::-1]
    timed = [case for result in newest_first for case in result.timings]
    counted = [case for result in newest_first for case, value in result.counts.items() if value > 0 or case.tracked]
    failing = [case for case in results[-1].failures if case.spec.timed or case.tracked]
    that_torch_changes = [case for case in (*timed, *failing) if case.spec.timed and case.spec.compared]
    return [*dict.fromkeys([*that_torch_changes, *counted, *failing])]


def _over(results: Sequence[Result], rules: VerdictRules) -> dict[Case, CaseHistory]:
    """Return each case over results in order of release, without its steps.

    A result with times on other devices alone is no part of a timed case's history: what was timed on a device stands as if no other were.
    """
    newest, by_case = results[-1], {}
    timed = [{case.device for case in result.timings if case.spec.compared} for result in results]
    for case in _cases(results):
        over, device = results, case.device
        if case.spec.timed:
            over = [result for result, devices in zip(results, timed) if device in devices or not devices or case in result.failures]
        place = f"{newest.hardware(device)} ({newest.machine}, {device})"
        on = f"{place}, Python {newest.python}, {newest.series_key.build} build"
        values, spreads = _of_times(case, over) if case.spec.timed else _of_counts(case, over)
        releases = tuple(result.version for result in over)
        by_case[case] = CaseHistory(case, on, case.spec.unit, releases, tuple(over), values, spreads, (), rules=rules)
    return by_case


def _of_counts(case: Case, results: Sequence[Result]) -> tuple[tuple[float | None, ...], tuple[float, ...]]:
    if case.tracked:
        return tuple(result.counts.get(case) for result in results), (0.0,) * len(results)
    by_result = [result.count_of(case) for result in results]
    values = tuple(count.value if count and count.value > 0 else None for count in by_result)
    return values, tuple(count.error if count else 0.0 for count in by_result)


def _of_times(case: Case, results: Sequence[Result]) -> tuple[tuple[float | None, ...], tuple[float, ...]]:
    timings = [result.timings.get(case) for result in results]
    return tuple(each.seconds if each else None for each in timings), tuple(each.spread if each else 0.0 for each in timings)


def _steps(history: CaseHistory) -> tuple[Step, ...]:
    """Return the changes: of counts exactly, of times and tracked values as judged, and those of times that the levels around show.

    Every change between a release and the one before it that `comparisons` calls slower or faster is one, so that the history contradicts
    no comparison.
    """
    significant = _significant(history)
    if not history.case.spec.timed:
        return significant
    known = {step.index: step.p for step in significant}
    left_out = {index for index, is_unpaired in enumerate(history.unpaired) if is_unpaired} - known.keys()
    comparable = [None if index in left_out else value for index, value in enumerate(history.values)]
    return sized(change_points.steps(comparable, history.spreads, known=known), history.values, history.neighbours)


def _significant(history: CaseHistory) -> tuple[Step, ...]:
    """Return the changes from the release before that need no other release: of counts exactly, of the others as judged."""
    case, values, changes = history.case, history.values, history.neighbours
    if case.tracked:
        pairs = {index: each.count for index, each in changes.items() if each and each.count and each.count.changed}
        return tuple(Step(index, pair.before, pair.after, p=0.0, interval=pair.interval) for index, pair in pairs.items())
    if not case.spec.timed:
        return tuple(exact_steps(values, history.spreads))
    judged = [(index, each) for index, each in changes.items() if each and each.verdict in CHANGED]
    return tuple(_step(Step(index, 1.0, 1.0, each.p or 0.0), values, each) for index, each in judged)


def _step(step: Step, values: Sequence[float | None], change: Change) -> Step:
    """Return a step with the size of the change from the release before, and its interval."""
    before = next(value for value in reversed(values[: step.index]) if value is not None)
    return replace(step, before=before, after=before * change.size, interval=change.interval, by_levels=change.verdict not in CHANGED)


def sized(steps: Sequence[Step], values: Sequence[float | None], changes: Mapping[int, Change | None]) -> tuple[Step, ...]:
    """Return steps with the size of the change from the release before, and its interval.

    changes : from the release before, by index

    A step between levels that the comparison leaves unknown stays where the interval excludes 1, and where both the levels and the releases
    differ by the margin: what the comparison would not call slower if it were certain is no step. A single release that goes and comes back
    must differ from both of its neighbours.
    """
    with_change = {}
    for step in steps:
        change = changes.get(step.index)
        if not change or not change.interval:
            continue
        low, high = change.interval
        is_large = min(step.size, abs(log(change.size))) >= log1p(change.margin)
        if change.verdict in CHANGED or (change.verdict is Verdict.UNKNOWN and not low <= 1 <= high and is_large):
            with_change[step.index] = _step(step, values, change)
    measured = [index for index, value in enumerate(values) if value is not None]
    following = dict(pairwise(measured))
    for first, second in pairwise(steps):
        comes_back = following[first.index] == second.index and first.rises is not second.rises
        if comes_back and not {first.index, second.index} <= with_change.keys():
            pair = first.index, second.index
            with_change = {index: step for index, step in with_change.items() if index not in pair or not step.by_levels}
    return tuple(replace(step, until=step.until if step.until in with_change else None) for step in with_change.values())


def exact_steps(values: Sequence[float | None], spreads: Sequence[float]) -> list[Step]:
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
    if unit == SECONDS:
        return Verdict.SLOWER if rises else Verdict.FASTER
    if is_tracked(unit):
        return Verdict.HIGHER if rises else Verdict.LOWER
    return Verdict.MORE if rises else Verdict.FEWER


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
    steps : the changes of the history, of the releases that are compared with the newest one
    """

    history: CaseHistory
    newest: int
    first: Change | None
    best: int | None
    cost: Change | None
    steps: tuple[Step, ...]

    @property
    def is_open(self) -> bool:
        """Whether the newest release of the history measured the case, and is slower than the best one."""
        is_last = self.newest == len(self.history.releases) - 1
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
        return "" if self.best is None else self.history.releases[self.best]

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
    def rank(self) -> tuple[float, float]:
        """Its place among open cases of an age, the lowest first: by that slowdown, then by its cost; an older one by its cost alone."""
        return -(self.latest.ratio if self.latest and self.age is not Age.OLDER else 1.0), -self.ratio

    @property
    def closed(self) -> tuple[Step, ...]:
        """The slowdowns that a later release took back."""
        return tuple(step for step in self.history.steps if step.ratio > 1 and step.until is not None)

    @property
    def since(self) -> tuple[str, ...]:
        """The releases of the open slowdowns."""
        return tuple(self.history.releases[step.index] for step in self.open)

    @property
    def acknowledged(self) -> str:
        """Why it is known and stays, as tensorcopy.toml says of each of its open slowdowns, or of all without one; "" where it does not."""
        name = self.history.case.name
        reasons = [self.history.rules.why(name, self.history.releases[step.index]) for step in self.open or self.slower]
        return "; ".join(dict.fromkeys(reasons)) if all(reasons) else ""

    @property
    def times(self) -> tuple[float, float]:
        """The times with the best release and with the newest one, on the newest Python's scale."""
        values = self.history.values
        return values[self.newest if self.best is None else self.best] or 0.0, values[self.newest] or 0.0


def standing(history: CaseHistory, last: int = 0) -> Standing | None:
    """Return where a case stands; None for counts, and where nothing was measured.

    last : the number of releases among which the best is sought, with the newest; 0 for all
    """
    measured = [index for index, value in enumerate(history.values) if value is not None]
    if not measured or history.unit != SECONDS:
        return None
    newest = measured[-1]
    compared = [index for index in measured if history.have_met(index, newest)]
    steps = tuple(step for step in history.steps if step.index in compared)
    levels = change_points.levels([value if index in compared else None for index, value in enumerate(history.values)], steps)
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
        history,
        newest,
        first=history.change(compared[0], newest) if newest > compared[0] else None,
        best=best,
        cost=None if best is None else history.change(best, newest),
        steps=steps,
    )
