"""What is said in two languages, from words.toml. Pure."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LANGUAGES = ("en", "ja")
TABLE = Path(__file__).with_name("words.toml")


@cache
def table() -> dict[str, dict[str, str]]:
    """Every text by its name and language."""
    found: dict[str, dict[str, str]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return found


def said(name: str, language: str = "en", /, **places: object) -> str:
    """A text, with what stands in its places."""
    return table()[name][language].format(**places)
