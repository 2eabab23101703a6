"""Write the site: stylesheets and scripts, then the pages, by several processes.

On Linux a process is forked, and reads the content where it is; elsewhere it is started afresh and gets a copy. It ends with its work, so
that the memory which it has touched is free again. What is written does not depend on the number of processes. uPlot, which draws the
interactive charts, comes from the distribution uplot-python; its Python half, under the LGPL, is not imported.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from importlib.metadata import distribution
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from jinja2 import Environment

from tensorcopy.campaign import Campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.results.result import Result
from tensorcopy.site import addresses, render
from tensorcopy.site.addresses import NOWHERE, WebAddresses
from tensorcopy.site.content import Content
from tensorcopy.site.page import File, Page
from tensorcopy.worker.processes import end_with_parent

STATIC = Path(__file__).with_name("static")
STYLESHEET, ICON = "tensorcopy.css", "icon.svg"
SCRIPTS = ("page.js", "chart.js", "explorer.js", "not-found.js")
COMMENT = re.compile(r"^ */\*.*?\*/\n", re.MULTILINE | re.DOTALL)  # a tenth of the scripts, which no browser needs
UPLOT, UPLOT_CSS, LICENSES = "uplot.js", "uplot.css", "licenses.txt"
ASSETS = (STYLESHEET, ICON, *SCRIPTS, UPLOT, UPLOT_CSS, LICENSES)

LONGEST = ("histories", "release_pairs", "functions", "costs")  # modules whose pages take longest
MOST_PROCESSES = 8  # each takes some 100 MB
GARBAGE = 200_000  # new values between two searches for garbage, of which there is little: most values stay until the site is written
START = "fork" if sys.platform == "linux" else "spawn"

Task = tuple[Callable[..., Any], tuple[Any, ...]]  # a function of a module, and its arguments after the site


class Site:
    """The content of a site, and the folder that its pages are written into: what every task works on."""

    def __init__(self, content: Content, directory: Path) -> None:
        self.content, self.directory = content, directory

    @cached_property
    def templates(self) -> Environment:
        """The templates, compiled."""
        return render.templates_of(self.content)


def write(
    campaign: Campaign,
    results: Sequence[Result],
    docs: Mapping[str, str],
    directory: Path,
    web: WebAddresses = NOWHERE,
    processes: int = 0,
    problems: Sequence[TensorcopyError] = (),
) -> None:
    """Write pages, data files, stylesheet and scripts into `directory`, which exists.

    campaign : whose pages they are
    docs : Markdown by file name, as in `Content`
    processes : how many write pages; 0 for as many as there are cores, at most `MOST_PROCESSES`
    problems : of results that could not be read or do not count, which every page names
    """
    usual = gc.get_threshold()
    gc.set_threshold(GARBAGE, *usual[1:])  # also in forked processes: searching takes a tenth of the time
    try:
        write_assets(directory)
        content = replace(render.content(campaign, results, docs), web=web, problems=tuple(problems))
        site = Site(content, directory)
        missing = render.page_text(site.templates, render.MISSING_PAGE)
        (directory / addresses.MISSING).write_text(missing, encoding="utf-8")
        for machine in content.machines:  # what several modules of pages need, so that their processes share it
            _ = machine.history, machine.case_changes, machine.changes_by_release, machine.standings, machine.causes, content.comparisons
        tasks = [task for number in (*range(len(content.machines)), None) for task in _tasks(site, number)]
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        run(site, tasks, processes or min(cores, MOST_PROCESSES))
    finally:
        gc.set_threshold(*usual)


def write_assets(directory: Path) -> None:
    """Write the stylesheets and scripts, the icon, and the licences of others' code."""
    for name in (STYLESHEET, ICON, LICENSES):
        shutil.copyfile(STATIC / name, directory / name)
    for name in SCRIPTS:
        (directory / name).write_text(COMMENT.sub("", (STATIC / name).read_text(encoding="utf-8")), encoding="utf-8")
    for name, source in ((UPLOT, "uPlot.iife.js"), (UPLOT_CSS, "uPlot.min.css")):
        shutil.copyfile(str(distribution("uplot-python").locate_file(f"uplot/static/{source}")), directory / name)


def _tasks(site: Site, number: int | None) -> list[Task]:
    """Return the tasks that write the pages of a machine, by its number, or those of the site; the longest first."""
    modules = sorted(render.page_modules(site.content), key=lambda module: module.__name__.rpartition(".")[2] not in LONGEST)
    function = "pages" if number is None else "machine_pages"
    return [(_write_pages, (module.__name__, number)) for module in modules if hasattr(module, function)]


def _write_pages(site: Site, name: str, number: int | None) -> None:
    """Write the pages of one module: those of a machine, or those of the site."""
    module, content = import_module(name), site.content
    pages: Iterable[Page | File] = module.pages(content) if number is None else module.machine_pages(content, content.machines[number])
    for page in pages:
        path = site.directory / page.address
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render.text_of(site.templates, page), encoding="utf-8")


def run(site: Site, tasks: Sequence[Task], processes: int) -> None:
    """Run each task's function with `site` and its arguments; an error is raised here, with its traceback."""
    if min(processes, len(tasks)) < 2 or (START == "fork" and threading.active_count() > 1):  # a fork would copy locks that threads hold
        for function, arguments in tasks:
            function(site, *arguments)
        return
    gc.freeze()  # the collector of a process would else write to all memory that it shares, and so copy it
    executor = ProcessPoolExecutor(min(processes, len(tasks)), get_context(START), _start, (site.content, site.directory))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of numpy's threads, which a fork does not harm
            answers = [executor.submit(_answer, task) for task in tasks]
        for answer in answers:
            answer.result()
    except BrokenProcessPool as error:
        raise TensorcopyError(
            "a process that wrote pages was ended from outside",
            got="no answer from it",
            allowed=f"memory for {processes} processes",
            next="taskset -c 0 asv publish, which writes them by one process",
        ) from error
    finally:
        executor.shutdown(cancel_futures=True)
        gc.unfreeze()


_site: Site | None = None  # in a process that runs tasks


def _start(content: Content, directory: Path) -> None:
    end_with_parent()
    global _site
    _site = Site(content, directory)


def _answer(task: Task) -> None:
    """Run a task."""
    function, arguments = task
    assert _site is not None
    function(_site, *arguments)
