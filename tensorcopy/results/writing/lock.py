"""Let one process at a time write a folder of results.

The lock is a file in the folder itself, so it is the same one through a link, from two checkouts and for two users. The operating system
releases it when its process ends, even where the process is killed. Readers need no lock: every file is replaced as a whole.
"""

from __future__ import annotations

import getpass
import json
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from time import monotonic

from filelock import FileLock, Timeout

from tensorcopy.errors import TensorcopyError
from tensorcopy.results.writing import WAITING
from tensorcopy.results.writing.whole_files import make_folder

LOCK, WRITER = ".lock", ".writer"  # WRITER describes the process that has the lock; it may be out of date where LOCK is free
NOTICE = 1.0  # seconds after which a wait is reported
PATIENCE = 600.0  # seconds: merging a long history takes one minute
LONGEST = 200  # characters of a description


ReportWait = Callable[[str], None]


def ignore_wait(_message: str) -> None:
    """Report nothing."""


@contextmanager
def one_writer(directory: Path, doing: str, report_wait: ReportWait = ignore_wait, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock of a folder of results, which is made if it is missing.

    doing : what other writers read while they wait, such as "merge"
    report_wait : called once with a sentence if the lock is not free
    patience : in seconds

    Raises TensorcopyError, naming the writer, where another one keeps the lock for longer; OSError for a folder that cannot be written.
    """
    make_folder(directory)
    shared = directory.stat().st_mode & 0o022  # whoever may write the folder may take its lock, whatever the umask
    lock = FileLock(directory.resolve() / LOCK, mode=0o644 | shared)
    _acquire(lock, directory, report_wait, patience)
    try:
        _describe(directory / WRITER, doing)
        yield
    finally:
        with suppress(OSError):
            (directory / WRITER).unlink()
        lock.release()


def _acquire(lock: FileLock, directory: Path, report_wait: ReportWait, patience: float) -> None:
    began = monotonic()
    try:
        lock.acquire(timeout=min(NOTICE, patience))
        return
    except Timeout:
        report_wait(f"{WAITING}{directory.name}/, which {writer(directory)} is writing")
    try:
        lock.acquire(timeout=max(0.0, patience - (monotonic() - began)))
    except Timeout as error:
        raise TensorcopyError(
            f"{directory.name}/ is being written by another process",
            got=writer(directory),
            allowed="one writer at a time",
            next="wait until it has ended, then repeat",
        ) from error


def writer(directory: Path) -> str:
    """Return a description of the process that writes a folder of results."""
    try:
        note = json.loads((directory / WRITER).read_text(encoding="utf-8"))
        text = "{doing} (process {process} of {user} on {host}, since {since})".format_map(note)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return "another process"
    return "".join(character for character in text if character.isprintable())[:LONGEST]


def _describe(path: Path, doing: str) -> None:
    """Write who has the lock. A description that cannot be written is left out."""
    note = {"doing": doing, "process": os.getpid(), "user": _user(), "host": platform.node(), "since": f"{datetime.now():%H:%M:%S}"}
    with suppress(OSError):
        path.unlink(missing_ok=True)  # of another user, who may have been killed
        path.write_text(json.dumps(note), encoding="utf-8")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "unknown"  # a container may run as a user without a name
