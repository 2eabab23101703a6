"""Exact counts beside times: which count belongs to a timed case, and how it repeats.

Instructions are counted under callgrind for the same method, size, layout and dtype as a timed case on the CPU (`benchmarks.instructions`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tensorcopy.results.passes import Case, Timing
from tensorcopy.results.reader import Result

INSTRUCTIONS = "instructions."  # the suites' names begin so
BY_LAYOUT, BY_DTYPE = "instructions.ByLayout.track_instructions", "instructions.ByDtype.track_instructions"
BY_SIZE, OTHERS = "instructions.BySize.track_instructions", "instructions.Others.track_instructions"
BY_METHOD = (BY_SIZE, OTHERS)  # the suites with a case for each method, size and requires_grad
COPIED = ("copies", "conversions")
SECONDS, INSTRUCTIONS_UNIT, BYTES, ALLOCATIONS = "seconds", "instructions", "bytes", "allocations"
UNITS = "units"  # of what a third-party suite tracks


@dataclass(frozen=True)
class Count:
    """An exact count of one case in one result.

    value : the smallest of the repeated counts: a disturbance only adds to a count
    repeats : every repeated count
    """

    value: float
    repeats: tuple[float, ...]

    @property
    def spread(self) -> float | None:
        """The relative difference of the largest and the smallest; None for a single count."""
        return max(self.repeats) / min(self.repeats) - 1 if len(self.repeats) > 1 and min(self.repeats) > 0 else None


def unit_of(case: Case) -> str:
    """Return the unit in which a case is measured or counted."""
    function = case.suite.rpartition(".")[2].lower()
    if function.startswith("time"):
        return SECONDS
    if case.suite.startswith(INSTRUCTIONS):
        return INSTRUCTIONS_UNIT
    if case.suite.startswith("memory.") or function.startswith(("mem", "peakmem")):
        return ALLOCATIONS if function == "track_allocations" else BYTES
    return UNITS


@cache
def case_of(case: Case) -> Case | None:
    """Return the case whose instructions were counted for a timed case; None where nothing is counted.

    Nothing is counted for devices, several threads, and own operations.
    """
    module, _, suite = case.suite_name.partition(".")
    parameters = dict(case.parameters)
    if "threads" in parameters or case.device != "cpu" or not {"method", "numel"} <= parameters.keys():
        return None
    method, numel = ("method", parameters["method"]), ("numel", parameters["numel"])
    if module in COPIED and suite == "ByLayout" and parameters["layout"] != "contiguous":
        return Case(BY_LAYOUT, (method, numel, ("layout", parameters["layout"])))
    if module in COPIED and suite == "ByDtype" and parameters["dtype"] != "float32":
        return Case(BY_DTYPE, (method, numel, ("dtype", parameters["dtype"])))
    if module in COPIED or module in ("primitives", "alternatives"):
        grad = ("requires_grad", parameters.get("requires_grad", "False"))
        return Case(BY_SIZE if module in COPIED else OTHERS, (method, numel, grad))
    return None


def measured(result: Result, case: Case) -> Timing | None:
    """Return a case's time, or its count in the same form; None where it was not measured."""
    if unit_of(case) == SECONDS:
        return result.timings.get(case)
    count = count_of(result, case)
    return Timing(count.value, min(count.repeats), max(count.repeats)) if count else None


def passes(result: Result, case: Case) -> int:
    """Return in how many passes a case was timed, without excluded ones, or counted."""
    if unit_of(case) == SECONDS:
        return len(result.timings[case].usable) if case in result.timings else 0
    count = count_of(result, case)
    return len(count.repeats) if count else 0


def count_of(result: Result, case: Case) -> Count | None:
    """Return the count of a timed or counted case; None where nothing was counted."""
    counted = case if case in result.counts else case_of(case)
    if counted is None or counted not in result.counts:
        return None
    repeats = result.count_repeats.get(counted) or (result.counts[counted],)
    return Count(min(repeats), repeats)
