"""Texts of `tensorcopy.report.words` as markup. Pure."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup

from tensorcopy.report.words import LANGUAGES, texts

Translate = Callable[..., Markup]


def translator(language: str) -> Translate:
    """Return a function from a text's name and its placeholders to the text.

    The values of placeholders are escaped.
    """

    def translate(name: str, /, **values: object) -> Markup:
        return Markup(texts()[name][language]).format(**values)  # noqa: S704 - words.toml is ours; values are escaped

    return translate


__all__ = ["LANGUAGES", "Translate", "translator"]
