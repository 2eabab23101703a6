"""Torch releases as the commits of a repository, beside the git revisions of this checkout."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time, timezone

from asv.console import log
from asv.repo import NoSuchNameError, Repo

from tensorcopy.asv_plugin.commands import campaign
from tensorcopy.asv_plugin.ending import end_with, exit_on_error
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git
from tensorcopy.releases.release_table import Release

BRANCH = "releases"


class TorchReleases(Repo):  # type: ignore[misc]
    """The table of releases behind asv's interface of a repository.

    A commit's hash is PyTorch's own, a tag is like "v2.15.0". The order is by version, not by date: 2.2.2 came out after 2.3.0. A name that
    is no release may be a git revision of this checkout, such as "main", "HEAD~1" or a SHA.

    why_not_here : a function from a release to the reason why this machine cannot measure it, or "". The environments set it for
        `asv run`; only then do ranges leave releases out.
    """

    dvcs = "torch-releases"
    _default_branch = BRANCH
    why_not_here: Callable[[Release], str] | None = None

    def __init__(self, url: str, mirror_path: str) -> None:
        self._releases = campaign().releases
        self._told = set[str]()  # names of which the log has told

    @classmethod
    def url_match(cls, url: str) -> bool:
        return url.endswith("releases.toml")

    def pull(self) -> None:
        """Do nothing: the table is in this checkout."""

    def get_date(self, hash: str) -> int:
        found = self._find(hash)
        if isinstance(found, str):
            return git.date(found) * 1000
        return int(datetime.combine(found.date, time(), timezone.utc).timestamp() * 1000)

    def get_hashes_from_range(self, range: str) -> list[str]:
        """Return the SHAs of a range, newest first.

        "A..B" means the releases or commits after A up to B, "A^!" or "A" that one alone, and the branch all releases.
        """
        if range in (BRANCH, ""):
            return self._hashes(list(self._releases))
        first, dots, last = range.removesuffix("^!").partition("..")
        if not dots:
            found = self._named(first)
            return [found] if isinstance(found, str) else self._hashes([found], single=True)
        ends = [self._named(name) for name in (first, last) if name]
        if any(isinstance(end, str) for end in ends):
            with exit_on_error():
                if not all(isinstance(end, str) for end in ends):
                    raise TensorcopyError(
                        "a range has a release and a git revision",
                        got=range,
                        allowed="A..B of two releases, or of two revisions",
                        next="name two of one kind",
                    )
                return git.commits(range)
        releases = list(self._releases)
        start = releases.index(self._named(first)) + 1 if first else 0  # type: ignore[arg-type]
        end = releases.index(self._named(last)) + 1 if last else len(releases)  # type: ignore[arg-type]
        return self._hashes(releases[start:end])

    def get_hash_from_name(self, name: str | None) -> str:
        """Return the SHA of a branch, a tag, a version, a git revision or a SHA.

        An unknown name ends asv with exit code 2.
        """
        return _sha(self._named(name))

    def get_hash_from_parent(self, name: str) -> str:
        """Return the SHA of the release before `name`, by version; of a git revision that of its first parent."""
        found = self._find(name)
        if isinstance(found, str):
            return _sha(self._find(f"{found}^"))
        index = self._releases.index(found)
        if index == 0:
            raise NoSuchNameError(f"{name}^")
        return str(self._releases[index - 1].sha)

    def get_name_from_hash(self, commit: str) -> str | None:
        release = self._releases.of(commit)
        return release.tag if release else None

    def get_branch_commits(self, branch: str) -> list[str]:
        return self._hashes(list(self._releases))

    def _find(self, name: str | None) -> Release | str:
        """Return a release, or the SHA of a git revision, by a name that asv passes.

        A name that is both is a release. Raises NoSuchNameError, as asv's interface demands.
        """
        if name in (None, BRANCH):
            return self._releases[-1]
        try:
            return self._releases.find(str(name))
        except TensorcopyError as error:
            if commit := git.find(str(name)):
                return commit
            raise NoSuchNameError(str(error)) from error

    def _named(self, name: str | None) -> Release | str:
        """Return a release, or the SHA of a git revision, by a name that a user has typed.

        An unknown name ends asv with exit code 2. The log tells of a release whose name is a tag of this repository, too.
        """
        try:
            found = self._find(name)
            if isinstance(found, Release) and name not in self._told and git.find(f"refs/tags/{name}"):
                self._told.add(str(name))
                log.warning(f"{name} is torch {found.version}; the tag of this repository is refs/tags/{name}")
            return found
        except NoSuchNameError:
            end_with(
                TensorcopyError(
                    "unknown torch release or git revision",
                    got=repr(name),
                    allowed=f"{self._releases[0].tag} to {self._releases[-1].tag}, or a branch, tag or SHA of this repository",
                    next=f"tensorcopy list releases{', or git log' if git.find('HEAD') else ''}",
                )
            )

    def _hashes(self, releases: list[Release], single: bool = False) -> list[str]:
        """Return the SHAs of the releases that this machine can measure.

        They are sorted newest first. The log names the others.

        single : a user has named this release, so that leaving it out is an error
        """
        hashes = []
        for release in reversed(releases):
            reason = self.why_not_here(release) if self.why_not_here else ""
            if not reason:
                hashes.append(release.sha)
            elif single:
                end_with(
                    TensorcopyError(
                        f"torch {release.version} cannot be measured here",
                        got=reason,
                        allowed="a release that `tensorcopy list releases` shows as installable",
                        next=f"-E release:{release.pythons[1]}, or another release",
                    )
                )
            else:
                log.warning(f"torch {release.version} is skipped: {reason}")
        if releases and not hashes:
            log.warning("no release of this range can be measured here")
            raise SystemExit(0)  # asv would report an empty list as an error
        return hashes


def _sha(found: Release | str) -> str:
    return found if isinstance(found, str) else found.sha
