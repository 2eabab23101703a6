"""Torch releases as the commits of a repository, beside the git revisions of this checkout."""

from __future__ import annotations

import shutil

from asv.console import log

from tensorcopy.campaign import Campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git
from tensorcopy.releases.release_table import Release


class TorchReleases:
    """The releases of a campaign, named as commits are in git.

    A commit's hash is PyTorch's own, a tag is like "v2.15.0". The order is by version, not by date: 2.2.2 came out after 2.3.0. A name that
    is no release may be a git revision of this checkout, such as "main", "HEAD~1" or a SHA.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self._releases: list[Release] = [*campaign.releases]

    def find(self, name: str) -> Release | str:
        """Return a release, or the SHA of a git revision; a name that is both is a release. Raises TensorcopyError for neither."""
        try:
            found = self.campaign.releases.find(name)
        except TensorcopyError as error:
            if commit := git.find(name):
                return commit
            raise TensorcopyError(
                "unknown torch release or git revision",
                got=repr(name),
                allowed=f"{self._releases[0].tag} to {self._releases[-1].tag}, or a branch, tag or SHA of this repository",
                next="tensorcopy history lists the releases" if shutil.which("git") else "apt install git, which finds revisions",
            ) from error
        if git.find(f"refs/tags/{name}"):
            log.warning(f"{name} is torch {found.version}; the tag of this repository is refs/tags/{name}")
        return found

    def range(self, text: str) -> list[Release]:
        """Return the releases that a range means, the oldest first. Raises TensorcopyError, also for git revisions.

        "A..B" means those after A up to B, "A^!" or "A" that one alone, "NEW" is no range.
        """
        if text in ("ALL", "TAGS", ""):
            return self._releases
        first, dots, last = text.removesuffix("^!").partition("..")
        ends = [self.find(name) if name else None for name in ((first, last) if dots else (first,))]
        if any(isinstance(end, str) for end in ends):
            what, allowed = "a git revision is in no range", "releases of torch"
            raise TensorcopyError(what, got=text, allowed=allowed, next="asv continuous HEAD~1 HEAD, which compares two revisions")
        places = [self._releases.index(end) + 1 if isinstance(end, Release) else None for end in ends]
        return self._releases[places[0] : places[1]] if dots else [end for end in ends if isinstance(end, Release)]

    def before(self, found: Release | str, name: str) -> Release | str:
        """Return the release before one, by version, or the first parent of a commit. Raises TensorcopyError."""
        if isinstance(found, str):
            return self.find(f"{found}^")
        if found == self._releases[0]:
            raise TensorcopyError(f"{name} has no parent", got=name, allowed="a release after the first", next="name two releases")
        return self._releases[self._releases.index(found) - 1]
