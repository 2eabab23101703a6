"""Add tensorcopy's pages to the site that `asv publish` writes."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from asv.commands.publish import Publish
from asv.console import log
from asv.plugins.summarylist import SummaryList
from asv.publishing import OutputPublisher

from tensorcopy import files
from tensorcopy.asv_plugin.commands import campaign, paths_of
from tensorcopy.asv_plugin.ending import end, exit_on_error, keeps
from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError

# asv's own pages, which load their scripts from three other hosts
ASV_PAGES = ("*.js", "*.css", "*.html", "*.ico", "*.png")

# Write the pages of a campaign from the folder of launches into the site's folder; return problems, with which asv ends in exit code 2, and
# warnings
Writer = Callable[[Campaign, Path, Path], tuple[Sequence[TensorcopyError], Sequence[TensorcopyError]]]

OF_A_SITE = ("index.json", "tensorcopy.css")  # files of asv and of tensorcopy that every site has


def register(write: Writer) -> None:
    """Let `asv publish` call `write` after asv has written its own files."""
    Pages.write = staticmethod(write)
    Publish.run = _run
    SummaryList.publish = lambda *_: None  # the data of asv's list view, two thirds of the graphs' size


def _run(conf: Any, range_spec: Any = None, pull: bool = True, run: Any = Publish.run) -> Any:
    """Write the site beside the one that is there, and put it in its place when it is whole.

    Ends asv where the folder holds something else than a site, and where another program writes it.
    """
    site, paths = Path(conf.html_dir).absolute(), paths_of(conf)
    lock = paths.environments.parent / "publish.lock"
    running = TensorcopyError(
        "another asv publish is running", got=f"{lock} is held", allowed="one at a time", next="repeat when it has ended"
    )
    with exit_on_error():
        _require_site(site, paths)
        with files.locked(lock, running):
            conf.html_dir = str(site.with_name(f".{site.name}.new"))
            keeps("the site that was there is kept")
            try:
                code = run(conf=conf, range_spec=range_spec, pull=pull)
                _replace(site, Path(conf.html_dir))
            finally:
                shutil.rmtree(conf.html_dir, ignore_errors=True)
                conf.html_dir = str(site)
    return code


def _require_site(site: Path, paths: Paths) -> None:
    """Raise TensorcopyError unless a folder is missing, empty or a site, and holds no other folder of the project."""
    others = [folder for folder in (Path.cwd(), paths.results, paths.environments) if folder.resolve().is_relative_to(site.resolve())]
    if site.is_symlink():
        kind = "a link"
    elif site.exists() and not site.is_dir():
        kind = "a file"
    elif others:
        kind = f"a folder that has {others[0].name}/ in it"
    elif site.is_dir() and any(site.iterdir()) and not all((site / name).is_file() for name in OF_A_SITE):
        kind = f"a folder with {min(path.name for path in site.iterdir())}, which is no site of tensorcopy"
    else:
        return
    raise TensorcopyError(
        "asv publish replaces the folder of the site",
        got=f"{site}, {kind}",
        allowed="a folder for the site alone",
        next='name another one as "html_dir" in asv.conf.json, or with asv publish -o FOLDER',
    )


def _replace(site: Path, new: Path) -> None:
    """Put a new site in the place of the one that is there, which is whole until then."""
    old = site.with_name(f".{site.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if site.exists():
        site.rename(old)
    new.rename(site)
    shutil.rmtree(old, ignore_errors=True)


class Pages(OutputPublisher):  # type: ignore[misc]
    """Write tensorcopy's pages beside asv's data, in place of asv's pages."""

    name = "tensorcopy"
    button_label = "tensorcopy"
    description = "Times over torch releases, every change tested"
    write: ClassVar[Writer]

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        html_dir = Path(conf.html_dir)
        with exit_on_error():
            for pattern in ASV_PAGES:
                for path in html_dir.glob(pattern):
                    path.unlink()
            problems, warnings = cls.write(campaign(), paths_of(conf).results, html_dir)
        for warning in warnings:
            log.warning(str(warning))
        for problem in problems:
            log.error(str(problem))
        if problems:
            atexit.register(end)
