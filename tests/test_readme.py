"""What the README shows is produced, and its commands exist."""

from __future__ import annotations

import argparse
import re

import pytest

from tensorcopy import cli, readme
from tensorcopy.cli import listing
from tensorcopy.results import load
from tests.conftest import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def machine():
    return readme.best_known(load.load_results(ROOT / "results").found)


def test_what_docs_show_is_not_stale(machine, monkeypatch):
    """`tensorcopy readme` would change nothing."""
    assert readme.written(TEXT, readme.parts(machine)) == TEXT
    monkeypatch.chdir(ROOT)
    produced = listing._methodology(machine.results)
    for name, parts in (("docs/methodology.md", produced), ("docs/memory.md", {"memory": produced["memory"]})):
        page = (ROOT / name).read_text(encoding="utf-8")
        assert readme.written(page, parts, name) == page
    assert readme.picture(machine) == (ROOT / "docs/history.svg").read_text(encoding="utf-8")


def test_the_readme_is_short_before_its_details():
    """Question, command, picture, answer, table."""
    assert len(TEXT.split("## Details")[0].splitlines()) <= 70


def commands_of(parser, name):
    """Every command under a parser by what is typed, with its own parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, command in action.choices.items():
                yield f"{name} {word}".strip(), command
                yield from commands_of(command, f"{name} {word}".strip())


def test_every_command_and_option_is_documented():
    """As `tensorcopy --help` has them."""
    for name, command in commands_of(cli._parser(), ""):
        first, _, then = name.partition(" ")
        (row,) = [line for line in TEXT.splitlines() if line.startswith(f"| `tensorcopy {first}`")]
        assert f"`{name}" in row or f"`{then} " in row or f"`{then}`" in row or not then, name
        for action in command._actions:
            for option in action.option_strings:
                if option not in ("-h", "--help"):
                    assert option in row, f"{name} {option}"


def test_links_lead_somewhere():
    """Within the repository."""
    for target in re.findall(r"\[[^\]\"]+\]\((?!http)([^)#]+)", TEXT):
        assert (ROOT / target).exists(), target
