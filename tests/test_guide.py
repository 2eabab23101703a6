"""docs/ on the site: code blocks run, both languages agree, generated files are current, and no link is dead."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import select
from tensorcopy.site import addresses, publisher, render
from tensorcopy.site.charts import method_drawings
from tensorcopy.site.pages import docs
from tests.conftest import ROOT

DOCS = publisher.documentation(ROOT)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def newest(shipped_results):
    return select.newest(shipped_results.results)


@pytest.fixture(scope="module")
def site(newest):
    """Return each page of docs/ as HTML, by address."""
    content = render.content((newest,), None, DOCS)
    templates = render.templates_of(content)
    return {page.address: render.page_text(templates, page) for page in docs.pages(content)}


def session(name: str) -> str:
    """Return the code blocks of a page that have prompts, as one session."""
    return "\n".join(block for block in BLOCK.findall(DOCS[name]) if block.startswith(">>>"))


@pytest.mark.parametrize("name", [name for name in DOCS if session(name)])
def test_every_code_block_runs(name):
    """Its output is right on this torch, without an unexpected warning."""
    test = doctest.DocTestParser().get_doctest(session(name), {}, name, None, 0)
    assert test.examples
    output: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=output.append)
    assert not outcome.failed, "".join(output)


HUGE_PAGES = """
import numpy, re, torch

def huge():
    return int(re.search(r"AnonHugePages: *(\\d+) kB", open("/proc/self/smaps_rollup").read())[1])

x = torch.ones(2**24)
for copy in (lambda: x.detach().clone(), lambda: x.detach().numpy().copy()):
    before = huge()
    y = copy()
    print(huge() - before)
    del y
"""


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["0", "1"])
def test_torch_gets_huge_pages_with_the_guides_variable_only(variable):
    """And numpy gets them in any case, where the kernel gives them to those who ask."""
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not setting.exists() or "[madvise]" not in setting.read_text():
        pytest.skip("the kernel's setting is not madvise")
    assert "`THP_MEM_ALLOC_ENABLE` is 1" in DOCS["guide"]
    done = subprocess.run(
        [sys.executable, "-c", HUGE_PAGES], env={**os.environ, "THP_MEM_ALLOC_ENABLE": variable}, capture_output=True, text=True, check=True
    )
    of_torch, of_numpy = map(int, done.stdout.split())
    assert (of_torch > 0) == (variable == "1")
    assert of_numpy > 0


def test_the_guide_has_code():
    assert len(doctest.DocTestParser().get_examples(session("guide"))) > 100


@pytest.mark.parametrize("name", [name for name in DOCS if f"{name}.ja" in DOCS])
def test_both_languages_show_the_same_code_and_drawings(name):
    """They are in the same order, under the same number of headings."""
    for shown in (BLOCK, re.compile(r"^!\[.*?\]\((.*?)\)$", re.MULTILINE), re.compile(r"^(#+) ", re.MULTILINE)):
        assert shown.findall(DOCS[name]) == shown.findall(DOCS[f"{name}.ja"])


def test_docs_drawings_has_generated_files_only(newest):
    """There is a file for each observed method, and no other."""
    assert {path.stem for path in (ROOT / "docs/drawings").iterdir()} == set(method_drawings.of_methods(newest.methods))


def test_every_drawing_exists(site):
    """It exists as a file for readers of the Markdown, and in the page with a label in its language."""
    for name in ("guide", "guide.ja"):
        page = site[addresses.of_doc(name)]
        for label, path in re.findall(r"!\[(.*?)\]\((.*?)\)", DOCS[name]):
            assert (ROOT / "docs" / path).exists(), path
            assert f'aria-label="{label}"' in page


def test_no_page_has_inline_styles(site):
    """The pages' policy forbids them."""
    assert not [address for address, page in site.items() if re.search(r"<(?!svg|rect|path|text|circle)[a-z]+ [^>]*style=", page)]


def test_links_lead_to_every_page(site):
    """They start at the first page."""
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
def test_a_dead_link_stops_the_build(newest, text):
    """The error names the file."""
    content = replace(render.content((newest,)), docs={"a": f"# A\n\n{text}\n", "guide": "# Guide\n"})
    with pytest.raises(TensorcopyError, match=r"docs/a\.md has a dead link"):
        list(docs.pages(content))


def test_links_to_repository_files_become_text(newest):
    """Links to other sites stay links."""
    text = "# A\n\n[code](../tensorcopy/analysis/two_sample.py) [asv](https://asv.readthedocs.io) [b](b.md#two)"
    content = replace(render.content((newest,)), docs={"a": text, "b": "# B\n\n## Two\n"})
    text = str(next(docs.pages(content)).values["text"])
    assert "<span>code</span>" in text
    assert '<a href="https://asv.readthedocs.io">asv</a>' in text
    assert '<a href="b.html#two">b</a>' in text


def test_lines_of_japanese_are_joined_without_a_space(newest):
    content = replace(render.content((newest,)), docs={"a.ja": "# 題\n\n値は\nどこに\nx.numpy()\n\n- 値は\n  ここに\n- そこに\n"})
    text = str(next(docs.pages(content)).values["text"])
    assert "値はどこに\nx.numpy()" in text
    assert "<li>値はここに</li>\n<li>そこに</li>" in text
