"""The folder with the values and pages of the last publish.

Nothing in it is needed: what is missing is computed. The name of a file is a digest of what its value is made from, the program included:
a value is never that of other results. Values that a publish did not use are removed at its end.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tensorcopy.results.load import Result
from tensorcopy.site.cache import pickles
from tensorcopy.site.cache.sources import NO_SOURCES, Sources, digest, program

Value = TypeVar("Value")
DRAFT = ".new-"  # begins the ending of a folder that a publish writes
OLD = 86_400.0  # seconds after which such a folder is one of a publish that was killed


@dataclass(frozen=True)
class Cache:
    """The values of the last publish, and those that this one uses.

    last, used : their folders; without them, nothing is kept
    sources : of the results
    results : by path
    """

    last: Path | None = None
    used: Path | None = None
    sources: Sources = NO_SOURCES
    results: Mapping[str, Result] = field(default_factory=dict, repr=False)

    def value(self, key: Sequence[object], compute: Callable[[], Value]) -> Value:
        """Return a value of the last publish, or compute it and keep it for the next.

        key : what the value is, and digests of everything that it depends on; with an empty part, the value is not stored
        """
        stored = self.stored(key)
        if stored:
            return stored[0]  # type: ignore[no-any-return]  # what `compute` returned
        value = compute()
        if self.used and all(key):
            with suppress(OSError):  # no room: the next publish computes it
                draft = self.used / f"{_name(key)}.{os.getpid()}"
                draft.write_bytes(pickles.dumps(value))
                draft.replace(self.used / _name(key))
        return value

    def stored(self, key: Sequence[object]) -> list[Any]:
        """Return a value of the last publish, in a list; an empty one where there is none."""
        if not (self.last and self.used and all(key)):
            return []
        last, used = (folder / _name(key) for folder in (self.last, self.used))
        try:
            if not used.exists():
                _link(last, used)
            return [pickles.loads(used.read_bytes(), self.results)]
        except Exception:  # there is none, it is damaged, or of a result that is gone
            return []


NOTHING = Cache()


@contextmanager
def opened(folder: Path, sources: Sources, results: Sequence[Result], unchanged: Callable[[], bool]) -> Iterator[Cache]:
    """Open the cache of a folder, and keep what was used of it and added to it.

    unchanged : whether the files of results are those that were read; if not, nothing is kept
    Without room or permission for the folder, there is no cache.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(folder)
        used = Path(tempfile.mkdtemp(prefix=f"{folder.name}{DRAFT}", dir=folder.parent))
    except OSError:
        yield NOTHING
        return
    try:
        yield Cache(folder, used, sources, {str(result.path): result for result in results})
        if unchanged():
            with suppress(OSError):
                shutil.rmtree(folder, ignore_errors=True)
                used.rename(folder)
    finally:
        shutil.rmtree(used, ignore_errors=True)


def _link(last: Path, used: Path) -> None:
    """Give a file another name, or copy it where the file system cannot do that."""
    try:
        os.link(last, used)
    except OSError:
        shutil.copyfile(last, used)


def _name(key: Sequence[object]) -> str:
    return digest(program(), *key)


def _remove_leftovers(folder: Path) -> None:
    """Remove the folders of publishes that were killed."""
    for path in folder.parent.glob(f"{folder.name}{DRAFT}*"):
        if path.stat().st_mtime < time.time() - OLD:
            shutil.rmtree(path, ignore_errors=True)
