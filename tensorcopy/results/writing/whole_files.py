"""Replace files as a whole: a reader, a crash or a full disk sees the old file or the new one, nothing between."""

from __future__ import annotations

import glob
import os
import secrets
import stat
import time
from contextlib import suppress
from pathlib import Path

ENDING = ".new"  # of a file that is being written
OLD = 3600.0  # seconds: writing a file takes one at most


def replace(path: Path, content: str | bytes) -> None:
    """Write a file as a whole: an interrupted write leaves the old one.

    content : a text, which is written as UTF-8, or bytes

    It is on the disk before the file gets its name, so that it also survives a power failure. Raises OSError; the new file is then removed,
    as far as that is possible.
    """
    make_folder(path.parent)
    _remove_leftovers(path)
    # on the same file system, so that the rename is one act; of this call only, as others may write the same file without a lock
    draft = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}{ENDING}")
    try:
        with draft.open("xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
    _sync_folder(path.parent)


def _remove_leftovers(path: Path) -> None:
    """Remove what killed writers of this file have left."""
    for draft in path.parent.glob(f"{glob.escape(path.name)}.*{ENDING}"):
        with suppress(OSError):  # another user's stays
            if draft.lstat().st_mtime < time.time() - OLD:
                draft.unlink()


def make_folder(folder: Path) -> None:
    """Make a folder that those may write who may write the one above it, whatever the umask.

    In a folder like /tmp, where everybody may write, the umask decides.
    """
    for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
        missing.mkdir(exist_ok=True)
        mode = missing.parent.stat().st_mode
        if mode & 0o022 and not mode & stat.S_ISVTX:
            with suppress(OSError):
                missing.chmod(missing.stat().st_mode | mode & 0o022)


def _sync_folder(folder: Path) -> None:
    """Write a folder's names to the disk, where the system can do that."""
    if os.name == "nt":
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
