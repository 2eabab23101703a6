"""Commands that look for the cause of a change: profile, why and repro."""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import expression, incomplete, machine_name, print_errors, print_wait, print_warnings, progress_bar

if TYPE_CHECKING:
    from rich.console import Console

    from tensorcopy.report.why.cause import Cause

CASE = "a method such as detach (its smallest tensor), a name as compare prints it, or a regular expression that matches one case"
RESULT = "a result as compare takes it, such as 2.14.1 or 1.13.1@3.9"
MACHINE = "a machine's name in results; default: the machine that measured last"


def add(commands: Any) -> None:
    """Add these commands to the parser."""
    why = commands.add_parser("why", help="show which functions make the difference of a case between two releases")
    why.add_argument("case", type=expression, metavar="CASE", help=CASE)
    why.add_argument("before", metavar="A", help=RESULT)
    why.add_argument("after", metavar="B", help="in the same form")
    why.add_argument("--machine", default="", metavar="NAME", help=MACHINE)
    why.add_argument("--format", choices=("text", "json"), default="text", help="text or json; default: text")
    why.set_defaults(command=_why)

    repro = commands.add_parser("repro", help="write a script of some thirty lines that shows a change, with only torch and numpy")
    repro.add_argument("case", type=expression, metavar="CASE", help=CASE)
    repro.add_argument("before", metavar="A", help=RESULT)
    repro.add_argument("after", metavar="B", help="in the same form")
    repro.add_argument("--machine", default="", metavar="NAME", help=MACHINE)
    repro.add_argument("--output", type=Path, metavar="FILE", help="default: print the script")
    repro.set_defaults(command=_repro)
    _add_profile(commands)


def _add_profile(commands: Any) -> None:
    profile = commands.add_parser(
        "profile", help="count the instructions of each function under valgrind, beside results that exist; for why"
    )
    profile.add_argument(
        "releases",
        nargs="*",
        metavar="RANGE",
        help="2.15.0, 2.10.., ..2.0.1@3.9 (on that Python); default: all that this machine has measured",
    )
    profile.add_argument(
        "--machine",
        type=machine_name,
        default=platform.node(),
        metavar="NAME",
        help="this machine's name in results; default: its host name",
    )
    profile.add_argument("--again", action="store_true", help="also profile releases that have a profile, and replace it")
    profile.set_defaults(command=_profile)


def _why(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.report.why import cause_text

    cause, code = _cause(options)
    if options.format == "json":
        sys.stdout.write(cause_text.as_json(cause))
    else:
        console.print(cause_text.text(cause), soft_wrap=True, end="", markup=False)
    return code


def _repro(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.report.why import reproduction

    cause, code = _cause(options)
    script = reproduction.script(cause)
    if options.output is None:
        sys.stdout.write(script)
    else:
        options.output.write_text(script, encoding="utf-8")
        console.print(f"Written to {options.output}; its first lines have the two commands that run it", soft_wrap=True)
    return code


def _cause(options: argparse.Namespace) -> tuple[Cause, int]:
    """Return the cause that the arguments ask for, and the exit code. Raises TensorcopyError.

    Prints a warning for each result that could have taken part and cannot be read.
    """
    from tensorcopy.cli.arguments import RESULTS
    from tensorcopy.report.why import cause
    from tensorcopy.results import select

    pair = select.pair(options.before, options.after, RESULTS, options.machine)
    print_warnings(pair.warnings)
    return cause.of_pair(pair, options.case), 2 if incomplete(pair.problems, strict=False) else 0


def _profile(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.asv_plugin import configuration
    from tensorcopy.measure import plan
    from tensorcopy.measure.profiles import take
    from tensorcopy.worker.probes.functions import valgrind

    valgrind.require()
    paths = configuration.paths()
    measurements, left_out = plan.select(options.releases, paths.pythons) if options.releases else take.measured(paths, options.machine)
    for line in left_out:
        console.print(line)
    with progress_bar(console) as report_progress:
        job = take.Job(paths, options.machine, print_wait)
        written, problems = take.take_all(measurements, job, again=options.again, report_progress=report_progress)
    print_errors(problems)
    releases = "release" if len(written) == 1 else "releases"
    console.print(f"{len(written)} {releases} profiled, in results/{options.machine}")
    return 2 if problems else 0
