"""What each method costs: its memory in bytes, and its time over size, with two plots for each group and device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log

from markupsafe import Markup

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.paired import Change, Verdict
from tensorcopy.numbers import quantity, size
from tensorcopy.results import related, suite_specs
from tensorcopy.results.cases import Case
from tensorcopy.results.reader import Result
from tensorcopy.site import addresses, plots
from tensorcopy.site.content import Content
from tensorcopy.site.machine import CostTable, Machine, Series, all_costs, case_of
from tensorcopy.site.page import Page, code_markup
from tensorcopy.worker.devices import ACCELERATORS

TITLE = "Memory, in bytes"
COUNTS = ("allocated", "peak", "allocations")
COMPARED = ("detach_clone_numpy", "detach_numpy_copy")  # the article asks whether the first wastes GPU memory


def pages(content: Content) -> Iterator[Page]:
    """Yield the index of time over size, and the page of memory of the machine with the longest history.

    A project has no page of memory.
    """
    machines = [machine for machine in content.machines if has_sizes(content, machine)]
    if machines or not content.project:
        yield Page(addresses.SIZES, "sizes_index.html", "Time over size", {"machines": machines})
    if content.project:
        return
    machine = content.machine
    if machine is None:
        yield Page(addresses.MEMORY, "memory.html", TITLE, {"machine": None})
        return
    result, series, on_devices = machine.result, machine.series[0], device_results(content)
    units = (suite_specs.BYTES, suite_specs.ALLOCATIONS)
    values = {
        "machine": machine,
        "answer": (answer := _answer(on_devices.get("cuda", result))),
        "accelerators": on_devices,
        "rows": [(name, row, _memory_cells(result, name, on_devices)) for name, row in result.methods.items()],
        "changes": [text for name in result.methods for text in _peak_changes(series, name)],
        "counted": sum(any(case.spec.shipped and case.spec.unit in units for case in result.counts) for result in series.results),
    }
    yield Page(addresses.MEMORY, "memory.html", TITLE, values, description=answer.striptags())


def has_sizes(content: Content, machine: Machine) -> bool:
    """Return whether a machine has pages of time over size: in a project, one that measured operations."""
    return not content.project or any(result.methods for result in machine.results)


def host_peak(method: str) -> Case:
    """Return the case of a method's peak memory on the host, for an input of 4 MiB."""
    return related.memory_case("peak", method, "cpu")


def device_results(content: Content) -> dict[str, Result]:
    """Return the newest result that measured the memory of each accelerator."""
    results = {device: machine.result for device, machine in content.by_device.items() if device in ACCELERATORS}
    return {
        device: result
        for device, result in results.items()
        if any(related.memory_case("device_peak", name, device) in result.counts for name in result.methods)
    }


def device_peaks(result: Result, *methods: str) -> tuple[tuple[float, ...], str]:
    """Return the peaks of methods on a CUDA device, for an input of 4 MiB, and "measured" or "counted"; none where one is unknown."""
    for metric, source in (("device_peak", "measured"), ("cuda_peak", "counted")):
        peaks = tuple(peak for name in methods if (peak := result.counts.get(related.memory_case(metric, name, "cuda"))) is not None)
        if len(peaks) == len(methods):
            return peaks, source
    return (), ""


def _memory_cells(result: Result, method: str, on_devices: Mapping[str, Result]) -> list[str]:
    """Return a method's counts on the host and on each accelerator, and the peak that torch's dispatcher counts, as text."""
    cases = [(related.memory_case(count, method, "cpu"), result) for count in COUNTS]
    cases += [(related.memory_case(f"device_{count}", method, device), other) for device, other in on_devices.items() for count in COUNTS]
    cells = []
    for case, counted in [*cases, (related.memory_case("cuda_peak", method, "cuda"), result)]:
        value = counted.counts.get(case)
        known = "" if value is None else f"{value:.0f}" if case.spec.unit == suite_specs.ALLOCATIONS else size(int(value))
        cells.append(known or "not counted")
    return cells


