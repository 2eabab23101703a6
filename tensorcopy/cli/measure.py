"""Commands that measure, and those before and after: dashboard, measure, init, machine and merge."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import campaign, path, results_folder
from tensorcopy.cli.output import print_errors, print_warnings, progress_bar
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import settings
from tensorcopy.numbers import counted
from tensorcopy.worker.devices import DEVICES

if TYPE_CHECKING:
    from rich.console import Console

    from tensorcopy.campaign import Campaign
    from tensorcopy.configuration import Paths
    from tensorcopy.measure.plan import Measurement
    from tensorcopy.measure.side_benchmarks import Suites
    from tensorcopy.measure.taking import Job

LAUNCHES = 12  # of every release: at 2^17 and 2^20, half of the interval of a difference is less than 1 % then
OF_DASHBOARD, OF_DASHBOARD_QUICK = 3, 1  # for a first look; three are the fewest that can be compared
HISTORY = "the folder in results; default: that of these conditions, or a new one called as this host"
YES = "install more than two environments without a question"


def add(commands: Any) -> None:
    """Add these commands to the parser."""
    board = commands.add_parser("dashboard", help="measure torch on this machine, publish the site and serve it")
    board.add_argument(
        "--releases", default="", metavar="RANGE", help="2.15.0, 2.10.., ..2.0.1 or 2.5.1..2.9.1 (with both); default: the newest"
    )
    board.add_argument("--quick", action="store_true", help="only copies and conversions by size, in one launch")
    board.add_argument("--again", action="store_true", help="measure once more, and add the launches")
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
        help="2.15.0, 2.10.., 2.5.1..2.9.1 (with both), ..2.0.1@3.9 (on that Python), 2.15.0@numpy2, or NEW: those newer than any "
        "measured here, and two before; default: all",
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
    taken.set_defaults(command=_measure)

    init = commands.add_parser("init", help="begin a dashboard of an asv suite in this folder: of one that is there, or of an example")
    init.add_argument("--name", default="", help="the project's name; default: the folder's")
    init.add_argument("--title", default="", help='the heading of its landing page; default: "NAME over torch releases"')
    init.add_argument("--suites", default="", metavar="FOLDER", help="an asv suite to time over torch releases, unchanged")
    init.add_argument("--github", action="store_true", help="also write workflows for GPU runners and new releases; adds to a project, too")
    init.set_defaults(command=_init)

    machine = commands.add_parser("machine", help="check driver, clocks, load and memory before measuring; exit 1 if the machine is unfit")
    machine.add_argument("--device", choices=DEVICES, default="cpu", help="default: cpu; cuda also checks the GPUs")
    machine.add_argument("--strict", action="store_true", help="treat warnings as failures")
    machine.set_defaults(command=_machine)

    merge = commands.add_parser("merge", help="copy the launches that a folder of results lacks from others")
    merge.add_argument("folders", nargs="+", type=path, metavar="FOLDER", help="a folder of results, or of such folders")
    merge.add_argument("--into", type=path, metavar="FOLDER", help="default: the folder of results")
    merge.add_argument("--also", default="", metavar="BRANCH", help="also merge FOLDER from this branch of origin, if there is one")
    merge.set_defaults(command=_merge)


def _dashboard(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import configuration
    from tensorcopy.measure import plan, run, taking
    from tensorcopy.releases import environments
    from tensorcopy.results import reader
    from tensorcopy.site import server

    own, paths = campaign(), configuration.paths()
    if not options.no_serve:
        server.bound(paths.html, options.port).server_close()  # reports an unusable port before minutes of measuring
    named, pythons = [options.releases] if options.releases else [], environments.known_pythons(paths.pythons)
    chosen, skipped = plan.select(named, own, pythons, newest_first=True, first=not named)
    for line in skipped:
        console.print(line)
    # without a reference: for a first look it would double what is installed
    selection = own.quick if options.quick else ""
    plan.confirm_installing(chosen, paths, len(chosen), partial(console.print, soft_wrap=True), asks=not options.yes)
    count = OF_DASHBOARD_QUICK if options.quick else OF_DASHBOARD
    with progress_bar(console) as report_progress:
        job = taking.Job(taking.Sides(own, paths), options.history or "", selection, report_progress=report_progress)
        job.open(chosen)
        suites = job.suites(chosen)
        there = taking.Missing(chosen, job, count, suites).counts()
        wanted = max(there[each.place] for each in chosen) + count if options.again else count
        for each in chosen:
            if there[each.place] >= wanted:
                console.print(f"{each} was measured on this machine; --again adds launches")
        missing = taking.Missing(chosen, job, wanted, suites)
        for line in taking.outlook(missing, len(chosen), parallel=1, twice=False):
            console.print(line, soft_wrap=True)
        taken = run.take(missing, counts=None)
        counting = replace(job, selection=own.memory)
        memory = counting.suites(chosen, timed=False)
        _, problems = taking.take_counts(chosen, counting, memory)
        report_progress(0.8, "publishing the site")
        _publish(own, paths, next((each.name for each in job.own()), ""))
    print_errors(problems := [*taken.problems, *problems, *reader.load_results(paths.results, own.releases).problems])
    failed = _print_failures(chosen, job, {**suites, **memory}, console)
    _print_what_is_not_measured(job, console)
    for line in taken.notes:
        console.print(line, soft_wrap=True)
    console.print(f"The page: {paths.html / 'index.html'}", soft_wrap=True)
    if not options.no_serve:
        _serve(options, paths.html, console, failed=bool(problems or failed))
    return 2 if problems or failed else 0


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
    loaded = reader.load_results(paths.results, own.releases)
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


def _measure(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import configuration
    from tensorcopy.measure import plan, run, taking
    from tensorcopy.projects import runners
    from tensorcopy.worker import nvidia

    until = taking.after(options.budget or inf)
    own, paths = campaign(), configuration.paths()
    device = options.device or runners.device_of(options.history or "")  # that must be usable
    measurements, reference, lines = _selected(options, own, paths)
    if device == "cuda":
        gpus = nvidia.visible_gpus()[0]
        measurements, refused = plan.runnable(measurements, gpus)
        lines += refused
        reference = reference if reference and not plan.runnable([reference, *measurements], gpus)[1] else None
    for line in lines:
        console.print(line)
    selection = plan.on_device(options.bench, options.device) if options.device else options.bench
    every = [*dict.fromkeys([*measurements, *filter(None, [reference])])]
    size = options.environments or len(every)
    plan.confirm_installing(every, paths, size, partial(console.print, soft_wrap=True), asks=not options.yes)
    whole = not (options.bench or options.device or options.interpreter or options.shard or options.environments)
    with progress_bar(console) as report_progress:
        sides = taking.Sides(own, paths, device)
        job = taking.Job(sides, options.history or "", selection, reference, until=until, report_progress=report_progress)
        job.open(measurements[-1:])
        job_of_newest, newest, of_newest = job.of_newest(measurements)
        suites, counts = job.all_suites(measurements, of_newest)
        if options.no_counts and not (suites or of_newest):
            raise TensorcopyError(
                "nothing is left to measure",
                got="--no-counts, and only benchmarks that count or track",
                allowed="a benchmark that is timed",
                next="leave --no-counts out",
            )
        missing = taking.Missing(measurements, job, options.launches, suites, options.shard)
        missing_of_newest = taking.Missing(newest, job_of_newest, options.launches, of_newest, options.shard) if of_newest else None
        job.open(every if size >= len(every) else measurements[-1:])
        parallel = options.parallel or plan.parallel(min(size, len(every)), sides.devices)
        for each in filter(None, (missing, missing_of_newest)):
            for line in taking.outlook(each, size, parallel, twice=whole and each is missing):
                console.print(line, soft_wrap=True)
        with_functions = not options.bench or own.is_shipped  # another campaign has none
        for line in [] if options.no_counts else run.outlook_of_counts(missing, counts, with_functions=with_functions):
            console.print(line, soft_wrap=True)
        taken = run.take(
            missing,
            newest=missing_of_newest,
            most=size,
            counts=None if options.no_counts else counts,
            with_functions=with_functions,
            twice=whole,
            parallel=parallel,
        )
    print_warnings(taken.without)
    print_errors(taken.problems)
    failed = _print_failures(measurements, job, {**suites, **of_newest, **counts}, console)
    _print_what_is_not_measured(job, console)
    if missing_of_newest and not suites:
        _print_counts(newest, missing_of_newest, of_newest, console)
    else:
        _print_counts(measurements, missing, suites, console)
    if taken.profiled:
        console.print(f"functions of {counted(taken.profiled, 'release')} counted, in {_folders(job)}")
    for line in taken.notes:
        console.print(line, soft_wrap=True)
    return 2 if taken.problems or failed else 0


def _selected(options: argparse.Namespace, own: Campaign, paths: Paths) -> tuple[list[Measurement], Measurement | None, list[str]]:
    """Return what shall be measured, its reference, and a line for each release that is skipped."""
    from tensorcopy.measure import plan, taking
    from tensorcopy.results import reader
    from tensorcopy.worker.devices import cpu_model

    reference = plan.in_interpreter(options.reference, own) if options.reference else None
    if options.interpreter:
        measurements = plan.in_interpreters(options.interpreter, own, options.releases)
        return measurements, reference or plan.joining(measurements), []
    there = taking.own_histories(reader.load_results(paths.results, own.releases), options.history or "", [cpu_model()])
    measured = {result.sha for history in there for result in history.results}
    measurements, skipped = plan.select(options.releases, own, paths.pythons, measured)
    return measurements, reference or plan.reference(own.releases, paths.pythons), skipped


def _print_failures(measurements: Sequence[Measurement], job: Job, suites: Suites, console: Console) -> int:
    """Print a line for each benchmark that failed in its last launch with one of these releases, and return their number.

    A case that failed stays in the exit code until it is measured: what the results have of it counts, not what this run has done.
    """
    lines: dict[str, list[str]] = {}  # by the case and its error, the releases
    for result in (result for history in job.own() for result in history.results):
        measured = [each for each in measurements if each.place == result.place]
        for line in result.failed(suites) if measured else ():
            lines.setdefault(line, []).append(measured[0].release.version)
    for line, releases in lines.items():
        console.print(f"failed with torch {', '.join(releases)}: {line}", soft_wrap=True)
    if lines:
        console.print("they are measured again with more --launches, or when the version of their benchmark changes")
    return len(lines)


def _print_counts(measurements: Sequence[Measurement], missing: Any, suites: Suites, console: Console) -> None:
    """Print how many launches the releases have, or how many are counted where nothing is timed."""
    if not suites:
        places = {side.place for each in missing.job.counted() for side in each.sides}
        of_counts = counted(sum(each.place in places for each in measurements), "release")
        console.print(f"{of_counts} counted, in {_folders(missing.job)}")
    else:
        there = missing.counts()
        numbers = sorted({there[each.place] for each in measurements})
        number = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        each = "launch" if numbers == [1] else "launches each"
        part = f" after part {missing.shard}" if missing.shard else ""
        console.print(f"{counted(len(measurements), 'release')} with {number} {each}{part}, in {_folders(missing.job)}")


def _folders(job: Job) -> str:
    """Return the folders of the histories that a run adds to."""
    return ", ".join(f"{results_folder()}/{history.name}" for history in job.own())


def _print_what_is_not_measured(job: Job, console: Console) -> None:
    """Print a line for each device that is there and that a release's torch cannot use."""
    for measurement, environment in job.sides.opened.items():
        for device, reason in environment.report["provenance"].get("unsupported", {}).items():
            console.print(f"torch {measurement.release.version} is not measured on {device}: {reason}", soft_wrap=True)


