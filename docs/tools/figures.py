"""Tables and sentences of docs/ from measurements: how quiet the machine was, how right the verdicts are, memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import groupby
from pathlib import Path
from statistics import mean, quantiles
from typing import Any

from tensorcopy.analysis.comparisons import version
from tensorcopy.numbers import percent, size
from tensorcopy.releases import release_table
from tensorcopy.report.formats import code, escaped, markdown_table
from tensorcopy.results.passes import excluded_passes
from tensorcopy.results.reader import Result
from tensorcopy.site.machine import Machine
from tensorcopy.site.pages import data
from tensorcopy.site.pages.costs import memory_case

AGREEMENT = Path("docs/agreement.json")  # written by docs.tools.verify
NUMEL = 2**20  # of the memory suites
TO_NUMPY = ("detach_numpy_copy", "clone_detach_numpy", "detach_clone_numpy", "detach_to_cpu_copy_numpy")  # independent on every device


def accuracy(machine: Machine) -> str:
    """Return how often the verdicts of measured comparisons are right; the site's report card has the simulated ones, too."""
    report = _document(data.ACCURACY_FILE)
    title, (header, *rows) = data.accuracy_tables({**report, **{name: escaped(report[name]) for name in ("torch", "cpu")}})[0]
    return f"{title}:\n\n{markdown_table(header, rows, 'l' + 'r' * (len(header) - 1))}"


def agreement(machine: Machine) -> str:
    """Return the ratio of asv's time to that of torch's Timer, of the suites together."""
    checked = _document(AGREEMENT)
    suites = checked["suites"].values()
    low, high = min(row["min"] for row in suites), max(row["max"] for row in suites)
    source = escaped(f"torch {checked['torch']} on {checked['on']}, {checked['day']}")
    return (
        f"asv's time divided by the Timer's is {checked['median']:.3f} in the median of {sum(row['cases'] for row in suites)} cases, "
        f"{low:.3f} to {high:.3f} over all ({source})."
    )


def quiet(machine: Machine) -> str:
    """Return how quiet the machine was and how many passes are excluded."""
    results = machine.results
    timings = [timing for result in results for timing in result.timings.values()]
    readings = [reading <= one.limit for timing in timings for one in timing.by_pass for reading in one.control]
    exponents = {(result.python, case): timing.by_pass[0].control_exponent for result in results for case, timing in result.timings.items()}
    known = [exponent for exponent in exponents.values() if exponent is not None]
    low, middle, high = quantiles(known, n=4) if len(known) > 1 else (0.0, 0.0, 0.0)
    passes = {record["id"] for result in results for record in result.passes if _timed(record)}
    quiet = percent(mean(readings or [0]), 0)
    lines = [
        f"{len(readings):,} samples in {len(passes)} passes of {len(results)} results; {quiet} of the samples were taken while the machine "
        f"was quiet, and {sum(timing.disturbed for timing in timings):,} of {len(timings):,} times have no quiet sample. {len(known)} of "
        f"{len(exponents)} cases follow the control to a known exponent: {middle:.2f} in the median, {low:.2f} to {high:.2f} for the "
        "middle half."
    ]
    reasons, far = [], 0
    for python in sorted({result.python for result in results}):
        records = [record for result in results if result.python == python for record in result.passes if _timed(record)]
        recorded = [record["left_out"] for record in records if record.get("left_out")]
        reasons += recorded
        far += len(excluded_passes(records)) - len(recorded)
    if reasons:
        lines.append(f"- {len(reasons)} passes are excluded by their records: {escaped('; '.join(sorted(set(reasons))))}.")
    if far:
        lines.append(f"- {far} passes are excluded because their control is far from that of the others.")
    return "\n".join(lines)


def memory(machine: Machine) -> str:
    """Return the peaks of conversions on the host and on a CUDA device, by release.

    Bytes do not depend on Python, and are counted on one Python only.
    """
    by_release: dict[str, Result] = {}
    for result in machine.results:
        if result.counts or result.sha not in by_release:
            by_release[result.sha] = result
    parts = []
    for title, on_device in (("On the host, for a tensor on the CPU", False), ("On the device, for a tensor on CUDA", True)):
        codes = [machine.results[-1].methods[name]["code_on_accelerator" if on_device else "code"] for name in TO_NUMPY]
        peaks = [(version(result), _peaks(result, on_device)) for result in release_table.load().in_order(by_release.values())]
        rows = []
        for (values, source), group in groupby(peaks, key=lambda each: each[1]):  # neighbouring releases with equal peaks
            versions = [name for name, _ in group]
            span = versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"
            rows.append([span, *("–" if value is None else size(int(value)) for value in values), source])
        table = markdown_table(["torch", *map(code, codes), ""], rows, "l" + "r" * len(codes) + "l")
        parts.append(f"{title}: peak above the input of {size(NUMEL * 4)}.\n\n{table}")
    return "\n\n".join(parts)


def _peaks(result: Result, on_device: bool) -> tuple[tuple[float | None, ...], str]:
    """Return the peaks of `TO_NUMPY` in bytes, and how they were obtained."""

    def values_of(metric: str, device: str = "cuda") -> tuple[float | None, ...]:
        return tuple(result.counts.get(memory_case(metric, name, device)) for name in TO_NUMPY)

    if not on_device:
        return values_of("peak", "cpu"), ""
    measured = values_of("device_peak")
    if any(value is not None for value in measured):
        return measured, f"measured on {result.provenance['accelerators']['cuda']}"
    counted = values_of("cuda_peak")
    known = any(value is not None for value in counted)
    return counted, "counted by torch's dispatcher, not yet measured" if known else "not yet measured"


def _document(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _timed(record: Mapping[str, Any]) -> bool:
    return any(row["control_ns"] and any(row["control_ns"]) for row in record["suites"].values())


PARTS: dict[str, Callable[[Machine], str]] = {
    "card": accuracy,
    **{part.__name__: part for part in (agreement, quiet, memory)},
}
