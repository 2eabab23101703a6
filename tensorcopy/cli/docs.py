"""The command that writes the generated parts of README.md and docs/: readme."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import RESULTS, print_warnings

if TYPE_CHECKING:
    from rich.console import Console


def add(commands: Any) -> None:
    """Add this command to the parser."""
    readme = commands.add_parser("readme", help="write the generated parts of README.md and docs/ from results/")
    readme.set_defaults(command=_readme)


def _readme(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import cli
    from tensorcopy.results import reader, writing
    from tensorcopy.site.docgen import build

    results = reader.load_results(RESULTS)
    if results.problems:
        raise results.problems[0]  # a README from only some of the results would be wrong
    print_warnings(results.warnings)
    documents = build.documents(results.results, cli.parser())
    for path, text in documents.items():
        writing.replace(path, text)
    console.print(f"{len(documents)} files written from {len(results.results)} results")
    return 0
