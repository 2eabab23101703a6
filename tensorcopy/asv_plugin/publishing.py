"""`asv publish`: the pages of the campaign, in place of asv's own, which load their scripts from other hosts and judge by other rules."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from asv.commands.publish import Publish
from asv.console import log

from tensorcopy import files
from tensorcopy.asv_plugin.commands import campaign, paths_of
from tensorcopy.asv_plugin.ending import exit_on_error, keeps
from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError

# Write the pages of a campaign from the folder of launches into the site's folder; return problems, with which asv ends in exit code 2, and
# warnings
Writer = Callable[[Campaign, Path, Path], tuple[Sequence[TensorcopyError], Sequence[TensorcopyError]]]

OF_A_SITE = ("index.html", "tensorcopy.css")  # files that every site has


def register(write: Writer) -> None:
    """Let `asv publish`, and `asv gh-pages` with it, write what `write` does, and nothing else."""

    def run(conf: Any, range_spec: Any = None, pull: bool = True) -> None:
        with exit_on_error():
            _publish(conf, range_spec, write)

    Publish.run = run


def _publish(conf: Any, range_spec: Any, write: Writer) -> None:
    """Write the site beside the one that is there, and put it in its place when it is whole.

    Ends asv with exit code 2 where results cannot be read, before `asv gh-pages` would push a site without them. Raises TensorcopyError
    where the folder holds something else than a site, and where another program writes it.
    """
    paths = paths_of(conf)
    site = paths.html
    if range_spec is not None:
        raise TensorcopyError("asv publish has no range", got=str(range_spec), allowed="every release with a launch", next="asv publish")
    _require_site(site, paths)
    lock = site.with_name(f".{site.name}.lock")  # beside the site: two checkouts may write the same one
    running = TensorcopyError(
        "another asv publish is running", got=f"{lock} is held", allowed="one at a time", next="repeat when it has ended"
    )
    with files.locked(lock, running):
        keeps("the site that was there is kept")
        log.info(f"Writing {site}")
        new = site.with_name(f".{site.name}.new")
        shutil.rmtree(new, ignore_errors=True)  # of one that was killed
        new.mkdir(parents=True)
        try:
            problems, warnings = write(campaign(), paths.results, new)
            _replace(site, new)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    for warning in warnings:
        log.warning(str(warning))
    for problem in problems:
        log.error(str(problem))
    if problems:
        raise SystemExit(2)


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
