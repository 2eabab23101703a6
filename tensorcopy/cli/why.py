"""Commands that look for the cause of a change: profile, why, repro and upstream."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import expression, incomplete, machine_name, print_errors, print_wait, print_warnings, progress_bar
from tensorcopy.errors import TensorcopyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from tensorcopy.asv_plugin.configuration import Paths
    from tensorcopy.measure.plan import Measurement
    from tensorcopy.report.why.cause import Cause
    from tensorcopy.report.why.upstream import Slowdown

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
    _add_upstream(commands)
    _add_profile(commands)


def _add_upstream(commands: Any) -> None:
    upstream = commands.add_parser(
        "upstream", help="write a slowdown as an issue for PyTorch's tracker; only one that is counted or confirmed"
    )
    upstream.add_argument("case", type=expression, metavar="CASE", help=CASE)
    upstream.add_argument("before", nargs="?", default="", metavar="A", help=f"{RESULT}; default: before the newest slowdown of the case")
    upstream.add_argument("after", nargs="?", default="", metavar="B", help="in the same form")
    upstream.add_argument("--machine", default="", metavar="NAME", help=MACHINE)
    upstream.add_argument("--output", type=Path, metavar="FILE", help="default: print the issue")
    upstream.set_defaults(command=_upstream)


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
    script = reproduction.script(cause, str(options.output or reproduction.FILE))
    _write(script, options.output, "its first lines have the two commands that run it", console)
    return code


def _upstream(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.report.why import upstream

    slowdown, code = _slowdown(options)
    next_step = f"search PyTorch's issues for the same slowdown first, then: {upstream.NEW_ISSUE}"
    _write(upstream.issue(slowdown), options.output, next_step, console)
    return code


def _write(text: str, output: Path | None, next_step: str, console: Console) -> None:
    """Print a text, or write it into a file and print what to do with it."""
    if output is None:
        sys.stdout.write(text)
        return
    output.write_text(text, encoding="utf-8")
    console.print(f"Written to {output}; {next_step}", soft_wrap=True)


def _slowdown(options: argparse.Namespace) -> tuple[Slowdown, int]:
    """Return the slowdown that the arguments ask for, or the newest of the case, and the exit code. Raises TensorcopyError."""
    from tensorcopy.asv_plugin import configuration
    from tensorcopy.cli.arguments import RESULTS
    from tensorcopy.report.why import upstream
    from tensorcopy.results import confirmations, reader
    from tensorcopy.site import addresses, web_addresses

    if bool(options.before) != bool(options.after):
        raise TensorcopyError(
            "one release is missing", got=options.before, allowed="CASE alone, or CASE A B", next="name the release after too"
        )
    if not options.before:
        options.before, options.after = _newest_slowdown(options)
    cause, code = _cause(options)
    web = web_addresses.of_checkout(*configuration.web_addresses(), os.environ)
    history = web.absolute(addresses.of_case(cause.after.machine, cause.case)) if cause.case else ""
    by_key = confirmations.latest(confirmations.load(RESULTS).confirmations)
    return upstream.slowdown(cause, reader.load_results(RESULTS).results, by_key, history), code


def _newest_slowdown(options: argparse.Namespace) -> tuple[str, str]:
    """Return both sides of the case's newest slowdown, as `select.pair` takes them. Raises TensorcopyError."""
    from tensorcopy.analysis import series
    from tensorcopy.analysis.comparisons import version
    from tensorcopy.cli.arguments import RESULTS
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
    return profile(measurements, paths, options.machine, console, again=options.again)


def profile(measurements: Sequence[Measurement], paths: Paths, machine: str, console: Console, *, again: bool = False) -> int:
    """Profile releases, print how many, and return the exit code. `measure` can end with it.

    again : whether releases that have a profile are profiled too
    """
    from tensorcopy.measure.profiles import take

    job = take.Job(paths, machine, print_wait)
    with progress_bar(console) as report_progress:
        written, problems = take.take_all(measurements, job, again=again, report_progress=report_progress)
    print_errors(problems)
    releases = "release" if len(written) == 1 else "releases"
    console.print(f"{len(written)} {releases} profiled, in results/{machine}")
    return 2 if problems else 0
