"""The site as files: pages, data files, stylesheet and scripts."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from tensorcopy.site import addresses, filters, pages
from tensorcopy.site.charts.svg_plot import SHAPES
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import NO_CONFIRMATIONS
from tensorcopy.site.page import File, Page
from tensorcopy.site.translate import translator

HERE = Path(__file__).parent
ASSETS = ("tensorcopy.css", "tensorcopy.js", "404.html", "not-found.js")
PAGE_MODULES = sorted(module.name for module in iter_modules(pages.__path__))  # each has a function `pages(content)`
NAVIGATION = (
    ("choose", addresses.CHOOSER),
    ("history", addresses.HISTORIES),
    ("compare", addresses.COMPARISONS),
    ("sizes", addresses.SIZES),
    ("semantics", addresses.SEMANTICS),
    ("memory", addresses.MEMORY),
    ("machines", addresses.MACHINES),
    ("accuracy_report", addresses.ACCURACY),
    ("docs", addresses.DOCS),
    ("glossary", addresses.GLOSSARY),
    ("data", addresses.DATA),
    ("explorer", addresses.EXPLORER),
)  # names of texts in words.toml
TRANSLATED = (addresses.LANDING, addresses.CHOOSER, addresses.GLOSSARY)
PLACEHOLDER_DOCS = {
    "index": "# Docs\n\nThe documentation is in docs/.\n",
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
) -> None:
    """Write pages, data files, stylesheet and script into `directory`, which exists.

    card : of `accuracy_report`
    docs : Markdown by file name, as in `Content`
    """
    for name in ASSETS:
        shutil.copyfile(HERE / name, directory / name)
    created: set[Path] = set()
    for address, text in files(content(results, card, docs, confirmations)):
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
        return addresses.translated(address, page.language) if address in TRANSLATED else address

    link = partial(addresses.relative, page.address)
    return templates.get_template(page.template).render(
        page.values,
        title=page.title,
        address=page.address,
        link=link,
        localized=localized,
        t=translator(page.language),
        language=page.language,
        languages={language: link(address) for language, address in page.languages.items()},
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
        bandwidth=filters.bandwidth,
        interval=filters.interval,
        plus_minus=filters.plus_minus,
        slug=addresses.slug,
        method=lambda parameters: dict(parameters).get("method", ""),
        device=lambda parameters: dict(parameters).get("device", "cpu"),
    )
    environment.globals.update(
        day=content.day,
        methods=content.methods,
        version=__version__,
        navigation=NAVIGATION,
        signs={verdict.value: sign for verdict, sign in SIGNS.items()},
        shapes=SHAPES,
        method_address=addresses.of_method,
        sizes_address=addresses.of_sizes,
    )
    return environment
