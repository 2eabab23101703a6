"""README.md and docs/: what they show is produced and runs, both languages agree, and what exists is described."""

import doctest
import re
import shlex
import shutil
import warnings
from pathlib import Path

import pytest

from docs.tools import picture, readme
from tensorcopy import cli
from tensorcopy.site import build
from tests.conftest import ROOT
from tests.repository.test_workflows import WORKFLOWS

README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = {path.name.removesuffix(".md"): path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
DRAWING = re.compile(r"!\[.*?\]\(((?:drawings/)?\w+\.svg)\)")


def test_what_docs_show_is_not_stale(monkeypatch, shipped_results):
    """`python -m docs.tools.readme` would change nothing."""
    monkeypatch.chdir(ROOT)
    documents = readme.documents(shipped_results.histories)
    assert {path: path.read_text(encoding="utf-8") for path in documents} == documents


def test_a_number_that_was_changed_by_hand_is_noticed(tmp_path, monkeypatch, shipped_results):
    """In README and in the article: the tool would write the measured one again."""
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    for name in ("README.md", "docs/article.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("99 of 99", "98 of 99").replace("slower × 1.42", "slower × 1.24"), encoding="utf-8")
        assert (tmp_path / name).read_text(encoding="utf-8") != text
    monkeypatch.chdir(tmp_path)
    documents = readme.documents(shipped_results.histories)
    assert documents[Path("README.md")] == README
    assert documents[Path("docs/article.md")] == DOCS["article"]


def test_the_picture_in_the_readme_is_of_the_page_as_it_is(monkeypatch):
    """Else its template, one that this uses or the stylesheet has changed: uv run python -m docs.tools.picture."""
    monkeypatch.chdir(ROOT)
    assert picture.TAKEN.read_text(encoding="utf-8") == picture.taken_of()


@pytest.mark.parametrize(
    "name", ["tensorcopy/copying/templates/landing.html", "tensorcopy/site/templates/base.html", "tensorcopy/site/static/tensorcopy.css"]
)
def test_a_changed_page_needs_another_picture(tmp_path, monkeypatch, name):
    """A template that the first page uses, or the stylesheet; another page's template does not matter."""
    shutil.copytree(ROOT / "tensorcopy", tmp_path / "tensorcopy", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    monkeypatch.chdir(tmp_path)
    before = picture.taken_of()
    (tmp_path / "tensorcopy/site/templates/compare.html").write_text("")
    assert picture.taken_of() == before
    (tmp_path / name).write_text((tmp_path / name).read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert picture.taken_of() != before


def test_the_readme_leads_to_what_the_configuration_names():
    """To the tests of the repository and to the published site, where asv.conf.json has their addresses."""

    def links(source, site):
        return re.findall(r"[(<]([^()<>\s]+)[)>]", readme.badges(source, site))

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


def test_every_drawing_is_shown_and_has_colours_of_its_own():
    """A drawing or figure that no document shows, or that has a class without a rule, is left over."""
    shown = {name for text in DOCS.values() for name in DRAWING.findall(text)}
    files = {
        path.relative_to(ROOT / "docs").as_posix(): path for path in (*(ROOT / "docs").glob("*.svg"), *(ROOT / "docs/drawings").iterdir())
    }
    assert shown == files.keys()
    for path in files.values():
        style, _, drawn = path.read_text(encoding="utf-8").partition("</style>")
        colours = set(re.findall(r"var\(--(\w+)\)", style)) - {"c"}
        for scheme in re.findall(r":root\{(.*?)\}", style):
            assert colours <= set(re.findall(r"--(\w+):#", scheme)), path
        classes = {each for names in re.findall(r'class="(.*?)"', drawn) for each in names.split()}
        assert classes - {"none", "broken"} <= set(re.findall(r"\.([a-z]\w*)", style)), path


def test_the_site_has_a_page_of_the_article_with_its_figures(published_site):
    """And of each document in DESCRIPTIONS; its links lead to pages that are there."""
    text = (published_site / "docs/article.html").read_text(encoding="utf-8")
    assert text.count("<svg") == len(DRAWING.findall(DOCS["article"]))
    assert "99 of 99 printed values are the same" in text
    for page in (published_site / "docs").glob("*.html"):
        for link in re.findall(r'<a href="(?!http)([^"#]+)', page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), (page.name, link)


def test_a_document_that_describes_a_page_names_one_that_is_there(published_site):
    """The table of docs/reading.md."""
    named = [
        name
        for row in re.findall(r"^\| (`[^|]*?) \|", DOCS["reading"].partition("## A chart")[0], re.MULTILINE)
        for name in re.findall("`(.*?)`", row)
    ]
    assert len(named) > 8
    for name in named:
        assert [*published_site.glob(re.sub("DEVICE|NAME|A(?=\\.\\.)|(?<=\\.\\.)B|…", "*", name))], name
    assert {path.name for path in published_site.iterdir() if path.suffix in (".xml", ".svg")} >= {"slowdowns.xml", "regressions.svg"}
    assert build.FEED in DOCS["reading"]
    assert build.BADGE in DOCS["reading"]
