"""The memory that a method takes, of the device of its tensor and of the host: the article's table and the page of each method show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from tensorcopy.copying import recommend
from tensorcopy.copying.shipped import memory_case
from tensorcopy.numbers import size
from tensorcopy.results.cases import Case
from tensorcopy.results.launches import method_code
from tensorcopy.results.result import Result


@dataclass(frozen=True)
class MemoryUse:
    """The memory of a method for a tensor of 4 MiB on a device; by memory are "device" and "host", on the CPU the host alone."""

    peaks: Mapping[str, Sequence[tuple[str, Sequence[str]]]]  # by memory, each amount with the releases that have it
    more: Mapping[str, str]  # by memory, the bytes that it takes and `than` does not
    than: str  # the code of what takes least of those that make the same; of several the usual form


def use(results: Sequence[Result], method: str, device: str) -> MemoryUse | None:
    """Return the memory of a method in the results of a history, oldest first; None where it was not counted, or raises."""
    counted = [
        each for each in results if method in each.methods and any(case in each.counts for case in cases(each, method, device).values())
    ]
    if not counted or (counted[-1].outcome(method, "plain", device) or {}).get("raises"):
        return None
    newest = counted[-1]
    alike = [name for name in _alike(newest, method, device) if cases(newest, name, device)["host"] in newest.counts]
    peaks = {name: {kind: int(newest.counts.get(case, 0)) for kind, case in cases(newest, name, device).items()} for name in alike}
    least = min(peaks, key=lambda name: sum(peaks[name].values()), default=method)
    beyond = {kind: taken - peaks[least][kind] for kind, taken in peaks.get(method, {}).items() if size(taken) != size(peaks[least][kind])}
    more = {kind: size(taken) for kind, taken in beyond.items() if taken > 0}
    peaks_of_releases = {kind: spans(counted, case) for kind, case in cases(newest, method, device).items()}
    return MemoryUse(peaks_of_releases, more, method_code(newest.methods[least], device))


def cases(result: Result, method: str, device: str) -> dict[str, Case]:
    """Return the cases that count the memory of a method; of one that is for accelerators alone, the host's memory is pinned."""
    if device == "cpu":
        return {"host": memory_case("peak", method, "cpu")}
    on_host = memory_case("pinned_peak" if "devices" in result.methods[method] else "peak", method, device)
    return {"device": memory_case("device_peak", method, device), "host": on_host}


def spans(results: Sequence[Result], case: Case) -> list[tuple[str, Sequence[str]]]:
    """Return each amount of a count with the releases that have it, in order."""
    by_amount = groupby((each for each in results if case in each.counts), key=lambda each: size(int(each.counts[case])))
    return [(amount, [*dict.fromkeys(each.version for each in group)]) for amount, group in by_amount]


def _alike(result: Result, method: str, device: str) -> list[str]:
    """Return the methods that make the same of a tensor of its own that requires grad, the usual form first."""
    for request in recommend.requests(device):
        names = [name for name, row in result.methods.items() if recommend.matches(row, request)]
        if method in names and request.own and request.requires_grad:
            return sorted(names, key=lambda name: name != request.usual)
    return []
