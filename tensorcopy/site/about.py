"""Pages about the measuring itself: machines, the report card, the glossary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from tensorcopy import report_card
from tensorcopy.site import addresses
from tensorcopy.site.book import Book, File, Page
from tensorcopy.site.words import LANGUAGES, speaker


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
    languages = {language: addresses.translated(addresses.GLOSSARY, language) for language in LANGUAGES}
    for language, address in languages.items():
        yield Page(
            address,
            "glossary.html",
            str(speaker(language)("glossary")),
            {"text": written(book.glossary.get(language, ""))},
            language,
            languages,
        )


def written(markdown: str) -> Markup:
    """A page of docs/ as HTML; links to its neighbours are left out, for they are not part of the site."""
    parser = MarkdownIt("js-default").enable("table")
    tokens = parser.parse(markdown)
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                child.tag, child.attrs = "span", {}
            elif child.type == "link_close":
                child.tag = "span"
    html = parser.renderer.render(tokens, parser.options, {})
    html = html.replace("<table>", '<div class="scroll" tabindex="0" role="region" aria-label="glossary"><table class="words">').replace(
        "</table>", "</table></div>"
    )
    return Markup(html)  # noqa: S704 - the parser escapes HTML, and the text is our own


def _ledgers(book: Book) -> list[tuple[str, list[str]]]:
    names = dict.fromkeys(name for machine in book.machines for name in machine.ledger)
    return [(name, [_text(machine.ledger.get(name)) for machine in book.machines]) for name in names]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {text}" for key, text in value.items()) or "none"
    return "" if value is None else str(value)
