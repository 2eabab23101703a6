"""What is produced in README.md and docs/: `tensorcopy readme`. Arguments, printing, exit codes."""

from __future__ import annotations

import argparse
from typing import Any

from rich.console import Console

from tensorcopy.cli.arguments import RESULTS


def add(commands: Any) -> None:
    """Add these commands to the others."""
    readme = commands.add_parser("readme", help="write the produced parts of README.md and docs/ anew from results/")
    readme.set_defaults(command=_readme)


def _readme(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import cli
    from tensorcopy.results import load
    from tensorcopy.site.docgen import build

    read = load.load_results(RESULTS)
    if read.problems:
        raise read.problems[0]  # a README from fewer results would be a wrong one
    documents = build.documents(read.results, cli.parser())
    for path, text in documents.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    console.print(f"{len(documents)} files written from {len(read.results)} results")
    return 0
