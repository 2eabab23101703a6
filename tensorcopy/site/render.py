"""The site as files: pages, data files, stylesheet and scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from tensorcopy import __version__
from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.report.comparison.wording import SIGNS, count_text, not_included
from tensorcopy.report.units import count, duration, quantity, size
from tensorcopy.results.confirmations import Confirmation, Key
from tensorcopy.results.load import Result
from tensorcopy.site import addresses, filters, navigation, pages
from tensorcopy.site.charts import social_image
from tensorcopy.site.charts.svg_plot import ENDS, SHAPES
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import NO_CONFIRMATIONS, Machine
from tensorcopy.site.output import assets
from tensorcopy.site.output.compact import compact
from tensorcopy.site.output.processes import Shared, Task, available, rare_collection, run
from tensorcopy.site.page import File, Page
from tensorcopy.site.pages.functions import nanoseconds
from tensorcopy.site.translate import LANGUAGES, translator
from tensorcopy.site.web_addresses import NOWHERE, UNKNOWN_SOURCE, WebAddresses
from tensorcopy.worker.registry.project import Project

ASSETS = assets.NAMES
PAGE_MODULES = sorted(module.name for module in iter_modules(pages.__path__))
# of the sites of projects
OF_PROJECTS = (
    "case_histories",
    "causes",
    "comparison_index",
    "comparison_pages",
    "data",
    "explorer",
    "histories",
    "machines",
    "project",
)
LONGEST = ("case_histories", "functions", "comparison_pages", "sizes")  # modules whose pages take longest
PIECES = 4  # of the comparisons of a machine, for each process: they take different times
PLACEHOLDER_DOCS = {
    "index": "# Docs\n\nThe documentation is in docs/.\n",
    "index.ja": "# ドキュメント\n\nドキュメントは docs/ にあります。\n",
    "glossary": "# Glossary\n",
    "glossary.ja": "# 用語集\n",
}  # the navigation links to them
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")  # not allowed in HTML or XML
REPLACEMENT = "\ufffd"


@rare_collection()
def write(
    results: Sequence[Result],
    card: Mapping[str, Any] | None,
    docs: Mapping[str, str],
    directory: Path,
    confirmations: Mapping[Key, Confirmation] = NO_CONFIRMATIONS,
    web: WebAddresses = NOWHERE,
    processes: int = 0,
    problems: Sequence[TensorcopyError] = (),
    project: Project | None = None,
) -> None:
    """Write pages, data files, stylesheet and scripts into `directory`, which exists.

    The machines are written one after another, so that the memory of only one is copied.

    card : of `accuracy_report`
    docs : Markdown by file name, as in `Content`
    processes : how many write pages; 0 for as many as there are cores
    problems : of files that could not be read, which every page names
    project : whose pages they are; None for those of the registry
    """
    assets.write(directory)
    site = Site(replace(content(results, card, docs, confirmations), web=web, problems=tuple(problems), project=project), directory)
    if web.site and site.content.machine and not project:
        (directory / social_image.name()).write_bytes(social_image.picture(site.content.machine))
    write_menus(site.templates, directory)  # compiles the templates before the processes start
    count = processes or available()
    machines = site.content.machines
    for number, machine in enumerate(machines):
        _judge(site, machine, count)
        run(site, [*_tasks(site, number), *(_tasks(site, None) if len(machines) == 1 else ())], count)
    if len(machines) != 1:
        run(site, _tasks(site, None), 1)  # they read all machines, whose memory another process would copy


class Site(Shared):
    """The content, and the folder that its pages are written into."""

    def __init__(self, content: Content, directory: Path) -> None:
        super().__init__(content)
        self.directory = directory

    @cached_property
    def templates(self) -> Environment:
        """The templates, compiled."""
        return _templates(self.content)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "templates"}  # its filters cannot be pickled


def _judge(site: Site, machine: Machine, processes: int) -> None:
    """Judge the comparisons of a machine, in neighbouring groups: a series is fitted once in each process."""
    listed = site.content.comparisons.of_machine(machine.name)
    size = max(1, -(-len(listed) // (PIECES * processes)))
    tasks: list[Task] = [(_judged, (listed[start : start + size],)) for start in range(0, len(listed), size)]
    for judged in run(site, tasks, processes, meanwhile=lambda: _fit(machine)):
        site.content.comparisons.keep(judged)


def _fit(machine: Machine) -> None:
    """Compute what several modules of pages need, so that their processes share it."""
    _ = machine.history, machine.case_changes, machine.causes


def _judged(site: Site, listed: Sequence[str]) -> dict[str, Comparison]:
    return {address: site.content.comparisons[address] for address in listed}


def _tasks(site: Site, number: int | None) -> list[Task]:
    """Return the tasks that write the pages of a machine, by its number, or those of the site; the longest first."""
    names = sorted(_modules(site.content), key=lambda name: name not in LONGEST)
    return [(_write_pages, (name, number)) for name in names if number is None or hasattr(_module(name), "machine_pages")]


def _write_pages(site: Site, name: str, number: int | None) -> None:
    """Write the pages of one module: those of a machine, or those of the site."""
    module, machine = _module(name), None if number is None else site.content.machines[number]
    created: set[Path] = set()
    for page in module.pages(site.content) if machine is None else module.machine_pages(site.content, machine):
        path = site.directory / page.address
        if path.parent not in created:
            path.parent.mkdir(parents=True, exist_ok=True)
            created.add(path.parent)
        text = _text(site.templates, page)
        path.write_text(compact(text) if isinstance(page, Page) else text, encoding="utf-8")


def _modules(content: Content) -> list[str]:
    """Return the names of the modules whose pages a site has: a project's are about no copies."""
    return [name for name in PAGE_MODULES if name in OF_PROJECTS] if content.project else PAGE_MODULES


