"""Texts, some in English and Japanese and some in English only, from words.toml."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tensorcopy import files

LANGUAGES = ("en", "ja")
TABLE = Path(__file__).with_name("words.toml")
CODES = Path(__file__).with_name("codes.json")  # the expression of each method of this package, by its name


@cache
def texts() -> dict[str, dict[str, str]]:
    """Return every text by name, then by language."""
    table = files.read_toml(TABLE)
    return {**{name: {"en": text} for name, text in table.pop("english").items()}, **table}


def translate(name: str, language: str = "en", /, **values: object) -> str:
    """Return a text with its placeholders filled in."""
    return texts()[name][language].format(**values)
