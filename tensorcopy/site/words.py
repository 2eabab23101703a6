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

LANGUAGES = ("en", "ja")
TABLE = Path(__file__).with_name("words.toml")


@cache
def table() -> dict[str, dict[str, str]]:
    """Every text by its name and language."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def speaker(language: str) -> Callable[..., Markup]:
    """A function from a text's name and what stands in its places to the text; what is no markup is escaped."""

    def say(name: str, /, **places: object) -> Markup:
        return Markup(table()[name][language]).format(**places)

    return say
