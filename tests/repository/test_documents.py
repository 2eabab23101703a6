"""README.md, docs/ and the other documents: what they show is produced and runs, and what they name exists."""

import ast
import doctest
import importlib
import re
import shlex
import shutil
import warnings
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt

import tensorcopy
from docs.tools import picture, readme, verify
from tensorcopy import campaign
from tensorcopy.ci import pull_request
from tensorcopy.cli import measure
from tensorcopy.copying.inside import loop
from tensorcopy.copying.shipped import shipped
from tensorcopy.judge import case_history, methods, paired
from tensorcopy.measure import launch, run, sides
from tensorcopy.worker import turns
from tests import nexts, walk
from tests.conftest import ROOT

DOCUMENTS = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r"^!\[.*?\]\((.*?)\)$", re.MULTILINE)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


TEXTS = {name: text_of(name) for name in DOCUMENTS}


def test_what_documents_show_is_not_stale(monkeypatch, shipped_results):
    """`python -m docs.tools.readme` would change nothing."""
    monkeypatch.chdir(ROOT)
    documents = readme.documents(shipped_results.histories)
    assert {path: path.read_text(encoding="utf-8") for path in documents} == documents


def test_the_picture_in_the_readme_is_of_the_page_as_it_is(monkeypatch):
    """Else its template, one that this uses or the stylesheet has changed: uv run python -m docs.tools.picture."""
    monkeypatch.chdir(ROOT)
    assert picture.TAKEN.read_text(encoding="utf-8") == picture.taken_of()


def test_a_changed_page_needs_another_picture(tmp_path, monkeypatch):
    """A template that the first page uses, or the stylesheet; another page's template does not matter."""
    shutil.copytree(ROOT / "tensorcopy", tmp_path / "tensorcopy", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    monkeypatch.chdir(tmp_path)
    taken = [picture.taken_of()]
    (tmp_path / "tensorcopy/site/templates/compare.html").write_text("")
    assert picture.taken_of() == taken[0]
    for name in ("copying/templates/landing.html", "site/templates/base.html", "site/static/tensorcopy.css"):
        with (tmp_path / "tensorcopy" / name).open("a") as file:
            file.write("\n")
        taken.append(picture.taken_of())
    assert len({*taken}) == 4


def test_the_badges_of_the_readme_lead_to_what_the_configuration_names():
    """To the tests of the repository and to the published site, where asv.conf.json has their addresses."""

    def links(source, site):
        return re.findall(r"[(<]([^()<>\s]+)[)>]", readme.badges(source, site))

    ci = "https://github.com/a/b/actions/workflows/ci.yml"
    assert links("", "") == []
    assert links("https://github.com/a/b", "https://a.example/b") == [f"{ci}/badge.svg", ci, "https://a.example/b/"]
    assert (ROOT / ".github" / "workflows" / Path(ci).name).exists()


# What a document names


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives the headings of a document."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def dead_links(name: str, text: str) -> list[str]:
    """Return the links and pictures of a document that lead to no file of the repository, or to no heading of one."""
    inline = [child for token in MarkdownIt("js-default").enable("table").parse(text) for child in token.children or ()]
    dead = []
    for link in [str(child.attrs.get("href") or child.attrs.get("src")) for child in inline if child.type in ("link_open", "image")]:
        path, _, anchor = link.partition("#")
        target = (ROOT / name).parent / path if path else ROOT / name
        if not link.startswith(("https://", "http://127.0.0.1")):
            is_there = target.exists() and (not anchor or anchor in anchors(target.read_text(encoding="utf-8")))
            dead += [] if is_there else [link]
    return dead


def test_every_link_leads_to_a_file_or_a_heading():
    """Of every document as GitHub shows it, also of those that are no page of the site."""
    assert {name: dead for name, text in TEXTS.items() if (dead := dead_links(name, text))} == {}


def test_every_command_can_be_typed():
    """In the shell blocks, in the table of the README and in sentences, where the words of a command alone name it."""
    lines = re.findall(r"^\| `tensorcopy \w+` \| .*?`(.*?)` \|$", TEXTS["README.md"], re.MULTILINE)
    for text in TEXTS.values():
        shell = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
        lines += re.findall(r"^(?:uv run )?tensorcopy ([^#\n]*)", shell, re.MULTILINE)
        lines += re.findall(r"`(?:uv run )?tensorcopy ([a-z][^`\n]*)`", text)
    names = {command.name for command in walk.commands()}
    assert len(lines) > 25
    assert [line for line in lines if line not in names and nexts.refused(["tensorcopy", *shlex.split(line)])] == []


def test_a_document_that_describes_a_page_names_one_that_is_there(world_files):
    """The table of docs/reading.md."""
    named = [name for row in re.findall(r"^\| (`[^|]*?) \|", TEXTS["docs/reading.md"], re.MULTILINE) for name in re.findall("`(.*?)`", row)]
    pages = [
        re.sub("DEVICE|NAME|A(?=\\.\\.)|(?<=\\.\\.)B|…", "*", name) for name in named if re.search(r"\.(html|xml|svg|csv|json)$", name)
    ]
    assert len(pages) > 8
    assert [name for name in pages if not any(Path(address).match(name) for address in world_files)] == []


def test_every_workflow_is_described():
    names = {path.name for path in (ROOT / ".github" / "workflows").glob("*.yml")}
    assert {name for name in names if f"`{name}`" in TEXTS["docs/ci.md"]} == names


def test_the_citation_names_the_version_that_is_built():
    assert yaml.safe_load(text_of("CITATION.cff"))["version"] == tensorcopy.__version__


# What a document shows


def session(name: str) -> str:
    """Return the code blocks of a document that have prompts, as one session."""
    return "\n".join(block for block in BLOCK.findall(TEXTS[name]) if block.startswith(">>>"))


@pytest.mark.parametrize("name", [name for name in TEXTS if session(name)])
def test_every_code_block_runs(name):
    """Its output is right on this torch, without an unexpected warning."""
    test = doctest.DocTestParser().get_doctest(session(name), {}, name, None, 0)
    assert len(test.examples) > (100 if "guide" in name else 0)
    output: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=output.append)
    assert not outcome.failed, "".join(output)


