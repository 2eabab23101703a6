"""What each method costs: its time over size, with two plots for each group and device."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from tensorcopy.numbers import counted
from tensorcopy.results.result import Result
from tensorcopy.site import addresses, plots
from tensorcopy.site.content import Content
from tensorcopy.site.machine import Machine, all_costs
from tensorcopy.site.page import Page, environment_text, waiting
from tensorcopy.worker.devices import ACCELERATORS


def pages(content: Content) -> Iterator[Page]:
    """Yield the index of time over size."""
    machines = [machine for machine in content.machines if has_sizes(content, machine)]
    if machines or content.campaign.pages:
        description = "The time of each method over the size of a tensor with the newest torch release, a page for each machine."
        yield Page(addresses.SIZES, "sizes_index.html", "Time over size", {"machines": machines}, description=description)


def has_sizes(content: Content, machine: Machine) -> bool:
    """Return whether a machine has a page of time over size: one that measured methods, or to which a campaign's own pages link."""
    return bool(content.campaign.pages) or any(result.methods for result in machine.results)


def machine_pages(content: Content, machine: Machine) -> Iterator[Page]:
    """Yield the page of a machine's newest release, and of that of each device where it is another."""
    for result in machine.with_sizes.values() if has_sizes(content, machine) else ():
        yield _sizes_page(machine, result)


def _sizes_page(machine: Machine, result: Result) -> Page:
    tables = all_costs(result)
    values = {
        "result": result,
        "measured": result.day_of(case for table in tables for cases in table.cases for case in cases),
        "tables": tables,
        "codes": lambda table: [machine.code(method, table.device) for method in table.methods],
        "plot": lambda table, linear: Markup(plots.of_sizes(table, linear=linear)),  # noqa: S704 - our own SVG
        "waiting": lambda table: waiting(table.cases[0][0]),
        "waits": {device: timing for device in ACCELERATORS if (timing := result.wait_alone(device))},
        "machine": machine,
        "missing": [device for device in ACCELERATORS if all(table.device != device for table in tables)],
    }
    title = f"torch {result.version}: time over size on {result.machine}"
    devices = " and ".join(dict.fromkeys(result.hardware(table.device) for table in tables))
    methods = counted(len({(table.group, method) for table in tables for method in table.methods}), "method")
    description = f"Time per call of {methods} over size with torch {result.version} on {devices}, {environment_text(result.environment)}."
    return Page(addresses.of_sizes(result), "sizes.html", title, values, description=description)
