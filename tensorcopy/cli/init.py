"""The command that begins a campaign of one's own: init."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.output import print_warnings
from tensorcopy.errors import TensorcopyError

if TYPE_CHECKING:
    from rich.console import Console


def add(commands: Any) -> None:
    """Add this command to the parser."""
    init = commands.add_parser("init", help="begin a dashboard of an asv suite in this folder: of one that is there, or of an example")
    init.add_argument("--name", default="", help="the project's name; default: the folder's")
    init.add_argument("--title", default="", help='the heading of its landing page; default: "NAME over torch releases"')
    init.add_argument("--suites", default="", metavar="FOLDER", help="an asv suite to time over torch releases, unchanged")
    init.add_argument("--github", action="store_true", help="also write workflows for GPU runners and new releases; adds to a project, too")
    init.set_defaults(command=_init)


def _init(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.projects import installation
    from tensorcopy.projects.new_project import new_project

    origin = None
    try:
        origin = installation.find()
    except TensorcopyError as error:
        if options.github:
            raise
        print_warnings([error])
    made = new_project(Path.cwd(), options.name, options.title, options.suites, origin, github=options.github)
    console.print(f"{made.campaign.title}: wrote {', '.join(made.written) or 'nothing, all files are there'}", soft_wrap=True)
    if made.kept:
        console.print(f"Kept, and not what tensorcopy would write: {', '.join(made.kept)}", soft_wrap=True)
    print_warnings(made.warnings)
    if made.of_asv:
        console.print(f"From {made.of_asv.path}: requires = {json.dumps(made.campaign.requires)}", soft_wrap=True)
        if made.of_asv.ignored:
            console.print(f"Not used of it: {'; '.join(made.of_asv.ignored)}", soft_wrap=True)
    console.print("Next: tensorcopy measure 2.8.0 2.15.0 --launches 4, then tensorcopy compare 2.8.0 2.15.0 and asv publish")
    return 0
