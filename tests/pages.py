"""Read pages: their tags and text, and where their links lead."""

import posixpath
import re
from collections.abc import Sequence
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from tensorcopy.copying.shipped import shipped
from tensorcopy.releases import release_table
from tensorcopy.results.histories import History
from tensorcopy.site import build, facts
from tests.conftest import ROOT


def site_of(found: Sequence[History]) -> dict[str, str]:
    """Return every page and file of the site of some histories, by address."""
    return dict(build.files(facts.site(shipped(), found)))


def text_of(html: str) -> str:
    """Return the text of HTML, with plain spaces."""
    return re.sub(r"[\u202f\u2009\xa0]", " ", unescape(re.sub(r"<[^>]*>", "", html))).strip()


class Tags(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    handle_startendtag = handle_starttag


def follow_links_in(site: Path) -> None:
    """Fail on a dead link of a published site, but for the page of missing addresses, which is looked at from several depths."""
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    parsed = {name: Tags((site / name).read_text(encoding="utf-8")) for name in files - {"404.html"} if name.endswith(".html")}
    ids = {address: {attributes["id"] for _, attributes in page.tags if "id" in attributes} for address, page in parsed.items()}
    outside = {release.notes for release in release_table.load()}
    outside |= {link for text in build.documents(ROOT).values() for link in re.findall(r"https?://[^\s)>`]+", text)}
    for address, page in parsed.items():
        for tag, attributes in page.tags:
            link = attributes.get("href") if tag in ("a", "link") else attributes.get("src")
            if not link or link.startswith("data:"):
                continue
            if link.startswith(("https:", "http:")):
                assert link in outside, link
                continue
            path, _, anchor = link.partition("#")
            target = resolved(address, unquote(path)) if path else address
            assert target in files, (address, link)
            assert not anchor or anchor in ids[target], (address, link)


def resolved(address: str, link: str) -> str:
    """Return the address that a relative link of a page leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(address), link))
