"""Commands that look for the cause of a change: profile, why and repro."""

from __future__ import annotations

import argparse
import platform
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import print_errors, progress_bar

if TYPE_CHECKING:
    from rich.console import Console


def add(commands: Any) -> None:
    """Add these commands to the parser."""
    _add_profile(commands)


def _add_profile(commands: Any) -> None:
    profile = commands.add_parser(
        "profile", help="count the instructions of each function under valgrind, beside results that exist; for why"
    )
    profile.add_argument("releases", nargs="*", metavar="RANGE", help="2.15.0, 2.10.., ..2.0.1@3.9 (on that Python); default: all releases")
    profile.add_argument(
        "--machine", default=platform.node(), metavar="NAME", help="this machine's name in results; default: its host name"
    )
    profile.add_argument("--again", action="store_true", help="also profile releases that have a profile, and replace it")
    profile.set_defaults(command=_profile)


def _profile(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.asv_plugin import configuration
    from tensorcopy.measure import plan
    from tensorcopy.measure.profiles import take
    from tensorcopy.worker.probes.functions import valgrind

    valgrind.require()
    paths = configuration.paths()
    measurements, left_out = plan.select(options.releases, paths.pythons)
    for line in left_out:
        console.print(line)
    with progress_bar(console) as report_progress:
        written, problems = take.take_all(measurements, paths, options.machine, again=options.again, report_progress=report_progress)
    print_errors(problems)
    releases = "release" if len(written) == 1 else "releases"
    console.print(f"{len(written)} {releases} profiled, in results/{options.machine}")
    return 2 if problems else 0
