"""Pages and data, written as files: HTML by templates, with one stylesheet and one small script. Asks no other host."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from tensorcopy import __version__
from tensorcopy.releases import release_table
from tensorcopy.report.comparison.wording import SIGNS
from tensorcopy.report.units import count, duration, size
from tensorcopy.results.load import Result
from tensorcopy.site import addresses, filters
from tensorcopy.site.charts.svg_plot import SHAPES
from tensorcopy.site.model.content import Content
from tensorcopy.site.page import File, Page
from tensorcopy.site.pages import chooser, comparison_pages, data, docs, histories, landing, machines, methods, sizes
from tensorcopy.site.translate import speaker

HERE = Path(__file__).parent
OURS = ("tensorcopy.css", "tensorcopy.js")
MAKERS: tuple[Callable[[Content], Iterator[Page | File]], ...] = (
    landing.pages,
    chooser.pages,
    histories.pages,
    comparison_pages.pages,
    sizes.pages,
    methods.pages,
    machines.pages,
    docs.pages,
    data.pages,
)
NAV = (
    ("choose", addresses.CHOOSER),
    ("history", addresses.HISTORIES),
    ("compare", addresses.COMPARISONS),
    ("sizes", addresses.SIZES),
    ("semantics", addresses.SEMANTICS),
    ("memory", addresses.MEMORY),
    ("machines", addresses.MACHINES),
    ("report_card", addresses.REPORT_CARD),
    ("docs", addresses.DOCS),
    ("glossary", addresses.GLOSSARY),
    ("data", addresses.DATA),
    ("explorer", addresses.EXPLORER),
)
TRANSLATED = (addresses.LANDING, addresses.CHOOSER, addresses.GLOSSARY)
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")  # no character of a page, a feed or a table
WITHOUT_DOCS = {
    "index": "# Docs\n\nThey are in docs/.\n",
    "glossary": "# Glossary\n",
    "glossary.ja": "# 用語集\n",
}  # every page leads there
REPLACED = "\ufffd"


def write(found: Sequence[Result], card: Mapping[str, Any] | None, docs: Mapping[str, str], directory: Path) -> None:
    """Write every page, its data, the stylesheet and the script into `directory`, which exists.

    card : of `report_card`; docs : Markdown by the names of files, as `Content` has it
    """
    for name in OURS:
        shutil.copyfile(HERE / name, directory / name)
    made: set[Path] = set()
    for address, text in files(content(found, card, docs)):
        path = directory / address
        if path.parent not in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.add(path.parent)
        path.write_text(text, encoding="utf-8")


def content(found: Sequence[Result], card: Mapping[str, Any] | None = None, docs: Mapping[str, str] | None = None) -> Content:
    """What the pages are made of, as of today."""
    return Content.of_results(
        found, release_table.load(), card, {**WITHOUT_DOCS, **(docs or {})}, datetime.now(timezone.utc).strftime("%Y-%m-%d")
    )


def files(content: Content) -> Iterator[tuple[str, str]]:
    """Every page and every file of data, by its address."""
    templates = _templates(content)
    for maker in MAKERS:
        for one in maker(content):
            yield one.address, CONTROL.sub(REPLACED, one.text if isinstance(one, File) else _page(templates, one))


def _page(templates: Environment, page: Page) -> str:
    def local(address: str) -> str:
        return addresses.translated(address, page.language) if address in TRANSLATED else address

    to = partial(addresses.relative, page.address)
    return templates.get_template(page.template).render(
        page.values,
        title=page.title,
        here=page.address,
        to=to,
        local=local,
        say=speaker(page.language),
        language=page.language,
        languages={language: to(address) for language, address in page.languages.items()},
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
        count=count,
        size=size,
        percent=filters.percent,
        breakable=filters.breakable,
        circumstances=filters.circumstances,
        bandwidth=filters.bandwidth,
        interval=filters.interval,
        give_or_take=filters.give_or_take,
        part=addresses.part,
        method=lambda parameters: dict(parameters).get("method", ""),
        device=lambda parameters: dict(parameters).get("device", "cpu"),
    )
    environment.globals.update(
        day=content.day,
        methods=content.methods,
        version=__version__,
        nav=NAV,
        signs={verdict.value: sign for verdict, sign in SIGNS.items()},
        shapes=SHAPES,
        method_page=addresses.of_method,
        sizes_page=addresses.of_sizes,
    )
    return environment
