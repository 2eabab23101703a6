"""The page as text: what it says, and that it asks nobody."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from tensorcopy import results
from tensorcopy.site import pages, pictures
from tests.conftest import NEW, OLD, ROOT, measured


@pytest.fixture(scope="module")
def shipped() -> str:
    return pages.index(results.load(ROOT / "results").found)


class Tags(HTMLParser):
    """Every tag with its attributes, and tags that were not closed."""

    VOID = ("meta", "link", "br", "img", "wbr", "hr")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.open = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed(shipped):
    """Every tag is closed where it should be."""
    assert Tags(shipped).open == []


def test_the_page_needs_no_script_and_no_other_host(shipped):
    """It works from the disk, without a network."""
    for tag, attributes in Tags(shipped).tags:
        assert tag != "script"
        for name in ("src", "href", "action"):
            assert "//" not in (attributes.get(name) or ""), (tag, attributes)
    css = (ROOT / "tensorcopy/site/tensorcopy.css").read_text()
    assert "url(" not in css
    assert "@import" not in css


def test_the_page_answers_for_the_newest_release(shipped):
    """Which copy, which conversion, at each size, with what torch."""
    answer = re.search(r'<p class="answer">(.*?)</p>', shipped, re.DOTALL)[1]
    assert "With torch 2.15.0 on " in answer
    assert answer.count("<code>") == 2
    assert shipped.count("<svg") == 4
    for numel in ("2⁰", "2⁴", "2⁷", "2¹⁰", "2¹⁴", "2¹⁷", "2²⁰", "2²⁴"):
        assert f'<th scope="row">{numel}<br>' in shipped


def test_everything_a_picture_says_stands_in_a_table(shipped):
    """As many tables of history as pictures."""
    assert shipped.count("<summary>The same as a table</summary>") == shipped.count("<svg")


def test_no_results_is_a_page_too(monkeypatch):
    """It says how to come by some."""
    page = pages.index(())
    assert "Nothing is measured yet" in page
    assert "uv run tensorcopy dashboard" in page
    assert Tags(page).open == []


def test_text_from_results_is_escaped(monkeypatch):
    """A machine's name is somebody's text."""
    monkeypatch.setattr("tensorcopy.releases.load", lambda: (OLD, NEW))
    hostile = '"><script>alert(1)</script>'
    times = {("a", 2**10): 1e-6, ("<b>", 2**10): 2e-6}
    page = pages.index((measured(NEW, times, machine=hostile, cpu="<i>cpu</i>"), measured(OLD, times, machine=hostile)))
    assert "<script" not in page
    assert "<i>" not in page
    assert "<b>" not in page


def test_a_picture_follows_light_and_dark_and_speaks():
    """Colours are the stylesheet's tokens, text is text, a point says its number."""
    from tensorcopy.site import answers

    found = tuple(measured(release, {("a", 2**10): 1e-6, ("b", 2**10): 2e-6}) for release in (OLD, NEW))
    (machine,) = answers.machines(found, (OLD, NEW))
    svg = pictures.history(machine.histories[0], {"a": "x.a()", "b": "x.b()"})
    assert "var(--series-1)" in svg
    assert ">x.a()</text>" in svg
    assert "x.b(), torch 2.0.0, py3.11-cuda: 2.00 µs" in svg
    assert not re.search(r'(fill|stroke)="(#|black|white)', svg)
    alone = pictures.standalone(svg)
    assert "prefers-color-scheme: dark" in alone
    assert alone.startswith("<svg")


def test_noise_does_not_look_like_drama():
    """Two per cent do not fill the picture: its axis spans at least a quarter."""
    low, high = 1.0e-6, 1.02e-6
    ticks = pictures._ticks(low / pictures.LEAST_SPAN**0.5, high * pictures.LEAST_SPAN**0.5)
    assert 3 <= len(ticks) <= 12
