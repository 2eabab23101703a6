"""Add tensorcopy's pages to the site that `asv publish` writes."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from asv.console import log
from asv.publishing import OutputPublisher

from tensorcopy.asv_plugin.commands import end, exit_on_error, paths_of
from tensorcopy.errors import TensorcopyError

# asv's own pages, which load their scripts from three other hosts, and the data of their list view, two thirds of the graphs' size
ASV_PAGES = ("*.js", "*.css", "*.html", "*.ico", "*.png", "graphs/*/**/summary.json")

# Write pages from the folder of launches into the site's folder; return the problems
Writer = Callable[[Path, Path], Iterable[TensorcopyError]]

_writers: list[Writer] = []


def register(write: Writer) -> None:
    """Let `asv publish` call `write` after asv has written its own files."""
    _writers.append(write)


def warn(warnings: Iterable[TensorcopyError]) -> None:
    """Log warnings, which do not change the exit code of `asv publish`."""
    for warning in warnings:
        log.warning(str(warning))


class Pages(OutputPublisher):  # type: ignore[misc]
    """Write tensorcopy's pages beside asv's data, in place of asv's pages."""

    name = "tensorcopy"
    button_label = "tensorcopy"
    description = "How do I copy a tensor?"

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        html_dir = Path(conf.html_dir)
        with exit_on_error():
            if not _writers:
                raise TensorcopyError(
                    "asv publish has no pages of tensorcopy to write",
                    got='asv.conf.json without the plugin ".tensorcopy.site.publisher"',
                    allowed='"plugins": [".tensorcopy.asv_plugin", ".tensorcopy.site.publisher"]',
                    next="add that plugin to asv.conf.json",
                )
            for pattern in ASV_PAGES:
                for path in html_dir.glob(pattern):
                    path.unlink()
            problems = [problem for write in _writers for problem in write(paths_of(conf).results, html_dir)]
        for problem in problems:
            log.error(str(problem))
        if problems:
            atexit.register(end)
