"""Add the launches of other folders to the histories of this checkout."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tensorcopy.measure import git
from tensorcopy.results import histories, launches
from tensorcopy.results.launches import FileProblem


def collect(folder: Path, into: Path, branch: str = "") -> int:
    """Copy what histories below a folder have and those of `into` lack, and return the number of files.

    branch : of origin, whose results are added too; it may not exist yet

    A launch goes into the history of its conditions. Raises TensorcopyError for a history or a launch that cannot be read, and for a file
    that is there with other bytes.
    """
    with tempfile.TemporaryDirectory() as temporary:
        sources, number = [folder], 0
        if branch and (sha := git.fetch_branch(branch)):
            git.check_out(sha, Path(temporary) / "branch")
            sources.append(Path(temporary) / "branch" / git.prefix() / os.path.relpath(into))
        for history in (path.parent for source in sources for path in sorted(source.rglob(histories.FILE))):
            conditions = histories.read(history)
            for path in sorted(each for each in history.iterdir() if each.name != histories.FILE):
                number += _add(path, into, conditions)
    git.printed("worktree", "prune")
    return number


def _add(path: Path, into: Path, conditions: histories.Conditions) -> bool:
    """Add a file of a history with these conditions; return whether it is new."""
    data = launches.content(path)
    if there := next(into.glob(f"*/{path.name}"), None):
        if launches.content(there) != data:
            raise FileProblem(
                there,
                "the file {} is there with another content",
                got=f"{len(data):,} bytes in {path}",
                allowed="a launch, which never changes",
                next="remove the damaged one of the two",
            )
        return False
    if path.suffix == ".json":
        launches.read(path)
    launches.create(histories.folder_of(into, conditions, path.parent.name)[0] / path.name, data)
    return True
