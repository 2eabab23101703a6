"""Merge folders of results: copy the launches and functions that one of them lacks. A launch has one file and never changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tensorcopy import files
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import function_profiles, launches


def merge(folders: Sequence[Path], into: Path) -> tuple[int, int]:
    """Copy every launch, and every file of functions, into a folder of results that may have some of them.

    Return the number of new files, and of those that were there.

    folders : of results, or with such folders in them

    Raises TensorcopyError, before anything is copied, for a folder without a launch, a file that cannot be read, and one that `into` has
    with other bytes.
    """
    copies: dict[Path, bytes] = {}
    there = 0
    for folder in folders:
        found = dict(_files(folder))
        if not found:
            raise TensorcopyError(
                "nothing to merge", got=f"no launch in {folder}", allowed="a folder of results, or of such folders", next="check the path"
            )
        for path, machine in found.items():
            target, data = into / machine / path.name, launches.content(path)
            known = copies.get(target) or (launches.content(target) if files.is_there(target) else data)
            if known != data:
                raise launches.FileProblem(
                    f"the file {launches.displayed(target)} is there with another content",
                    path=target,
                    got=f"{len(data):,} bytes in {path}, {len(known):,} in {target}",
                    allowed="a file that never changes",
                    next="remove the damaged one of the two",
                )
            if target.exists():
                there += 1
            else:
                copies[target] = data
    new = 0
    for target, data in copies.items():
        try:
            launches.create(target, data)
            new += 1
        except launches.FileProblem:
            if launches.content(target) != data:
                raise
            there += 1  # another merge was faster
    return new, there


def _files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield every file of results below a folder, and its machine. Raises TensorcopyError for one that cannot be read."""
    for path in sorted(folder.rglob("*.json")):
        if re.search(launches.ID, path.name):  # also a copy that a file manager has renamed: it is refused, not left out
            yield path, launches.read(path).machine
    for path in sorted(folder.rglob(f"*{function_profiles.ENDING}")):
        function_profiles.read(path)
        yield path, path.parent.name
