"""The site as files: pages, data files, one stylesheet and one small script."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from tensorcopy import __version__
from tensorcopy.releases import release_table
from tensorcopy.report.comparison.wording import SIGNS, count_text
from tensorcopy.report.units import count, duration, quantity, size
from tensorcopy.results.confirmations import Confirmation, Key
from tensorcopy.results.load import Result
from tensorcopy.site import addresses, assets, filters, navigation, pages
from tensorcopy.site.charts import social_image
from tensorcopy.site.charts.svg_plot import SHAPES
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import NO_CONFIRMATIONS
from tensorcopy.site.page import File, Page
from tensorcopy.site.translate import LANGUAGES, translator
from tensorcopy.site.web_addresses import NOWHERE, UNKNOWN_SOURCE, WebAddresses

ASSETS = assets.NAMES
PAGE_MODULES = sorted(module.name for module in iter_modules(pages.__path__))  # each has a function `pages(content)`
PLACEHOLDER_DOCS = {
    "index": "# Docs\n\nThe documentation is in docs/.\n",
    "index.ja": "# ドキュメント\n\nドキュメントは docs/ にあります。\n",
    "glossary": "# Glossary\n",
    "glossary.ja": "# 用語集\n",
}  # the navigation links to them
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")  # not allowed in HTML or XML
REPLACEMENT = "\ufffd"


def write(
    results: Sequence[Result],
    card: Mapping[str, Any] | None,
    docs: Mapping[str, str],
    directory: Path,
    confirmations: Mapping[Key, Confirmation] = NO_CONFIRMATIONS,
    web: WebAddresses = NOWHERE,
) -> None:
    """Write pages, data files, stylesheet and script into `directory`, which exists.

    card : of `accuracy_report`
    docs : Markdown by file name, as in `Content`
    """
    assets.write(directory)
    created: set[Path] = set()
    shown = replace(content(results, card, docs, confirmations), web=web)
    if shown.web.site and shown.machine:
        (directory / social_image.name()).write_bytes(social_image.picture(shown.machine))
    for address, text in files(shown):
        path = directory / address
        if path.parent not in created:
            path.parent.mkdir(parents=True, exist_ok=True)
            created.add(path.parent)
        path.write_text(text, encoding="utf-8")


def content(
    results: Sequence[Result],
    card: Mapping[str, Any] | None = None,
    docs: Mapping[str, str] | None = None,
    confirmations: Mapping[Key, Confirmation] = NO_CONFIRMATIONS,
) -> Content:
    """Return the content of the pages, dated today."""
    day = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    return Content.of_results(results, release_table.load(), card, {**PLACEHOLDER_DOCS, **(docs or {})}, day, confirmations)


def files(content: Content) -> Iterator[tuple[str, str]]:
    """Yield the address and the text of every page and data file."""
    templates = _templates(content)
    for name in PAGE_MODULES:
        make_pages: Callable[[Content], Iterator[Page | File]] = import_module(f"{pages.__name__}.{name}").pages
        for page in make_pages(content):
            text = page.text if isinstance(page, File) else _page(templates, page)
            yield page.address, CONTROL.sub(REPLACEMENT, text)


def _page(templates: Environment, page: Page) -> str:
    def localized(address: str) -> str:
        """Return the address in the page's language, for pages that are translated."""
        return addresses.translated(address, page.language) if address in translated[page.language] else address

    translated: Mapping[str, Container[str]] = templates.globals["translated"]  # type: ignore[assignment]
    link = partial(addresses.relative, page.address)
    return templates.get_template(page.template).render(
        page.values,
        title=page.title,
        address=page.address,
        link=link,
        localized=localized,
        t=translator(page.language),
        language=page.language,
        description=page.description,
        languages={language: link(address) for language, address in page.languages.items()},
        landings={language: link(addresses.translated(addresses.LANDING, language)) for language in LANGUAGES},
    )


def _templates(content: Content) -> Environment:
    environment = Environment(
        loader=PackageLoader("tensorcopy.site"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        duration=duration,
        quantity=quantity,
        count=count,
        count_text=count_text,
        size=size,
        percent=filters.percent,
        breakable=filters.breakable,
        circumstances=filters.circumstances,
        interval=filters.interval,
        span=filters.span,
        three_digits=filters.three_digits,
        plus_minus=filters.plus_minus,
        slug=addresses.slug,
        method=lambda parameters: dict(parameters).get("method", ""),
        device=lambda parameters: dict(parameters).get("device", "cpu"),
    )
    environment.globals.update(_globals(content))
    return environment


def _globals(content: Content) -> dict[str, Any]:
    """Return what every template can use."""
    return {
        "day": content.day,
        "methods": content.methods,
        "version": __version__,
        "navigation": {language: navigation.in_language(content.docs, language) for language in LANGUAGES},
        "translated": {language: navigation.translated(content.docs, language) for language in LANGUAGES},
        "marker": navigation.marker,
        "web": content.web,
        "social_image": content.web.absolute(social_image.name()) if content.machine else "",
        "clone_address": content.web.source or UNKNOWN_SOURCE,
        "signs": {verdict.value: sign for verdict, sign in SIGNS.items()},
        "shapes": SHAPES,
        "method_address": addresses.of_method,
        "comparisons_address": addresses.of_comparisons,
        "explorer_address": addresses.of_explorer,
        "sizes_address": addresses.of_sizes,
    }
