"""The navigation: a few entries on every page, of which the last leads to the page that lists all others. Pure."""

from __future__ import annotations

from tensorcopy.site import addresses

Link = tuple[str, str]  # label and address

ENTRIES: tuple[Link, ...] = (
    ("Choose", addresses.CHOOSER),
    ("History", addresses.HISTORIES),
    ("Compare", addresses.COMPARISONS),
    ("Regressions", addresses.REGRESSIONS),
    ("All pages", addresses.DOCS),
)
PAGES: tuple[Link, ...] = (
    *ENTRIES[:-1],
    ("The article, answered", addresses.ARTICLE),
    ("Semantics", addresses.SEMANTICS),
    ("Time over size", addresses.SIZES),
    ("Machines", addresses.MACHINES),
    ("Data", addresses.DATA),
)  # what is not in docs/, listed above its pages
TRANSLATED = (addresses.LANDING, addresses.ARTICLE, addresses.of_doc("guide"), addresses.GLOSSARY)
WITHOUT_OWN_PAGES: tuple[Link, ...] = (*ENTRIES[1:4], ("Machines", addresses.MACHINES), ("Data", addresses.DATA))


def marker(target: str, address: str) -> str:
    """Return how the page at `address` marks a link in the navigation: "page" for itself, "true" for its section."""
    if target == address:
        return "page"
    folder = target.removesuffix("index.html")
    return "true" if folder.endswith("/") and address.startswith(folder) else ""
