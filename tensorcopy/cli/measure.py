"""Commands that measure: dashboard and measure."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import campaign
from tensorcopy.cli.output import print_errors, progress_bar
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import settings
from tensorcopy.numbers import counted

if TYPE_CHECKING:
    from rich.console import Console

    from tensorcopy.campaign import Campaign
    from tensorcopy.configuration import Paths
    from tensorcopy.measure.plan import Request
    from tensorcopy.measure.run import RunOutcome
    from tensorcopy.measure.sides import Side

LAUNCHES = 12  # of every release: at 2^17 and 2^20, half of the interval of a difference is less than 1 % then
OF_DASHBOARD, OF_DASHBOARD_QUICK = 3, 1  # for a first look; three are the fewest that can be compared
OF_DASHBOARD_SIDES = 3  # releases, at most, that take turns in it
HISTORY = "the folder in results; default: that of these conditions, or a new one called as this host"
YES = "install more than two environments without a question"


def add(commands: Any) -> None:
    """Add these commands to the parser."""
    board = commands.add_parser("dashboard", help="measure torch on this machine, publish the site and serve it; each time more")
    board.add_argument(
        "--releases", default="", metavar="RANGE", help="2.15.0, 2.10.., ..2.0.1 or 2.5.1..2.9.1 (with both); default: the newest"
    )
    board.add_argument("--quick", action="store_true", help="only copies and conversions by size, in one launch")
    board.add_argument("--history", type=settings.machine_name, metavar="NAME", help=HISTORY)
    board.add_argument("--yes", action="store_true", help=YES)
    board.add_argument("--no-serve", action="store_true", help="write site/ without serving it")
    board.add_argument("--port", type=settings.port, metavar="N", help="loopback port to serve on; default: 8080 or the next free port")
    board.set_defaults(command=_dashboard)

    taken = commands.add_parser("measure", help="measure releases beside each other, in launches; resumes where it stopped")
    taken.add_argument(
        "releases",
        nargs="*",
        metavar="RANGE",
        help="2.15.0, 2.10.., 2.5.1..2.9.1 (with both), ..2.0.1@3.9 (on that Python), or NEW: those newer than any measured here, and two "
        "before; default: all",
    )
    settings.add(taken, str(LAUNCHES))
    taken.add_argument("--history", type=settings.machine_name, metavar="NAME", help=HISTORY)
    taken.add_argument("--bench", type=settings.expression, default="", metavar="REGEX", help="cases by asv's names; default: all")
    taken.add_argument(
        "--interpreter",
        action="append",
        metavar="PYTHON",
        help='measure the torch of this Python and install nothing: "same", a program or a path; several take turns with each other',
    )
    taken.add_argument(
        "--reference",
        metavar="PYTHON",
        help="a Python whose torch is in every launch; default: torch 2.8.0, of several interpreters the newest, beside one none",
    )
    taken.add_argument("--yes", action="store_true", help=YES)
    taken.add_argument("--no-counts", action="store_true", help="count neither instructions, bytes nor functions")
    taken.add_argument(
        "--add-release",
        metavar="VERSION",
        help="only add this release, such as 2.16.0, to the table, or with NEW all that the package index has and the table lacks",
    )
    taken.set_defaults(command=_measure)


def _measure(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import configuration
    from tensorcopy.measure import run

    own = campaign()
    if options.add_release:
        return _add_releases(options.add_release, own, console)
    paths, say = configuration.paths(), partial(console.print, soft_wrap=True)
    request, lines = _request(options, own, paths)
    for line in lines:
        say(line)
    run.confirm_installing(request, own, paths, say)
    with progress_bar(console) as report_progress:
        outcome = run.run(request, own, paths, say=say, report_progress=report_progress)
    code = print_outcome(outcome, console)
    there = sorted({*outcome.counts.values()})
    number = f"with {there[0]}" if len(there) == 1 else f"with {there[0]} to {there[-1]}"
    number += f" {'launch' if there == [1] else 'launches each'}"
    part = " after part {}/{}".format(*request.shard) if request.shard != (1, 1) else ""
    folders = ", ".join(os.path.relpath(history.folder) for history in outcome.histories)
    is_timed = any(suite.timed for suite in outcome.suites.values())
    say(f"{counted(len(request.sides), 'release')} {number if is_timed else 'counted'}{part}, in {folders}")
    if outcome.profiled:
        say(f"functions of {counted(outcome.profiled, 'release')} counted, in {folders}")
    return code


def _request(options: argparse.Namespace, own: Campaign, paths: Paths) -> tuple[Request, list[str]]:
    """Return what `tensorcopy measure` asks for, and a line for each release that is skipped. Raises TensorcopyError."""
    from tensorcopy.measure import sides
    from tensorcopy.measure.plan import Request
    from tensorcopy.worker import nvidia

    until = monotonic() + (options.budget or inf)
    needs = settings.needs(options.device)
    if options.interpreter:
        chosen, lines = sides.in_interpreters(options.interpreter, own, options.releases), list[str]()
        reference = max(chosen, key=lambda each: each.release) if len(chosen) > 1 else None
    else:
        measured = {result.sha for result in _measured(options.history or "", own, paths)}
        chosen, lines = sides.choose(options.releases, own, paths.pythons, measured)
        reference = sides.reference(own.releases, paths.pythons)
    if options.reference:
        reference = sides.in_interpreters([options.reference], own)[0]
    if needs == "cuda":
        gpus = nvidia.visible_gpus()[0]
        chosen, refused = sides.runnable(chosen, gpus)
        lines += refused
        reference = reference if reference and not sides.runnable([reference, *chosen], gpus)[1] else None
    request = Request(
        tuple(chosen),
        reference,
        options.bench,
        device=options.device or "",
        needs=needs,
        launches=options.launches,
        counts=None if options.no_counts else "",
        values=not options.no_counts,
        # another campaign's are those of all its cases, whatever is selected
        functions=not options.no_counts and (not options.bench or own.is_shipped),
        history=options.history or "",
        until=until,
        shard=options.shard or (1, 1),
        parallel=options.parallel or 0,
        environments=options.environments or 0,
        asks=not options.yes,
    )
    return request, lines


def _measured(history: str, own: Campaign, paths: Paths) -> list[Any]:
    """Return the results of this machine, in the history of a name, or of this processor."""
    from tensorcopy.measure import run
    from tensorcopy.results import reader
    from tensorcopy.worker.hardware import own_processor

    loaded = reader.load_results(paths.results, own)
    return [result for each in run.own_histories(loaded, history, [own_processor()]) for result in each.results]


def print_outcome(outcome: RunOutcome, console: Console) -> int:
    """Print what went wrong in a run, and what a user has to know of it, and return the exit code."""

    print_errors(outcome.problems)
    lines: dict[str, list[str]] = {}  # by the case and its error, the releases
    for result in outcome.results:
        for line in result.failed(outcome.suites):
            lines.setdefault(line, []).append(result.version)
    for line, releases in lines.items():
        console.print(f"failed with torch {', '.join(dict.fromkeys(releases))}: {line}", soft_wrap=True)
    if lines:
        console.print("they are measured again with more --launches, or when the version of their benchmark changes")
    for side, reasons in outcome.unsupported.items():
        for device, reason in reasons.items():
            console.print(f"torch {side.release.version} is not measured on {device}: {reason}", soft_wrap=True)
    for note in outcome.notes:
        console.print(note, soft_wrap=True)
    return 2 if outcome.problems or lines else 0


def _add_releases(version: str, own: Campaign, console: Console) -> int:
    """Add a release to the table, or with NEW all that the package index has and the table lacks. Raises TensorcopyError."""
    from tensorcopy.measure.sides import NEW
    from tensorcopy.releases import release_table, wheel_index

    versions = wheel_index.unknown(own.releases) if version == NEW else [version.removeprefix("v")]
    try:
        release_table.in_order(versions)
    except ValueError as error:
        allowed, following = "a number such as 2.16.0 or 2.16", "tensorcopy measure --add-release NEW"
        raise TensorcopyError("not a torch release", got=repr(version), allowed=allowed, next=following) from error
    if known := [row.version for row in own.releases if row.version in versions]:
        console.print(f"torch {known[0]} is already in the table")
        return 0
    for each in versions:
        release = wheel_index.release(each)
        release_table.add(release, own.table)
        row = f"{release.version} of {release.date} ({release.sha}, Python {' to '.join(release.pythons)})"
        console.print(f"Added torch {row} to {own.table.name}", soft_wrap=True)
    if not versions:
        console.print(f"The package index has no new torch release; the newest is {own.releases[-1].version}")
    return 0


def _dashboard(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import configuration
    from tensorcopy.measure import run
    from tensorcopy.measure.plan import Request
    from tensorcopy.results import reader
    from tensorcopy.site import server

    own, paths, say = campaign(), configuration.paths(), partial(console.print, soft_wrap=True)
    if not options.no_serve:
        server.bound(paths.html, options.port).server_close()  # reports an unusable port before minutes of measuring
    chosen, lines = _sides_of_dashboard(options, own, paths)
    for line in lines:
        say(line)
    request = Request(
        tuple(chosen),
        selection="|".join(filter(None, (own.quick, own.memory))) if options.quick else "",
        counts=own.memory,
        launches=OF_DASHBOARD_QUICK if options.quick else OF_DASHBOARD,
        most=OF_DASHBOARD_QUICK if options.quick else OF_DASHBOARD,  # people wait for it, and each run adds some
        again=True,
        history=options.history or "",
        asks=not options.yes,
    )
    run.confirm_installing(request, own, paths, say)
    with progress_bar(console) as report_progress:
        outcome = run.run(request, own, paths, say=say, report_progress=report_progress)
        report_progress(0.8, "publishing the site")
        _publish(own, paths, next((each.name for each in outcome.histories), ""))
    code = print_outcome(outcome, console)
    code = print_errors(reader.load_results(paths.results, own).problems) or code
    say(_next_of_dashboard(chosen, own))
    say(f"The page: {paths.html / 'index.html'}")
    if not options.no_serve:
        _serve(options, paths.html, console, failed=bool(code))
    return code


def _sides_of_dashboard(options: argparse.Namespace, own: Campaign, paths: Paths) -> tuple[list[Side], list[str]]:
    """Return the releases that take turns, and why others do not.

    On a new machine it is the newest alone, whose methods are ranked: a second one would double what is installed. Once it was measured,
    the release before it takes turns with it, and those that are there with a newer one.
    """
    from tensorcopy.measure import sides
    from tensorcopy.releases import environments

    pythons = environments.known_pythons(paths.pythons)
    if options.releases:
        return sides.choose([options.releases], own, pythons)
    able = [release for release in reversed(own.releases) if not environments.why_not(release, pythons)]
    if not able:
        sides.of_release(own.releases[-1], pythons)  # raises why
    newest, *before = [sides.of_release(release, pythons) for release in able]
    measured = {result.sha for result in _measured(options.history or "", own, paths)}
    there = [each for each in before if each.release.sha in measured and each.is_installed(own, paths)][: OF_DASHBOARD_SIDES - 1]
    if newest.release.sha in measured and not there:
        there = before[:1]
    return [*reversed(there), newest], []


def _next_of_dashboard(chosen: Sequence[Side], own: Campaign) -> str:
    """Return what the page has, and what the next run adds."""
    versions = [side.release.version for side in chosen]
    if len(versions) == 1:
        what = (
            f"The page ranks the ways to copy a tensor with torch {versions[0]}" if own.is_shipped else f"The page has torch {versions[0]}"
        )
        return f"{what}, as this machine has timed them. Run tensorcopy dashboard again to compare it with the release before."
    listed = f"{', '.join(versions[:-1])} and {versions[-1]}"
    return f"The page compares torch {listed} on this machine. Each further run of tensorcopy dashboard makes the comparison more exact."


def _publish(own: Campaign, paths: Paths, history: str) -> None:
    """Run `asv publish`; the pages call the history that was measured this machine's. Raises TensorcopyError where no site was written."""
    from tensorcopy.releases import interpreters
    from tensorcopy.results import reader
    from tensorcopy.site import build

    environment = {**os.environ, build.OWN: history}
    with interpreters.started_process([sys.executable, "-m", "asv", "publish"], stderr=subprocess.STDOUT, env=environment) as process:
        assert process.stdout is not None
        lines = process.stdout.read().split("\n")
    # exit code 2 is also that of a site without what cannot be read
    loaded = reader.load_results(paths.results, own)
    is_whole = process.returncode == 0 or (process.returncode == 2 and build.unreadable(loaded))
    if not (is_whole and (paths.html / "index.html").is_file()):
        raise TensorcopyError(
            "asv publish failed",
            got=next((line.rpartition("· ")[2].partition("; allowed: ")[0] for line in reversed(lines) if line.strip()), "no output"),
            allowed="a folder of launches, and one for the site",
            next="run asv publish to see all that it prints",
        )


def _serve(options: argparse.Namespace, directory: Path, console: Console, *, failed: bool) -> None:
    """Serve the site until a signal ends the program; with exit code 2 where a release has failed."""
    from tensorcopy.site import server

    with server.bound(directory, options.port) as bound:
        address = f"http://127.0.0.1:{bound.server_address[1]}/"
        options.report_start("the server has ended; results and pages are kept", 2 if failed else 0)
        console.print(f"Served at {address} until Ctrl-C", soft_wrap=True)
        bound.serve_forever()