def _module(name: str) -> Any:
    """Return a module of pages: `pages(content)`, and `machine_pages(content, machine)` if each machine has pages."""
    return import_module(f"{pages.__name__}.{name}")


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
    for module in map(_module, _modules(content)):
        for machine in content.machines if hasattr(module, "machine_pages") else ():
            yield from ((page.address, _text(templates, page)) for page in module.machine_pages(content, machine))
        yield from ((page.address, _text(templates, page)) for page in module.pages(content))


def _text(templates: Environment, page: Page | File) -> str:
    return CONTROL.sub(REPLACEMENT, page.text if isinstance(page, File) else _page(templates, page))


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


def write_menus(templates: Environment, directory: Path) -> None:
    """Write the script that has the menu of the header in each language, with addresses from the site's root."""
    by_language: Mapping[str, navigation.Navigation] = templates.globals["navigation"]  # type: ignore[assignment]
    link = partial(addresses.relative, addresses.LANDING)
    menus = {
        language: compact(templates.get_template("menu.html").render(links=links, t=translator(language), link=link, address=""))
        for language, links in by_language.items()
    }
    (directory / assets.MENUS).write_text(f"const MENUS = {json.dumps(menus, ensure_ascii=False)};\n", encoding="utf-8")


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
        section_anchor=addresses.of_section,
        method=lambda parameters: dict(parameters).get("method", ""),
        device=lambda parameters: dict(parameters).get("device", "cpu"),
    )
    environment.globals.update(_globals(content))
    return environment


def _globals(content: Content) -> dict[str, Any]:
    """Return what every template can use."""
    project = content.project
    return {
        "project": project,
        "site_name": content.site_name,
        "day": content.day,
        "methods": {} if project else content.methods,  # that have a page
        "nanoseconds": nanoseconds.address(content),
        "not_included": not_included(content.problems),
        "version": __version__,
        "navigation": {language: navigation.in_language(content.docs, language) for language in LANGUAGES}
        if not project
        else navigation.OF_PROJECT,
        "translated": {language: navigation.translated(content.docs, language) for language in LANGUAGES},
        "marker": navigation.marker,
        "menu_by_script": navigation.menu_by_script,
        "menu_page": addresses.MACHINES if project else addresses.DOCS,
        "web": content.web,
        "social_image": content.web.absolute(social_image.name()) if content.machine and not project else "",
        "clone_address": content.web.source or UNKNOWN_SOURCE,
        "signs": {verdict.value: sign for verdict, sign in SIGNS.items()},
        "shapes": SHAPES,
        "ends": ENDS,
        "method_address": addresses.of_method,
        "comparisons_address": addresses.of_comparisons,
        "explorer_address": addresses.of_explorer,
        "sizes_address": addresses.of_sizes,
    }
