"""The words of `tensorcopy.report.i18n` as the pages' markup. Pure."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup

from tensorcopy.report.i18n import LANGUAGES, table

Speaker = Callable[..., Markup]


def speaker(language: str) -> Speaker:
    """A function from a text's name and what stands in its places to the text; what is no markup is escaped."""

    def say(name: str, /, **places: object) -> Markup:
        return Markup(table()[name][language]).format(**places)  # noqa: S704 - our own words; what stands in their places is escaped

    return say


__all__ = ["LANGUAGES", "Speaker", "speaker"]
