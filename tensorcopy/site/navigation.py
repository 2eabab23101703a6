"""The navigation of every page: four entries, and the rest under "Docs" in groups. Pure."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from tensorcopy.site import addresses

NAVIGATION = (
    ("choose", addresses.CHOOSER),
    ("history", addresses.HISTORIES),
    ("compare", addresses.COMPARISONS),
    ("regressions", addresses.REGRESSIONS),
)  # names of texts in words.toml, here and below
GROUPS = (
    (
        "group_copying",
        (
            ("guide", addresses.of_doc("guide")),
            ("article", addresses.ARTICLE),
            ("semantics", addresses.SEMANTICS),
            ("memory", addresses.MEMORY),
            ("sizes", addresses.SIZES),
        ),
    ),
    (
        "group_results",
        (
            ("reading", addresses.of_doc("reading")),
            ("measurement", addresses.of_doc("measurement")),
            ("findings", addresses.of_doc("findings")),
            ("accuracy_report", addresses.ACCURACY),
            ("machines", addresses.MACHINES),
            ("data", addresses.DATA),
        ),
    ),
    (
        "group_using",
        (
            ("run_it", addresses.RUN_IT),
            ("api", addresses.of_doc("api")),
            ("glossary", addresses.GLOSSARY),
            ("docs_all", addresses.DOCS),
        ),
    ),
)
FROM_DOCS = ("guide", "reading", "measurement", "findings", "run-it", "api")  # shown only where docs/ has them
TRANSLATED = (addresses.LANDING, addresses.CHOOSER, addresses.ARTICLE)  # and pages of docs/

Link = tuple[str, str]  # the name of a text, and an address


@dataclass(frozen=True)
class Navigation:
    """The links of one language.

    groups : each has the name of its text and its links
    english : addresses of pages that exist in English only
    """

    entries: tuple[Link, ...]
    groups: tuple[tuple[str, tuple[Link, ...]], ...]
    english: frozenset[str]


OF_PROJECT = {
    "en": Navigation(
        (("history", addresses.HISTORIES), ("compare", addresses.COMPARISONS), ("regressions", addresses.REGRESSIONS)),
        (("group_results", (("machines", addresses.MACHINES), ("data", addresses.DATA))),),
        frozenset(),
    )
}
"""The links of a project's pages, by language."""


def translated(docs: Container[str], language: str) -> frozenset[str]:
    """Return the English addresses of the navigation's pages that exist in a language.

    docs : names of files in docs/, "guide" and "guide.ja"
    """
    links = [*NAVIGATION, *(link for _, group in GROUPS for link in group)]
    stems = [address.rpartition("/")[2].removesuffix(".html") for _, address in links]
    from_docs = {address for (_, address), stem in zip(links, stems) if f"{stem}.{language}" in docs and addresses.of_doc(stem) == address}
    return frozenset({address for _, address in links} if language == "en" else {*TRANSLATED, *from_docs})


def in_language(docs: Container[str], language: str) -> Navigation:
    """Return the links of the pages that exist, to the page in a language where there is one."""
    missing = {addresses.of_doc(stem) for stem in FROM_DOCS if stem not in docs}
    known = translated(docs, language)

    def localized(links: tuple[Link, ...]) -> tuple[Link, ...]:
        return tuple(
            (name, addresses.translated(address, language) if address in known else address)
            for name, address in links
            if address not in missing
        )

    groups = tuple((name, localized(links)) for name, links in GROUPS)
    shown = {address for links in (NAVIGATION, *(links for _, links in groups)) for _, address in links}
    english = frozenset() if language == "en" else frozenset(address for address in shown if not address.startswith(f"{language}/"))
    return Navigation(localized(NAVIGATION), groups, english)


def marker(target: str, address: str) -> str:
    """Return how the page at `address` marks a link in the navigation: "page" for itself, "true" for its section."""
    if target == address:
        return "page"
    folder = target.removesuffix("index.html")
    return "true" if folder.endswith("/") and address.startswith(folder) and folder not in ("ja/", "docs/", "ja/docs/") else ""
