"""What the pages say, as plain values: costs now, costs over releases, what each method does. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import Any

from tensorcopy import floors
from tensorcopy.passes import Timing
from tensorcopy.releases import Release
from tensorcopy.results import Case, Result
from tensorcopy.units import size

SUITES = {"copy": "copies.{}.time_copy", "conversion": "conversions.{}.time_conversion"}
ON_DEVICE = {"copy": "Throughput", "conversion": "Latency"}  # a conversion ends on the host, and so waits by itself
ACCELERATORS = ("cuda", "mps", "xpu")
PICTURED = (2**10, 2**20)  # the dispatcher's share, and the memory's


@dataclass(frozen=True)
class Cost:
    """One method at one size: its time; whether it is the least; whether it may be, for its interval reaches the least one's."""

    timing: Timing | None
    least: bool
    contender: bool


@dataclass(frozen=True)
class CostTable:
    """The methods of one group on one device: `costs[i][j]` is method i at size j, `floors[j]` what the same bytes cost at least."""

    group: str
    device: str
    numels: tuple[int, ...]
    methods: tuple[str, ...]
    costs: tuple[tuple[Cost, ...], ...]
    floors: tuple[Timing | None, ...]

    def winner(self) -> int:
        """The row of the method that is surely beaten at the fewest sizes; of several the one that is least most often, then as a whole."""

        def rank(row: int) -> tuple[int, int, float]:
            costs = self.costs[row]
            whole = prod(cost.timing.median * 1e6 for cost in costs if cost.timing)
            return sum(cost.contender for cost in costs), sum(cost.least for cost in costs), -whole

        return max(range(len(self.methods)), key=rank)

    def truth(self, row: int) -> str:
        """What is true of a method over all sizes, as the end of a sentence."""
        least, beaten = sum(cost.least for cost in self.costs[row]), sum(not cost.contender for cost in self.costs[row])
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
        return next((p.timing for p in self.points if (p.release, p.environment, p.method) == (release, environment, method)), None)


@dataclass(frozen=True)
class Machine:
    """What one machine has to say, its newest release first in mind."""

    name: str
    newest: Release
    result: Result  # of the newest release, in the environment that served most releases
    costs: tuple[CostTable, ...]
    histories: tuple[History, ...]
    results: tuple[Result, ...]
    not_measured: tuple[str, ...]  # accelerators without a number
    quiet: float | None  # the share of its samples that were taken while it was quiet; None where no control was noted
    passes: tuple[int, int]  # the fewest and the most that a case of these results has

    @property
    def ledger(self) -> dict[str, Any]:
        return self.result.ledger

    def answer(self) -> list[tuple[str, str]]:
        """For copies and for conversions on the CPU: the winner's code, and what is true of it."""
        said = []
        for table in self.costs:
            if table.device == "cpu":
                row = table.winner()
                said.append((self.code(table.methods[row]), table.truth(row)))
        return said

    def code(self, method: str, device: str = "cpu") -> str:
        """The method's code as the registry had it when this machine measured."""
        row = self.result.methods.get(method, {})
        return str(row.get("code" if device == "cpu" else "code_on_accelerator", method))


def _by_numbers(environment: str) -> tuple[list[int], str]:
    """py3.9 before py3.11."""
    return [int(digits) for digits in re.findall(r"\d+", environment)], environment


def machines(found: tuple[Result, ...], releases: tuple[Release, ...]) -> list[Machine]:
    """One entry a machine, the one that measured last first. Results of an unknown SHA are not shown."""
    known = {release.sha: release for release in releases}
    shown = [result for result in found if result.sha in known and result.timings]
    described = [_machine(name, [r for r in shown if r.machine == name], known) for name in {result.machine for result in shown}]
    return sorted(described, key=lambda machine: max(r.ledger["started"] for r in machine.results), reverse=True)


def outcome(seen: dict[str, Any]) -> str:
    """An observed outcome in a few words."""
    if seen["raises"]:
        return str(seen["raises"]).replace("{device}", "the device")
    words = ["shares storage" if seen["shares_storage"] else "independent"]
    if seen["gives"] == "tensor":
        words.append("in the graph" if seen["keeps_graph"] else "out of the graph")
        if seen["requires_grad"] and not seen["keeps_graph"]:
            words.append("with a gradient of its own")
    if seen["layout"] != "same":
        words.append(f"laid out {seen['layout']}")
    if seen["warns"]:
        words.append("warns")
    return ", ".join(words)


