"""Add tensorcopy's pages to the site that `asv publish` writes."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from asv.commands.publish import Publish
from asv.console import log
from asv.plugins.summarylist import SummaryList
from asv.publishing import OutputPublisher

from tensorcopy.asv_plugin.commands import campaign, end, end_with, exit_on_error, paths_of
from tensorcopy.campaign import Campaign
from tensorcopy.errors import TensorcopyError

# asv's own pages, which load their scripts from three other hosts
ASV_PAGES = ("*.js", "*.css", "*.html", "*.ico", "*.png")

# Write the pages of a campaign from the folder of launches into the site's folder; return the problems
Writer = Callable[[Campaign, Path, Path], Iterable[TensorcopyError]]

_writers: list[Writer] = []


def register(write: Writer) -> None:
    """Let `asv publish` call `write` after asv has written its own files."""
    _writers.append(write)
    Publish.run = _run
    SummaryList.publish = lambda *_: None  # the data of asv's list view, two thirds of the graphs' size


def _run(conf: Any, range_spec: Any = None, pull: bool = True, run: Any = Publish.run) -> Any:
    """Publish, unless the folder that asv removes first is a link, or holds more than a site."""
    site, paths = Path(conf.html_dir), paths_of(conf)
    others = [folder for folder in (Path.cwd(), paths.results, paths.environments) if folder.resolve().is_relative_to(site.resolve())]
    if site.is_symlink() or others or (site.exists() and not site.is_dir()):
        kind = "a link" if site.is_symlink() else f"a folder that has {others[0].name}/ in it" if others else "a file"
        end_with(
            TensorcopyError(
                "asv publish removes the folder of the site before it writes it",
                got=f"{site}, {kind}",
                allowed="a folder for the site alone",
                next='name another one as "html_dir" in asv.conf.json, or with asv publish -o FOLDER',
            )
        )
    return run(conf=conf, range_spec=range_spec, pull=pull)


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
                    allowed='"plugins": [".tensorcopy.asv_plugin", ".tensorcopy.copying.asv", ".tensorcopy.site.publisher"]',
                    next="add that plugin to asv.conf.json",
                )
            for pattern in ASV_PAGES:
                for path in html_dir.glob(pattern):
                    path.unlink()
            problems = [problem for write in _writers for problem in write(campaign(), paths_of(conf).results, html_dir)]
        for problem in problems:
            log.error(str(problem))
        if problems:
            atexit.register(end)
