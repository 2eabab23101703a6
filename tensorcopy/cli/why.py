"""The commands that look for the cause of a change: why and bisect."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import MACHINE, RESULTS, campaign
from tensorcopy.cli.output import print_errors, print_line, print_warnings
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure.settings import expression

if TYPE_CHECKING:
    from rich.console import Console


def add(commands: Any) -> None:
    """Add these commands to the parser."""
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
    why.set_defaults(command=_why)
    bisect = commands.add_parser("bisect", help="find the build between two releases with which a call changed; resumes where it stopped")
    bisect.add_argument("case", type=expression, metavar="CASE", help="a method such as detach, or a name as compare prints it")
    bisect.add_argument("before", metavar="A", help="a release such as 2.8.0")
    bisect.add_argument("after", metavar="B", help="a later one")
    bisect.set_defaults(command=_bisect)


def _why(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.report import explanation, findings, terminal
    from tensorcopy.results import select

    own = campaign()
    pair = select.pair(options.before, options.after, RESULTS, own.releases, options.machine)
    print_warnings(pair.warnings)
    cause = explanation.of_pair(pair, options.case, own.verdicts)
    print_errors(pair.problems)
    if options.script:
        text = explanation.script(cause)
    elif options.issue:
        from tensorcopy import configuration
        from tensorcopy.site import addresses

        web = addresses.WebAddresses.of_checkout(*configuration.web_addresses(), os.environ)
        text = explanation.issue(cause, web.absolute(addresses.of_case(cause.after.machine, cause.case)) if cause.case else "")
        print_line(f"search PyTorch's issues for the same slowdown first, then open one: {explanation.NEW_ISSUE}")
    elif options.format == "json":
        text = explanation.as_json(cause)
    else:
        known = [each for path in Path("docs").glob("findings.md") for each in findings.read(path.read_text(encoding="utf-8"))]
        console.print(terminal.Prose(explanation.text(cause, console.width, known).rstrip()))
        text = ""
    sys.stdout.write(text)
    return 2 if pair.problems else 0


def _bisect(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import configuration, numbers
    from tensorcopy.analysis import comparisons
    from tensorcopy.measure import bisect, plan
    from tensorcopy.measure.taking import Job
    from tensorcopy.releases import uv, wheel_index
    from tensorcopy.report import explanation
    from tensorcopy.results import reader, select
    from tensorcopy.worker import hardware

    own, paths = campaign(), configuration.paths()
    releases = own.releases.select(f"{options.before}..{options.after}")
    first, last = releases[0], releases[-1]
    if first is last:
        got = f"{options.before} and {options.after}"
        raise TensorcopyError("nothing to search between", got=got, allowed="two releases", next="name a later B")
    python = next((each for each in paths.pythons if first.runs_on(each) and last.runs_on(each) and uv.find_python(each)), "")
    if not python:
        raise TensorcopyError(
            "no Python here runs both releases",
            got=f"{first.version} and {last.version}",
            allowed=f"wheels for {' or '.join(paths.pythons)}",
            next="search between releases that share a Python; tensorcopy list releases lists them",
        )
    results = reader.load_results(RESULTS, own.releases).results
    if not results:
        raise select.no_results()
    name = explanation.selected_name(results, options.case)
    case = next(case for result in reversed(results) for case in result.timings if explanation.name_of(case) == name)
    builds = wheel_index.between(first.version, last.version, python, own.releases)
    console.print(f"{name}: {len(builds)} builds from torch {builds[0]} to {builds[-1]} on Python {python}")
    folder = paths.environments.parent / bisect.FOLDER / f"{name.replace(' ', '-')}-py{python}-{hardware.identity()}"
    job = Job(own, paths, bisect.MACHINE, plan.expression_of([case]), folder=folder)
    with ExitStack() as added:
        found = bisect.search(builds, bisect.Search(python, job, console.print, added).time, comparisons.distance)
        if found is None:
            raise TensorcopyError(
                "nothing to search",
                got=f"no significant difference of {name} between torch {builds[0]} and {builds[-1]}",
                allowed="two releases between which the time of the call differs",
                next=f"tensorcopy history {name.split()[0]} shows where it changed",
            )
        (before, *between, after), values = found
        for build, value in values.items():
            console.print(f"{build:<28}{numbers.duration(value):>24}")
        change, whole = (numbers.signed_percent(values[new] / values[old]) for old, new in ((before, after), (builds[0], builds[-1])))
        untold = f" {', '.join(between)} in between cannot be assigned to either side." if between else ""
        console.print(f"Changed between torch {before} and {after}: {change}, of {whole} in all.{untold}", soft_wrap=True)
    return 0
