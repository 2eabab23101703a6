"""docs/ for readers: every block of code runs, both languages show the same, what is produced is not stale, and no link leads nowhere."""

from __future__ import annotations

import doctest
import re
import warnings
from dataclasses import replace

import pytest

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import load, select
from tensorcopy.site import addresses, publisher, render
from tensorcopy.site.charts import method_drawings
from tensorcopy.site.pages import docs
from tests.conftest import ROOT

DOCS = publisher.documentation(ROOT)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def newest():
    return select.newest(load.load_results(ROOT / "results").results)


@pytest.fixture(scope="module")
def site(newest):
    """Each page of docs/ as HTML, by its address."""
    content = render.content((newest,), None, DOCS)
    templates = render._templates(content)
    return {page.address: render._page(templates, page) for page in docs.pages(content)}


def session(name: str) -> str:
    """The blocks of a page with prompts, as one session; what has none, such as a signature, is shown only."""
    return "\n".join(block for block in BLOCK.findall(DOCS[name]) if block.startswith(">>>"))


@pytest.mark.parametrize("name", [name for name in DOCS if session(name)])
def test_every_block_of_code_does_what_it_shows(name):
    """On this torch, from the first to the last, with no warning that is not shown."""
    test = doctest.DocTestParser().get_doctest(session(name), {}, name, None, 0)
    assert test.examples
    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert not found.failed, "".join(said)


def test_the_guide_runs_at_all():
    assert len(doctest.DocTestParser().get_examples(session("guide"))) > 100


@pytest.mark.parametrize("name", [name for name in DOCS if f"{name}.ja" in DOCS])
def test_both_languages_show_the_same_code_and_drawings(name):
    """In the same order, under as many headings."""
    for shown in (BLOCK, re.compile(r"^!\[.*?\]\((.*?)\)$", re.MULTILINE), re.compile(r"^(#+) ", re.MULTILINE)):
        assert shown.findall(DOCS[name]) == shown.findall(DOCS[f"{name}.ja"])


def test_drawings_are_of_what_was_observed(newest):
    """Every file in docs/drawings is produced."""
    assert {path.stem for path in (ROOT / "docs/drawings").iterdir()} == set(method_drawings.of_methods(newest.methods))


def test_every_drawing_that_is_shown_is_there(site):
    """As a file for those who read the Markdown, and in the page, under the words of its language."""
    for name in ("guide", "guide.ja"):
        page = site[addresses.of_doc(name)]
        for label, path in re.findall(r"!\[(.*?)\]\((.*?)\)", DOCS[name]):
            assert (ROOT / "docs" / path).exists(), path
            assert f'aria-label="{label}"' in page


def test_no_page_has_a_style_of_its_own(site):
    """The pages' policy forbids it."""
    assert not [address for address, page in site.items() if re.search(r"<(?!svg|rect|path|text|circle)[a-z]+ [^>]*style=", page)]


def test_every_page_is_reached_from_the_first(site):
    """By plain links, but for the Japanese ones, which each have an English one that leads there."""
    reached, ahead = set(), [addresses.DOCS]
    while ahead:
        address = ahead.pop()
        if address in site and address not in reached:
            reached.add(address)
            folder = address.rpartition("/")[0]
            for link in re.findall(r'<a href="([^"#]+)', site[address].split("<main")[1]):
                if not link.startswith("http"):
                    parts = f"{folder}/{link}".split("/")
                    while ".." in parts:
                        at = parts.index("..")
                        parts[max(0, at - 1) : at + 1] = []
                    ahead.append("/".join(part for part in parts if part))
    assert reached == set(site)


@pytest.mark.parametrize(
    "text",
    ["[there](nowhere.md)", "[there](guide.md#no-such-heading)", "[there](#nor-here)", "[there](drawings)"],
)
def test_a_link_that_leads_nowhere_stops_the_build(newest, text):
    content = replace(render.content((newest,)), docs={"a": f"# A\n\n{text}\n", "guide": "# Guide\n"})
    with pytest.raises(TensorcopyError, match=r"docs/a\.md has a link that leads nowhere"):
        list(docs.pages(content))


def test_links_to_what_is_no_page_are_text(newest):
    """A file of the repository has no address on the site; another site has."""
    text = "# A\n\n[code](../tensorcopy/analysis/two_sample.py) [asv](https://asv.readthedocs.io) [b](b.md#two)"
    content = replace(render.content((newest,)), docs={"a": text, "b": "# B\n\n## Two\n"})
    text = str(next(docs.pages(content)).values["text"])
    assert "<span>code</span>" in text
    assert '<a href="https://asv.readthedocs.io">asv</a>' in text
    assert '<a href="b.html#two">b</a>' in text


def test_lines_of_japanese_are_joined_without_a_space(newest):
    content = replace(render.content((newest,)), docs={"a.ja": "# 題\n\n値は\nどこに\nx.numpy()\n"})
    assert "値はどこに\nx.numpy()" in str(next(docs.pages(content)).values["text"])
