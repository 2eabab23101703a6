"""Read the kernel's files, and text and TOML that anybody may have put there: a device or a pipe may never end.

TOML is read with tomllib from Python 3.11 on, with tomli before. The reader is imported only when a file is read: the environments of old
releases have no tomli.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError

LARGEST = 4 << 20  # bytes: more than a person writes


def kernel_text(path: str | Path) -> str:
    """Return a kernel file's text without line end; "" where it does not exist."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def read_text(path: Path) -> str:
    """Return the text of a regular file. Raises OSError where there is none, or a larger one; ValueError where it is not UTF-8."""
    if path.exists() and not path.is_file():
        raise OSError("not a regular file")
    if path.stat().st_size > LARGEST:
        raise OSError(f"more than {LARGEST >> 20} MiB")
    return path.read_text(encoding="utf-8")


def damaged(path: Path, error: Exception, allowed: str) -> TensorcopyError:
    """Return the error of a file of the checkout that cannot be read; allowed : what it may hold."""
    return TensorcopyError(f"{path.name} cannot be read", got=str(error), allowed=allowed, next=f"git checkout {path.name}")


def toml_values(text: str) -> dict[str, Any]:
    """Return a TOML document as plain values. Raises ValueError for text that is not TOML, or is nested too deeply for the reader."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("values that are nested too deeply") from error
    return document


def read_toml(path: Path) -> dict[str, Any]:
    """Return a TOML file as plain values. Raises OSError where it cannot be read, ValueError where it is not TOML."""
    return toml_values(read_text(path))
