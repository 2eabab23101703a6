"""Merge the function profiles beside result files.

A profile is taken as a whole. Of several of one release, machine and environment, the one with the most cases stays, and of these the last
one taken; so the order of merging makes no difference.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from tensorcopy.results.profiles import profile_file

Names = Mapping[tuple[str, str], str]  # of machines in the merged folder, by folder and hardware


def merged(sources: Iterable[Path], names: Names, results: Collection[Path]) -> dict[Path, bytes]:
    """Return the profiles of all sources by their path in the merged folder; those without a result are left out.

    results : the merged result files

    Raises TensorcopyError for a damaged profile.
    """
    beside = {profile_file.path_of(result) for result in results}
    best: dict[Path, tuple[int, str, bytes]] = {}
    for path in (path for source in sources for path in sorted(source.glob(f"*/*{profile_file.ENDING}"))):
        profiles = profile_file.read(path)
        target = Path(_machine(path.parent.name, str(profiles.provenance["identity"]), names)) / path.name
        if target in beside:
            rank = len(profiles.cases), str(profiles.provenance["started"]), path.read_bytes()
            best[target] = max(rank, best.get(target, rank))
    return {target: content for target, (_, _, content) in best.items()}


def write(profiles: Mapping[Path, bytes], into: Path) -> None:
    """Write the merged profiles, and remove those of the folder whose results belong to another machine."""
    for name, content in profiles.items():
        path = into / name
        if not path.exists() or path.read_bytes() != content:
            draft = path.with_name(f"{path.name}.{os.getpid()}")
            draft.write_bytes(content)
            draft.replace(path)
    elsewhere = {name.name for name in profiles}
    for path in into.glob(f"*/*{profile_file.ENDING}"):
        if path.name in elsewhere and path.relative_to(into) not in profiles:
            path.unlink()


def _machine(folder: str, identity: str, names: Names) -> str:
    """Return the merged machine's name of a profile; a result without identity has the name of its folder's only machine."""
    of_folder = {name for (other, _), name in names.items() if other == folder}
    return names.get((folder, identity)) or (of_folder.pop() if len(of_folder) == 1 else folder)
