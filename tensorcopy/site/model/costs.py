"""What each method costs at each size, from one result. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tensorcopy.analysis import recommend
from tensorcopy.analysis.recommend import suite_of
from tensorcopy.analysis.two_sample import Change, Verdict
from tensorcopy.results import baseline
from tensorcopy.results.load import Case, Result
from tensorcopy.results.passes import Timing

GROUPS = ("copy", "conversion")


@dataclass(frozen=True)
class Cost:
    """One method at one size: its time; whether it is the least; whether it may be, for no other is surely faster."""

    timing: Timing | None
    least: bool
    among_fastest: bool


@dataclass(frozen=True)
class CostTable:
    """The methods of one group on one device: `costs[i][j]` is method i at size j, `floors[j]` what the same bytes cost at least.

    with_grad : at how many sizes method i may be the least for a tensor that requires grad
    """

    group: str
    device: str
    numels: tuple[int, ...]
    methods: tuple[str, ...]
    costs: tuple[tuple[Cost, ...], ...]
    floors: tuple[Timing | None, ...]
    with_grad: tuple[int, ...]

    def winner(self) -> int:
        """The row of the method that may be the least at the most sizes, without grad and with; of several the one that is least
        most often, then as a whole.
        """

        def rank(row: int) -> tuple[int, int, float]:
            costs = self.costs[row]
            whole = prod(cost.timing.median * 1e6 for cost in costs if cost.timing)
            return sum(cost.among_fastest for cost in costs) + self.with_grad[row], sum(cost.least for cost in costs), -whole

        return max(range(len(self.methods)), key=rank)

    def least(self, column: int) -> int | None:
        """The row with the least time at a size; None where none was measured."""
        return next((row for row, costs in enumerate(self.costs) if costs[column].least), None)

    def among_fastest_rows(self, column: int) -> list[int]:
        """The rows that may be the least at a size."""
        return [row for row, costs in enumerate(self.costs) if costs[column].among_fastest]

    def beaten(self, row: int) -> int:
        """At how many sizes another is surely faster."""
        return sum(cost.timing is not None and not cost.among_fastest for cost in self.costs[row])

    def truth(self, row: int) -> str:
        """What is true of a method over all sizes, as the end of a sentence."""
        least, beaten = sum(cost.least for cost in self.costs[row]), self.beaten(row)
        others = f"at {beaten} another is surely faster" if beaten else f"no {self.group} is surely faster at any"
        return f"takes the least time at {least} of {len(self.numels)} sizes, and {others}"


def groups(result: Result) -> list[str]:
    """What is pictured by size: copies, conversions, and everybody's own operations."""
    return [*GROUPS, *sorted({row["group"] for row in result.methods.values()} - set(recommend.GROUPS))]


def case_of(group: str, method: str, numel: int, device: str) -> Case:
    """The case of a method of a group at one size, contiguous float32 without grad."""
    where = () if device == "cpu" else (("device", device),)
    return Case(suite_of(group, device), (("method", method), ("numel", str(numel)), *where))


def _cases(result: Result, group: str, device: str) -> list[Case]:
    suite = suite_of(group, device)
    found = [case for case in result.timings if case.suite == suite and (device == "cpu" or case["device"] == device)]
    return found if group in recommend.GROUPS else [case for case in found if result.methods.get(case["method"], {}).get("group") == group]


def numels_of(result: Result, group: str, device: str) -> list[int]:
    return sorted({int(case["numel"]) for case in _cases(result, group, device)})


def methods_of(result: Result, group: str, device: str) -> list[str]:
    return list(dict.fromkeys(case["method"] for case in _cases(result, group, device)))


def costs(result: Result, group: str, device: str, beside: Sequence[Result] = ()) -> CostTable:
    """The table of one result; `beside` are results of its series, which know how far passes stray."""
    methods, numels = methods_of(result, group, device), numels_of(result, group, device)
    changes = {
        numel: recommend.against_fastest(result, [case_of(group, method, numel, device) for method in methods], beside) for numel in numels
    }
    rows = tuple(tuple(_cost(result, case_of(group, method, numel, device), changes[numel]) for numel in numels) for method in methods)
    least_possible = tuple(baseline.timing(result, case_of(group, methods[0], numel, device)) for numel in numels) if methods else ()
    return CostTable(group, device, tuple(numels), tuple(methods), rows, least_possible, _with_grad(result, group, device, methods, beside))


def _with_grad(result: Result, group: str, device: str, methods: Sequence[str], beside: Sequence[Result]) -> tuple[int, ...]:
    """At how many sizes each method may be the least for a tensor that requires grad; that is measured on the CPU only."""
    found = dict.fromkeys(methods, 0)
    suite = suite_of(group, "cpu", requires_grad=True)
    sizes: dict[str, list[Case]] = {}
    for case in result.timings if device == "cpu" else ():
        asked = dict(case.parameters)
        if case.suite == suite and asked.get("requires_grad") == "True" and asked.get("method") in found:
            sizes.setdefault(asked.get("numel", ""), []).append(case)
    for cases in sizes.values():
        for case, change in recommend.against_fastest(result, cases, beside).items():
            found[case["method"]] += change is None or change.verdict is not Verdict.SLOWER
    return tuple(found.values())


def _cost(result: Result, case: Case, changes: dict[Case, Change | None]) -> Cost:
    if case not in changes:
        return Cost(None, least=False, among_fastest=False)
    change = changes[case]
    return Cost(result.timings[case], least=change is None, among_fastest=change is None or change.verdict is not Verdict.SLOWER)
