"""The pages of the shipped campaign: what to type, what each method does, the documents; beside those that every campaign has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from tensorcopy import files
from tensorcopy.copying import recommend
from tensorcopy.copying.pages import choose, documents, landing, methods
from tensorcopy.site.facts import Site
from tensorcopy.site.views import Page

NAVIGATION = {
    "Choose": "choose.html",
    "Methods": "methods/index.html",
    "History": "history.html",
    "Compare": "compare/index.html",
    "Slower now": "regressions.html",
    "Article": "docs/article.html",
    "Docs": "docs/index.html",
    "Data": "data.html",
}


def pages(site: Site, engine: Mapping[str, Page]) -> Iterator[Page]:
    """Yield the pages of this campaign; some take the place of the engine's, whose values they have, and more.

    engine : the pages of any campaign by address
    """
    tables = {}
    for device, history in site.answering.items():
        evidence = recommend.of_result(history.newest(device), device)
        tables[device] = {request: recommend.table(evidence, request) for request in recommend.requests(device)}
    yield from landing.pages(site, engine["index.html"], tables)
    yield choose.page(site, tables)
    yield from methods.pages(site, engine, tables)
    yield from documents.pages(site)


@cache
def _japanese() -> dict[str, Any]:
    return files.read_toml(Path(__file__).with_name("ja.toml"))


def translated(language: str, text: str, **values: object) -> Markup:
    """Return a text in the language of a page with its placeholders filled in; English where it has no translation."""
    in_language = str(_japanese().get(text, text) if language == "ja" else text)
    ranges = {name: value.replace(" to ", translated(language, " to ")) for name, value in values.items() if isinstance(value, str)}
    return Markup(in_language).format(**values | ranges) if values else escape(in_language)  # noqa: S704 - of a template; values are escaped
