"""Read the kernel's files, and text and TOML that anybody may have put there: a device or a pipe may never end. Write, and lock.

The reader of TOML is imported only when a file is read: the environments of old releases have none.
"""

from __future__ import annotations

import os
import secrets
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError, of_os_error

LARGEST = 4 << 20  # bytes: more than a person writes; a launch of all releases and cases has 100 kB
MOST_DOTS = 1000  # in a line of TOML: reading a key takes time with the square of its parts, of 100,000 an hour
ROOM = 2**20  # bytes that are free before a launch: ten times the 100 kB that one has
DRAFT_ENDING = ".new"  # of a file that is being written
DRAFT_OLD = 3600.0  # seconds: writing a file takes one at most


def kernel_text(path: str | Path) -> str:
    """Return a kernel file's text without line end; "" where it does not exist."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()  # a process's name is cut at 15 bytes
    except OSError:
        return ""


def is_there(path: Path) -> bool:
    """Return whether anything has this name: also a link to nothing and a pipe, which are no absent file but one that cannot be read."""
    return os.path.lexists(path)


def read_bytes(path: Path) -> bytes:
    """Return the content of a regular file. Raises OSError where there is none, or a larger one."""
    if path.exists() and not path.is_file():
        raise OSError("not a regular file")
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(f"more than {LARGEST >> 20} MiB")
    return content


def read_text(path: Path) -> str:
    """Return the text of a regular file. Raises OSError as `read_bytes` does, and ValueError where it is not UTF-8."""
    return read_bytes(path).decode("utf-8")


def damaged(path: Path, error: Exception, allowed: str) -> TensorcopyError:
    """Return the error of a file of the checkout that cannot be read; allowed : what it may hold."""
    return TensorcopyError(f"{path.name} cannot be read", got=str(error), allowed=allowed, next=f"correct it, or {from_git(path)}")


def from_git(path: Path) -> str:
    """Return what takes a file that was changed back from git, from wherever it is typed in the current folder."""
    folder = os.path.relpath(path.parent)
    return f"git {'' if folder == '.' else f'-C {shlex.quote(folder)} '}checkout {shlex.quote(path.name)} where git has it"


def read_toml(path: Path) -> dict[str, Any]:
    """Return a TOML file as plain values. Raises OSError, and ValueError for text that is not TOML, or too deep or too slow to read."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    text = read_text(path)
    if (dots := max((line.count(".") for line in text.splitlines()), default=0)) > MOST_DOTS:
        raise ValueError(f"a line with {dots:,} dots, more than {MOST_DOTS:,}")
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("values that are nested too deeply") from error
    return document


def replace(path: Path, content: str | bytes, *, new: bool = False) -> None:
    """Write a file as a whole: readers see the old one or the new one, also where the write is interrupted, or the power fails.

    content : a text, which is written as UTF-8, or bytes
    new : whether an existing file is never replaced

    Removes what killed writers have left in the folder. Raises DiskError, OSError, and FileExistsError for an existing file.
    """
    with _disk_named(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        for leftover in path.parent.glob(f"*{DRAFT_ENDING}"):
            with suppress(OSError):  # another user's stays
                if leftover.lstat().st_mtime < time.time() - DRAFT_OLD:
                    leftover.unlink()
        # on the same file system, so that the rename is one act; of this call only, as others may write the same file without a lock
        draft = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{DRAFT_ENDING}")
        try:
            with draft.open("xb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())  # on the disk before it gets its name
            if new:
                os.link(draft, path)  # unlike a rename, it fails where the name exists
            else:
                draft.replace(path)
        finally:
            with suppress(OSError):
                draft.unlink()


def require_room(folder: Path) -> None:
    """Raise DiskError where a launch could not be stored in a folder, before minutes of measuring.

    As much as a launch needs is written into the folder, or into the nearest one above that exists, as a file without a name.
    """
    nearest = next(each for each in (folder, *folder.parents) if each.is_dir())
    with _disk_named(nearest), tempfile.TemporaryFile(dir=nearest) as file:
        file.write(b"\0" * ROOM)
        file.flush()
        os.fsync(file.fileno())  # some file systems, such as NFS, refuse only then


@contextmanager
def _disk_named(folder: Path) -> Iterator[None]:
    """Raise DiskError, naming the folder, where the disk cannot be written."""
    try:
        yield
    except OSError as error:
        raise of_os_error(OSError(error.errno, error.strerror, str(folder))) or error from error


@contextmanager
def locked(path: Path, refusal: TensorcopyError | None = None) -> Iterator[None]:
    """Let one process at a time hold a lock, a file. Raises `refusal` where another one holds it; without one, waits."""
    from fcntl import LOCK_EX, LOCK_NB, flock

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            flock(file, LOCK_EX | LOCK_NB if refusal else LOCK_EX)
        except BlockingIOError as error:
            raise refusal or error from error
        yield
