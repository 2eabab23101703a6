"""`asv publish`, `preview` and `gh-pages`: the pages of the campaign, in place of asv's own, which load scripts from other hosts."""

from __future__ import annotations

import os
import shutil
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from asv.commands.preview import Preview
from asv.commands.publish import Publish
from asv.console import log
from asv.plugins.github import GithubPages
from asv.util import ProcessError

from tensorcopy import files
from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git

# Write the pages of a campaign from the folder of launches into the site's folder; return problems, with which asv ends in exit code 2, and
# warnings
Writer = Callable[[Campaign, Path, Path], tuple[Sequence[TensorcopyError], Sequence[TensorcopyError]]]

OF_A_SITE = {"index.html", "tensorcopy.css"}  # files that every site has


def publish(write: Writer, campaign: Campaign, paths: Paths, options: Namespace) -> int:
    """Write the site beside the one that is there, and put it in its place when it is whole; return 2 where results cannot be read.

    Raises TensorcopyError where the folder holds something else than a site, and where another program writes it.
    """
    problems, warnings = replace_site(campaign, paths, write)
    for warning in warnings:
        log.warning(str(warning))
    for problem in problems:
        log.error(str(problem))
    return 2 if problems else 0


def replace_site(campaign: Campaign, paths: Paths, write: Writer) -> tuple[Sequence[TensorcopyError], Sequence[TensorcopyError]]:
    """Replace a site by what `write` writes when that is whole, and return what it returns. Raises TensorcopyError, see `publish`."""
    site = paths.html
    there = {path.name for path in site.iterdir()} if site.is_dir() else {"a file"} if site.exists() else set()
    holds = [folder for folder in (Path.cwd(), paths.results, paths.environments) if folder.resolve().is_relative_to(site.resolve())]
    if holds or site.is_symlink() or (there and not there >= OF_A_SITE):
        what, allowed = "asv publish replaces the folder of the site", "a folder, no link, with nothing in it but a site of tensorcopy"
        following = 'name another one as "html_dir" in asv.conf.json, or with asv publish -o FOLDER'
        raise TensorcopyError(what, got=str(site), allowed=allowed, next=following)
    lock, new, old = (site.with_name(f".{site.name}.{ending}") for ending in ("lock", "new", "old"))
    what, following = "another asv publish is running", "repeat when it has ended"
    with files.locked(lock, TensorcopyError(what, got=f"{lock} is held", allowed="one at a time", next=following)):
        log.info(f"Writing {site}")
        try:
            for folder in (new, old):
                shutil.rmtree(folder, ignore_errors=True)  # of one that was killed
            new.mkdir(parents=True)
            told = write(campaign, paths.results, new)
            if site.exists():
                site.rename(old)
            new.rename(site)
        finally:
            for folder in (new, old):
                shutil.rmtree(folder, ignore_errors=True)
    return told


def gh_pages(write: Writer, campaign: Campaign, paths: Paths, options: Namespace) -> int:
    """Publish, and let asv put the site on the branch gh-pages; return 2, without doing so, where results cannot be read.

    asv fetches the branch from the current folder, which has to be the top of the repository.
    """
    top = git.printed("rev-parse", "--show-toplevel")
    if not top:
        raise TensorcopyError("gh-pages is a branch", got="no git repository", allowed="a folder in one", next="git init, or asv publish")
    if code := publish(write, campaign, paths, options):
        return code
    os.chdir(top)
    Publish.run = lambda *_, **__: None  # it was published
    try:
        GithubPages.run(Namespace(html_dir=str(paths.html)), no_push=options.no_push, rewrite=options.rewrite)
    except ProcessError as error:
        got, allowed = f"{error.stderr or error.stdout or error}".strip(), "a branch that git can commit to and push"
        following = "correct what it says, then repeat"
        raise TensorcopyError("git cannot update gh-pages", got=got, allowed=allowed, next=following) from error
    return 0


def preview(campaign: Campaign, paths: Paths, options: Namespace) -> int:
    """Let asv serve the site until it is interrupted."""
    Preview.run(Namespace(html_dir=str(paths.html)), port=options.port, browser=options.browser)
    return 0
