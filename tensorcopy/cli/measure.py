"""Commands that measure: dashboard and measure."""

from __future__ import annotations

import argparse
import os
import re
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from tensorcopy.cli import output
from tensorcopy.cli.arguments import add_command, campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import settings
from tensorcopy.numbers import counted, extent
from tensorcopy.worker.devices import DEVICES

if TYPE_CHECKING:
    from tensorcopy.campaign import Campaign
    from tensorcopy.configuration import Paths
    from tensorcopy.measure.run import Run
    from tensorcopy.measure.sides import Side

LAUNCHES = 12  # of every release: at 2^17 and 2^20, half of the interval of a difference is less than 1 % then
OF_DASHBOARD, OF_DASHBOARD_QUICK = 3, 1  # for a first look; three are the fewest that can be compared
OF_DASHBOARD_SIDES = 3  # releases, at most, that take turns in it


def add(commands: Any) -> None:
    """Add these commands to the parser."""
    board = add_command(commands, "dashboard", "measure torch on this machine, publish the site and serve it; each time more", _dashboard)
    board.add_argument("--quick", action="store_true", help="only copies and conversions by size, in one launch")
    board.add_argument("--no-serve", action="store_true", help="write site/ without serving it")

    taken = add_command(commands, "measure", "measure releases beside each other, in launches; resumes where it stopped", _measure)
    newer = "NEW: those newer than any measured here, and two before; default: all"
    releases = f"2.15.0, 2.10.., 2.5.1..2.9.1 (with both), ..2.0.1@3.9 (on that Python), or {newer}"
    taken.add_argument("releases", nargs="*", metavar="RANGE", help=releases)
    launches = f"launches per release; default: {LAUNCHES}"
    taken.add_argument("--launches", type=settings.launch_count, default=LAUNCHES, metavar="N", help=launches)
    device = "only cases on this device; exit 2 if it is missing or fails; default: all"
    taken.add_argument("--device", choices=DEVICES, default="", help=device)
    budget = "begin no launch after this time, such as 5h or 1h30m, and exit 0"
    taken.add_argument("--for", type=settings.duration, default=inf, dest="budget", metavar="TIME", help=budget)
    taken.add_argument("--bench", type=settings.expression, default="", metavar="REGEX", help="cases by asv's names; default: all")
    several = 'measure the torch of this Python and install nothing: "same", a program or a path; several take turns with each other'
    taken.add_argument("--interpreter", action="append", default=[], metavar="PYTHON", help=several)
    added = "only add this release, such as 2.16.0, to the table, or with NEW all newer ones of the package index"
    taken.add_argument("--add-release", metavar="VERSION", help=added)

    history = "the folder in results; default: that of these conditions, or a new one named after this host"
    for each in (board, taken):
        each.add_argument("--history", type=settings.machine_name, metavar="NAME", help=history)


def _measure(options: argparse.Namespace) -> int:
    from tensorcopy import configuration
    from tensorcopy.measure import run, sides
    from tensorcopy.measure.plan import Request

    own = campaign()
    if options.add_release:
        return _add_releases(options.add_release, own)
    paths = configuration.paths()
    measured = run.measured_here(options.history or "", own, paths)
    chosen, reference, lines = sides.asked(options.releases, options.interpreter, own, paths.pythons, measured)
    for line in lines:
        print(line)
    request = Request(
        tuple(chosen),
        reference,
        needs=options.device,
        until=monotonic() + options.budget,
        device=options.device,
        selection=options.bench,
        launches=options.launches,
        functions=not options.bench or own.is_shipped,  # another campaign's are those of all its cases, whatever is selected
        history=options.history or "",
    )
    console = output.console()
    with output.progress_bar(console) as report_progress:
        outcome = run.run(request, own, paths, say=partial(console.print, soft_wrap=True), report_progress=report_progress)
    code = print_outcome(outcome)
    there, folders = extent(outcome.counts.values()), ", ".join(os.path.relpath(history.folder) for history in outcome.histories)
    is_timed = any(suite.timed for suite in outcome.suites.values())
    number = f"with {there} {'launch' if there == '1' else 'launches each'}" if is_timed else "counted"
    print(f"{counted(len(outcome.counts), 'release')} {number}, in {folders}")
    return code


def print_outcome(outcome: Run) -> int:
    """Print what went wrong in a run, and what a user has to know of it, and return the exit code."""
    output.print_errors(outcome.problems)
    lines: dict[str, list[str]] = {}  # by the case and its error, the releases
    for result in outcome.results:
        for line in result.failed(outcome.suites):
            lines.setdefault(line, []).append(result.version)
    for line, releases in lines.items():
        print(f"failed with torch {', '.join(dict.fromkeys(releases))}: {line}")
    if lines:
        print("they are measured again with more --launches, or when the version of their benchmark changes")
    for note in outcome.notes:
        print(note)
    return 2 if outcome.problems or lines else 0


