"""What the pages say, as plain values: costs now, costs over releases, what each method does. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from statistics import median
from typing import Any

from packaging.version import Version

from tensorcopy.analysis import comparisons, recommend
from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.recommend import suite_of
from tensorcopy.analysis.two_sample import Change, Verdict
from tensorcopy.releases.release_table import Release
from tensorcopy.results import baseline
from tensorcopy.results.load import Case, Result
from tensorcopy.results.passes import Timing
from tensorcopy.site import series
from tensorcopy.site.series import Series

GROUPS = ("copy", "conversion")
ACCELERATORS = ("cuda", "mps", "xpu")
PICTURED = (2**10, 2**20)  # the dispatcher's share, and the memory's


@dataclass(frozen=True)
class Cost:
    """One method at one size: its time; whether it is the least; whether it may be, for no other is surely faster."""

    timing: Timing | None
    least: bool
    contender: bool


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
            return sum(cost.contender for cost in costs) + self.with_grad[row], sum(cost.least for cost in costs), -whole

        return max(range(len(self.methods)), key=rank)

    def least(self, column: int) -> int | None:
        """The row with the least time at a size; None where none was measured."""
        return next((row for row, costs in enumerate(self.costs) if costs[column].least), None)

    def contenders(self, column: int) -> list[int]:
        """The rows that may be the least at a size."""
        return [row for row, costs in enumerate(self.costs) if costs[column].contender]

    def beaten(self, row: int) -> int:
        """At how many sizes another is surely faster."""
        return sum(cost.timing is not None and not cost.contender for cost in self.costs[row])

    def truth(self, row: int) -> str:
        """What is true of a method over all sizes, as the end of a sentence."""
        least, beaten = sum(cost.least for cost in self.costs[row]), self.beaten(row)
        others = f"at {beaten} another is surely faster" if beaten else f"no {self.group} is surely faster at any"
        return f"takes the least time at {least} of {len(self.numels)} sizes, and {others}"


@dataclass(frozen=True)
class Point:
    """A method's cost in one release in one environment, such as "py3.11-cuda", at one size."""

    release: str
    environment: str
    method: str
    timing: Timing


@dataclass(frozen=True)
class History:
    """A group's methods at one size over the releases, in order of version."""

    group: str
    numel: int
    releases: tuple[str, ...]
    environments: tuple[str, ...]  # each a series of its own, the newest Python first
    methods: tuple[str, ...]
    points: tuple[Point, ...]

    def at(self, release: str, environment: str, method: str) -> Timing | None:
        return self._timings.get((release, environment, method))

    def has(self, release: str, environment: str) -> bool:
        """Whether any of the methods was measured there."""
        return any((release, environment, method) in self._timings for method in self.methods)

    @cached_property
    def _timings(self) -> dict[tuple[str, str, str], Timing]:
        return {(point.release, point.environment, point.method): point.timing for point in self.points}


@dataclass(frozen=True)
class Machine:
    """What one machine has to say, its newest release first in mind.

    series : its series, of which the first has the newest release on the newest Python
    """

    series: tuple[Series, ...]
    costs: tuple[CostTable, ...]
    histories: tuple[History, ...]
    not_measured: tuple[str, ...]  # accelerators without a number
    quiet: float | None  # the share of its samples that were taken while it was quiet; None where no control was noted

    @property
    def name(self) -> str:
        return self.series[0].machine

    @cached_property
    def result(self) -> Result:
        """Of the newest release of which more than a part was measured."""
        return _whole(self.series[0])

    @property
    def newest(self) -> Release:
        """The release of that result."""
        return next(release for release in self.series[0].releases if release.sha == self.result.sha)

    @cached_property
    def methods(self) -> dict[str, Any]:
        """Every method's row, as the newest result that knows it has it; those of the newest result first."""
        found = dict(self.result.methods)
        for result in reversed(self.results):
            found.update({name: row for name, row in result.methods.items() if name not in found})
        return found

    @property
    def results(self) -> tuple[Result, ...]:
        return tuple(result for one in self.series for result in one.results)

    @property
    def ledger(self) -> dict[str, Any]:
        return self.result.ledger

    @property
    def devices(self) -> list[str]:
        return list(dict.fromkeys(table.device for table in self.costs))

    @property
    def device(self) -> str:
        """The one that is spoken of first: the CPU, where that was measured."""
        return "cpu" if "cpu" in self.devices or not self.devices else self.devices[0]

    def hardware(self, device: str) -> str:
        """Where a tensor on `device` lies, as its maker calls it."""
        return str(self.ledger["cpu"] if device == "cpu" else self.ledger["accelerators"].get(device, device))

    @property
    def cases(self) -> list[Case]:
        """Every case that torch can change, in any of the results, those of the newest first."""
        return list(dict.fromkeys(case for one in self.series for case in one.courses))

    def answer(self) -> list[tuple[str, str]]:
        """For copies and for conversions on the CPU: the winner's code, and what is true of it."""
        return [(self.code(table.methods[row]), table.truth(row)) for table, row in self.winners()]

    def winners(self, device: str = "cpu") -> list[tuple[CostTable, int]]:
        """For copies and for conversions on a device: their table, and the winner's row."""
        return [(table, table.winner()) for table in self.costs if table.device == device]

    def code(self, method: str, device: str = "cpu") -> str:
        """The method's code as the registry had it when this machine measured."""
        row = self.methods.get(method, {})
        return str(row.get("code" if device == "cpu" else "code_on_accelerator", method))

    def passes_of(self, result: Result) -> tuple[int, int]:
        """The fewest and the most passes that say something of torch, of the cases of one result."""
        counts = [len(timing.judged) for case, timing in result.timings.items() if not case.suite.startswith(comparisons.NOT_TORCHS)] or [0]
        return min(counts), max(counts)


