"""Pages about the measuring itself: machines, the report card."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorcopy.report import report_card
from tensorcopy.site import addresses
from tensorcopy.site.model.site_data import Book
from tensorcopy.site.page import File, Page


def pages(book: Book) -> Iterator[Page | File]:
    yield Page(addresses.MACHINES, "machines.html", "Machines", {"machines": book.machines, "ledgers": _ledgers(book)})
    yield Page(
        addresses.REPORT_CARD,
        "report-card.html",
        "How often the judge is right",
        {"card": report_card.tables(book.card) if book.card else []},
    )
    if book.card:
        yield File(addresses.CARD_DATA, report_card.document(book.card))


def _ledgers(book: Book) -> list[tuple[str, list[str]]]:
    names = dict.fromkeys(name for machine in book.machines for name in machine.ledger)
    return [(name, [_text(machine.ledger.get(name)) for machine in book.machines]) for name in names]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {text}" for key, text in value.items()) or "none"
    return "" if value is None else str(value)
