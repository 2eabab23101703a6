"""Read a file that anybody may have put there: a device or a pipe may never end."""

from __future__ import annotations

from pathlib import Path

from tensorcopy.errors import TensorcopyError

LARGEST = 4 << 20  # bytes: more than a person writes


def read_text(path: Path, largest: int = LARGEST) -> str:
    """Return the text of a regular file. Raises OSError where there is none, or a larger one; ValueError where it is not UTF-8."""
    if path.exists() and not path.is_file():
        raise OSError("not a regular file")
    if path.stat().st_size > largest:
        raise OSError(f"more than {largest >> 20} MiB")
    return path.read_text(encoding="utf-8")


def damaged(path: Path, error: Exception, allowed: str) -> TensorcopyError:
    """Return the error of a file of the checkout that cannot be read; allowed : what it may hold."""
    return TensorcopyError(f"{path.name} cannot be read", got=str(error), allowed=allowed, next=f"git checkout {path.name}")
