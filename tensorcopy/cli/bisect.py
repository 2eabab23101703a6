"""The command that finds the build with which a call changed: bisect."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import RESULTS, expression
from tensorcopy.errors import TensorcopyError

if TYPE_CHECKING:
    from rich.console import Console


def add(commands: Any) -> None:
    """Add this command to the parser."""
    bisect = commands.add_parser("bisect", help="find the build between two releases with which a call changed; resumes where it stopped")
    bisect.add_argument("case", type=expression, metavar="CASE", help="a method such as detach, or a name as compare prints it")
    bisect.add_argument("before", metavar="A", help="a release such as 2.8.0")
    bisect.add_argument("after", metavar="B", help="a later one")
    bisect.add_argument("--time", action="store_true", help="search by time; default: by instructions, and by time where they are equal")
    bisect.set_defaults(command=_bisect)


def _bisect(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.analysis import comparisons, functions
    from tensorcopy.asv_plugin import configuration
    from tensorcopy.measure import bisection
    from tensorcopy.releases import release_table, uv, wheel_index
    from tensorcopy.report import numbers, why
    from tensorcopy.results import reader
    from tensorcopy.worker import hardware, instruction_count

    releases, paths = release_table.select(f"{options.before}..{options.after}"), configuration.paths()
    first, last = releases[0], releases[-1]
    python = next((each for each in paths.pythons if first.runs_on(each) and last.runs_on(each) and uv.find_python(each)), "")
    if not python:
        raise TensorcopyError(
            "no Python here runs both releases",
            got=f"{first.version} and {last.version}",
            allowed=f"wheels for {' or '.join(paths.pythons)}",
            next="search between releases that share a Python; tensorcopy list releases lists them",
        )
    name = why.selected_name(reader.load_results(RESULTS).results, options.case)
    builds = wheel_index.between(first.version, last.version, python)
    console.print(f"{name}: {len(builds)} builds from torch {builds[0]} to {builds[-1]} on Python {python}")
    file = paths.environments.parent / "bisect" / f"{name.replace(' ', '-')}-py{python}-{hardware.identity()}.json"
    with ExitStack() as added:
        call = bisection.Call(name, python, paths, file, console.print, added)
        by_time = options.time or instruction_count.missing_valgrind()
        counted = None if by_time else bisection.search(builds, call.count, comparisons.distance)
        found = counted or bisection.search(builds, call.time, comparisons.distance)
    if found is None:
        raise TensorcopyError(
            "nothing to search",
            got=f"no significant difference of {name} between torch {builds[0]} and {builds[-1]}",
            allowed="two releases between which the instructions or the time of the call differ",
            next=f"tensorcopy history {name.split()[0]} shows where it changed; on a busy machine, repeat when it is quiet",
        )
    (before, *between, after), values = found
    for build, value in values.items():
        console.print(f"{build:<28}{f'{numbers.number(value)} instructions' if counted else numbers.duration(value):>24}")
    change, whole = (numbers.signed_percent(values[new] / values[old]) for old, new in ((before, after), (builds[0], builds[-1])))
    untold = f" {', '.join(between)} in between cannot be assigned to either side." if between else ""
    console.print(f"Changed between torch {before} and {after}: {change}, of {whole} in all.{untold}", soft_wrap=True)
    if counted:
        difference = functions.of_profiles(int(name.split()[1]), call.functions(before), call.functions(after))
        console.print(f"{why.sentence(difference)}\n{why.named_text(difference)}", soft_wrap=True, markup=False)
    return 0
