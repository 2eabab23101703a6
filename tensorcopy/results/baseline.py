"""Compare times with the memcpy baseline of the same bytes. Pure."""

from __future__ import annotations

import re

from tensorcopy.results.passes import Case, Timing
from tensorcopy.results.reader import Result

ITEMSIZE = {"float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "bool": 1}  # bytes
CACHE = re.compile(r"(?P<level>L\d) (?:Data|Unified) (?P<size>\d+)(?P<unit>[KM])")  # as in the provenance, the first level first
UNITS = {"K": 2**10, "M": 2**20}
MOVES = ("copies", "conversions", "own")  # suites of copies; a primitive or an alternative may share storage


def nbytes(case: Case) -> int | None:
    """Return the bytes of a case's tensor.

    None for a case that copies nothing, uses several threads, is a baseline itself, or has an unknown dtype.
    """
    parameters = dict(case.parameters)
    if case.suite.split(".")[0] not in MOVES and parameters.get("method") != "clone":
        return None
    itemsize = ITEMSIZE.get(parameters.get("dtype", "float32"))
    return int(parameters["numel"]) * itemsize if itemsize and "numel" in parameters else None


def case_of(case: Case, *, preallocated: bool = False) -> Case | None:
    """Return the memcpy baseline of a case: the same bytes copied without torch.

    preallocated : copied into memory that is allocated before, not during the copy

    On the CPU memcpy, and for a strided tensor a gather; on a device its own copy, waited for like the case itself, and to the host the
    transfer (`preallocated`: pinned).
    """
    parameters, size = dict(case.parameters), nbytes(case)
    if size is None:
        return None
    memory, device = "kept" if preallocated else "fresh", parameters.get("device", "cpu")
    if device != "cpu":
        to_host = "device to host, pinned" if preallocated else "device to host, pageable"
        if case.suite.startswith("copies.Latency"):
            return Case("floors.Latency.time_transfer", (("numel", parameters["numel"]), ("device", device)))
        way = to_host if case.suite.startswith("conversions") else "device to device"
        return Case("floors.OnDevice.time_transfer", (("way", way), ("numel", parameters["numel"]), ("device", device)))
    if parameters.get("layout") == "strided":
        return Case("floors.Strided.time_gather", (("memory", memory), ("numel", parameters["numel"])))
    return Case("floors.ByBytes.time_memcpy", (("memory", memory), ("nbytes", str(size))))


def wait_alone(device: str) -> Case:
    """Return the case that times a wait for a device with nothing to do; every latency contains one."""
    return Case("floors.WaitAlone.time_wait", (("device", device),))


def timing_of(result: Result, case: Case, *, preallocated: bool = False) -> Timing | None:
    """Return the time of a case's memcpy baseline, None where it was not measured."""
    baseline = case_of(case, preallocated=preallocated)
    return result.timings.get(baseline) if baseline else None


def times_memcpy(result: Result, case: Case) -> float | None:
    """Return a case's time as a multiple of its memcpy baseline, into new memory."""
    baseline, measured = timing_of(result, case), result.timings.get(case)
    return measured.median / baseline.median if baseline and measured else None


def bytes_in(result: Result, case: Case) -> str:
    """Return where the copied bytes lie while a case is repeated: "L1", "L2", "L3", "memory", "device memory" or "bus".

    That is the first cache that holds the source and the copy; its bandwidth is not that of the memory. "" where the caches are unknown.
    """
    size, device = nbytes(case), dict(case.parameters).get("device", "cpu")
    if size is None:
        return ""
    if device != "cpu":
        mib = result.provenance.get("gpu_cache_mib")
        if case.suite.startswith("conversions"):
            return "bus"
        return "" if mib is None else "L2" if 2 * size <= mib * 2**20 else "device memory"
    caches = [CACHE.fullmatch(text) for text in result.provenance.get("hardware", {}).get("caches", ())]
    holding = (cache["level"] for cache in caches if cache and 2 * size <= int(cache["size"]) * UNITS[cache["unit"]])
    return next(holding, "memory") if any(caches) else ""


def bandwidth(result: Result, case: Case) -> float | None:
    """Return the tensor's bytes copied per second; each is read once and written once."""
    size, measured = nbytes(case), result.timings.get(case)
    return size / measured.median if size and measured else None
