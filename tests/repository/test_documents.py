"""Every document of the repository as GitHub shows it, also those that are no page of the site."""

import ast
import importlib
import re
import shlex

import pytest
import yaml
from markdown_it import MarkdownIt

import tensorcopy
from docs.tools import verify
from tensorcopy import campaign
from tensorcopy.ci import pull_request
from tensorcopy.cli import main, measure
from tensorcopy.copying.inside import loop
from tensorcopy.copying.shipped import shipped
from tensorcopy.judge import meaning, methods, paired
from tensorcopy.measure import launch, run, sides
from tensorcopy.worker import turns
from tests import walk
from tests.conftest import ROOT

DOCUMENTS = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")))
PRODUCED = re.compile(r"^<!-- produced.*?<!-- end -->$", re.DOTALL | re.MULTILINE)
MAX_WIDTH = 120  # columns


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives the headings of a document."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def links(text: str) -> list[str]:
    """Return what the links and pictures of a document lead to."""
    inline = [child for token in MarkdownIt("js-default").enable("table").parse(text) for child in token.children or ()]
    return [str(child.attrs.get("href") or child.attrs.get("src")) for child in inline if child.type in ("link_open", "image")]


def dead_links(name: str, text: str) -> list[str]:
    """Return the links of a document that lead to no file of the repository, or to no heading of one."""
    dead = []
    for link in links(text):
        path, _, anchor = link.partition("#")
        target = (ROOT / name).parent / path if path else ROOT / name
        if not link.startswith(("https://", "http://127.0.0.1")):
            is_there = target.exists() and (not anchor or anchor in anchors(target.read_text(encoding="utf-8")))
            dead += [] if is_there else [link]
    return dead


def test_every_link_leads_to_a_file_or_a_heading():
    assert {name: dead for name in DOCUMENTS if (dead := dead_links(name, text_of(name)))} == {}


def test_a_dead_link_is_noticed():
    """To a file, to a heading of another document and to one of its own."""
    text = "# A\n\n[a](gone.md) [b](guide.md#gone) [c](#gone) ![d](gone.png) [e](#a) [f](../LICENSE) `[g](gone.md)`"
    assert dead_links("docs/a.md", text) == ["gone.md", "guide.md#gone", "#gone", "gone.png", "#a"]


def test_lines_fit_a_terminal():
    """But for tables, pictures, code and what is produced."""
    for name in (name for name in DOCUMENTS if ".ja." not in name):
        prose = re.sub(r"^```.*?^```$", "", PRODUCED.sub("", text_of(name)), flags=re.DOTALL | re.MULTILINE)
        assert [line for line in prose.splitlines() if len(line) > MAX_WIDTH and not line.startswith(("|", "!"))] == [], name


def test_every_command_that_a_document_names_exists():
    """In a sentence, with its options: `tensorcopy measure NEW`."""
    commands = {command.words: command for command in walk.commands()}
    named = [(name, code) for name in DOCUMENTS for code in re.findall(r"`(?:uv run )?tensorcopy ([a-z][^`\n]*)`", text_of(name))]
    assert len(named) > 15
    for name, code in named:
        words = shlex.split(code)
        command = commands.get(tuple(words[:2])) or commands.get(tuple(words[:1])) or pytest.fail(f"{name}: tensorcopy {code}")
        options = {option for action in command.actions for option in action.option_strings}
        assert {word for word in words if word.startswith("--")} <= options, f"{name}: tensorcopy {code}"


@pytest.mark.parametrize("name", ["README.md", "docs/own-operation.md"])
def test_who_has_a_package_reads_what_is_no_history_of_it(name):
    """Its own versions are no axis, and what compares two of its commits; in the document about it before the first command."""
    text = text_of(name) if name == "README.md" else text_of(name).partition("```")[0]
    said = " ".join(text.split())
    assert re.search(r"The axis (of every history )?is the torch release", said)
    assert re.search(
        r"own versions is not published\. Two commits of it are compared by `asv continuous A B`, and on \[pull requests", said
    )


def test_what_needs_the_wheel_alone_answers_without_results(tmp_path, monkeypatch, capsys):
    """In an empty folder: of the commands in the README's table, what its text says of them."""
    monkeypatch.chdir(tmp_path)
    table, _, said = text_of("README.md").partition("## Your questions")[2].partition("`advise` works without a clone and without torch")
    assert re.findall(r"^\| `tensorcopy (\w+)", table, re.MULTILINE) == ["advise", "plot", "compare", "history", "why"]
    assert "`compare`, `history` and `why` read `results/`" in " ".join(said.split())
    assert main(["advise", "--shipped"]) == 0
    assert "from the shipped results, not measured here" in capsys.readouterr().out
    for command in (["compare", "2.14.1", "2.15.0"], ["history", "--open"], ["why", "detach", "2.5.1", "2.15.0"]):
        assert main(command) == 2
        assert re.search(r"no results in results|there are no results yet", capsys.readouterr().err), command


def imports_of_asv(root=ROOT) -> set[tuple[str, str]]:
    """Return each name that this program imports from asv or asv_runner, with its module."""
    found = set()
    for path in (path for folder in ("tensorcopy", "benchmarks", "docs/tools") for path in (root / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and re.match(r"asv(_runner)?(\.|$)", node.module):
                found |= {(node.module, alias.name) for alias in node.names}
            assert not isinstance(node, ast.Import) or not any(alias.name.startswith("asv") for alias in node.names), path
    return found


def test_what_is_used_of_asv_is_listed_and_there():
    """The list of docs/architecture.md: whoever tries another asv sees here which name has left."""
    block = text_of("docs/architecture.md").partition("## What is used of asv")[2].split("```")[1]
    listed = {(module, name) for module, *names in map(str.split, block.strip().splitlines()) for name in names}
    assert listed == imports_of_asv()
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
    (f"take {NUMBERS[pull_request.FIRST_LOOK]}, then twice as many", run.EXACT == 0.5),
    (f"torch {sides.REFERENCE}, is a side of every launch", True),
    (f"a ratio of {1 + paired.MARGIN:g} (+{100 * paired.MARGIN:g} %) or its inverse (−{100 - 100 / (1 + paired.MARGIN):.1f} %)", True),
    (f"so its margin is {100 * pull_request.OF_CODE:g} %", True),
    (f"false alarm among them is {100 * paired.ALPHA:g} %", True),
    (f"fewer than {NUMBERS[paired.FEWEST]} launches", True),
    (f"seen {10 * paired.SEEN:g} times in 10", True),
    (f"within {100 * verify.MEDIAN_TOLERANCE:g} % of 1 and every case within {100 * verify.CASE_TOLERANCE:g} %", True),
]
OF_READING = [
    (f"slower by at most {100 * meaning.MOST_BACK:g} % than with the release before", True),
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


def test_the_citation_names_the_version_that_is_built():
    assert yaml.safe_load(text_of("CITATION.cff"))["version"] == tensorcopy.__version__


def test_no_table_is_cut():
    """An empty line between its rows ends it: the others would be shown as text."""
    for name in DOCUMENTS:
        tokens = MarkdownIt("js-default").enable("table").parse(text_of(name))
        assert [token.content for token in tokens if token.type == "inline" and re.match(r"\|.*\|$", token.content)] == [], name
