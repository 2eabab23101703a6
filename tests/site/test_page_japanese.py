"""The Japanese pages: no English sentence or range is left in their text, and their numbers are those of the English pages."""

import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import chain
from typing import Any

import pytest

from tensorcopy.copying.pages import article, docs, landing
from tensorcopy.copying.shipped import shipped
from tensorcopy.report.words import texts
from tensorcopy.site import addresses, navigation, publisher, render
from tests.conftest import ROOT, SHIPPED

RELEASES = ("1.13.1", "2.8.0", "2.14.1", "2.15.0")
INLINE = ("a", "b", "em", "small", "span", "strong", "wbr")  # tags within a sentence
VOID = ("br", "hr", "img", "input", "link", "meta", "wbr")
NOT_PROSE = ("code", "pre", "script", "style")
FOR_READERS = ("alt", "aria-label", "data-copied", "data-copy", "data-label", "placeholder", "title")  # attributes with text
ENGLISH = re.compile(r"[A-Za-z][A-Za-z’'-]*(?:[ ,;:\u202f\xa0]+[A-Za-z][A-Za-z’'-]*){3,}")  # four words in a row
ENGLISH_RANGE = re.compile(r"\d\s?(?:%|×|[µnm]?s|[KM]iB|B)?\s?(?:\bto\b|[–〜])\s?[+−]?\d")
JAPANESE = re.compile("[ぁ-んァ-ン一-龥]")
FIGURE = re.compile(r"\d+(?:\.\d+)+|[+−]\d+|\d+(?=\s%)")  # versions, decimals, changes and percentages: small numbers may be words


class Prose(HTMLParser):
    """What a page says: its text outside code, a block in a line, and attributes for readers; nothing that is marked as English."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.silent: list[bool] = []  # of each open tag, whether it is within code or English
        self.feed(page)
        data = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
        self.parts += [f"\n{text}" for each in data for text in strings(json.loads(each))]
        self.text = "".join(self.parts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        silent = any(self.silent[-1:]) or tag in NOT_PROSE or (attributes.get("lang") == "en" and tag != "html")
        if tag not in VOID:
            self.silent.append(silent)
        self.parts.append("" if tag in INLINE else "`" if tag == "code" else "\n")
        if not silent:
            named = ("content",) if attributes.get("name") == "description" else FOR_READERS
            self.parts += [f"\n{attributes[name]}\n" for name in named if name in attributes]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        self.silent.pop()
        self.parts.append("" if tag in INLINE else "`" if tag == "code" else "\n")

    def handle_data(self, data: str) -> None:
        if not any(self.silent[-1:]):
            self.parts.append(data)


def strings(data: Any) -> list[str]:
    """Return every text in JSON data."""
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return [data] if isinstance(data, str) else [*chain.from_iterable(map(strings, inner))]


def english_in(text: str) -> list[str]:
    """Return four English words in a row, or more, and ranges as English has them."""
    return [found[0] for pattern in (ENGLISH, ENGLISH_RANGE) for found in pattern.finditer(text)]


@pytest.fixture(scope="module")
def pages(shipped_results) -> dict[str, str]:
    """Return landing page, article, guide and glossary in both languages: of both shipped machines, and of a laptop that measured last."""
    results = [result for result in shipped_results.results if result.version in RELEASES]
    newest = next(result for result in results if (result.machine, result.version) == (SHIPPED.name, RELEASES[-1]))
    laptop = replace(newest, machine="laptop", provenance={**newest.provenance, "started": "2027-01-01T00:00:00+00:00"})
    content = render.content(shipped(), [*results, laptop], publisher.documentation(ROOT))
    templates = render.templates_of(content)
    wanted = [each for module in (landing, article, docs) for each in module.pages(content) if len(each.languages) > 1]
    return {page.address: render.page_text(templates, page) for page in wanted}


def test_no_english_sentence_is_on_a_japanese_page(pages):
    """Neither in its text and its tables nor in what charts, labels and data say; code and the names of English pages are English."""
    japanese = {address: Prose(page).text for address, page in pages.items() if address.startswith("ja/")}
    assert set(japanese) == {addresses.translated(address, "ja") for address in navigation.TRANSLATED}
    assert {address: english_in(text) for address, text in japanese.items()} == {address: [] for address in japanese}
    for address, text in japanese.items():
        assert len(JAPANESE.findall(text)) > 1000, address


def test_no_japanese_text_is_half_english():
    """Also those that no page of the shipped results has, such as of a site without results."""
    answers = [text for question in article.questions() for text in (question["title"]["ja"], question["answer"]["ja"])]
    statements = [statement["ja"] for question in article.questions() for statement in question.get("statements", ())]
    every = [*answers, *statements, *(by_language["ja"] for by_language in texts().values() if "ja" in by_language)]
    assert len(every) > 200
    assert [found for text in every for found in english_in(re.sub(r"`.*?`|<.*?>", "`", text))] == []


def test_a_japanese_page_says_which_links_are_english_and_writes_flags_as_code(pages):
    """Once, and no English page says it; a tensor with and one without grad are named alike."""
    note = "リンク先のページは英語です"
    assert {page.count(note) for address, page in pages.items() if address.startswith("ja/")} == {1}
    assert not any(note in page or "Linked pages" in page for address, page in pages.items() if not address.startswith("ja/"))
    assert {*re.findall(r"\w*\.?requires_grad=\w+", Prose(pages["ja/index.html"]).text)} == {"requires_grad=True", "requires_grad=False"}
    assert not any("勾配なし" in page for page in pages.values())


def test_both_languages_show_the_same_numbers(pages):
    """Each time, change, interval and release; a range has its ends in both."""
    for address in navigation.TRANSLATED:
        english, japanese = (Counter(FIGURE.findall(Prose(pages[each]).text)) for each in (address, addresses.translated(address, "ja")))
        assert english == japanese, address
    assert "1.13.1 ～ 2.15.0" in pages["ja/article.html"]


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<p>これは the values of a copy です</p>", ["the values of a copy"]),
        ('<p lang="en">the values of a copy</p><code>the values of a copy</code>', []),
        ('<a aria-label="time per call over releases">時間</a>', ["time per call over releases"]),
        ('<script type="application/json">{"a": ["time per call over releases"]}</script>', ["time per call over releases"]),
        ("<td>1.1 to 1.2 倍</td><td>+16 to\u202f+20 %</td><td>12–30</td><td>1.1 ～ 1.2 倍</td>", ["1 to 1", "6 to\u202f+2", "2–3"]),
    ],
)
def test_english_is_found(html, found):
    """In the text, in attributes and in data, but not in code."""
    assert english_in(Prose(html).text) == found
