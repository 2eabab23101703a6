"""Compare times with the memcpy baseline of the same bytes. Pure."""

from __future__ import annotations

from tensorcopy.results.load import Case, Result
from tensorcopy.results.passes import Timing

ITEMSIZE = {"float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "bool": 1}  # bytes
MOVES = ("copies", "conversions", "article", "own")  # suites whose methods all copy; a primitive or an alternative may share storage


def nbytes(case: Case) -> int | None:
    """Return the bytes of a case's tensor.

    None for a case that copies nothing, is a baseline itself, or has an unknown dtype.
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


def timing_of(result: Result, case: Case, *, preallocated: bool = False) -> Timing | None:
    """Return the time of a case's memcpy baseline, None where it was not measured."""
    baseline = case_of(case, preallocated=preallocated)
    return result.timings.get(baseline) if baseline else None


def times_memcpy(result: Result, case: Case) -> float | None:
    """Return a case's time as a multiple of its memcpy baseline, into new memory."""
    baseline, measured = timing_of(result, case), result.timings.get(case)
    return measured.median / baseline.median if baseline and measured else None


def bandwidth(result: Result, case: Case) -> float | None:
    """Return the tensor's bytes copied per second; each is read once and written once."""
    size, measured = nbytes(case), result.timings.get(case)
    return size / measured.median if size and measured else None
