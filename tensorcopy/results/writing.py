"""Write a file as a whole: readers see the old one or the new one."""

from __future__ import annotations

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
    remove_drafts(path.parent)
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
    if os.name != "nt":
        with suppress(OSError):
            descriptor = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def remove_drafts(folder: Path) -> None:
    """Remove the drafts that killed writers have left in a folder."""
    for leftover in folder.glob(f"*{ENDING}"):
        with suppress(OSError):  # another user's stays
            if leftover.lstat().st_mtime < time.time() - OLD:
                leftover.unlink()


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
