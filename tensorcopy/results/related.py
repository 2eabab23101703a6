"""What belongs to a timed case: its exact count, and the memcpy baseline of the same bytes. Pure.

Which suites have them stands in the table of suites (`suite_specs`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tensorcopy.results import suite_specs
from tensorcopy.results.cases import Case, Timing
from tensorcopy.results.reader import Result

DEFAULTS = {"requires_grad": "False", "layout": "contiguous", "dtype": "float32"}  # of suites without these parameters
ITEMSIZE = {"float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "bool": 1}  # bytes
CACHE = re.compile(r"(?P<level>L\d) (?:Data|Unified) (?P<size>\d+)(?P<unit>[KM])")  # as in the provenance, the first level first
CACHE_UNITS = {"K": 2**10, "M": 2**20}


@dataclass(frozen=True)
class Count:
    """An exact count of one case in one result.

    value : the smallest of the repeated counts, see `Result.counts`
    repeats : every repeated count
    """

    value: float
    repeats: tuple[float, ...]

    @property
    def spread(self) -> float | None:
        """The relative difference of the largest and the smallest; None for a single count."""
        return max(self.repeats) / min(self.repeats) - 1 if len(self.repeats) > 1 and min(self.repeats) > 0 else None


@dataclass(frozen=True)
class Measured:
    """What one result has of a case: its time, count or tracked value.

    value : in the unit of the case's suite
    error : of a time, its relative standard error; of a count, the relative difference of its repeats; 0 where that is unknown
    launches : in how many it was measured
    """

    value: float
    error: float
    launches: int


def own_group(methods: Mapping[str, Any], case: Case) -> str:
    """Return the group of the own operation of a case, where there are several groups; "" otherwise.

    methods : the rows of a result
    """
    if case.spec.methods != suite_specs.OWN:
        return ""
    groups = own_groups(methods)
    return str(methods.get(case["method"], {}).get("group", "")) if len(groups) > 1 else ""


def own_groups(methods: Mapping[str, Any]) -> list[str]:
    """Return the groups of own operations, in the order of their rows."""
    return list(dict.fromkeys(row["group"] for row in methods.values() if not suite_specs.section_of(row["group"])))


@cache
def counted_case(case: Case) -> Case | None:
    """Return the case whose instructions were counted for a timed case; None where nothing is counted."""
    for name in case.spec.counted:
        counted = suite_specs.find(name)
        if all(parameter in counted.parameters or DEFAULTS.get(parameter) == value for parameter, value in case.parameters):
            values = {**DEFAULTS, **dict(case.parameters)}
            return Case(name, tuple((parameter, values[parameter]) for parameter in counted.parameters))
    return None


def memory_case(metric: str, method: str, device: str) -> Case:
    """Return the case that counts bytes or allocations of a method, for an input of 4 MiB on a device."""
    (spec,) = suite_specs.counting(metric)
    values = {"method": method, "numel": str(2**20), "device": device}
    return Case(spec.name, tuple((name, values[name]) for name in spec.parameters))


def count_of(result: Result, case: Case) -> Count | None:
    """Return the count of a timed or counted case; None where nothing was counted."""
    counted = case if case in result.counts else counted_case(case)
    if counted is None or counted not in result.counts:
        return None
    repeats = result.count_repeats.get(counted) or (result.counts[counted],)
    return Count(result.counts[counted], repeats)


def measured(result: Result, case: Case) -> Measured | None:
    """Return what a result has of a case; None where it was not measured."""
    if case.spec.timed:
        timing = result.timings.get(case)
        return Measured(timing.seconds, timing.error, timing.launches) if timing else None
    count = count_of(result, case)
    return Measured(count.value, count.spread or 0.0, len(count.repeats)) if count else None


def nbytes(case: Case) -> int | None:
    """Return the bytes of a case's tensor; None for a case without a memcpy baseline, or of an unknown dtype."""
    parameters, spec = dict(case.parameters), case.spec
    if not spec.baseline or (spec.copying and parameters.get("method") not in spec.copying):
        return None
    itemsize = ITEMSIZE.get(parameters.get("dtype", DEFAULTS["dtype"]))
    return int(parameters["numel"]) * itemsize if itemsize and "numel" in parameters else None


def baseline_case(case: Case) -> Case | None:
    """Return the memcpy baseline of a case: the same bytes, copied with the least work.

    On the CPU memcpy into new memory, without torch, and for a strided tensor a gather; on a device torch's copy into existing memory,
    waited for like the case itself, and to the host the transfer.
    """
    size, spec = nbytes(case), case.spec
    if size is None:
        return None
    values = {
        **dict(case.parameters),
        "memory": "fresh",
        "nbytes": str(size),
        "way": "device to host, pageable" if spec.to_host else "device to device",
        "device": case.device,
    }
    name = spec.strided_baseline if spec.strided_baseline and values.get("layout") == "strided" else spec.baseline
    return Case(name, tuple((parameter, values[parameter]) for parameter in suite_specs.find(name).parameters))


def baseline_timing(result: Result, case: Case) -> Timing | None:
    """Return the time of a case's memcpy baseline, None where it was not measured."""
    baseline = baseline_case(case)
    return result.timings.get(baseline) if baseline else None


def wait_alone(result: Result, device: str) -> Timing | None:
    """Return the time of a wait for a device with nothing to do, which every latency contains; None where it was not measured."""
    return next((timing for case, timing in result.timings.items() if case.spec.wait and case.device == device), None)


def times_memcpy(result: Result, case: Case) -> float | None:
    """Return a case's time as a multiple of its memcpy baseline, into new memory."""
    baseline, timing = baseline_timing(result, case), result.timings.get(case)
    return timing.seconds / baseline.seconds if baseline and timing else None


def bytes_in(result: Result, case: Case) -> str:
    """Return where the copied bytes lie while a case is repeated: "L1", "L2", "L3", "memory", "device memory" or "bus".

    That is the first cache that holds the source and the copy; its bandwidth is not that of the memory. "" where the caches are unknown.
    """
    size = nbytes(case)
    if size is None:
        return ""
    if case.device != "cpu":
        if case.spec.to_host:
            return "bus"
        mib = result.provenance.get("gpu_cache_mib")
        if mib is None:
            return ""
        return "L2" if 2 * size <= mib * 2**20 else "device memory"
    caches = [CACHE.fullmatch(text) for text in result.provenance.get("hardware", {}).get("caches", ())]
    holding = (cache["level"] for cache in caches if cache and 2 * size <= int(cache["size"]) * CACHE_UNITS[cache["unit"]])
    return next(holding, "memory") if any(caches) else ""


def bandwidth(result: Result, case: Case) -> float | None:
    """Return the tensor's bytes copied per second; each is read once and written once."""
    size, timing = nbytes(case), result.timings.get(case)
    return size / timing.seconds if size and timing else None
