"""Copies of the results that asv measures into, each of one process.

A draft is removed when its process ends, or by the next run where the process was killed. One with a pass that could not be stored is kept.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

DRAFTS, UNSTORED = "drafts", "unstored"  # folders beside the environments
CHANGES = "drafts.lock"  # beside them: held while a draft begins, while those of ended processes are removed, and while one is kept
LIVE = ".live.lock"  # in a draft: held by its process. A draft without it is never removed


@dataclass(frozen=True)
class Draft:
    """A copy of the folder `results`.

    live : the lock that this process holds while it lives
    """

    results: Path
    folder: Path
    live: FileLock


def begin(results: Path, workplace: Path, name: str) -> Draft:
    """Copy a folder of results into a new draft below `workplace`, and remove the drafts of processes that have ended.

    The name of a process says little: in two containers, two processes have the same one. So a draft is alive while its lock is held.
    """
    folder = workplace / DRAFTS / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _changes(workplace):
        for other in folder.parent.iterdir():
            _remove_if_dead(other)
        folder.mkdir()
        live = FileLock(folder / LIVE, thread_local=False)
        live.acquire()
    for path in (results / "benchmarks.json", *results.glob("*/*.json")):
        if path.is_file():
            copy = folder / path.relative_to(results)
            copy.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, copy)
    return Draft(results, folder, live)


def _changes(workplace: Path) -> FileLock:
    """Return the lock of all drafts: whoever may write the folder may take it, whatever the umask."""
    return FileLock(workplace / CHANGES, mode=0o644 | workplace.stat().st_mode & 0o022)


def _remove_if_dead(folder: Path) -> None:
    if not (folder / LIVE).exists():
        return
    live = FileLock(folder / LIVE)
    with suppress(Timeout, OSError):  # another user's draft is left to that user
        live.acquire(timeout=0)
        shutil.rmtree(folder, ignore_errors=True)
        live.release()


def remove(draft: Draft) -> None:
    """Remove a draft whose passes are stored."""
    draft.live.release()
    shutil.rmtree(draft.folder, ignore_errors=True)


def reduce_to(draft: Draft, paths: Collection[Path]) -> None:
    """Remove every other result file from a draft, with the machines that only they have: that frees room on a full disk."""
    for folder in (path for path in draft.folder.iterdir() if path.is_dir()):
        wanted = {path for path in paths if path.parent == folder}
        for path in folder.iterdir():
            if path not in wanted and not (wanted and path.name == "machine.json"):
                path.unlink()
        if not wanted:
            folder.rmdir()


def keep(draft: Draft) -> Path:
    """Move a draft out of the drafts, and return its new place. Where it cannot be moved, it stays: see `is_safe`."""
    place = draft.folder.parents[1] / UNSTORED / draft.folder.name
    with suppress(OSError), _changes(draft.folder.parents[1]):
        draft.live.release()
        (draft.folder / LIVE).unlink(missing_ok=True)
        place.parent.mkdir(exist_ok=True)
        draft.folder.rename(place)  # needs no room
    return place if place.exists() else draft.folder


def is_safe(place: Path) -> bool:
    """Return whether no run removes a draft that was kept: on a disk that became read-only, nothing can be done about that."""
    return not (place / LIVE).exists()
