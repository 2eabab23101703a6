"""What the README shows is produced, and its commands exist."""

from __future__ import annotations

import argparse
import re

from tensorcopy import cli
from tensorcopy.results import load
from tensorcopy.site.docgen import build
from tests.conftest import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_what_docs_show_is_not_stale(monkeypatch):
    """`tensorcopy readme` would change nothing."""
    monkeypatch.chdir(ROOT)
    documents = build.documents(load.load_results(ROOT / "results").results, cli.parser())
    assert {path: path.read_text(encoding="utf-8") for path in documents} == documents


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
    for name, command in commands_of(cli.parser(), ""):
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
