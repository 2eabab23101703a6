"""Torch releases as the commits of a repository, beside the git revisions of this checkout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from asv.console import log
from asv.repo import Repo

from tensorcopy.campaign import Campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git
from tensorcopy.releases.release_table import Release

BRANCH = "releases"


class TorchReleases(Repo):  # type: ignore[misc]
    """The table of releases behind as much of asv's interface of a repository as `asv show` asks for.

    A commit's hash is PyTorch's own, a tag is like "v2.15.0". The order is by version, not by date: 2.2.2 came out after 2.3.0. A name that
    is no release may be a git revision of this checkout, such as "main", "HEAD~1" or a SHA.
    """

    dvcs = "torch-releases"
    _default_branch = BRANCH
    read: ClassVar[Callable[[Path], Campaign]]  # returns the campaign of a folder; asv makes this object, and passes no campaign on

    def __init__(self, url: str = "", mirror_path: str = "") -> None:
        self.campaign: Campaign = TorchReleases.read(Path.cwd())
        self._releases: list[Release] = [*self.campaign.releases]

    def find(self, name: str | None) -> Release | str:
        """Return a release, or the SHA of a git revision; a name that is both is a release. Raises TensorcopyError for neither."""
        if name in (None, BRANCH):
            return self._releases[-1]
        try:
            found = self.campaign.releases.find(str(name))
        except TensorcopyError as error:
            if commit := git.find(str(name)):
                return commit
            raise TensorcopyError(
                "unknown torch release or git revision",
                got=repr(name),
                allowed=f"{self._releases[0].tag} to {self._releases[-1].tag}, or a branch, tag or SHA of this repository",
                next="tensorcopy history lists the releases",
            ) from error
        if git.find(f"refs/tags/{name}"):
            log.warning(f"{name} is torch {found.version}; the tag of this repository is refs/tags/{name}")
        return found

    def range(self, text: str) -> list[Release] | list[str]:
        """Return the releases or the commits that a range means, the oldest first. Raises TensorcopyError.

        "A..B" means those after A up to B, "A^!" or "A" that one alone, "NEW" is no range.
        """
        if text in (BRANCH, "ALL", "TAGS", ""):
            return self._releases
        first, dots, last = text.removesuffix("^!").partition("..")
        if not dots:
            found = self.find(first)
            return [found]  # type: ignore[return-value] # of one kind
        ends = [self.find(name) if name else None for name in (first, last)]
        kinds = {isinstance(end, str) for end in ends if end}
        if kinds == {True}:
            return git.commits(text)[::-1]
        if len(kinds) > 1:
            allowed = "A..B of two releases, or of two revisions"
            raise TensorcopyError("a range has a release and a git revision", got=text, allowed=allowed, next="name two of one kind")
        start, end = (self._releases.index(each) + 1 if isinstance(each, Release) else None for each in ends)
        return self._releases[start:end]

    def before(self, found: Release | str, name: str) -> Release | str:
        """Return the release before one, by version, or the first parent of a commit. Raises TensorcopyError."""
        if isinstance(found, str):
            return self.find(f"{found}^")
        if found == self._releases[0]:
            raise TensorcopyError(f"{name} has no parent", got=name, allowed="a release after the first", next="name two releases")
        return self._releases[self._releases.index(found) - 1]

    def get_hash_from_name(self, name: str | None) -> str:
        found = self.find(name)
        return found if isinstance(found, str) else found.sha

    def get_name_from_hash(self, commit: str) -> str | None:
        release = self.campaign.releases.of(commit)
        return release.tag if release else None
