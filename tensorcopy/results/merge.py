"""Merge folders of results: copy the launches and functions that one of them lacks. A launch has one file and never changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tensorcopy import files
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import function_profiles, histories, launches


def merge(folders: Sequence[Path], into: Path) -> tuple[int, int]:
    """Copy every launch, and every file of functions, into a folder of results that may have some of them.

    Return the number of new files, and of those that were there.

    folders : of results, or with such folders in them

    Raises TensorcopyError, before anything is copied, for a folder without a launch, a file that cannot be read, and one that `into` has
    with other bytes.
    """
    copies, there = dict[Path, bytes](), set[Path]()
    for folder in folders:
        if not (found := dict(_files(folder))):
            got, allowed = f"no launch in {folder}", "a folder of results, or of such folders"
            raise TensorcopyError("nothing to merge", got=got, allowed=allowed, next="check the path")
        for path, history in found.items():
            target, data = into / history / path.name, launches.content(path)
            known = copies.get(target) or (launches.content(target) if files.is_there(target) else data)
            if known != data:
                what, got = f"the file {launches.displayed(target)} is there with another content", f"{len(data):,} bytes in {path}"
                got, following = f"{got}, {len(known):,} in {target}", "remove the damaged one of the two"
                raise launches.FileProblem(what, path=target, got=got, allowed="a file that never changes", next=following)
            if target.exists():
                there.add(target)
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
            there.add(target)  # another merge was faster
    return new, len(there)


def _files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield every file of results below a folder, and its history. Raises TensorcopyError for one that cannot be read."""
    for path in sorted(folder.rglob("*.json")):
        if re.search(launches.ID, path.name):  # also a copy that a file manager has renamed: it is refused, not left out
            launches.read(path)
            yield path, path.parent.name
    for path in sorted(folder.rglob(histories.FILE)):
        histories.read(path.parent)
        yield path, path.parent.name
    for path in sorted(folder.rglob(f"*{function_profiles.ENDING}")):
        function_profiles.read(path)
        yield path, path.parent.name
