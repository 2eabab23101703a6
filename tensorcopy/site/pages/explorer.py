"""The history explorer: a page for each machine with the interactive chart and tables without scripts, and its whole history as scripts."""

from __future__ import annotations

from collections.abc import Iterator

from tensorcopy.report.sentences import device_lines, over_releases
from tensorcopy.results import suite_specs
from tensorcopy.site import addresses
from tensorcopy.site.case_tables import index_sections
from tensorcopy.site.content import Content
from tensorcopy.site.history_chart import COUNTS, TIMES, chart_data, is_charted, json_text, place_of
from tensorcopy.site.machine import Machine
from tensorcopy.site.page import File, Page
from tensorcopy.worker.devices import ACCELERATORS


def machine_pages(content: Content, machine: Machine) -> Iterator[Page | File]:
    """Yield the explorer of a machine, the chart and what is shown without scripts, and its data; nothing where nothing is charted."""
    if not is_charted(machine):
        return
    timed = [case for case in machine.cases if case.spec.timed]
    counted = [case for case in machine.cases if not case.spec.timed]
    values = {
        "machine": machine,
        "sections": index_sections(machine, suite_specs.TIME),
        "times": addresses.of_history_data(machine.name, TIMES),
        "units": list(dict.fromkeys(place.quantity for case in counted if (place := place_of(machine, case)))),
        "histories": content.histories_address(machine),
        "machine_address": addresses.of_machine(machine.name),
        "device_lines": _device_lines(machine),
    }
    title, releases = f"History explorer: {machine.name}", machine.releases
    description = f"A chart of {len(timed)} times over {over_releases(releases)} on {machine.name}, by method, size and dtype."
    yield Page(addresses.of_explorer(machine.name), "explorer.html", title, values, description=description)
    machines = [[each.name, addresses.of_explorer(each.name).removesuffix("index.html")] for each in content.machines if is_charted(each)]
    for name, cases in ((TIMES, timed), (COUNTS, counted)):
        data = {**chart_data(machine, cases, content.comparisons), "machines": machines, "quantity": name}
        yield File(addresses.of_history_data(machine.name, name), f"tensorHistory.receive({json_text(data)});\n")


def _device_lines(machine: Machine) -> list[tuple[str, list[str]]]:
    """Return the hardware of each device but the CPU, with what its times depend on besides torch."""
    devices = [device for device in ACCELERATORS if any(device in result.devices for result in machine.by_release)]
    of_device = {device: [result for result in machine.by_release if device in result.devices] for device in devices}
    return [
        (results[-1].hardware(device), device_lines([(result.version, result.provenance) for result in results], device))
        for device, results in of_device.items()
    ]
