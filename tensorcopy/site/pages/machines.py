"""The machines: their environments side by side, and their results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorcopy.results.identity import UNKNOWN_NAME
from tensorcopy.site import addresses
from tensorcopy.site.model.content import Content
from tensorcopy.site.page import Page


def pages(content: Content) -> Iterator[Page]:
    """Yield the page of machines."""
    yield Page(addresses.MACHINES, "machines.html", "Machines", {"machines": content.machines, "provenances": _provenances(content)})


def _provenances(content: Content) -> list[tuple[str, list[str]]]:
    """Return each field of the provenance with its value on every machine."""
    by_machine = [_with_hardware(machine.provenance) for machine in content.machines]
    names = dict.fromkeys(name for provenance in by_machine for name in provenance)
    return [(name, [_text(provenance.get(name)) for provenance in by_machine]) for name in names]


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