def _answer(result: Result) -> Markup:
    """Answer the article's question, with measured bytes or with counted ones."""
    peaks, source = device_peaks(result, *COMPARED)
    if not peaks:
        return Markup("The device memory of {} is not measured yet.").format(code_markup("x.detach().clone().numpy()"))
    clone_first, copy_last = (size(int(peak)) for peak in peaks)
    codes = [result.methods[name]["code_on_accelerator"] if name in result.methods else name for name in COMPARED]
    conclusion = (
        f"Cloning on the device wastes {size(int(peaks[0] - peaks[1]))} of GPU memory"
        if peaks[0] > peaks[1]
        else "Cloning on the device wastes no GPU memory"
    )
    measured = f"measured with torch {result.version} on {result.hardware('cuda')}"
    how = measured if source == "measured" else "counted, not yet measured"
    return Markup("{}: for a 4 MiB tensor on a CUDA device, {} allocates {} there and {} allocates {} ({}).").format(
        conclusion, code_markup(codes[0]), clone_first, code_markup(codes[1]), copy_last, how
    )


def _peak_changes(series: Series, name: str) -> Iterator[str]:
    """Yield a sentence for each release at which a method's peak on the host changed."""
    before: float | None = None
    for result in series.results:
        value = result.counts.get(host_peak(name))
        if before is not None and value is not None and value != before:
            code = result.methods[name]["code"] if name in result.methods else name
            now, then = (quantity(peak, "single bytes") for peak in (value, before))
            yield f"torch {result.version}: peak of {code} on the host is {now} bytes, was {then}"
        before = value if value is not None else before


def machine_pages(content: Content, machine: Machine) -> Iterator[Page]:
    """Yield a page for each release that a machine measured."""
    results = machine.by_release if has_sizes(content, machine) else []
    for index, result in enumerate(results):
        yield _sizes_page(machine, result, (*results[max(0, index - 1) : index], *results[index + 1 : index + 2]))


def numpy_2(machine: Machine, result: Result) -> Comparison | None:
    """Return the comparison of a result with the same release beside numpy 2; None where it was not measured."""
    measured = [each for each in machine.with_numpy_2 if (each.sha, each.python, each.build) == (result.sha, result.python, result.build)]
    return comparisons.between(result, measured[0]) if measured else None


def _changes(table: CostTable, comparison: Comparison) -> list[list[Change | None]]:
    """Return how the time of each method changes, by size; nothing for a table of which the later side has no time."""
    rows = [[case_of(table.group, method, numel, table.device, table.by) for method in table.methods] for numel in table.numels]
    is_measured = any(case in comparison.after.timings for row in rows for case in row)
    return [[comparison.changes.get(case) for case in row] for row in rows] if is_measured else []


def _other_changes(table: CostTable, comparison: Comparison) -> list[tuple[Case, Change]]:
    """Return what else is slower or faster in the suites of a table's group: other layouts and dtypes, the largest change first."""
    module = case_of(table.group, "", 0, table.device).spec.module
    changed = [
        (case, change)
        for case, change in comparison.changes.items()
        if case.spec.module == module and case.spec.rank and change.verdict in (Verdict.SLOWER, Verdict.FASTER)
    ]
    return sorted(changed, key=lambda each: -abs(log(each[1].ratio or 1.0)))


def _sizes_page(machine: Machine, result: Result, neighbours: Sequence[Result]) -> Page:
    tables = all_costs(result)
    beside = numpy_2(machine, result)
    values = {
        "result": result,
        "tables": tables,
        "codes": lambda table: [machine.code(method, table.device) for method in table.methods],
        "plot": lambda table, linear: Markup(plots.of_sizes(table, linear=linear)),  # noqa: S704 - our own SVG
        "neighbours": [(f"torch {neighbour.version}", addresses.of_sizes(neighbour)) for neighbour in neighbours],
        "waits": {device: timing for device in ACCELERATORS if (timing := related.wait_alone(result, device))},
        "numpy_2": beside,
        "changes": lambda table: _changes(table, beside) if beside else [],
        "others": lambda table: _other_changes(table, beside) if beside else [],
        "machine": machine,
        "missing": [device for device in ACCELERATORS if all(table.device != device for table in tables)],
    }
    return Page(addresses.of_sizes(result), "sizes.html", f"torch {result.version}: time over size", values)
