"""The accuracy report: how often the verdicts are right."""

from __future__ import annotations

from collections.abc import Iterator

from tensorcopy.report import accuracy_report
from tensorcopy.site import addresses
from tensorcopy.site.model.content import Content
from tensorcopy.site.page import File, Page

TITLE = "Accuracy report"


def pages(content: Content) -> Iterator[Page | File]:
    """Yield the accuracy report as a page and as JSON."""
    tables = accuracy_report.tables(content.card) if content.card else []
    yield Page(addresses.ACCURACY, "accuracy-report.html", TITLE, {"tables": tables})
    if content.card:
        yield File(addresses.ACCURACY_DATA, accuracy_report.as_json(content.card))