def _add_releases(version: str, own: Campaign) -> int:
    """Add a release to the table, or with NEW all newer ones of the package index. Raises TensorcopyError."""
    from tensorcopy.measure.sides import NEW
    from tensorcopy.releases import release_table, uv, wheel_index

    if not re.fullmatch(rf"{NEW}|v?\d+\.\d+\.\d+", version, re.ASCII):
        allowed, following = "a number such as 2.16.0", "tensorcopy measure --add-release NEW"
        raise TensorcopyError("not a torch release", got=repr(version), allowed=allowed, next=following)
    versions = uv.newer(own.releases[-1].version) if version == NEW else [version.removeprefix("v")]
    there = [row.version for row in own.releases]
    new = [each for each in versions if each not in there]
    for each in new:
        release = wheel_index.release(each)
        release_table.add(release, own.table)
        pythons = " to ".join(release.pythons)
        print(f"Added torch {release.version} of {release.date} ({release.sha}, Python {pythons}) to {own.table.name}")
    if not new:
        print(f"There is no new release; the table's newest is torch {there[-1]}")
    return 0


def _dashboard(options: argparse.Namespace) -> int:
    from tensorcopy import configuration
    from tensorcopy.measure import run
    from tensorcopy.measure.plan import Request
    from tensorcopy.results import reader

    own, paths = campaign(), configuration.paths()
    chosen = _sides_of_dashboard(options, own, paths)
    launches = OF_DASHBOARD_QUICK if options.quick else OF_DASHBOARD
    request = Request(
        tuple(chosen),
        selection="|".join(filter(None, (own.quick, own.memory))) if options.quick else "",
        counts=own.memory,
        launches=launches,
        most=launches,  # people wait for it, and each run adds some
        again=True,
        history=options.history or "",
    )
    console = output.console()
    with output.progress_bar(console) as report_progress:
        outcome = run.run(request, own, paths, say=partial(console.print, soft_wrap=True), report_progress=report_progress)
        report_progress(0.8, "publishing the site")
        _publish(own, paths, next((each.name for each in outcome.histories), ""))
    code = print_outcome(outcome)
    code = output.print_errors(reader.load_results(paths.results, own).problems) or code
    versions = [side.release.version for side in chosen]
    if len(versions) > 1:
        shown = f"The page compares torch {', '.join(versions[:-1])} and {versions[-1]} on this machine."
        print(f"{shown} Each further run of tensorcopy dashboard makes the comparison more exact.")
    else:
        shown = "ranks the ways to copy a tensor with" if own.is_shipped else "has"
        following = "Run tensorcopy dashboard again to compare it with the release before."
        print(f"The page {shown} torch {versions[0]}, as this machine has timed them. {following}")
    print(f"The page: {paths.html / 'index.html'}")
    if not options.no_serve:
        _serve(options, paths.html, failed=bool(code))
    return code


def _sides_of_dashboard(options: argparse.Namespace, own: Campaign, paths: Paths) -> list[Side]:
    """Return the releases that take turns.

    On a new machine it is the newest alone, whose methods are ranked: a second one would double what is installed. Once it was measured,
    the release before it takes turns with it, and those that are there with a newer one.
    """
    from tensorcopy.measure import run, sides
    from tensorcopy.releases import environments

    able, refused = sides.installable(reversed(own.releases), environments.known_pythons(paths.pythons))
    if not able:
        raise refused[0]
    newest, *before = able
    measured = run.measured_here(options.history or "", own, paths)
    there = [each for each in before if each.release.sha in measured and each.is_installed(own, paths)][: OF_DASHBOARD_SIDES - 1]
    others = there or (before[:1] if newest.release.sha in measured else [])
    return [*reversed(others), newest]


def _publish(own: Campaign, paths: Paths, history: str) -> None:
    """Write the site as `asv publish` does; its pages call the history that was measured this machine's. Raises TensorcopyError."""
    from tensorcopy.asv_plugin import publishing
    from tensorcopy.site import build

    os.environ[build.OWN] = history
    publishing.replace_site(own, paths, build.publish)


def _serve(options: argparse.Namespace, directory: Path, *, failed: bool) -> None:
    """Serve the site until a signal ends the program; with exit code 2 where a release has failed."""
    from tensorcopy.site import server

    with server.bound(directory) as bound:
        options.report_start("the server has ended; results and pages are kept", 2 if failed else 0)
        print(f"Served at http://127.0.0.1:{bound.server_address[1]}/ until Ctrl-C", flush=True)
        bound.serve_forever()
