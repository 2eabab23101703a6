"""Read pages: their tags and text, and where their links lead."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from tensorcopy.copying.shipped import shipped
from tensorcopy.releases import release_table
from tensorcopy.results.result import Result
from tensorcopy.site import build, facts
from tests.conftest import ROOT, TWO


def site_of(results: Sequence[Result]) -> dict[str, str]:
    """Return every page and file of the site of some results, by address."""
    return dict(build.files(facts.site(shipped(), results)))


def text_of(html: str) -> str:
    """Return the text of HTML, with plain spaces."""
    return re.sub(r"[\u202f\u2009\xa0]", " ", unescape(re.sub(r"<[^>]*>", "", html))).strip()


def elements(tag: str, html: str) -> list[str]:
    """Return what follows each start tag, up to the next one: published pages leave out optional end tags."""
    return re.split(rf"<{tag}\b[^>]*>", html)[1:]


def texts_of(tag: str, html: str) -> list[str]:
    return [text_of(element) for element in elements(tag, html)]


class Tags(HTMLParser):
    """The tags of a page with their attributes, its text, and its unclosed tags."""

    VOID = ("meta", "link", "br", "img", "wbr", "hr", "input")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.open, texts = [], [], []
        self.handle_data, self.updatepos = texts.append, lambda _, end: end  # without counting lines
        self.feed(page)
        self.text = "".join(texts)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def html(site: dict[str, str]) -> dict[str, Tags]:
    return {address: Tags(text) for address, text in site.items() if address.endswith(".html")}


def repeated_titles(pages: Iterable[str]) -> list[str]:
    """Return the titles that several pages have."""
    titles = Counter(re.search(r"<title>(.*?)</title>", text)[1] for text in pages)
    return [title for title, number in titles.items() if number > 1]


def follow_all_links(parsed: dict[str, Tags], files: set[str]) -> None:
    """Fail on a dead link. `files` are all files of the site."""
    outside = {release.notes for release in (*release_table.load(), *TWO)}
    outside |= {link for text in build.documents(ROOT).values() for link in re.findall(r"https?://[^\s)>`]+", text)}
    ids = {address: {attributes["id"] for _, attributes in page.tags if "id" in attributes} for address, page in parsed.items()}
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
            state = "=" in anchor and target.endswith("/index.html")  # of the explorer, or of the choice of two releases
            assert not anchor or state or anchor in ids[target], (address, link)


def follow_links_in(site: Path) -> None:
    """Fail on a dead link of a published site; the page of missing addresses is looked at from several depths."""
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    follow_all_links(html({name: (site / name).read_text() for name in files - {"404.html"} if name.endswith(".html")}), files)


def resolved(address: str, link: str) -> str:
    """Return the address that a relative link of a page leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(address), link))
