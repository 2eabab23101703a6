"""The memory of conversions, for docs/memory.md and docs/methodology.md. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tensorcopy.releases.release_table import Release
from tensorcopy.report.formats import code
from tensorcopy.report.numbers import size
from tensorcopy.report.tables import markdown_table
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result

NUMEL = 2**20  # of the memory suites
TO_NUMPY = ("detach_numpy_copy", "clone_detach_numpy", "detach_clone_numpy", "detach_to_cpu_copy_numpy")  # independent on every device


class Peaks(NamedTuple):
    """The peaks of TO_NUMPY in bytes, and how they were obtained."""

    values: tuple[float | None, ...]
    source: str


def memory(results: Sequence[Result], releases: Mapping[str, Release]) -> str:
    """Return the peaks of conversions on the host and on a CUDA device, by release.

    Those on the device are measured, or counted by torch's dispatcher.
    """
    by_release = _one_per_release(results, list(releases))
    parts = []
    for title, on_device in (("On the host, for a tensor on the CPU", False), ("On the device, for a tensor on CUDA", True)):
        codes = [results[-1].methods[name]["code_on_accelerator" if on_device else "code"] for name in TO_NUMPY]
        rows = []
        for group, peaks in _grouped((result, _peaks(result, on_device)) for result in by_release):
            names = [releases[result.sha].version for result in group]
            span = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
            rows.append([span, *("–" if value is None else size(int(value)) for value in peaks.values), peaks.source])
        table = markdown_table(["torch", *map(code, codes), ""], rows, "l" + "r" * len(codes) + "l")
        parts.append(f"{title}: peak above the input of {size(NUMEL * 4)}.\n\n{table}")
    return "\n\n".join(parts)


def _one_per_release(results: Sequence[Result], order: Sequence[str]) -> list[Result]:
    """Return one result for each release, in order.

    Bytes do not depend on Python, and are counted on one Python only.
    """
    by_sha: dict[str, Result] = {}
    for result in results:
        if result.counts or result.sha not in by_sha:
            by_sha[result.sha] = result
    return sorted(by_sha.values(), key=lambda result: order.index(result.sha))


def _peaks(result: Result, on_device: bool) -> Peaks:
    def values_of(suite: str, *device: tuple[str, str]) -> tuple[float | None, ...]:
        return tuple(result.counts.get(Case(suite, (("method", name), ("numel", str(NUMEL)), *device))) for name in TO_NUMPY)

    if not on_device:
        return Peaks(values_of("memory.Host.track_peak", ("device", "cpu")), "")
    measured = values_of("memory.Device.track_peak", ("device", "cuda"))
    if any(value is not None for value in measured):
        return Peaks(measured, f"measured on {result.provenance['accelerators']['cuda']}")
    counted = values_of("memory.Counted.track_peak")
    known = any(value is not None for value in counted)
    return Peaks(counted, "counted by torch's dispatcher, not yet measured" if known else "not yet measured")


def _grouped(rows: Iterable[tuple[Result, Peaks]]) -> Iterator[tuple[list[Result], Peaks]]:
    """Yield consecutive releases with equal peaks together."""
    group: list[Result] = []
    group_peaks: Peaks | None = None
    for result, peaks in rows:
        if group_peaks is not None and peaks != group_peaks:
            yield group, group_peaks
            group = []
        group.append(result)
        group_peaks = peaks
    if group_peaks is not None:
        yield group, group_peaks
