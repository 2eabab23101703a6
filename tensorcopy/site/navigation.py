"""The navigation: a few entries on every page, of which the last leads to the page that lists all others. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tensorcopy.site import addresses

FINDINGS = addresses.of_doc("findings")  # linked only where docs/ has it
ENTRIES = (
    ("choose", addresses.CHOOSER),
    ("history", addresses.HISTORIES),
    ("compare", addresses.COMPARISONS),
    ("regressions", addresses.REGRESSIONS),
    ("findings", FINDINGS),
    ("all_pages", addresses.DOCS),
)  # names of texts in words.toml, here and below
PAGES = (
    *ENTRIES[:-2],
    ("article", addresses.ARTICLE),
    ("semantics", addresses.SEMANTICS),
    ("sizes", addresses.SIZES),
    ("machines", addresses.MACHINES),
    ("data", addresses.DATA),
)  # what is not in docs/, listed above its pages
TRANSLATED = (addresses.LANDING, addresses.CHOOSER, addresses.ARTICLE)  # and pages of docs/

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


def translated(docs: Iterable[str], language: str) -> frozenset[str]:
    """Return the English addresses of the pages that exist in another language.

    docs : names of files in docs/, "guide" and "guide.ja"
    """
    stems = [name.removesuffix(f".{language}") for name in docs if name.endswith(f".{language}")]
    return frozenset({*TRANSLATED, *map(addresses.of_doc, stems)})


def in_language(docs: Collection[str], language: str) -> Navigation:
    """Return the links in a language, to the page in that language where there is one."""
    known = translated(docs, language)
    entries, pages = (
        tuple(
            (name, addresses.translated(address, language) if address in known else address)
            for name, address in links
            if address != FINDINGS or "findings" in docs
        )
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
