"""Write the site: the pages of one machine after another, by several processes, and what all machines share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import Environment

from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.errors import TensorcopyError
from tensorcopy.results.confirmations import Confirmation, Key
from tensorcopy.results.reader import Result
from tensorcopy.site import render, social_image
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import NO_CONFIRMATIONS, Machine
from tensorcopy.site.output import assets
from tensorcopy.site.output.processes import Shared, Task, available, rare_collection, run
from tensorcopy.site.page import File, Page
from tensorcopy.site.web_addresses import NOWHERE, WebAddresses
from tensorcopy.worker.declarations import Project

LONGEST = ("history", "functions", "comparisons", "sizes")  # modules whose pages take longest
FEW_MACHINES = 3  # whose pages are written together; processes that read more of them would copy too much memory
PIECES = 4  # of the comparisons of a machine, for each process: they take different times


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

    Many machines are written one after another, so that the memory of only one is copied.

    card : of `accuracy_report`
    docs : Markdown by file name, as in `Content`
    processes : how many write pages; 0 for as many as there are cores
    problems : of files that could not be read, which every page names
    project : whose pages they are; None for those of the registry
    """
    assets.write(directory)
    content = render.content(results, card, docs, confirmations)
    site = Site(replace(content, web=web, problems=tuple(problems), project=project), directory)
    if web.site and site.content.machine and not project:
        (directory / social_image.name()).write_bytes(social_image.picture(site.content.machine))
    render.write_menus(site.templates, directory)  # compiles the templates before the processes start
    count = processes or available()
    machines, tasks = site.content.machines, []
    are_few = len(machines) <= FEW_MACHINES
    for number, machine in enumerate(machines):
        _judge(site, machine, count)
        tasks += _tasks(site, number)
        if not are_few:
            run(site, tasks, count)
            tasks = []
    run(site, [*tasks, *_tasks(site, None)], count if are_few else 1)


class Site(Shared):
    """The content, and the folder that its pages are written into."""

    def __init__(self, content: Content, directory: Path) -> None:
        super().__init__(content)
        self.directory = directory

    @cached_property
    def templates(self) -> Environment:
        """The templates, compiled."""
        return render.templates_of(self.content)

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
    _ = machine.history, machine.case_changes, machine.changes_by_release, machine.causes


def _judged(site: Site, listed: Sequence[str]) -> dict[str, Comparison]:
    return {address: site.content.comparisons[address] for address in listed}


def _tasks(site: Site, number: int | None) -> list[Task]:
    """Return the tasks that write the pages of a machine, by its number, or those of the site; the longest first."""
    names = sorted(render.page_modules(site.content), key=lambda name: name not in LONGEST)
    return [(_write_pages, (name, number)) for name in names if number is None or hasattr(render.page_module(name), "machine_pages")]


def _write_pages(site: Site, name: str, number: int | None) -> None:
    """Write the pages of one module: those of a machine, or those of the site."""
    machine = None if number is None else site.content.machines[number]
    module = render.page_module(name)
    pages: Sequence[Page | File] = module.pages(site.content) if machine is None else module.machine_pages(site.content, machine)
    texts = {page.address: render.text_of(site.templates, page) for page in pages}
    for folder in {(site.directory / address).parent for address in texts}:
        folder.mkdir(parents=True, exist_ok=True)
    for address, text in texts.items():
        (site.directory / address).write_text(text, encoding="utf-8")
