"""The command that merges folders of results: merge."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import RESULTS, print_wait, print_warnings

if TYPE_CHECKING:
    from rich.console import Console


def add(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "merge", help="merge folders of results in any order; each pass is kept once, each machine gets its folder"
    )
    folders = "a folder written by measure, with benchmarks.json in it, or a folder of such folders"
    command.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help=folders)
    command.add_argument("--into", type=Path, default=RESULTS, metavar="FOLDER", help=f"default: {RESULTS}/")
    command.add_argument("--also", default="", metavar="BRANCH", help="also merge FOLDER from this branch of origin, if the branch exists")
    command.set_defaults(command=_merge)


def _merge(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.asv_plugin import stamp
    from tensorcopy.ci import git
    from tensorcopy.results import merge

    with tempfile.TemporaryDirectory() as temporary:
        folders = list(options.folders)
        sha = git.fetch_branch(options.also) if options.also else ""
        if sha:
            branch = Path(temporary) / "branch"
            git.export(sha, branch, only=options.into.as_posix())
            folders.append(branch / options.into)
        merged = merge.merge(folders, options.into, stamp.summary, print_wait)
    print_warnings(merged.warnings)
    console.print(f"{options.into}: {merged.new} results added, {merged.grown} extended, {merged.unchanged} unchanged", soft_wrap=True)
    return 0
