"""Read TOML: with tomllib from Python 3.11 on, with tomli before.

The reader is imported only when a file is read: the environments of old releases have no tomli.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from tensorcopy.worker import files

QUOTED = re.compile(r'"[^"\n]*"|\'[^\'\n]*\'')
LONG_KEY = re.compile(r"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){50}")  # the reader takes memory with the square of a key's parts


def loads(text: str) -> dict[str, Any]:
    """Return a TOML document as plain values.

    Raises ValueError for text that is not TOML, or is nested more deeply than anybody writes it.
    """
    if LONG_KEY.search(QUOTED.sub("quoted", text)):
        raise ValueError("a key of more than 50 parts")
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("values that are nested too deeply") from error
    return document


def load(path: Path) -> dict[str, Any]:
    """Return a TOML file as plain values.

    Raises OSError where it cannot be read, ValueError where it is not TOML.
    """
    return loads(files.read_text(path))
