"""The command that shows the cause of a change: why."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import add_history, campaign, results_folder
from tensorcopy.cli.output import print_errors, print_line
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
    instead = why.add_mutually_exclusive_group()
    instead.add_argument("--format", choices=("text", "json"), default="text", help="text or json; default: text")
    instead.add_argument("--script", action="store_true", help="print a script that shows the change with only torch and numpy")
    instead.add_argument("--issue", action="store_true", help="print an issue for PyTorch's tracker, of a case that runs more instructions")
    why.set_defaults(command=_why)


def _why(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.report import explanation, terminal
    from tensorcopy.results import reader, select

    own = campaign()
    sides, command = (options.before, options.after), shlex.join(["tensorcopy", "why", options.case, options.before, options.after])
    loaded = reader.load_results(results_folder(), own.releases)
    pair = select.pair(*sides, loaded, own.releases, options.history, options.device, command=command)
    cause = explanation.of_pair(pair, options.case, own.rules)
    print_errors(pair.problems)
    if options.script:
        sys.stdout.write(explanation.script(cause))
    elif options.issue:
        text = explanation.issue(cause, "")
        print_line(f"search PyTorch's issues for the same slowdown first, then open one: {explanation.NEW_ISSUE}")
        sys.stdout.write(text)
    elif options.format == "json":
        sys.stdout.write(explanation.as_json(cause))
    else:
        console.print(terminal.Prose(explanation.text(cause, console.width).rstrip()))
    return 2 if pair.problems else 0
