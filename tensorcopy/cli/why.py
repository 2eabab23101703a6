"""The command that shows the cause of a change: why."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Any

from tensorcopy.cli import output
from tensorcopy.cli.arguments import add_history, campaign, results_folder
from tensorcopy.cli.compare import FORMATS
from tensorcopy.cli.output import print_errors
from tensorcopy.measure.settings import expression

if TYPE_CHECKING:
    from rich.console import Console


def add(commands: Any) -> None:
    """Add the command to the parser."""
    why = commands.add_parser("why", help="show which functions make the difference of a case")
    case = "a method such as detach (its smallest tensor), a name as compare prints it, or a regular expression that matches one case"
    why.add_argument("case", type=expression, metavar="CASE", help=case)
    why.add_argument("before", metavar="A", help="a release such as 2.14.1")
    why.add_argument("after", metavar="B", help="another one")
    add_history(why)
    why.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    why.set_defaults(command=_why)


def _why(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.report import causes
    from tensorcopy.results import reader, select

    own = campaign()
    sides, command = (options.before, options.after), shlex.join(["tensorcopy", "why", options.case, options.before, options.after])
    loaded = reader.load_results(results_folder(), own)
    pair = select.pair(*sides, loaded, own.releases, options.history, options.device, command=command)
    report = causes.of_pair(pair, options.case, own.rules)
    print_errors(pair.problems)
    output.show(report, console, options.format)
    return 2 if pair.problems else 0
