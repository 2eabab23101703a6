"""Pages and data files before they are rendered, and the texts of a page in its language. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from tensorcopy.report.words import texts

Translate = Callable[..., Markup]


@dataclass(frozen=True)
class Page:
    """A page to be rendered from a template.

    address : relative to the site's root
    values : variables of the template
    description : a sentence for search engines; of the landing page, the site's own by default
    languages : addresses of the same page by language, including this one; empty where it exists in one language only
    """

    address: str
    template: str
    title: str
    values: Mapping[str, Any] = field(default_factory=dict)
    language: str = "en"
    languages: Mapping[str, str] = field(default_factory=dict)
    description: str = ""


@dataclass(frozen=True)
class File:
    """A data file beside the pages."""

    address: str
    text: str


def translator(language: str) -> Translate:
    """Return a function from a text's name and its placeholders to the text.

    The values of placeholders are escaped.
    """

    def translate(name: str, /, **values: object) -> Markup:
        return Markup(texts()[name][language]).format(**values)  # noqa: S704 - words.toml is ours; values are escaped

    return translate
