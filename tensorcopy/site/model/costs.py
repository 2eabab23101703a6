"""The cost of each method at each size, from one result. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tensorcopy.analysis import recommend
from tensorcopy.analysis.two_sample import Change, Verdict
from tensorcopy.results import related, suite_specs
from tensorcopy.results.passes import Case, Timing
from tensorcopy.results.reader import Result

GROUPS = ("copy", "conversion")


@dataclass(frozen=True)
class Cost:
    """A method at one size.

    fastest : has the lowest time
    among_fastest : fastest, or not significantly slower than the fastest
    """

    timing: Timing | None
    fastest: bool
    among_fastest: bool


@dataclass(frozen=True)
class CostTable:
    """The methods of one group on one device, by size.

    costs : `costs[i][j]` is method i at size j
    baselines : `baselines[j]` is the memcpy baseline at size j
    """

    group: str
    device: str
    numels: tuple[int, ...]
    methods: tuple[str, ...]
    costs: tuple[tuple[Cost, ...], ...]
    baselines: tuple[Timing | None, ...]

    def sizes_among_fastest(self, row: int) -> int:
        """Return the number of sizes at which a method is among the fastest."""
        return sum(cost.among_fastest for cost in self.costs[row])


def groups(result: Result) -> list[str]:
    """Return the groups with a table by size: copies, conversions, own operations."""
    return [*GROUPS, *sorted({row["group"] for row in result.methods.values()} - set(recommend.GROUPS))]


def shown_groups(result: Result) -> Sequence[str]:
    """Return the groups that the landing page shows: copies and conversions, or those of a project that has neither."""
    own = groups(result)[len(GROUPS) :]
    return own if own and not any(row["group"] in recommend.GROUPS for row in result.methods.values()) else GROUPS


def case_of(group: str, method: str, numel: int, device: str) -> Case:
    """Return the case of a method at one size: contiguous float32 without grad."""
    device_parameter = () if device == "cpu" else (("device", device),)
    return Case(suite_specs.timed_by_size(group, device), (("method", method), ("numel", str(numel)), *device_parameter))


def numels_of(result: Result, group: str, device: str) -> list[int]:
    """Return the measured sizes of a group on a device, in order."""
    return sorted({int(case["numel"]) for case in _cases(result, group, device)})


def methods_of(result: Result, group: str, device: str) -> list[str]:
    """Return the measured methods of a group on a device, in the order of the results."""
    return list(dict.fromkeys(case["method"] for case in _cases(result, group, device)))


def costs(result: Result, group: str, device: str, series: Sequence[Result] = ()) -> CostTable:
    """Return the table of one result.

    series : the results of the same machine, Python and build, from which the noise of passes is estimated
    """
    methods, numels = methods_of(result, group, device), numels_of(result, group, device)
    changes = {
        numel: recommend.against_fastest(result, [case_of(group, method, numel, device) for method in methods], series) for numel in numels
    }
    rows = tuple(tuple(_cost(result, case_of(group, method, numel, device), changes[numel]) for numel in numels) for method in methods)
    baselines = tuple(related.baseline_timing(result, case_of(group, methods[0], numel, device)) for numel in numels) if methods else ()
    return CostTable(group, device, tuple(numels), tuple(methods), rows, baselines)


def _cases(result: Result, group: str, device: str) -> list[Case]:
    suite = suite_specs.timed_by_size(group, device)
    cases = [case for case in result.timings if case.suite == suite and (device == "cpu" or case["device"] == device)]
    return cases if group in recommend.GROUPS else [case for case in cases if result.methods.get(case["method"], {}).get("group") == group]


def _cost(result: Result, case: Case, changes: dict[Case, Change | None]) -> Cost:
    if case not in changes:
        return Cost(None, fastest=False, among_fastest=False)
    change = changes[case]
    return Cost(result.timings[case], fastest=change is None, among_fastest=change is None or change.verdict is not Verdict.SLOWER)
