"""Replace files as a whole: a reader, a crash or a full disk sees the old file or the new one, nothing between."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def replace(path: Path, text: str) -> None:
    """Write a file as a whole: an interrupted write leaves the old one.

    The text is on the disk before the file gets its name, so that it also survives a power failure. Raises OSError; the new file is then
    removed, as far as that is possible.
    """
    make_folder(path.parent)
    draft = path.with_name(f"{path.name}.new")  # on the same file system, so that the rename is one act
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
    _sync_folder(path.parent)


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
