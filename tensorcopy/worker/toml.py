"""Read TOML: with tomllib from Python 3.11 on, with tomli before.

The reader is imported only when a file is read: the environments of old releases have no tomli.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any


def loads(text: str) -> dict[str, Any]:
    """Return a TOML document as plain values.

    Raises ValueError for text that is not TOML.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    document: dict[str, Any] = tomllib.loads(text)
    return document


def load(path: Path) -> dict[str, Any]:
    """Return a TOML file as plain values.

    Raises OSError where it cannot be read, ValueError where it is not TOML.
    """
    return loads(path.read_text(encoding="utf-8"))
