"""The command that shows the cause of a change: why."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Any

from tensorcopy.cli import output
from tensorcopy.cli.arguments import add_machine, campaign, results_folder
from tensorcopy.cli.compare import FORMATS
from tensorcopy.cli.output import print_errors, print_warnings
from tensorcopy.measure.settings import expression

if TYPE_CHECKING:
    from rich.console import Console


def add(commands: Any) -> None:
    """Add the command to the parser."""
    why = commands.add_parser("why", help="show which functions, or on a device which parts, make the difference of a case")
    case = "a method such as detach (its smallest tensor), a name as compare prints it, or a regular expression that matches one case"
    why.add_argument("case", type=expression, metavar="CASE", help=case)
    why.add_argument("before", metavar="A", help="a result as compare takes it, such as 2.14.1 or 1.13.1@3.9")
    why.add_argument("after", metavar="B", help="in the same form")
    add_machine(why)
    why.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    why.set_defaults(command=_why)


def _why(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.report import causes
    from tensorcopy.results import select

    own = campaign()
    sides, command = (options.before, options.after), shlex.join(["tensorcopy", "why", options.case, options.before, options.after])
    pair = select.pair(*sides, results_folder(), own.releases, options.machine, options.device, command=command)
    print_warnings(pair.warnings)
    report = causes.of_pair(pair, options.case, own.rules)
    print_errors(pair.problems)
    output.show(report, console, options.format)
    return 2 if pair.problems else 0
