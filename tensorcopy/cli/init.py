"""The command that begins a project: init."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def add(commands: Any) -> None:
    """Add the command to the parser."""
    init = commands.add_parser("init", help="begin a dashboard of your own operations or asv suites in this folder")
    init.add_argument("--name", default="", help="the project's name; default: the folder's")
    init.add_argument("--title", default="", help='the heading of its landing page; default: "NAME over torch releases"')
    init.add_argument("--suites", default="", metavar="FOLDER", help="an asv suite to time over torch releases, unchanged")
    init.set_defaults(command=_init)


def _init(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.measure import new_project

    project, written = new_project.new_project(Path.cwd(), options.name, options.title, options.suites)
    console.print(f"{project.title}: wrote {', '.join(written)}", soft_wrap=True, markup=False, highlight=False)
    if new_project.is_below_repository(Path.cwd()):
        console.print(
            "GitHub reads workflows at the top of a repository only: docs/own-operation.md says how to move them there", soft_wrap=True
        )
    console.print("Next: tensorcopy measure 2.5.1 2.15.0 --passes 3, then asv publish")
    return 0
