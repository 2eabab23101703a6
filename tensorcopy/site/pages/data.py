"""The machines, and the data files of the site."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from tensorcopy.numbers import counted
from tensorcopy.results.launches import Launch
from tensorcopy.results.machine_names import UNKNOWN_NAME
from tensorcopy.site import addresses
from tensorcopy.site.content import Content
from tensorcopy.site.data_files import (
    OPEN_LABEL,
    badge,
    machine_csv,
    open_message,
)
from tensorcopy.site.feeds import feeds
from tensorcopy.site.machine import Machine
from tensorcopy.site.page import File, Page

LABELS = {"flags": "instruction sets", "memory_gib": "memory in GiB", "threads": "threads, by default (timed with one)"}


def pages(content: Content) -> Iterator[Page | File]:
    """Yield the list of machines with a page for each, the data files of the site, and the page that lists all of them."""
    rows: list[dict[str, Any]] = [
        {
            "machine": machine,
            "address": addresses.of_machine(machine.name),
            "csv": addresses.of_machine_data(machine.name),
            "releases": len({result.sha for result in machine.results}),
            "last": max(str(result.provenance["started"]) for result in machine.results)[:10],
        }
        for machine in content.machines
    ]
    description = "The machines that measured: processor, devices, number of releases and day of the last launch."
    yield Page(addresses.MACHINES, "machines.html", "Machines", {"rows": rows}, description=description)
    for row, machine in zip(rows, content.machines):
        values = {"row": row, "machine": machine, "provenance": _provenance(machine.provenance)}
        releases = counted(row["releases"], "torch release")
        description = f"{machine.name}, {machine.result.processors}: what its times depend on; {releases}, last measured on {row['last']}."
        yield Page(addresses.of_machine(machine.name), "machine.html", machine.name, values, description=description)
    for address, text in feeds(content):
        yield File(address, text)
    message = open_message(content.devices)
    yield File(addresses.BADGE, badge(OPEN_LABEL, message))
    yield File(addresses.SCHEMA, json.dumps(msgspec.json.schema(Launch), indent=1, ensure_ascii=False) + "\n")
    description = "Files with all times, counts and changes, feeds of the changes, a badge, and the schema of a launch."
    values = {"files": _listed(content), "badge": addresses.BADGE, "badge_text": f"{OPEN_LABEL}: {message}"}
    yield Page(addresses.DATA, "data.html", "Data", values, description=description)


def _provenance(provenance: dict[str, Any]) -> list[tuple[str, str]]:
    """Return each field of a provenance as text, the hardware's fields after the processor."""
    stored = provenance.get("hardware", {})
    absent = {"hypervisor": "none"} if stored.get("family") else {}  # of x86, whose flags say whether there is one
    hardware = {name: value or absent.get(name, UNKNOWN_NAME) for name, value in stored.items()}
    rows: dict[str, Any] = {}
    for name, value in provenance.items():
        rows |= {} if name in ("hardware", "identity") else {name: value}
        rows |= {"identity of the hardware": provenance.get("identity", UNKNOWN_NAME), **hardware} if name == "cpu" else {}
    return [(LABELS.get(name, name), text) for name, value in rows.items() if (text := _text(value))]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {text}" for key, text in value.items()) or "none"
    return "" if value is None else str(value)


def machine_pages(content: Content, machine: Machine) -> Iterator[File]:
    """Yield the data file of a machine."""
    yield File(addresses.of_machine_data(machine.name), machine_csv(machine))


def _listed(content: Content) -> list[tuple[str, str]]:
    """Return the address and the description of each file."""
    files = [
        (addresses.FEED, "Atom feed: every change, slower or faster"),
        (addresses.NEW_FEED, "Atom feed: slowdowns that the newest release brought, one entry for each device"),
        (addresses.BADGE, "the number of open regressions on each device, as an SVG"),
    ]
    files += [(addresses.of_machine_data(machine.name), f"all times, counts and changes on {machine.name}") for machine in content.machines]
    return [*files, (addresses.SCHEMA, "JSON schema of a launch, a file in results/")]
