"""Write the site: stylesheets and scripts, then the pages of one machine after another, by several processes.

On Linux a process is forked, and reads the content where it is; elsewhere it is started afresh and gets a copy. It ends with its work, so
that the memory which it has touched is free again. What is written does not depend on the number of processes. uPlot, which draws the
interactive charts, comes from the distribution uplot-python; its Python half, under the LGPL, is not imported.
"""

from __future__ import annotations

import gc
import os
import pickle
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
from traceback import format_exception
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

LONGEST = ("history", "functions", "comparisons", "costs")  # modules whose pages take longest
FEW_MACHINES = 3  # whose pages are written together; processes that read more of them would copy too much memory
VARIABLE = "TENSORCOPY_PROCESSES"  # of the environment: how many processes write pages
MOST_PROCESSES, MAX_PROCESSES = 8, 256  # by default, as each takes some 100 MB; that the variable may ask for
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

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "templates"}  # its filters cannot be pickled


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

    Many machines are written one after another, so that the memory of only one is copied.

    campaign : whose pages they are
    docs : Markdown by file name, as in `Content`
    processes : how many write pages; 0 for as many as there are cores
    problems : of results that could not be read or do not count, which every page names
    """
    usual = gc.get_threshold()
    gc.set_threshold(GARBAGE, *usual[1:])  # also in forked processes: searching takes a tenth of the time
    try:
        write_assets(directory)
        content = replace(render.content(campaign, results, docs), web=web, problems=tuple(problems))
        site = Site(content, directory)
        missing = render.page_text(site.templates, render.MISSING_PAGE)  # compiles the templates before the processes start
        (directory / addresses.MISSING).write_text(missing, encoding="utf-8")
        count = processes or available()
        tasks, are_few = [], len(content.machines) <= FEW_MACHINES
        for number, machine in enumerate(content.machines):
            # what several modules of pages need, so that their processes share it
            _ = machine.history, machine.case_changes, machine.changes_by_release, machine.standings, machine.causes, content.comparisons
            tasks += _tasks(site, number)
            if not are_few:
                run(site, tasks, count)
                tasks = []
        run(site, [*tasks, *_tasks(site, None)], count if are_few else 1)
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


def available() -> int:
    """Return how many processes can run at a time, at most `MOST_PROCESSES`; or as many as the environment says.

    Raises TensorcopyError for a number of processes that is none.
    """
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(cores, MOST_PROCESSES)
    if not (wanted.isascii() and wanted.isdecimal() and 0 < int(wanted) <= MAX_PROCESSES):
        raise TensorcopyError(
            f"{VARIABLE} is no number of processes", got=repr(wanted), allowed=f"1 to {MAX_PROCESSES}", next=f"{VARIABLE}=1 asv publish"
        )
    return int(wanted)


def run(site: Site, tasks: Sequence[Task], processes: int) -> None:
    """Run each task's function with `site` and its arguments; an error is raised here, with its traceback."""
    if min(processes, len(tasks)) < 2 or (START == "fork" and threading.active_count() > 1):  # a fork would copy locks that threads hold
        for function, arguments in tasks:
            function(site, *arguments)
        return
    gc.freeze()  # the collector of a process would else write to all memory that it shares, and so copy it
    executor = ProcessPoolExecutor(min(processes, len(tasks)), get_context(START), _start, (site,))
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
            next=f"{VARIABLE}=1 asv publish, which needs less memory",
        ) from error
    finally:
        executor.shutdown(cancel_futures=True)
        gc.unfreeze()


_site: Site | None = None  # in a process that runs tasks


def _start(site: Site) -> None:
    end_with_parent()
    global _site
    _site = site


def _answer(task: Task) -> None:
    """Run a task."""
    function, arguments = task
    assert _site is not None
    try:
        function(_site, *arguments)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        except Exception:
            raise RuntimeError("".join(format_exception(error))) from None
        raise
