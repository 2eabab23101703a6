"""The machines: their environments side by side, and their results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorcopy.site import addresses
from tensorcopy.site.model.content import Content
from tensorcopy.site.page import Page


def pages(content: Content) -> Iterator[Page]:
    """Yield the page of machines."""
    yield Page(addresses.MACHINES, "machines.html", "Machines", {"machines": content.machines, "provenances": _provenances(content)})


def _provenances(content: Content) -> list[tuple[str, list[str]]]:
    """Return each field of the provenance with its value on every machine."""
    names = dict.fromkeys(name for machine in content.machines for name in machine.provenance)
    return [(name, [_text(machine.provenance.get(name)) for machine in content.machines]) for name in names]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {text}" for key, text in value.items()) or "none"
    return "" if value is None else str(value)
