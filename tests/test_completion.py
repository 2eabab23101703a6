"""The scripts of `tensorcopy --completion`: bash's is run by bash itself, as Tab does it."""

import subprocess

import pytest

from tensorcopy import cli
from tensorcopy.cli import arguments
from tensorcopy.releases import release_table
from tests.conftest import NEWEST_SHIPPED, ROOT

TAB = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_tensorcopy; printf "%s\\n" "${COMPREPLY[@]}"'


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The script of bash; those of all shells can be made."""
    path = tmp_path_factory.mktemp("scripts") / "bash"
    texts = {shell: arguments.completion(shell, cli.parser()) for shell in arguments.SHELLS}
    path.write_text(texts["bash"], encoding="utf-8")
    yield path
    cli.parser.cache_clear()  # the scripts have changed it


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        (["adv"], ["advise"]),
        (["compare", "--fa"], ["--fail-on"]),
        (["advise", "--to", "n"], ["numpy"]),
        (["ci", "pu"], ["pull-request"]),
        (["compare", "2.14.1", NEWEST_SHIPPED.version[:-1]], [NEWEST_SHIPPED.version]),
        (["why", "detach", "1.13"], [row.version for row in release_table.load() if row.version.startswith("1.13")]),
        (["plot", "-o", f"{ROOT}/pyp"], [f"{ROOT}/pyproject.toml"]),
        (["merge", f"{ROOT}/RE"], [""]),
        (["--completion", "z"], ["zsh"]),
    ],
    ids=["command", "option", "choice", "second command", "release", "releases", "file", "no file among folders", "shell"],
)
def test_tab_completes(script, typed, completed):
    done = subprocess.run(
        ["bash", "--norc", "-c", TAB, "bash", str(script), "tensorcopy", *typed], capture_output=True, text=True, check=True
    )
    assert (done.stdout.split("\n")[:-1], done.stderr) == (completed, "")


def test_the_command_prints_the_script_and_nothing_else(script, capsys):
    assert cli.main(["--completion", "bash"]) == 0
    assert capsys.readouterr() == (script.read_text(encoding="utf-8"), "")