def _init(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.projects import installation
    from tensorcopy.projects.new_project import new_project

    origin = None
    try:
        origin = installation.find()
    except TensorcopyError as error:
        if options.github:
            raise
        print_warnings([error])
    made = new_project(Path.cwd(), options.name, options.title, options.suites, origin, github=options.github)
    console.print(f"{made.campaign.title}: wrote {', '.join(made.written) or 'nothing, all files are there'}", soft_wrap=True)
    if made.kept:
        console.print(f"Kept, and not what tensorcopy would write: {', '.join(made.kept)}", soft_wrap=True)
    print_warnings(made.warnings)
    if made.of_asv:
        console.print(f"From {made.of_asv.path}: requires = {json.dumps(made.campaign.requires)}", soft_wrap=True)
        if made.of_asv.ignored:
            console.print(f"Not used of it: {'; '.join(made.of_asv.ignored)}", soft_wrap=True)
    console.print("Next: tensorcopy measure 2.8.0 2.15.0 --launches 4, then tensorcopy compare 2.8.0 2.15.0 and asv publish")
    return 0


def _machine(options: argparse.Namespace, console: Console) -> int:
    from rich.table import Table
    from rich.text import Text

    from tensorcopy.measure import readiness
    from tensorcopy.measure.readiness import Level
    from tensorcopy.worker import nvidia

    findings = readiness.findings(readiness.host(Path(".asv")), *nvidia.visible_gpus(), options.device)
    table = Table(box=None, pad_edge=False, show_header=False)
    signs = {Level.OK: Text("ok"), Level.WARNING: Text("warning", "yellow"), Level.REFUSED: Text("refused", "red")}
    for finding in findings:
        table.add_row(signs[finding.level], finding.subject, finding.observed, finding.advice)
    console.print(table)
    failing = (Level.WARNING, Level.REFUSED) if options.strict else (Level.REFUSED,)
    failures = [finding for finding in findings if finding.level in failing]
    for finding in failures:
        print(
            f"tensorcopy: this machine is unfit for measuring, {finding.subject}: {finding.observed}; next: {finding.advice}",
            file=sys.stderr,
        )
    return 1 if failures else 0


def _merge(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.measure import git
    from tensorcopy.results import merge

    into = options.into or results_folder()
    with tempfile.TemporaryDirectory() as temporary:
        folders = list(options.folders)
        sha = git.fetch_branch(options.also) if options.also else ""
        if sha:
            branch = Path(temporary) / "branch"
            git.check_out(sha, branch)
            folders.append(branch / git.prefix() / os.path.relpath(into))
        new, unchanged = merge.merge(folders, into)
    console.print(f"{into}: {counted(new, 'file')} added, {unchanged} there", soft_wrap=True)
    return 0
