"""The command that looks for the cause of a change: why."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import MACHINE, RESULTS, expression, incomplete, print_warnings

if TYPE_CHECKING:
    from rich.console import Console


def add(commands: Any) -> None:
    """Add this command to the parser."""
    why = commands.add_parser("why", help="show which functions make the difference of a case between two releases")
    case = "a method such as detach (its smallest tensor), a name as compare prints it, or a regular expression that matches one case"
    why.add_argument("case", type=expression, metavar="CASE", help=case)
    why.add_argument("before", metavar="A", help="a result as compare takes it, such as 2.14.1 or 1.13.1@3.9")
    why.add_argument("after", metavar="B", help="in the same form")
    why.add_argument("--machine", default="", metavar="NAME", help=MACHINE)
    instead = why.add_mutually_exclusive_group()
    instead.add_argument("--format", choices=("text", "json"), default="text", help="text or json; default: text")
    instead.add_argument("--script", action="store_true", help="print a script that shows the change with only torch and numpy")
    instead.add_argument("--issue", action="store_true", help="print an issue for PyTorch's tracker, of a case that runs more instructions")
    why.add_argument("--output", type=Path, metavar="FILE", help="write the output there; default: print it")
    why.set_defaults(command=_why)


def _why(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.report import reproduction, why
    from tensorcopy.results import select

    pair = select.pair(options.before, options.after, RESULTS, options.machine)
    print_warnings(pair.warnings)
    cause = why.of_pair(pair, options.case)
    code = 2 if incomplete(pair.problems, strict=False) else 0
    next_step = ""
    if options.script:
        text = reproduction.script(cause, str(options.output or reproduction.FILE))
        next_step = "; its first lines have the two commands that run it"
    elif options.issue:
        text = reproduction.issue(cause, _history(cause))
        next_step = f"; search PyTorch's issues for the same slowdown first, then: {reproduction.NEW_ISSUE}"
    else:
        text = why.as_json(cause) if options.format == "json" else why.text(cause)
    is_text = options.format == "text" and not (options.script or options.issue)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
        console.print(f"Written to {options.output}{next_step}", soft_wrap=True)
    elif is_text:
        console.print(text, soft_wrap=True, end="", markup=False)
    else:
        sys.stdout.write(text)
    return code


def _history(cause: Any) -> str:
    """Return the address of the page with the history of a cause's case; "" for none."""
    from tensorcopy.asv_plugin import configuration
    from tensorcopy.site import addresses

    web = addresses.WebAddresses.of_checkout(*configuration.web_addresses(), os.environ)
    return web.absolute(addresses.of_case(cause.after.machine, cause.case)) if cause.case else ""
