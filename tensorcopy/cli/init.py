"""The command that begins a campaign of one's own: init."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tensorcopy.cli.arguments import add_command, line


def add(commands: Any) -> None:
    """Add this command to the parser."""
    text = "begin a dashboard of an asv suite in this folder: of one that is there, or of an example"
    init = add_command(commands, "init", text, _init)
    init.add_argument("--name", type=line, default="", help="the project's name; default: the folder's")
    init.add_argument("--title", type=line, default="", help='the heading of its landing page; default: "NAME over torch releases"')
    init.add_argument("--suites", type=line, default="", metavar="FOLDER", help="an asv suite to time over torch releases, unchanged")
    init.add_argument("--github", action="store_true", help="write workflows, too, also into a project that is there")


def _init(options: argparse.Namespace) -> int:
    from tensorcopy import campaign
    from tensorcopy.projects import new_project
    from tensorcopy.releases.interpreters import FILE

    project = new_project.NewProject(Path.cwd())
    if not (options.github and (project.folder / FILE).exists()):
        new_project.begin(project, name=options.name, title=options.title, suites=options.suites)
    title = campaign.read(project.folder).title
    if options.github:
        new_project.add_workflows(project)
    print(f"{title}: wrote {', '.join(project.written) or 'nothing, all files are there'}")
    if project.kept:
        print(f"Kept, and not what tensorcopy would write, until you remove it and repeat: {', '.join(project.kept)}")
    following = "tensorcopy measure 2.8.0 2.15.0 --launches 4, then tensorcopy compare 2.8.0 2.15.0 and asv publish"
    print(*project.notes, f"Next: {following}", sep="\n")
    return 0
