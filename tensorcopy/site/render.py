"""The pages and data files of the site as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from tensorcopy import __version__
from tensorcopy.campaign import Campaign
from tensorcopy.judge.comparisons import word
from tensorcopy.judge.paired import Change, Verdict
from tensorcopy.numbers import (
    count,
    duration,
    percent,
    quantity,
    ratio_text,
    signed_interval,
    signed_percent,
    size,
    unbroken,
)
from tensorcopy.report.sentences import (
    BY_LEVELS,
    LIKELY,
    MARK,
    SIGNS,
    USUAL_SPEED,
    count_text,
    no_change,
    none_open,
    not_included,
    sentence,
)
from tensorcopy.results.result import Result
from tensorcopy.site import addresses, navigation, pages
from tensorcopy.site.addresses import UNKNOWN_SOURCE, WebAddresses
from tensorcopy.site.content import Content
from tensorcopy.site.history_chart import is_charted
from tensorcopy.site.machine import machines
from tensorcopy.site.page import File, Page, breakable, circumstances, environment_text, parameters, translator, with_links
from tensorcopy.site.svg import ENDS, SHAPES

LINKED_DOCS = ("index", "guide", "guide.ja", "glossary", "glossary.ja")  # from other pages
PLACEHOLDER_DOCS = dict.fromkeys(LINKED_DOCS, "# Documentation\n\nIt is in docs/.\n")
MISSING_PAGE = Page(addresses.MISSING, "missing.html", "No such page", description="This address has no page.")
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")  # not allowed in HTML or XML
REPLACEMENT = "\ufffd"


def page_modules(content: Content) -> list[Any]:
    """Return the modules with the pages of a site: each has `pages(content)`, `machine_pages(content, machine)`, or both."""
    shared = [import_module(module.name) for module in iter_modules(pages.__path__, f"{pages.__name__}.")]
    return [*shared, *content.own_pages()]


def content(campaign: Campaign, results: Sequence[Result], docs: Mapping[str, str] | None = None) -> Content:
    """Return the content of the pages."""
    today = datetime.now(timezone.utc).isoformat()
    day = max((launch for result in results for launch in result.launches), default=today)[:10]
    return Content(campaign, tuple(machines(results, campaign.rules)), {**PLACEHOLDER_DOCS, **(docs or {})}, day)


def files(content: Content) -> Iterator[tuple[str, str]]:
    """Yield the address and the text of every page and data file."""
    templates = templates_of(content)
    for module in page_modules(content):
        for machine in content.machines if hasattr(module, "machine_pages") else ():
            yield from ((page.address, text_of(templates, page)) for page in module.machine_pages(content, machine))
        yield from ((page.address, text_of(templates, page)) for page in (module.pages(content) if hasattr(module, "pages") else ()))


def text_of(templates: Environment, page: Page | File) -> str:
    """Return the text of a page or data file, without characters that are not allowed in it."""
    return CONTROL.sub(REPLACEMENT, page.text if isinstance(page, File) else page_text(templates, page))


def page_text(templates: Environment, page: Page) -> str:
    """Return the HTML of a page."""

    def localized(address: str) -> str:
        """Return the address in the page's language, for pages that are translated."""
        return addresses.translated(address, page.language) if address in navigation.TRANSLATED else address

    web: WebAddresses = templates.globals["web"]  # type: ignore[assignment]
    link = web.from_anywhere if page.address == addresses.MISSING else partial(addresses.relative, page.address)
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
    )


def templates_of(content: Content) -> Environment:
    """Return the templates of a site, with what every page shows."""
    own = [content.campaign.pages.rpartition(".")[0]] if content.campaign.pages else []  # has the folder of their templates
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in ("tensorcopy.site", *own)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        duration=duration,
        quantity=quantity,
        count=count,
        size=size,
        percent=lambda ratio: unbroken(signed_percent(ratio)),
        breakable=breakable,
        with_links=with_links,
        circumstances=circumstances,
        parameters=parameters,
        values_of=values_of,
        interval=lambda ends: unbroken(signed_interval(ends)),
        environment_text=environment_text,
        ratio_text=ratio_text,
        unbroken=unbroken,
        plus_minus=plus_minus,
        no_change=no_change,
        none_open=none_open,
        sentence=sentence,
        word=word,
        tracked=lambda change: count_text(change.count),
        share=lambda share: unbroken(percent(share, 1)),
        slug=addresses.slug,
        section_anchor=addresses.of_section,
    )
    environment.globals.update(_globals(content))
    return environment


def values_of(named: Iterable[tuple[str, str]]) -> str:
    """Format the values of parameters whose names stand elsewhere: "2¹⁷, float16"."""
    return ", ".join(count(int(value)) if name == "numel" else value for name, value in named)


def plus_minus(change: Change) -> str:
    """Format a change with half the width of its interval: "+1.2 ± 4.3 %"."""
    middle, ends = signed_percent(change.ratio or 1.0), change.interval
    return unbroken(f"{middle.removesuffix(' %')} ± {percent((ends[1] - ends[0]) / 2, 1)}" if ends else middle)


def _globals(content: Content) -> dict[str, Any]:
    """Return what every template can use.

    history_address : of a machine's name, the address of its explorer, or of the index of its cases where nothing is charted
    """
    charted = {machine.name for machine in content.machines if is_charted(machine)}
    indices = {machine.name: content.histories_address(machine) for machine in content.machines}
    return {
        "campaign": content.campaign,
        "site_name": content.site_name,
        "newest_day": content.day,
        "methods": content.methods if content.campaign.pages else {},  # that have a page
        "not_included": not_included(content.problems),
        "version": __version__,
        "navigation": navigation.ENTRIES if content.campaign.pages else navigation.WITHOUT_OWN_PAGES,
        "pages": navigation.PAGES,
        "marker": navigation.marker,
        "web": content.web,
        "clone_address": content.web.source or UNKNOWN_SOURCE,
        "by_levels": BY_LEVELS,
        "mark": MARK,
        "usual_speed": USUAL_SPEED,
        "signs": {verdict.value: sign for verdict, sign in SIGNS.items()} | dict.fromkeys(LIKELY, SIGNS[Verdict.UNKNOWN]),
        "shapes": SHAPES,
        "ends": ENDS,
        "method_address": addresses.of_method,
        "comparisons_address": addresses.of_comparisons,
        "release_address": addresses.of_release,
        "charted": charted,
        "history_address": lambda name: addresses.of_explorer(name) if name in charted else indices[name],
        "sizes_address": addresses.of_sizes,
        "data_address": addresses.of_machine_data,
        "reading": addresses.of_doc("reading") if "reading" in content.docs else "",
    }
