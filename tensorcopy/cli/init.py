"""The command that begins a campaign of one's own: init."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tensorcopy.cli.arguments import add_command, line
from tensorcopy.errors import TensorcopyError


def add(commands: Any) -> None:
    """Add this command to the parser."""
    text = "begin a dashboard of an asv suite in this folder: of one that is there, or of an example"
    init = add_command(commands, "init", text, _init)
    init.add_argument("--name", type=line, default="", help="the project's name; default: the folder's")
    init.add_argument("--title", type=line, default="", help='the heading of its landing page; default: "NAME over torch releases"')
    init.add_argument("--suites", type=line, default="", metavar="FOLDER", help="an asv suite to time over torch releases, unchanged")
    init.add_argument("--github", action="store_true", help="write workflows, too, also into a project that is there")


def _init(options: argparse.Namespace) -> int:
    from tensorcopy.projects import installation, new_project
    from tensorcopy.releases.interpreters import FILE

    folder, made, origin = Path.cwd(), [], installation.Origin()
    try:
        origin = installation.find()
    except TensorcopyError:
        if options.github:  # only workflows have to install it
            raise
    if not (options.github and (folder / FILE).exists()):
        named = {"name": options.name, "title": options.title, "suites": options.suites}
        made.append(new_project.new_project(folder, **named, version=origin.version))
    if options.github:
        made.append(new_project.add_workflows(folder, origin))
    written, kept, notes = ([text for each in made for text in getattr(each, kind)] for kind in ("written", "kept", "notes"))
    print(f"{made[0].campaign.title}: wrote {', '.join(written) or 'nothing, all files are there'}")
    if kept:
        print(f"Kept, and not what tensorcopy would write: {', '.join(kept)}")
    print(*notes, "Next: tensorcopy measure 2.8.0 2.15.0 --launches 4, then tensorcopy compare 2.8.0 2.15.0 and asv publish", sep="\n")
    return 0
