"""The command that shows the cause of a change: why."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import add_machine, campaign, results_folder
from tensorcopy.cli.output import print_errors, print_line, print_warnings
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
    instead = why.add_mutually_exclusive_group()
    instead.add_argument("--format", choices=("text", "json"), default="text", help="text or json; default: text")
    instead.add_argument("--script", action="store_true", help="print a script that shows the change with only torch and numpy")
    instead.add_argument("--issue", action="store_true", help="print an issue for PyTorch's tracker, of a case that runs more instructions")
    why.set_defaults(command=_why)


def _why(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.report import explanation, terminal
    from tensorcopy.results import select

    own = campaign()
    sides, command = (options.before, options.after), shlex.join(["tensorcopy", "why", options.case, options.before, options.after])
    pair = select.pair(*sides, results_folder(), own.releases, options.machine, options.device, command=command)
    print_warnings(pair.warnings)
    has_parts = pair.device not in ("", "cpu") and not (options.script or options.issue)
    cause = (explanation.parts_of_pair if has_parts else explanation.of_pair)(pair, options.case, own.rules)
    print_errors(pair.problems)
    if isinstance(cause, explanation.PartsChange):
        if options.format == "json":
            sys.stdout.write(explanation.parts_as_json(cause))
        else:
            console.print(terminal.Prose(explanation.parts_text(cause).rstrip()))
    elif options.script:
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
