"""How far a time is from what the machine can do at all: the floor of the same bytes, and bytes a second. Pure."""

from __future__ import annotations

from tensorcopy.results.load import Case, Result
from tensorcopy.results.passes import Timing

ITEMSIZE = {"float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "bool": 1}  # bytes
MOVES = (
    "copies",
    "conversions",
    "article",
    "own",
)  # the suites whose methods all move their bytes; a primitive or an alternative may share


def nbytes(case: Case) -> int | None:
    """The bytes that a case's tensor holds; None for a case that moves none, that is a floor itself, or of which that is not known."""
    parameters = dict(case.parameters)
    if case.suite.split(".")[0] not in MOVES and parameters.get("method") != "clone":
        return None
    itemsize = ITEMSIZE.get(parameters.get("dtype", "float32"))
    return int(parameters["numel"]) * itemsize if itemsize and "numel" in parameters else None


def of(case: Case, *, kept: bool = False) -> Case | None:
    """The floor of a case: the same bytes, copied by the machine alone, into memory that is allocated anew, or that is there (`kept`).

    On the CPU memcpy, and for a strided tensor a gather; on a device its own copy, and to the host the transfer (pinned where `kept`).
    """
    parameters, size = dict(case.parameters), nbytes(case)
    if size is None:
        return None
    memory, device = "kept" if kept else "fresh", parameters.get("device", "cpu")
    if device != "cpu":
        to_host = "device to host, pinned" if kept else "device to host, pageable"
        way = to_host if case.suite.startswith("conversions") else "device to device"
        return Case("floors.OnDevice.time_transfer", (("way", way), ("numel", parameters["numel"]), ("device", device)))
    if parameters.get("layout") == "strided":
        return Case("floors.Strided.time_gather", (("memory", memory), ("numel", parameters["numel"])))
    return Case("floors.ByBytes.time_memcpy", (("memory", memory), ("nbytes", str(size))))


def timing(result: Result, case: Case, *, kept: bool = False) -> Timing | None:
    """The floor of a case as the same result measured it; None where it did not."""
    floor = of(case, kept=kept)
    return result.timings.get(floor) if floor else None


def multiple(result: Result, case: Case) -> float | None:
    """A case's time over its floor's, into fresh memory."""
    floor, measured = timing(result, case), result.timings.get(case)
    return measured.median / floor.median if floor and measured else None


def bandwidth(result: Result, case: Case) -> float | None:
    """Bytes of the tensor copied per second; each is read once and written once."""
    size, measured = nbytes(case), result.timings.get(case)
    return size / measured.median if size and measured else None
