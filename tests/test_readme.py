"""The README is up to date and short, and its commands exist."""

from __future__ import annotations

import argparse
import re
import shlex

from tensorcopy import cli
from tensorcopy.site import web_addresses
from tensorcopy.site.docgen import build, readme
from tensorcopy.site.web_addresses import UNKNOWN_SOURCE
from tests.conftest import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


def test_what_docs_show_is_not_stale(monkeypatch, shipped_results):
    """`tensorcopy readme` would change nothing."""
    monkeypatch.chdir(ROOT)
    documents = build.documents(shipped_results.results, cli.parser())
    assert {path: path.read_text(encoding="utf-8") for path in documents} == documents


def test_data_cannot_end_a_generated_part():
    """A marker in the code of an operation would leave the rest of the part in the page for ever."""
    page = "before\n" + readme.BEGIN.format("a") + "\nold\n<!-- end -->\nafter\n"
    first = readme.replace_parts(page, {"a": "`x <!-- end --> y`"})
    assert first.count("<!--") == 2
    assert readme.replace_parts(first, {"a": "old"}) == page


def test_the_readme_leads_to_what_the_configuration_names(shipped_results):
    """To the tests of the repository and to the published site, where asv.conf.json has their addresses."""
    machine = readme.shown_machine(shipped_results.results)

    def links(source, site):
        text = readme.readme_parts(machine, web_addresses.of_configuration(source, site))["badges"]
        return re.findall(r"[(<]([^()<>\s]+)[)>]", text.replace("()", ""))

    ci = "https://github.com/a/b/actions/workflows/ci.yml"
    assert links("", "") == ["docs/badge.svg", "docs/guide.md"]
    assert links("https://github.com/a/b", "") == ["docs/badge.svg", "docs/guide.md", f"{ci}/badge.svg", ci]
    assert links("", "https://a.example/b") == ["https://a.example/b/badge.svg", *["https://a.example/b/"] * 2]
    assert (ROOT / ".github" / "workflows" / ci.rpartition("/")[2]).exists()


def test_the_readme_is_short_before_its_details():
    """Question, command, picture, answer and table come first."""
    assert len(TEXT.split("## Details")[0].splitlines()) <= 70


def commands_of(parser, name):
    """Yield the name of every command of a parser with its own parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, command in action.choices.items():
                yield f"{name} {word}".strip(), command
                yield from commands_of(command, f"{name} {word}".strip())


def options_of(command):
    """Return the options of a command, without those for help."""
    return [option for action in command._actions for option in action.option_strings if option not in ("-h", "--help")]


def section_of(name):
    """Return the section of docs/commands.md on a command."""
    return re.split(r"^## ", COMMANDS.split(f"\n## tensorcopy {name}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def test_docs_describe_every_command_and_option():
    """docs/commands.md has a section for every command that can be typed."""
    for name, command in commands_of(cli.parser(), ""):
        if any(isinstance(action, argparse._SubParsersAction) and action.required for action in command._actions):
            continue  # only its subcommands can be typed
        section = section_of(name)
        for option in options_of(command):
            assert f"`{option}" in section, f"{name} {option}"


def test_the_readme_names_the_commands_a_newcomer_needs():
    """Its examples parse, and each row begins with a command that exists."""
    rows = re.findall(r"^\| `tensorcopy (\w+)` \| .*?`(.*?)` \|$", TEXT, re.MULTILINE)
    assert [name for name, _ in rows] == ["advise", "plot", "compare", "why", "dashboard"]
    for name, example in rows:
        assert example.startswith(f"{name} ")
        assert cli.parser().parse_args(shlex.split(example)).command


def test_the_readme_shows_both_first_commands():
    """A newcomer can copy the command that measures, with the clone that it needs, and the one that tests."""
    assert f"git clone {UNKNOWN_SOURCE} && cd tensorcopy\npip install uv && uv run tensorcopy dashboard\n" in TEXT
    assert "pip install uv && uv run pytest" in TEXT


def test_links_lead_somewhere():
    """Links to files of the repository lead to files that exist."""
    for target in re.findall(r"\[[^\]\"]+\]\((?!http)([^)#]+)", TEXT):
        assert (ROOT / target).exists(), target
