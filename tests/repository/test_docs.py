"""README.md and docs/: what they show is produced and runs, both languages agree, no link is dead, and what exists is described."""

import doctest
import re
import shlex
import warnings
from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from docs.tools import readme
from tensorcopy import cli
from tensorcopy.copying.drawings import draw_methods
from tensorcopy.copying.pages import docs
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.site import addresses, publisher, render
from tests.conftest import ROOT
from tests.pages import resolved
from tests.repository.test_workflows import WORKFLOWS

README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = publisher.documentation(ROOT)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def site(newest):
    """Return each page of docs/ as HTML, by address."""
    content = render.content(shipped(), (newest,), DOCS)
    templates = render.templates_of(content)
    return {page.address: render.page_text(templates, page) for page in docs.pages(content)}


def test_what_docs_show_is_not_stale(monkeypatch, shipped_results):
    """`python -m docs.tools.readme` would change nothing."""
    monkeypatch.chdir(ROOT)
    documents = readme.documents(shipped_results.results)
    assert {path: path.read_text(encoding="utf-8") for path in documents} == documents


def test_the_readme_leads_to_what_the_configuration_names():
    """To the tests of the repository and to the published site, where asv.conf.json has their addresses."""

    def links(source, site):
        return re.findall(r"[(<]([^()<>\s]+)[)>]", readme.badges(addresses.WebAddresses.of_configuration(source, site)))

    ci = "https://github.com/a/b/actions/workflows/ci.yml"
    assert links("", "") == []
    assert links("https://github.com/a/b", "") == [f"{ci}/badge.svg", ci]
    assert links("https://github.com/a/b", "https://a.example/b") == [f"{ci}/badge.svg", ci, "https://a.example/b/"]
    assert (ROOT / ".github" / "workflows" / ci.rpartition("/")[2]).exists()


def test_every_command_line_parses():
    """In the shell blocks of docs/ and README.md, and in the table of the README."""
    lines = re.findall(r"^\| `tensorcopy \w+` \| .*?`(.*?)` \|$", README, re.MULTILINE)
    for text in (README, *DOCS.values()):
        shell = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
        lines += re.findall(r"^(?:uv run )?tensorcopy ([^#\n]*)", shell, re.MULTILINE)
    assert len(lines) > 10
    for line in lines:
        assert cli.parser().parse_args(shlex.split(line)).command, line


def test_every_workflow_is_described():
    names = {path.name for path in WORKFLOWS}
    assert {name for name in names if f"`{name}`" in DOCS["ci"]} == names


def session(name: str) -> str:
    """Return the code blocks of a page that have prompts, as one session."""
    return "\n".join(block for block in BLOCK.findall(DOCS[name]) if block.startswith(">>>"))


@pytest.mark.parametrize("name", [name for name in DOCS if session(name)])
def test_every_code_block_runs(name):
    """Its output is right on this torch, without an unexpected warning."""
    test = doctest.DocTestParser().get_doctest(session(name), {}, name, None, 0)
    assert len(test.examples) > (100 if name.startswith("guide") else 0)
    output: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=output.append)
    assert not outcome.failed, "".join(output)


@pytest.mark.parametrize("name", [name for name in DOCS if f"{name}.ja" in DOCS])
def test_both_languages_show_the_same_code_drawings_and_words(name):
    """They are in the same order, under the same number of headings; the glossaries have the same rows."""
    word = re.compile(r"^\| ([a-z][a-z, ]+?)(?:（.*?)? *\|", re.MULTILINE)
    for shown in (BLOCK, re.compile(r"^!\[.*?\]\((.*?)\)$", re.MULTILINE), re.compile(r"^(#+) ", re.MULTILINE)):
        assert shown.findall(DOCS[name]) == shown.findall(DOCS[f"{name}.ja"])
    if name == "glossary":
        assert [each for each in word.findall(DOCS[name]) if each != "word"] == word.findall(DOCS[f"{name}.ja"])


def test_every_drawing_is_generated_and_shown(newest, site):
    """A file for each observed method, for readers of the Markdown; in the page with a label in its language."""
    files = {path.stem for path in (ROOT / "docs/drawings").iterdir()}
    assert files == set(draw_methods(newest.methods))
    for name in ("guide", "guide.ja"):
        for label, path in re.findall(r"!\[(.*?)\]\((.*?)\)", DOCS[name]):
            assert PurePosixPath(path).stem in files
            assert f'aria-label="{label}"' in site[addresses.of_doc(name)]


def test_links_lead_to_every_page(site):
    """They start at the first page."""
    reached, ahead = set(), [addresses.DOCS, addresses.of_doc("guide.ja")]
    while ahead:
        address = ahead.pop()
        if address in site and address not in reached:
            reached.add(address)
            links = re.findall(r'<a href="([^"#]+)', site[address].split("<main")[1])
            ahead += [resolved(address, link) for link in links if not link.startswith("http")]
    assert reached == set(site)
    assert len(reached) == len(docs.PAGES)


@pytest.mark.parametrize("text", ["[there](nowhere.md)", "[there](guide.md#no-such-heading)", "[there](#nor-here)", "[there](drawings)"])
def test_a_dead_link_stops_the_build(newest, text):
    """The error names the file."""
    content = replace(render.content(shipped(), (newest,)), docs={"a": f"# A\n\n{text}\n", "guide": "# Guide\n"})
    with pytest.raises(TensorcopyError, match=r"docs/a\.md has a dead link"):
        list(docs.pages(content))


def test_links_lead_to_a_page_or_to_the_repository(newest):
    """To a file of the repository where its address is known, else they become text; links to other sites stay links."""
    text = "# A\n\n[code](../tensorcopy/numbers.py) [asv](https://asv.readthedocs.io) [page](reading.md#two) [file](b.md#two)"
    content = replace(render.content(shipped(), (newest,)), docs={"guide": text, "b": "# B\n\n## Two\n", "reading": "# C\n\n## Two\n"})
    for source, links in (
        ("", ("<span>code</span>", "<span>file</span>")),
        (
            "https://example.org/t",
            (
                '<a href="https://example.org/t/blob/HEAD/tensorcopy/numbers.py">code</a>',
                '<a href="https://example.org/t/blob/HEAD/docs/b.md#two">file</a>',
            ),
        ),
    ):
        page, *_ = docs.pages(replace(content, web=addresses.WebAddresses(source)))
        for link in (*links, '<a href="https://asv.readthedocs.io">asv</a>', '<a href="reading.html#two">page</a>'):
            assert link in str(page.values["text"])


def test_lines_of_japanese_are_joined_without_a_space(newest):
    content = replace(
        render.content(shipped(), (newest,)), docs={"guide.ja": "# 題\n\n値は\nどこに\nx.numpy()\n\n- 値は\n  ここに\n- そこに\n"}
    )
    text = str(next(docs.pages(content)).values["text"])
    assert "値はどこに\nx.numpy()" in text
    assert "<li>値はここに</li>\n<li>そこに</li>" in text
