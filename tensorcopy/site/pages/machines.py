"""Pages about the measuring itself: machines, the report card."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorcopy.report import report_card
from tensorcopy.site import addresses
from tensorcopy.site.model.content import Content
from tensorcopy.site.page import File, Page


def pages(content: Content) -> Iterator[Page | File]:
    yield Page(addresses.MACHINES, "machines.html", "Machines", {"machines": content.machines, "ledgers": _provenances(content)})
    yield Page(
        addresses.REPORT_CARD,
        "report-card.html",
        "How often the judge is right",
        {"card": report_card.tables(content.card) if content.card else []},
    )
    if content.card:
        yield File(addresses.CARD_DATA, report_card.document(content.card))


def _provenances(content: Content) -> list[tuple[str, list[str]]]:
    names = dict.fromkeys(name for machine in content.machines for name in machine.provenance)
    return [(name, [_text(machine.provenance.get(name)) for machine in content.machines]) for name in names]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {text}" for key, text in value.items()) or "none"
    return "" if value is None else str(value)
