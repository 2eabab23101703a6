"""What the README shows is produced, and its commands exist."""

from __future__ import annotations

import re

import pytest

from tensorcopy import cli, readme, results
from tensorcopy.cli import listing
from tests.conftest import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def machine():
    return readme.best_known(results.load(ROOT / "results").found)


def test_what_docs_show_is_not_stale(machine, monkeypatch):
    """`tensorcopy readme` would change nothing."""
    assert readme.written(TEXT, readme.parts(machine)) == TEXT
    page = (ROOT / "docs/methodology.md").read_text(encoding="utf-8")
    monkeypatch.chdir(ROOT)
    assert readme.written(page, listing._methodology(machine.results), "docs/methodology.md") == page
    assert readme.picture(machine) == (ROOT / "docs/history.svg").read_text(encoding="utf-8")


def test_the_readme_is_short_before_its_details():
    """Question, command, picture, answer, table."""
    assert len(TEXT.split("## Details")[0].splitlines()) <= 70


def test_every_command_and_option_is_documented():
    """As `tensorcopy --help` has them."""
    parser = cli._parser()
    (commands,) = [action.choices for action in parser._actions if action.choices]
    for name, command in commands.items():
        assert f"`tensorcopy {name}`" in TEXT
        for action in command._actions:
            for option in action.option_strings:
                if option not in ("-h", "--help"):
                    assert option in TEXT, f"{name} {option}"


def test_links_lead_somewhere():
    """Within the repository."""
    for target in re.findall(r"\[[^\]\"]+\]\((?!http)([^)#]+)", TEXT):
        assert (ROOT / target).exists(), target