def memory(result: Result, method: str) -> str:
    """The peak that a method holds above an input of 4 MiB: on the host, for a tensor on the CPU; and on a CUDA device."""
    host = result.counts.get(_peak("Host", method, ("device", "cpu")))
    measured, counted = result.counts.get(_peak("Device", method, ("device", "cuda"))), result.counts.get(_peak("Counted", method))
    words = [] if host is None else [f"{size(int(host))} on the host"]
    if measured is not None:
        words.append(f"{size(int(measured))} on a CUDA device")
    elif counted is not None:
        words.append(f"{size(int(counted))} on a CUDA device (counted, not measured yet)")
    return "; ".join(words) or "not measured yet"


def _peak(where: str, method: str, *device: tuple[str, str]) -> Case:
    return Case(f"memory.{where}.track_peak", (("method", method), ("numel", str(2**20)), *device))


def _machine(name: str, results: list[Result], known: dict[str, Release]) -> Machine:
    order = list(known)
    results = sorted(results, key=lambda r: (order.index(r.sha), r.environment))
    result = max(results, key=lambda r: (order.index(r.sha), sum(other.environment == r.environment for other in results)))
    devices = ["cpu", *(device for device in ACCELERATORS if _numels(result, "copy", device))]
    timings = [timing for result in results for timing in result.timings.values()]
    quiet = [reading <= visit.limit for timing in timings for visit in timing.visits for reading in visit.control]
    passes = [sum(not visit.left_out for visit in timing.visits) for timing in timings]
    return Machine(
        name=name,
        newest=known[result.sha],
        result=result,
        costs=tuple(table for device in devices for group in SUITES if (table := _costs(result, group, device)).methods),
        histories=tuple(history for group in SUITES for numel in PICTURED if (history := _history(results, group, numel, known)).points),
        results=tuple(results),
        not_measured=tuple(device for device in ACCELERATORS if device not in devices),
        quiet=sum(quiet) / len(quiet) if quiet else None,
        passes=(min(passes), max(passes)),
    )


def _case(group: str, method: str, numel: int, device: str) -> Case:
    if device == "cpu":
        return Case(SUITES[group].format("BySize"), (("method", method), ("numel", str(numel))))
    return Case(SUITES[group].format(ON_DEVICE[group]), (("method", method), ("numel", str(numel)), ("device", device)))


def _cases(result: Result, group: str, device: str) -> list[Case]:
    suite = SUITES[group].format("BySize" if device == "cpu" else ON_DEVICE[group])
    return [case for case in result.timings if case.suite == suite and (device == "cpu" or case["device"] == device)]


def _numels(result: Result, group: str, device: str) -> list[int]:
    return sorted({int(case["numel"]) for case in _cases(result, group, device)})


def _methods(result: Result, group: str, device: str) -> list[str]:
    return list(dict.fromkeys(case["method"] for case in _cases(result, group, device)))


def _costs(result: Result, group: str, device: str) -> CostTable:
    methods, numels = _methods(result, group, device), _numels(result, group, device)
    rows = [[result.timings.get(_case(group, method, numel, device)) for numel in numels] for method in methods]
    least = [min((timing for timing in column if timing), key=lambda timing: timing.median) for column in zip(*rows, strict=True)]
    costs = tuple(tuple(_cost(timing, best) for timing, best in zip(row, least, strict=True)) for row in rows)
    least_possible = tuple(floors.timing(result, _case(group, methods[0], numel, device)) for numel in numels) if methods else ()
    return CostTable(group, device, tuple(numels), tuple(methods), costs, least_possible)


def _cost(timing: Timing | None, best: Timing) -> Cost:
    return Cost(timing, least=timing is best, contender=timing is not None and timing.low <= best.high)


def _history(results: list[Result], group: str, numel: int, known: dict[str, Release]) -> History:
    points = tuple(
        Point(known[result.sha].version, result.environment, method, timing)
        for result in results
        for method in _methods(result, group, "cpu")
        if (timing := result.timings.get(_case(group, method, numel, "cpu")))
    )
    return History(
        group=group,
        numel=numel,
        releases=tuple(dict.fromkeys(point.release for point in points)),
        environments=tuple(sorted({point.environment for point in points}, key=_by_numbers, reverse=True)),
        methods=tuple(dict.fromkeys(point.method for point in points)),
        points=points,
    )
