"""The command that looks for the cause of a change: why, as text, as a script that shows the change, or as an issue for PyTorch."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import RESULTS, expression, incomplete, print_warnings
from tensorcopy.errors import TensorcopyError

if TYPE_CHECKING:
    from rich.console import Console

    from tensorcopy.report.why.cause import Cause
    from tensorcopy.report.why.upstream import Slowdown

CASE = "a method such as detach (its smallest tensor), a name as compare prints it, or a regular expression that matches one case"
RESULT = "a result as compare takes it, such as 2.14.1 or 1.13.1@3.9"
MACHINE = "a machine's name in results; default: the machine that measured last"


def add(commands: Any) -> None:
    """Add this command to the parser."""
    why = commands.add_parser("why", help="show which functions make the difference of a case between two releases")
    why.add_argument("case", type=expression, metavar="CASE", help=CASE)
    why.add_argument("before", nargs="?", default="", metavar="A", help=f"{RESULT}; default: before the newest slowdown of the case")
    why.add_argument("after", nargs="?", default="", metavar="B", help="in the same form")
    why.add_argument("--machine", default="", metavar="NAME", help=MACHINE)
    forms = why.add_mutually_exclusive_group()
    forms.add_argument("--format", choices=("text", "json"), default="text", help="text or json; default: text")
    script = "write a script of some thirty lines instead that shows the change, with only torch and numpy"
    forms.add_argument("--script", action="store_true", help=script)
    issue = "write an issue for PyTorch's tracker instead; only of a slowdown that is counted or confirmed"
    forms.add_argument("--issue", action="store_true", help=issue)
    why.add_argument("--output", type=Path, metavar="FILE", help="write it into this file; default: print it")
    why.set_defaults(command=_why)


def _why(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.report.why import cause_text, reproduction, upstream

    if bool(options.before) != bool(options.after):
        raise TensorcopyError(
            "one release is missing", got=options.before, allowed="CASE alone, or CASE A B", next="name the release after too"
        )
    if not options.before:
        options.before, options.after = _newest_slowdown(options)
    cause, code = _cause(options)
    next_step = ""
    if options.script:
        text = reproduction.script(cause, str(options.output or reproduction.FILE))
        next_step = "; its first lines have the two commands that run it"
    elif options.issue:
        text = upstream.issue(_slowdown(cause))
        next_step = f"; search PyTorch's issues for the same slowdown first, then: {upstream.NEW_ISSUE}"
    else:
        text = cause_text.as_json(cause) if options.format == "json" else cause_text.text(cause)
    if options.output is None:
        sys.stdout.write(text)
    else:
        options.output.write_text(text, encoding="utf-8")
        console.print(f"Written to {options.output}{next_step}", soft_wrap=True)
    return code


def _slowdown(cause: Cause) -> Slowdown:
    """Return what an issue reports of a cause. Raises TensorcopyError for what is no slowdown."""
    from tensorcopy.asv_plugin import configuration
    from tensorcopy.report.why import upstream
    from tensorcopy.results import confirmations, reader
    from tensorcopy.site import addresses

    web = addresses.WebAddresses.of_checkout(*configuration.web_addresses(), os.environ)
    history = web.absolute(addresses.of_case(cause.after.machine, cause.case)) if cause.case else ""
    by_key = confirmations.latest(confirmations.load(RESULTS).confirmations)
    return upstream.slowdown(cause, reader.load_results(RESULTS).results, by_key, history)


def _newest_slowdown(options: argparse.Namespace) -> tuple[str, str]:
    """Return both sides of the case's newest slowdown, as `select.pair` takes them. Raises TensorcopyError."""
    from tensorcopy.analysis import series
    from tensorcopy.analysis.comparisons import version
    from tensorcopy.report.why import cause, upstream
    from tensorcopy.results import reader

    by_case = series.series_by_case(reader.load_results(RESULTS).results, options.machine)
    results = next(iter(by_case.values())).results
    sides = upstream.newest(by_case, cause.selected(results, options.case))
    if sides is None:
        raise TensorcopyError(
            "nothing to report",
            got=f"no slowdown in the history of {options.case} that lasts to its newest release",
            allowed="a case that became slower at some release",
            next="tensorcopy history lists the changes",
        )
    before, after = (f"{version(side)}@{side.python}@{side.machine}" for side in sides)
    return before, after


def _cause(options: argparse.Namespace) -> tuple[Cause, int]:
    """Return the cause that the arguments ask for, and the exit code. Raises TensorcopyError.

    Prints warnings, and an error for each result that could have taken part and cannot be read.
    """
    from tensorcopy.report.why import cause
    from tensorcopy.results import select

    pair = select.pair(options.before, options.after, RESULTS, options.machine)
    print_warnings(pair.warnings)
    return cause.of_pair(pair, options.case), 2 if incomplete(pair.problems, strict=False) else 0
