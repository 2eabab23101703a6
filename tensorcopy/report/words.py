"""Texts, some in English and Japanese and some in English only, from words.toml."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from tensorcopy import files

LANGUAGES = ("en", "ja")
TABLE = Path(__file__).with_name("words.toml")
CODES = Path(__file__).with_name("codes.json")


@cache
def texts() -> dict[str, dict[str, str]]:
    """Return every text by name, then by language."""
    table = files.read_toml(TABLE)
    return {**{name: {"en": text} for name, text in table.pop("english").items()}, **table}


@cache
def codes() -> dict[str, str]:
    """Return the expression of each method of this package by its name. Raises TensorcopyError for a damaged file."""
    try:
        return msgspec.json.decode(files.read_bytes(CODES), type=dict[str, str])
    except (OSError, ValueError, RecursionError) as error:
        raise files.damaged(CODES, error, "the file of the package") from error


def translate(name: str, language: str = "en", /, **values: object) -> str:
    """Return a text with its placeholders filled in."""
    return texts()[name][language].format(**values)
