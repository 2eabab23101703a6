"""Read pages as a reader does: elements with their text, links and where they lead."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

VOID = ("meta", "link", "br", "img", "wbr", "hr", "input")
SPACES = re.compile(r"[\s\u202f\u2009\xa0]+")


@dataclass
class Element:
    """An element of a page with what it contains."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Element]:
        """Yield it and every element in it, in order."""
        return iter(self._elements)

    @cached_property
    def _elements(self) -> list[Element]:
        return [self, *(each for child in self.children if isinstance(child, Element) for each in child)]

    @property
    def text(self) -> str:
        """What a reader sees: without titles of drawings, with single plain spaces."""
        return SPACES.sub(" ", self._text()).strip()

    def _text(self) -> str:
        parts = [child if isinstance(child, str) else child._text() for child in self.children if getattr(child, "tag", "") != "svg"]
        return "".join(parts) + (
            " " if self.tag in ("td", "th", "tr", "li", "p", "caption", "br", "h1", "h2", "h3", "div", "small") else ""
        )

    def all(self, path: str) -> list[Element]:
        """Return the elements that match names of tags with classes, such as "section table.grid td", each within the one before."""
        found = [self]
        for step in path.split():
            tag, _, css = step.partition(".")
            inside = {id(each): each for outer in found for each in outer._elements[1:] if each.matches(tag, css)}
            found = [*inside.values()]  # in order, since an element comes before those in it
        return found

    def first(self, path: str) -> Element:
        """Return the first of them."""
        return self.all(path)[0]

    def matches(self, tag: str, css: str = "") -> bool:
        """Return whether it has a tag and a class."""
        return tag in ("", self.tag) and (not css or css in (self.attributes.get("class") or "").split())

    def by_id(self, name: str) -> Element:
        """Return the element of an id."""
        return next(each for each in self if each.attributes.get("id") == name)

    @property
    def href(self) -> str:
        """The address that its first link leads to."""
        return str(self.first("a").attributes["href"])


class _Reader(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.root = Element("")
        self.path = [self.root]
        self.feed(text)
        assert [each.tag for each in self.path] == [""], "an element is not closed"

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        element = Element(tag, dict(attributes))
        self.path[-1].children.append(element)
        if tag not in VOID:
            self.path.append(element)

    def handle_startendtag(self, tag: str, attributes: Any) -> None:
        self.path[-1].children.append(Element(tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.path.pop().tag == tag, f"</{tag}>"

    def handle_data(self, text: str) -> None:
        self.path[-1].children.append(text)


@lru_cache(maxsize=512)  # pages: most tests change one of a site's
def read(page: str) -> Element:
    """Return a page; every element must be closed."""
    return _Reader(page).root


def files_in(folder: Path) -> dict[str, str]:
    """Return every file of a published site by address."""
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*")) if path.is_file()}


def table(element: Element) -> list[dict[str, Element]]:
    """Return the rows of a table, by the headings of their columns; a heading again gets a number, and a wide cell is in several."""
    heads: list[str] = []
    for head in element.all("thead th"):
        heads.append(f"{head.text} 2" if head.text in heads else head.text)
    cells = [[cell for cell in row.children if isinstance(cell, Element)] for row in element.all("tbody tr")]
    rows = [[cell for cell in row for _ in range(int(cell.attributes.get("colspan") or 1))] for row in cells]
    assert all(len(row) == len(heads) for row in rows)
    return [dict(zip(heads, row)) for row in rows]


def target(address: str, link: str) -> tuple[str, str]:
    """Return the address and the anchor that a relative link of a page leads to."""
    path, _, anchor = link.partition("#")
    return posixpath.normpath(posixpath.join(posixpath.dirname(address), unquote(path))) if path else address, anchor


def links(page: Element) -> list[str]:
    """Return the links and sources of a page."""
    named = {"a": "href", "link": "href", "script": "src", "img": "src"}
    return [str(link) for each in page if (link := each.attributes.get(named.get(each.tag, ""))) is not None]


def faults(files: Mapping[str, str], others: Sequence[str] = ()) -> list[str]:
    """Return the dead links, repeated ids, titles and descriptions of a site, and pages without exactly one heading.

    others : files without a text, such as the stylesheet
    """
    pages = {address: read(text) for address, text in files.items() if address.endswith(".html")}
    ids = {address: [name for each in page if (name := each.attributes.get("id"))] for address, page in pages.items()}
    found, seen = [], set()
    for address, page in pages.items():
        found += [f"{address}: id {name} again" for name in ids[address] if ids[address].count(name) > 1]
        if len(page.all("h1")) != 1:
            found.append(f"{address}: {len(page.all('h1'))} h1")
        description = next(each.attributes["content"] for each in page.all("meta") if each.attributes.get("name") == "description")
        for text in (page.first("title").text, description):
            if not text or text in seen:
                found.append(f"{address}: {text!r} again, or empty")
            seen.add(text)
        for link in links(page) if address != "404.html" else ():  # whose links begin at the site's root
            if link.startswith(("https:", "http:", "data:")):
                continue
            path, anchor = target(address, link)
            if path not in files and path not in others:
                found.append(f"{address}: no {link}")
            elif anchor and path in files and anchor not in ids.get(path, ()):
                found.append(f"{address}: no anchor of {link}")
    return found


def unlike(place: str, shown: Mapping[Any, Any], expected: Mapping[Any, Any]) -> Iterator[str]:
    """Yield what a place shows otherwise than expected: its parts with their order, and the value of each."""
    if [*shown] != [*expected]:
        yield f"{place}: {[*shown]}, not {[*expected]}"
    for name in shown.keys() & expected.keys():
        if shown[name] != expected[name]:
            yield f"{place}, {name}: {shown[name]}, not {expected[name]}"