@pytest.mark.parametrize("name", [name for name in TEXTS if ".ja." in name])
def test_both_languages_show_the_same_code_drawings_and_words(name):
    """They are in the same order, under the same number of headings; the glossaries have the same rows."""
    english, japanese = TEXTS[name.replace(".ja.", ".")], TEXTS[name]
    for shown in (BLOCK, PICTURE, re.compile(r"^(#+) ", re.MULTILINE)):
        assert shown.findall(english) == shown.findall(japanese)
    word = re.compile(r"^\| ([a-z][a-z, ]+?)(?:（.*?)? *\|", re.MULTILINE)
    if "glossary" in name:
        assert [each for each in word.findall(english) if each != "word"] == word.findall(japanese)


def test_every_drawing_is_shown():
    """One that no document shows is left over."""
    shown = {name for text in TEXTS.values() for name in PICTURE.findall(text) if name.endswith(".svg")}
    assert shown == {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.svg")}


def test_what_is_used_of_asv_is_listed_and_there():
    """The list of docs/architecture.md: whoever tries another asv sees here which name has left."""
    imported = set[tuple[str, str]]()
    for path in (path for folder in ("tensorcopy", "benchmarks", "docs/tools") for path in (ROOT / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if re.search("(from|import) asv", text) else ():
            if isinstance(node, ast.ImportFrom) and node.module and re.match(r"asv(_runner)?(\.|$)", node.module):
                imported |= {(node.module, alias.name) for alias in node.names}
            assert not isinstance(node, ast.Import) or not any(alias.name.startswith("asv") for alias in node.names), path
    block = text_of("docs/architecture.md").partition("## What is used of asv")[2].split("```")[1]
    listed = {(module, name) for module, *names in map(str.split, block.strip().splitlines()) for name in names}
    assert listed == imported
    for module, name in listed:
        assert hasattr(importlib.import_module(module), name), (module, name)


NUMBERS = {3: "three", 4: "four", 8: "eight", 10: "ten", 12: "twelve"}
OF_MEASUREMENT = [
    (f"at least a millisecond of this loop ({loop.DEVICE_SECONDS * 1000:g} ms on a device)", turns.TURN_SECONDS == 0.001),
    (f"{NUMBERS[turns.WINDOWS]} *windows* ({NUMBERS[loop.DEVICE_WINDOWS]} on a device)", True),
    (f"above {loop.MOVED * 4 >> 20} MiB it is reused", True),
    (f"take {NUMBERS[launch.TURNS]} turns of a case", True),
    (f"`measure` takes {NUMBERS[measure.LAUNCHES]} launches", True),
    (f"exact than {100 * run.WIDE:g} % (half of the interval; {100 * run.WIDE_LARGE:g} % beyond 2²⁰ elements)", True),
    (f"take {NUMBERS[run.FIRST]} launches, then twice as many", run.EXACT == 0.5),
    (f"torch {sides.REFERENCE}, is a side of every launch", True),
    (f"a ratio of {1 + paired.MARGIN:g} (+{100 * paired.MARGIN:g} %) or its inverse (−{100 - 100 / (1 + paired.MARGIN):.1f} %)", True),
    (f"so its margin is {100 * pull_request.OF_CODE:g} %", True),
    (f"false alarm among them is {100 * paired.ALPHA:g} %", True),
    (f"fewer than {NUMBERS[paired.FEWEST]} launches", True),
    (f"seen {10 * paired.SEEN:g} times in 10", True),
    (f"within {100 * verify.MEDIAN_TOLERANCE:g} % of 1 and every case within {100 * verify.CASE_TOLERANCE:g} %", True),
]
OF_READING = [
    (f"slower by at most {100 * case_history.MOST_BACK:g} % than with the release before", True),
    (f"the whole interval lies within {100 * methods.AS_FAST_WITHIN - 100:g} %", True),
    (f"significantly, by at least {100 * paired.MARGIN:g} %", True),
]


@pytest.mark.parametrize(("name", "said"), [("docs/measurement.md", OF_MEASUREMENT), ("docs/reading.md", OF_READING)])
def test_the_numbers_of_the_method_are_those_of_the_code(name, said):
    text = " ".join(text_of(name).split())
    assert [sentence for sentence, holds in said if sentence not in text or not holds] == []


def test_a_slowdown_is_accepted_as_the_document_shows(tmp_path):
    (block,) = re.findall(r"```toml\n(.*?)```", text_of("docs/own-operation.md"), re.DOTALL)
    (tmp_path / "tensorcopy.toml").write_text(block, encoding="utf-8")
    rules = campaign.read(tmp_path, shipped()).rules
    assert [bool(rules.why("norms.RmsNorm.time_rms_norm 16", release)) for release in ("2.14.1", "2.15.0")] == [True, True]
    assert not rules.why("norms.Other.time_other 16", "2.15.0")