@dataclass(frozen=True)
class Summary:
    """What became of several cases at once, as "slower", "faster", "same" or "undecided".

    ratio : of the case that moved most where something changed, else the median
    counts : how many of the cases had each verdict
    """

    verdict: Verdict
    ratio: float | None
    counts: dict[Verdict, int]

    @property
    def cases(self) -> int:
        return sum(self.counts.values())


def machines(found: Sequence[Result], releases: Sequence[Release]) -> list[Machine]:
    """One entry a machine, the one that measured last first. Results of an unknown SHA are not shown."""
    groups: dict[str, list[Series]] = {}
    for one in series.of_results(found, releases):
        groups.setdefault(one.machine, []).append(one)
    return [_machine(tuple(group)) for group in groups.values()]


def summary(changes: Sequence[Change]) -> Summary | None:
    """Several changes in one word: any slower case makes it slower, then any faster one; same only where all are. None of none."""
    if not changes:
        return None
    counts = {verdict: sum(change.verdict is verdict for change in changes) for verdict in Verdict}
    for verdict in (Verdict.SLOWER, Verdict.FASTER):
        ratios = [change.ratio for change in changes if change.verdict is verdict and change.ratio]
        if ratios:
            return Summary(verdict, max(ratios, key=lambda ratio: max(ratio, 1 / ratio)), counts)
    word = Verdict.SAME if counts[Verdict.SAME] == len(changes) else Verdict.UNDECIDED
    known = [change.ratio for change in changes if change.ratio]
    return Summary(word, median(known) if known else None, counts)


def by_method(found: Comparison) -> dict[tuple[str, str], Summary]:
    """What became of all cases of each method on each device."""
    groups: dict[tuple[str, str], list[Change]] = {}
    for case, change in found.changes.items():
        groups.setdefault((dict(case.parameters).get("method", ""), case.device), []).append(change)
    return {key: told for key, changes in groups.items() if (told := summary(changes))}


def peak(where: str, method: str, *device: tuple[str, str], count: str = "peak") -> Case:
    """The case of a count of bytes or allocations, for an input of 4 MiB."""
    return Case(f"memory.{where}.track_{count}", (("method", method), ("numel", str(2**20)), *device))


def _machine(mine: tuple[Series, ...]) -> Machine:
    result, results = _whole(mine[0]), [result for one in mine for result in one.results]
    devices = ["cpu", *(device for device in ACCELERATORS if _numels(result, "copy", device))]
    timings = [timing for result in results for timing in result.timings.values()]
    quiet = [reading <= visit.limit for timing in timings for visit in timing.visits for reading in visit.control]
    return Machine(
        series=mine,
        costs=tuple(table for device in devices for group in GROUPS if (table := _costs(mine[0], group, device)).methods),
        histories=tuple(history for group in GROUPS for numel in PICTURED if (history := _history(mine, group, numel)).points),
        not_measured=tuple(device for device in ACCELERATORS if device not in devices),
        quiet=sum(quiet) / len(quiet) if quiet else None,
    )


def _whole(one: Series) -> Result:
    """The newest result of a series that knows its methods and has copies; the newest of all where none does."""
    whole = [result for result in one.results if result.methods and any(case.suite.startswith("copies.") for case in result.timings)]
    return whole[-1] if whole else one.newest


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


def _numels(result: Result, group: str, device: str) -> list[int]:
    return sorted({int(case["numel"]) for case in _cases(result, group, device)})


def _methods(result: Result, group: str, device: str) -> list[str]:
    return list(dict.fromkeys(case["method"] for case in _cases(result, group, device)))


def costs(result: Result, group: str, device: str, beside: Sequence[Result] = ()) -> CostTable:
    """The table of one result; `beside` are results of its series, which know how far passes stray."""
    methods, numels = _methods(result, group, device), _numels(result, group, device)
    changes = {
        numel: recommend.against_least(result, [case_of(group, method, numel, device) for method in methods], beside) for numel in numels
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
        for case, change in recommend.against_least(result, cases, beside).items():
            found[case["method"]] += change is None or change.verdict is not Verdict.SLOWER
    return tuple(found.values())


def _costs(mine: Series, group: str, device: str) -> CostTable:
    return costs(_whole(mine), group, device, mine.results)


def _cost(result: Result, case: Case, changes: dict[Case, Change | None]) -> Cost:
    if case not in changes:
        return Cost(None, least=False, contender=False)
    change = changes[case]
    return Cost(result.timings[case], least=change is None, contender=change is None or change.verdict is not Verdict.SLOWER)


def _history(mine: tuple[Series, ...], group: str, numel: int) -> History:
    points = tuple(
        Point(release.version, result.environment, method, timing)
        for one in mine
        for release, result in zip(one.releases, one.results)
        for method in _methods(result, group, "cpu")
        if (timing := result.timings.get(case_of(group, method, numel, "cpu")))
    )
    there = {point.release for point in points}
    return History(
        group=group,
        numel=numel,
        releases=tuple(name for name in in_order(mine) if name in there),
        environments=tuple(one.environment for one in mine if any(point.environment == one.environment for point in points)),
        methods=tuple(dict.fromkeys(point.method for point in points)),
        points=points,
    )


def in_order(mine: Sequence[Series]) -> list[str]:
    """Every release that any of the series has, in order of version."""
    return sorted({release.version for one in mine for release in one.releases}, key=Version)
