"""Arguments that several commands share, and the script with which a shell completes them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tensorcopy.errors import TensorcopyError

if TYPE_CHECKING:
    from tensorcopy.campaign import Campaign

RESULTS = Path("results")
MACHINE = "a machine in results; default: the last that measured what the command needs"

SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")
# what the help calls the arguments that are files, folders and releases
FILES, FOLDERS, RELEASES = ("FILE", "PATH", "PYTHON"), ("FOLDER",), ("A", "B", "RANGE", "RELEASE")


def campaign() -> Campaign:
    """Return the campaign of the current folder. Raises TensorcopyError for an invalid tensorcopy.toml."""
    from tensorcopy.copying.campaign import of_folder

    return of_folder(Path.cwd())


def completion(shell: str, parser: argparse.ArgumentParser) -> str:
    """Return the script that completes a command line, and change its parser for it.

    Raises TensorcopyError for a shell that the installed shtab lacks.
    """
    import shtab

    from tensorcopy.releases import release_table

    if shell not in shtab.SUPPORTED_SHELLS:
        raise TensorcopyError(
            f"this shtab writes no script for {shell}",
            got=f"shtab {shtab.__version__}",
            allowed=", ".join(shtab.SUPPORTED_SHELLS),
            next="pip install --upgrade shtab",
        )
    versions = [release.version for release in release_table.load()]
    for action in _actions(parser):
        if action.metavar in (*FILES, *FOLDERS):
            action.complete = shtab.FILE if action.metavar in FILES else shtab.DIRECTORY  # type: ignore[attr-defined]
        elif action.metavar in RELEASES:
            action.choices = versions
    return f"{shtab.complete(parser, shell=shell)}\n"


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield every argument of a parser and its subcommands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                yield from _actions(subparser)
