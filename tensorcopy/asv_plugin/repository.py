"""Torch releases as the commits of a repository."""

from __future__ import annotations

import re
from datetime import datetime, time, timezone
from typing import Any

from asv.console import log
from asv.repo import NoSuchNameError, Repo

from tensorcopy.asv_plugin.exits import clearly
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.releases.release_table import Release

BRANCH = "releases"
LIKE_A_RELEASE = re.compile(r"v\d|\d+\.")  # no SHA begins so


class TorchReleases(Repo):  # type: ignore[misc]
    """The table of releases, asked as asv asks a repository. A commit's hash is PyTorch's own, a tag is "v2.15.0".

    Order is by version, not by date: 2.2.2 came out after 2.3.0. `servable` is set by the environments while something is to be
    measured: only then do ranges leave out what this machine cannot install.
    """

    dvcs = "torch-releases"
    _default_branch = BRANCH
    servable: Any = None  # a function: release -> why not, or ""

    def __init__(self, url: str, mirror_path: str) -> None:
        with clearly():
            self._releases = release_table.load()

    @classmethod
    def url_match(cls, url: str) -> bool:
        return url.endswith("releases.toml")

    def checkout(self, path: str, commit_hash: str) -> None:
        """There is nothing to check out: the suites come from this checkout, the release from its wheel."""

    def pull(self) -> None:
        """There is nothing to pull: the table is in this checkout."""

    def get_range_spec(self, commit_a: str, commit_b: str) -> str:
        return f"{commit_a}..{commit_b}"

    def get_new_range_spec(self, latest_result: str, branch: str | None = None) -> str:
        return f"{latest_result}..{self.get_branch_name(branch)}"

    def get_date(self, hash: str) -> int:
        release = self._find(hash)
        return int(datetime.combine(release.date, time(), timezone.utc).timestamp() * 1000)

    def get_date_from_name(self, name: str) -> int:
        return self.get_date(name)

    def get_hashes_from_range(self, range: str) -> list[str]:
        """Newest first. "A..B" is after A up to B, "A^!" A alone, a release's name that release, the branch all of them."""
        if range.endswith("^!"):
            return self._hashes([self._named(range[:-2])], asked_for=True)
        if ".." in range:
            first, last = range.split("..", 1)
            every = list(self._releases)
            start = every.index(self._named(first)) + 1 if first else 0
            end = every.index(self._named(last)) + 1 if last else len(every)
            return self._hashes(every[start:end])
        if range in (BRANCH, "HEAD", ""):
            return self._hashes(list(self._releases))
        return self._hashes([self._named(range)], asked_for=True)

    def get_hash_from_name(self, name: str | None) -> str:
        """A branch, a tag, a version or a SHA. What looks like a release and is none ends asv with one line, exit code 2."""
        if name is not None and LIKE_A_RELEASE.match(name):
            return str(self._named(name).sha)
        return str(self._find(name).sha)

    def get_hash_from_parent(self, name: str) -> str:
        """The release before `name`, by version."""
        index = self._releases.index(self._find(name))
        if index == 0:
            raise NoSuchNameError(f"{name}^")
        return str(self._releases[index - 1].sha)

    def get_name_from_hash(self, commit: str) -> str | None:
        return next((release.tag for release in self._releases if release.sha == commit), None)

    def get_tags(self) -> dict[str, str]:
        return {release.tag: release.sha for release in self._releases}

    def get_branch_commits(self, branch: str) -> list[str]:
        return self._hashes(list(self._releases))

    def get_new_branch_commits(self, branches: list[str], existing: list[str]) -> list[str]:
        """Every release without a result, newest first: one that was left out earlier is new too."""
        new = [commit for commit in self.get_branch_commits(BRANCH) if commit not in existing]
        if existing and not new:
            log.info("every release that can be measured here has a result")
            raise SystemExit(0)  # asv would call it an error that nothing is left
        return new

    def get_revisions(self, commits: set[str]) -> dict[str, int]:
        return {release.sha: index for index, release in enumerate(self._releases) if release.sha in commits}

    def _find(self, name: str | None) -> Release:
        """As asv expects it: NoSuchNameError, which asv turns into its own message or into "never heard of it"."""
        if name in (None, BRANCH, "HEAD"):
            return self._releases[-1]
        try:
            return release_table.find(str(name))
        except TensorcopyError as error:
            raise NoSuchNameError(str(error)) from error

    def _named(self, name: str) -> Release:
        """What a user has typed in a range: an unknown name ends in one line, exit code 2."""
        if name in (BRANCH, "HEAD"):
            return self._releases[-1]
        with clearly():
            return release_table.find(name)

    def _hashes(self, chosen: list[Release], asked_for: bool = False) -> list[str]:
        """Newest first, without those that this machine cannot install; one that was asked for by name must not be left out."""
        kept = []
        for release in reversed(chosen):
            reason = TorchReleases.servable(release) if TorchReleases.servable else ""
            if reason and asked_for:
                with clearly():
                    raise TensorcopyError(
                        f"torch {release.version} cannot be measured here",
                        got=reason,
                        allowed="a release that `tensorcopy releases` shows as installable",
                        next="install that Python, or name another release",
                    )
            if reason:
                log.warning(f"torch {release.version} is skipped: {reason}")
            else:
                kept.append(release.sha)
        if chosen and not kept:
            log.warning("nothing of this range can be measured here")
            raise SystemExit(0)  # asv would call it an error that nothing is left
        return kept
