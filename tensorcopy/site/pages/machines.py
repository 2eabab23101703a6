"""The machines: a list, and a page for each with its environment and its results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tensorcopy.results.series_key import UNKNOWN_NAME
from tensorcopy.site import addresses
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.page import Page


@dataclass(frozen=True)
class MachineRow:
    """A machine in the list.

    releases : how many were measured
    last : the day of the last measurement
    """

    machine: Machine
    address: str
    explorer: str
    csv: str
    releases: int
    last: str


def pages(content: Content) -> Iterator[Page]:
    """Yield the list of machines, and a page for each."""
    rows = [_row(machine) for machine in content.machines]
    yield Page(addresses.MACHINES, "machines.html", "Machines", {"rows": rows})
    for row in rows:
        values = {"row": row, "machine": row.machine, "provenance": _provenance(row.machine.provenance)}
        yield Page(row.address, "machine.html", row.machine.name, values)


def _row(machine: Machine) -> MachineRow:
    return MachineRow(
        machine=machine,
        address=addresses.of_machine(machine.name),
        explorer=addresses.of_explorer(machine.name),
        csv=f"data/{addresses.slug(machine.name)}.csv",
        releases=len({result.sha for result in machine.results}),
        last=max(str(result.provenance["started"]) for result in machine.results)[:10],
    )


def _provenance(provenance: dict[str, Any]) -> list[tuple[str, str]]:
    """Return each field of a provenance as text."""
    return [(name, text) for name, value in _with_hardware(provenance).items() if (text := _text(value))]


def _with_hardware(provenance: dict[str, Any]) -> dict[str, Any]:
    """Return a provenance with the hardware's fields in its place, after the processor.

    Results from before these were recorded have none of them.
    """
    hardware = provenance.get("hardware")
    fields = {"identity of the hardware": provenance.get("identity", UNKNOWN_NAME), **(_hardware(hardware) if hardware else {})}
    rows: dict[str, Any] = {}
    for name, value in provenance.items():
        rows |= {} if name in ("hardware", "identity") else {name: value}
        rows |= fields if name == "cpu" else {}
    return rows


def _hardware(hardware: dict[str, Any]) -> dict[str, Any]:
    """Return the hardware by the name of each row."""
    memory = hardware["memory_gib"]
    return {
        "family, model, stepping": ", ".join(hardware[name] or UNKNOWN_NAME for name in ("family", "model", "stepping")),
        "caches": hardware["caches"] or UNKNOWN_NAME,
        "instruction sets": hardware["flags"] or UNKNOWN_NAME,
        "processors": hardware["processors"],
        "memory": UNKNOWN_NAME if memory is None else f"{memory} GiB",
        "hypervisor": hardware["hypervisor"] or "none",
        "microcode": hardware["microcode"] or UNKNOWN_NAME,
    }


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {text}" for key, text in value.items()) or "none"
    return "" if value is None else str(value)
