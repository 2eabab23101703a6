"""Time over size: a page for each result, with two plots per group and device."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from tensorcopy.analysis.comparisons import version
from tensorcopy.results import related
from tensorcopy.site import addresses, plots
from tensorcopy.site.data_files import times_csv
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import CostTable, Machine, case_of, costs, groups_of
from tensorcopy.site.model.series import Series
from tensorcopy.site.page import File, Page
from tensorcopy.worker.devices import ACCELERATORS


def pages(content: Content) -> Iterator[Page]:
    """Yield the index."""
    yield Page(addresses.SIZES, "sizes_index.html", "Time over size", {"machines": content.machines})


def machine_pages(content: Content, machine: Machine) -> Iterator[Page | File]:
    """Yield a page and a CSV for each result of a machine."""
    for series in machine.series:
        for index in range(len(series.results)):
            yield from _result_page(content, series, index)


def _result_page(content: Content, series: Series, index: int) -> Iterator[Page | File]:
    result, release = series.results[index], version(series.results[index])
    machine, address = content.machine_of(result), addresses.of_sizes(result)
    csv_address = addresses.data(address, "csv")
    possible = [costs(result, group, device, series.results) for device in ("cpu", *ACCELERATORS) for group in groups_of(result)]
    tables = [table for table in possible if table.methods]
    values = {
        "result": result,
        "release": release,
        "tables": tables,
        "codes": lambda table: list(_codes(machine, table).values()),
        "plot": lambda table, linear: Markup(plots.of_sizes(table, linear=linear)),  # noqa: S704 - our own SVG
        "neighbours": [
            (f"torch {version(neighbour)}", addresses.of_sizes(neighbour))
            for neighbour in (*series.results[max(0, index - 1) : index], *series.results[index + 1 : index + 2])
        ],
        "waits": {device: timing for device in ACCELERATORS if (timing := related.wait_alone(result, device))},
        "missing": [device for device in ACCELERATORS if all(table.device != device for table in tables)],
        "csv": csv_address,
    }
    yield Page(address, "sizes.html", f"torch {release}: time over size", values)
    cases = [case_of(table.group, method, numel, table.device) for table in tables for method in table.methods for numel in table.numels]
    yield File(csv_address, times_csv(machine, cases, [result]))


def _codes(machine: Machine, table: CostTable) -> dict[str, str]:
    return {method: machine.code(method, table.device) for method in table.methods}
