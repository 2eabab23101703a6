"""Tables and sentences of docs/ from measurements: how right the verdicts are, agreement with other timers, memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from tensorcopy import files
from tensorcopy.errors import TensorcopyError
from tensorcopy.numbers import size, unbroken
from tensorcopy.report.table import code, escaped, markdown_table
from tensorcopy.results.cases import memory_case
from tensorcopy.results.result import Result, in_order
from tensorcopy.site.machine import Machine

ACCURACY = Path("docs/accuracy.json")  # written by docs.tools.accuracy
AGREEMENT = Path("docs/agreement.json")  # written by docs.tools.verify
NUMEL = 2**20  # of the memory suites
TO_NUMPY = ("detach_numpy_copy", "clone_detach_numpy", "detach_clone_numpy", "detach_to_cpu_copy_numpy")  # independent on every device


@contextmanager
def _written_by(path: Path, command: str) -> Iterator[None]:
    """Turn whatever is wrong with a file that a command wrote into a TensorcopyError."""
    try:
        yield
    except (OSError, LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise TensorcopyError(
            f"{path} cannot be read",
            got=f"{type(error).__name__}: {error}",
            allowed=f"a file as {command} writes it",
            next=f"git checkout {path}",
        ) from error


def accuracy(machine: Machine) -> str | None:
    """Return how often verdicts and histories are right, with the goals that are missed. Raises TensorcopyError."""
    if not ACCURACY.exists():
        return None
    with _written_by(ACCURACY, "docs.tools.accuracy"):
        report = json.loads(files.read_text(ACCURACY))
        title = f"{report['machine']}, {report['launches']} launches, {report['day']}; by size: {report['sizes']} elements"
        lines = [f"{escaped(title)}:\n", "| | measured | goal |", "|---|--:|--:|"]
        for row in report["rows"]:
            goal = f"{row['goal']}, **missed**" if row["missed"] else escaped(row["goal"])
            lines.append(unbroken(f"| {escaped(row['name'])} | {escaped(row['value'])} | {goal} |"))
        return "\n".join(lines)


def agreement(machine: Machine) -> str | None:
    """Return the ratio of the suites' time to that of torch's Timer, of the suites together. Raises TensorcopyError."""
    if not AGREEMENT.exists():
        return None
    with _written_by(AGREEMENT, "docs.tools.verify --keep"):
        checked = json.loads(files.read_text(AGREEMENT))
        suites = checked["suites"].values()
        cases = sum(row["cases"] for row in suites)
        low, high = min(row["min"] for row in suites), max(row["max"] for row in suites)
        source = escaped(f"torch {checked['torch']} on {checked['on']}, {checked['day']}")
        return (
            f"The suites' time divided by the Timer's is {checked['median']:.3f} in the median of {cases} cases, "
            f"{low:.3f} to {high:.3f} over all ({source})."
        )


def memory(machine: Machine, gpu: Machine | None = None) -> str:
    """Return the peaks of conversions on the host and on a CUDA device, by release.

    gpu : the machine that measured such a device

    Bytes do not depend on Python, and are counted on one Python only.
    """
    parts = []
    for title, on_device in (("On the host, for a tensor on the CPU", False), ("On the device, for a tensor on CUDA", True)):
        by_release: dict[str, Result] = {}
        for result in (*machine.results, *(gpu.results if gpu and on_device else ())):
            if result.counts or result.sha not in by_release:
                by_release[result.sha] = result
        codes = [machine.results[-1].methods[name]["code_on_accelerator" if on_device else "code"] for name in TO_NUMPY]
        peaks = [(result.version, _peaks(result, on_device)) for result in in_order(by_release.values())]
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


PARTS: dict[str, Callable[[Machine], str | None]] = {
    **{part.__name__: part for part in (accuracy, agreement, memory)},
}
