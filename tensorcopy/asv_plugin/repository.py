"""Torch releases as the commits of a repository, beside the git revisions of this checkout.

A release's SHA is PyTorch's own, its tag is like "v2.15.0". Their order is by version, not by date: 2.2.2 came out after 2.3.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from asv.console import log

from tensorcopy.campaign import Campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git, sides
from tensorcopy.releases.release_table import Release


def find(name: str, campaign: Campaign) -> Release | str:
    """Return a release, or the SHA of a git revision; a name that is both is a release, "v2.15.0^" the one before.

    Raises TensorcopyError for neither.
    """
    try:
        release = campaign.releases.find(name.removesuffix("^"))
    except TensorcopyError as error:
        with suppress(TensorcopyError):  # no commit, no repository or no git
            return git.commit(name)
        what, allowed = "unknown torch release or git revision", f"{error.allowed}, or a branch, tag or SHA of this repository"
        raise TensorcopyError(what, got=repr(name), allowed=allowed, next=error.next) from error
    return campaign.releases[max(0, campaign.releases.index(release) - name.endswith("^"))]


def pair(names: Sequence[str], campaign: Campaign) -> tuple[list[Release], list[str]]:
    """Return two releases, or else the SHAs of two git revisions: nothing but torch shall differ, or nothing but the code.

    Raises TensorcopyError.
    """
    found, got = [find(name, campaign) for name in names], " and ".join(names)
    if found[0] == found[1]:
        raise TensorcopyError("nothing to compare", got=got, allowed="two releases or revisions", next="name another")
    commits = [each for each in found if isinstance(each, str)]
    if len(commits) == 1:
        what, allowed = "a release of torch cannot be compared with a git revision", "two releases, or two git revisions under one torch"
        raise TensorcopyError(what, got=got, allowed=allowed, next="asv continuous HEAD~1 HEAD")
    return [each for each in found if isinstance(each, Release)], commits


def of_range(text: str, campaign: Campaign) -> list[Release]:
    """Return the releases of a range as in git, the oldest first: "A..B" has those after A up to B, "A^!" and "A" that one alone.

    Raises TensorcopyError.
    """
    first, dots, _ = text.partition("..")
    releases = campaign.releases.select(text.removesuffix("^!"))[bool(first and dots) :]
    if not releases:
        raise TensorcopyError("nothing to measure", got=f"no release in {text}", allowed="a range of releases", next="asv run NEW")
    return releases


def are_alike(commits: Sequence[str], campaign: Campaign) -> bool:
    """Return whether no file that is measured differs between two commits, and say so."""
    alike = not sides.differ(commits[0], commits[1], campaign)
    if alike:
        log.info(f"no file that is measured differs between {' and '.join(commit[:8] for commit in commits)}")
    return alike
