"""The command that prints the script with which a shell completes commands and options: completion."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensorcopy.errors import TensorcopyError

if TYPE_CHECKING:
    from rich.console import Console

SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")
# what the help calls the arguments that are files, folders and releases
FILES, FOLDERS, RELEASES = ("FILE", "PATH", "PYTHON"), ("FOLDER",), ("A", "B", "RANGE", "RELEASE")
HOW = """where each shell reads it:
  bash        tensorcopy completion bash > ~/.local/share/bash-completion/completions/tensorcopy
              (needs the package bash-completion; without it, add this line to ~/.bashrc: eval "$(tensorcopy completion bash)")
  zsh         tensorcopy completion zsh > ~/.zfunc/_tensorcopy
              (~/.zshrc has, in this order: fpath+=~/.zfunc; autoload -U compinit; compinit)
  fish        tensorcopy completion fish > ~/.config/fish/completions/tensorcopy.fish
  tcsh        tensorcopy completion tcsh > ~/.tensorcopy.tcsh     (~/.tcshrc has: source ~/.tensorcopy.tcsh)
  powershell  tensorcopy completion powershell >> $PROFILE

Make the folder first where it is missing, and start a new shell."""


def add(commands: Any) -> None:
    """Add this command to the parser."""
    completion = commands.add_parser(
        "completion",
        help="print the script with which a shell completes commands and options",
        epilog=HOW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    completion.set_defaults(command=_completion)


def _completion(options: argparse.Namespace, console: Console) -> int:
    sys.stdout.write(script(options.shell, options.program))
    return 0


def script(shell: str, parser: argparse.ArgumentParser) -> str:
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
