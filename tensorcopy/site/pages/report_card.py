"""The report card: how often the verdicts are right."""

from __future__ import annotations

from collections.abc import Iterator

from tensorcopy.report import report_card
from tensorcopy.site import addresses
from tensorcopy.site.model.content import Content
from tensorcopy.site.page import File, Page

TITLE = "How accurate the verdicts are"


def pages(content: Content) -> Iterator[Page | File]:
    """Yield the report card as a page and as JSON."""
    tables = report_card.tables(content.card) if content.card else []
    yield Page(addresses.REPORT_CARD, "report-card.html", TITLE, {"tables": tables})
    if content.card:
        yield File(addresses.CARD_DATA, report_card.as_json(content.card))
