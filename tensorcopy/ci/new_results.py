"""Add the launches of other folders to the histories of this checkout."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tensorcopy.measure import git
from tensorcopy.results import histories, launches


def collect(folder: Path, into: Path, branch: str = "") -> int:
    """Copy what histories below a folder have and those of `into` lack, and return the number of files.

    branch : of origin, whose results are added too; it may not exist yet

    A launch goes into the history of its conditions; what is there stays. Raises TensorcopyError for a history or a launch that cannot be
    read.
    """
    number = 0
    with tempfile.TemporaryDirectory() as temporary:
        sources = [folder]
        if branch and (sha := git.fetch_branch(branch)):
            git.check_out(sha, Path(temporary) / "branch")
            sources.append(Path(temporary) / "branch" / git.prefix() / os.path.relpath(into))
        for history in (path.parent for source in sources for path in sorted(source.rglob(histories.FILE))):
            conditions = histories.read(history)
            for path in sorted(history.iterdir()):
                if path.name != histories.FILE and not any(into.glob(f"*/{path.name}")):
                    if path.suffix == ".json":
                        launches.read(path)
                    launches.create(histories.folder_of(into, conditions, history.name)[0] / path.name, launches.content(path))
                    number += 1
    git.printed("worktree", "prune")
    return number
