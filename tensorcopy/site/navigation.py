"""The navigation: a few entries on every page, of which the last leads to the page that lists all others. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tensorcopy.site import addresses

ENTRIES = (
    ("choose", addresses.CHOOSER),
    ("history", addresses.HISTORIES),
    ("compare", addresses.COMPARISONS),
    ("regressions", addresses.REGRESSIONS),
    ("all_pages", addresses.DOCS),
)  # names of texts in words.toml, here and below
PAGES = (
    *ENTRIES[:-1],
    ("article", addresses.ARTICLE),
    ("semantics", addresses.SEMANTICS),
    ("sizes", addresses.SIZES),
    ("machines", addresses.MACHINES),
    ("data", addresses.DATA),
)  # what is not in docs/, listed above its pages
TRANSLATED = (addresses.LANDING, addresses.CHOOSER, addresses.ARTICLE, addresses.of_doc("guide"), addresses.GLOSSARY)

Link = tuple[str, str]  # the name of a text, and an address


@dataclass(frozen=True)
class Navigation:
    """The links of one language.

    entries : on every page; pages : of the page that lists all
    english : addresses of pages that exist in English only
    """

    entries: tuple[Link, ...]
    pages: tuple[Link, ...]
    english: frozenset[str]


OF_PROJECT = {"en": Navigation((*ENTRIES[1:4], ("machines", addresses.MACHINES), ("data", addresses.DATA)), (), frozenset())}
"""The links of a project's pages, by language."""


def in_language(language: str) -> Navigation:
    """Return the links in a language, to the page in that language where there is one."""
    entries, pages = (
        tuple((name, addresses.translated(address, language) if address in TRANSLATED else address) for name, address in links)
        for links in (ENTRIES, PAGES)
    )
    english = {address for _, address in (*entries, *pages) if language != "en" and not address.startswith(f"{language}/")}
    return Navigation(entries, pages, frozenset(english))


def marker(target: str, address: str) -> str:
    """Return how the page at `address` marks a link in the navigation: "page" for itself, "true" for its section."""
    if target == address:
        return "page"
    folder = target.removesuffix("index.html")
    return "true" if folder.endswith("/") and address.startswith(folder) and folder != "ja/" else ""
