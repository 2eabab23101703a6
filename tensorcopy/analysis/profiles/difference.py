"""Which functions a change consists of. Numbers in, numbers out.

Two profiles are compared function by function, in exclusive instructions, so that the differences add up to that of the whole call.
Functions are named, the largest difference first, until the named ones make four fifths of the whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tensorcopy.analysis import exact_counts
from tensorcopy.analysis.profiles import kernels
from tensorcopy.analysis.profiles.function_groups import OTHER, group_of
from tensorcopy.analysis.profiles.kernels import KernelChange
from tensorcopy.results.profiles.profile_file import Function, FunctionCost, Node, Profile

NAMED = 0.8  # share of the difference that the named functions make at least
CALLED_MORE = 0.5  # calls of one call of the case; a smaller difference is the loop's
CLEARLY = 1.5  # times the cheapest function of a profile: one that costs so much more would be in it
ABSENT = FunctionCost(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class FunctionChange:
    """A function on both sides; one that a side does not run has no cost there.

    certain : whether a missing function really is not called: a profile omits its cheapest functions
    """

    function: Function
    group: str
    before: FunctionCost
    after: FunctionCost
    certain: bool = True

    @property
    def difference(self) -> float:
        """Exclusive instructions after, minus before."""
        return self.after.own - self.before.own

    @property
    def calls(self) -> float:
        """Calls after, minus before."""
        return self.after.calls - self.before.calls

    @property
    def status(self) -> str:
        """One of "gained", "lost", "called more often", "called less often" and "changed"."""
        if not self.certain:
            return "changed"
        if not self.before.calls and not self.before.own:
            return "gained"
        if not self.after.calls and not self.after.own:
            return "lost"
        if abs(self.calls) >= CALLED_MORE:
            return "called more often" if self.calls > 0 else "called less often"
        return "changed"


@dataclass(frozen=True)
class GroupChange:
    """All functions of a group.

    named : its functions among the named ones, the largest difference first
    difference : of all its functions
    """

    group: str
    difference: float
    before: float
    after: float
    named: tuple[FunctionChange, ...]


@dataclass(frozen=True)
class Difference:
    """The functions behind the difference of a case between two profiles.

    numel : elements of the case
    functions : every function that differs, the largest difference first
    named_count : how many of them are named
    """

    numel: int
    before: Profile
    after: Profile
    functions: tuple[FunctionChange, ...]
    named_count: int

    @property
    def total(self) -> float:
        """Instructions after, minus before."""
        return self.after.instructions - self.before.instructions

    @property
    def ratio(self) -> float:
        return self.after.instructions / self.before.instructions if self.before.instructions else 1.0

    @property
    def changed(self) -> bool:
        """Whether the instructions differ by more than counts of the same release do."""
        return is_changed(self.before.instructions, self.after.instructions)

    @property
    def named(self) -> tuple[FunctionChange, ...]:
        return self.functions[: self.named_count]

    @property
    def unnamed(self) -> float:
        """The part of the difference that the named functions leave open, in instructions."""
        return self.total - sum(change.difference for change in self.named)

    @property
    def share_named(self) -> float:
        """The share of the difference that the named functions explain."""
        return 1 - abs(self.unnamed) / abs(self.total) if self.total else 1.0

    @cached_property
    def groups(self) -> tuple[GroupChange, ...]:
        """Every group with a difference, the largest first."""
        by_group: dict[str, list[FunctionChange]] = defaultdict(list)
        for change in self.functions:
            by_group[change.group].append(change)
        named = set(self.named)
        changes = [
            GroupChange(
                group,
                sum(change.difference for change in rows),
                sum(change.before.own for change in rows),
                sum(change.after.own for change in rows),
                tuple(change for change in rows if change in named),
            )
            for group, rows in by_group.items()
        ]
        return tuple(sorted(changes, key=lambda change: (-abs(change.difference), change.group)))

    @cached_property
    def calls_changed(self) -> tuple[FunctionChange, ...]:
        """Functions that are called more or less often, the largest inclusive difference first."""
        rows = [change for change in self.functions if change.status != "changed" and abs(change.calls) >= CALLED_MORE]
        return tuple(sorted(rows, key=lambda change: -abs(change.after.inclusive - change.before.inclusive)))

    @cached_property
    def kernel(self) -> KernelChange:
        """The kernels of both sides."""
        return kernels.change(self.numel, self.before, self.after)


def is_changed(before: float, after: float) -> bool:
    """Return whether two counts of instructions differ by more than counts of the same release do."""
    low, high = sorted((before, after))
    return high >= low * (1 + exact_counts.LEAST) and high > low


def between(numel: int, before: Profile, after: Profile) -> Difference:
    """Return the difference of a case of `numel` elements."""
    groups = {**groups_of(before), **groups_of(after)}
    libraries = _libraries(before, after)
    first, second = (_costs(side, libraries) for side in (before, after))
    functions = [
        _change(function, groups[function], (first.get(function), second.get(function)), (before.smallest, after.smallest))
        for function in dict.fromkeys(function for function in groups if function in first or function in second)
        if first.get(function) != second.get(function)
    ]
    changed = [change for change in functions if change.difference or change.status != "changed"]
    changed.sort(key=lambda change: (-abs(change.difference), change.function))
    return Difference(numel, before, after, tuple(changed), _fewest(changed, after.instructions - before.instructions))


def _libraries(before: Profile, after: Profile) -> dict[Function, Function]:
    """Return the function as which another one counts: the same in another library.

    An inline function is in each library that uses it, and the loader takes any. So those of one name are one where the sides have them in
    different libraries: in that where it costs most after the change.
    """
    by_name: dict[str, tuple[dict[Function, float], dict[Function, float]]] = defaultdict(lambda: ({}, {}))
    for index, side in enumerate((before, after)):
        for function, cost in side.functions.items():
            by_name[function[1]][index][function] = cost.own
    moved: dict[Function, Function] = {}
    for first, second in by_name.values():
        if first and second and first.keys() != second.keys():
            most = max(second, key=lambda function: second[function])
            moved.update(dict.fromkeys([*first, *second], most))
    return moved


def _costs(profile: Profile, libraries: Mapping[Function, Function]) -> dict[Function, FunctionCost]:
    """Return the cost of each function, where those of several libraries count as one."""
    costs: dict[Function, FunctionCost] = {}
    for function, cost in profile.functions.items():
        known = costs.get(libraries.get(function, function))
        total = FunctionCost(known.own + cost.own, known.inclusive + cost.inclusive, known.calls + cost.calls) if known else cost
        costs[libraries.get(function, function)] = total
    return costs


def _change(
    function: Function, group: str, costs: tuple[FunctionCost | None, FunctionCost | None], smallest: tuple[float, float]
) -> FunctionChange:
    """Return the change of a function.

    smallest : the exclusive instructions of the cheapest function of both sides
    """
    (first, second), certain = costs, True
    if first is None and second is not None:
        certain = second.own > CLEARLY * smallest[0]
    elif second is None and first is not None:
        certain = first.own > CLEARLY * smallest[1]
    return FunctionChange(function, group, first or ABSENT, second or ABSENT, certain)


def _fewest(functions: Sequence[FunctionChange], total: float) -> int:
    """Return how many of the functions explain `NAMED` of the total, and do so with every further one; all where they do not."""
    open_part = total - sum(change.difference for change in functions)
    number = len(functions)
    while number and abs(open_part + functions[number - 1].difference) <= (1 - NAMED) * abs(total):
        open_part += functions[number - 1].difference
        number -= 1
    return number


@lru_cache(maxsize=64)  # the newest release is compared with every other one
def groups_of(profile: Profile) -> Mapping[Function, str]:
    """Return the group of each function of a profile; of several, the one in which it spends most."""
    spent: dict[Function, dict[str, float]] = defaultdict(lambda: defaultdict(float))

    def visit(node: Node, caller: str) -> None:
        group = group_of(node.function, caller)
        spent[node.function][group] += node.own
        for callee in node.callees:
            visit(callee, group)

    for root in profile.roots:
        visit(root, OTHER)
    return {function: max(by_group, key=lambda group: by_group[group]) for function, by_group in spent.items()}
