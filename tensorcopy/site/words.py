"""The pages' words in their languages, from words.toml. Pure."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

from markupsafe import Markup

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Speaker = Callable[..., Markup]
LANGUAGES = ("en", "ja")
TABLE = Path(__file__).with_name("words.toml")


@cache
def table() -> dict[str, dict[str, str]]:
    """Every text by its name and language."""
    found: dict[str, dict[str, str]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return found


def speaker(language: str) -> Speaker:
    """A function from a text's name and what stands in its places to the text; what is no markup is escaped."""

    def say(name: str, /, **places: object) -> Markup:
        return Markup(table()[name][language]).format(**places)  # noqa: S704 - our own words; what stands in their places is escaped

    return say
