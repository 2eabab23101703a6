"""Commands that measure, and those before and after: dashboard, measure, init, machine and merge."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from tensorcopy.cli import output
from tensorcopy.cli.arguments import RESULTS, duration, expression, machine_name, pass_count, shard, two_or_more
from tensorcopy.cli.output import print_errors, print_warnings, progress_bar
from tensorcopy.errors import TensorcopyError
from tensorcopy.numbers import counted
from tensorcopy.results.passes import ENOUGH, PASSES
from tensorcopy.worker.devices import DEVICES

if TYPE_CHECKING:
    from rich.console import Console

    from tensorcopy.configuration import Paths
    from tensorcopy.measure.plan import Measurement
    from tensorcopy.measure.run_passes import Job
    from tensorcopy.results.confirmations import ReleasePair

RUNNERS = Path(".github/runners.toml")
MACHINE = "this machine's name in results; default: its host name"
REBUILD = "build environments anew in which a file is missing"


def add(commands: Any) -> None:
    """Add these commands to the parser."""
    board = commands.add_parser("dashboard", help="measure torch on this machine, publish the site and serve it")
    board.add_argument("--releases", default="", metavar="RANGE", help="2.15.0, 2.10.., ..2.0.1 or 2.5.1..2.9.1; default: the newest")
    board.add_argument("--quick", action="store_true", help="only copies and conversions by size, with few samples")
    board.add_argument("--again", action="store_true", help="measure once more, and add the samples")
    board.add_argument("--machine", type=machine_name, default=platform.node(), metavar="NAME", help=MACHINE)
    board.add_argument("--rebuild", action="store_true", help=REBUILD)
    board.add_argument("--no-serve", action="store_true", help="write site/ without serving it")
    board.add_argument("--port", type=int, metavar="N", help="loopback port to serve on; default: 8080 or the next free port")
    board.add_argument("--open", action="store_true", help="open the served page in a browser")
    board.set_defaults(command=_dashboard)

    passes = commands.add_parser("measure", help="measure releases in passes, in random order; resumes where it stopped")
    passes.add_argument(
        "releases",
        nargs="*",
        metavar="RANGE",
        help="2.15.0, 2.10.., ..2.0.1@3.9 (on that Python), or NEW: the last one measured here and all newer ones; default: all releases",
    )
    passes.add_argument("--passes", type=pass_count, default=PASSES, metavar="N", help=f"passes per release; default: {PASSES}")
    passes.add_argument("--machine", type=machine_name, default=platform.node(), metavar="NAME", help=MACHINE)
    passes.add_argument("--bench", type=expression, default="", metavar="REGEX", help="suites; default: all timed suites")
    passes.add_argument("--device", choices=DEVICES, help="only cases on this device; exit 2 if it is missing or fails; default: all")
    passes.add_argument(
        "--interpreter", metavar="PYTHON", help='measure the torch of this Python and install nothing: "same", a program or a path'
    )
    passes.add_argument(
        "--shard",
        type=shard,
        metavar="K/N",
        help="take part K of the passes, on one of N machines of the same kind",
    )
    passes.add_argument(
        "--environments",
        type=two_or_more,
        metavar="N",
        help="keep at most N environments on the disk",
    )
    passes.add_argument(
        "--for",
        type=duration,
        default=inf,
        dest="budget",
        metavar="TIME",
        help="begin no pass after this time, such as 5h or 1h30m, and exit 0",
    )
    passes.add_argument("--rebuild", action="store_true", help=REBUILD)
    passes.add_argument("--no-confirm", action="store_true", help="do not repeat the measurement of new changes of the history")
    passes.add_argument("--no-profile", action="store_true", help="do not count functions; with --environments they never are")
    passes.set_defaults(command=_measure)

    init = commands.add_parser("init", help="begin a dashboard of your own operations or asv suites in this folder")
    init.add_argument("--name", default="", help="the project's name; default: the folder's")
    init.add_argument("--title", default="", help='the heading of its landing page; default: "NAME over torch releases"')
    init.add_argument("--suites", default="", metavar="FOLDER", help="an asv suite to time over torch releases, unchanged")
    init.set_defaults(command=_init)

    machine = commands.add_parser("machine", help="check driver, clocks, load and memory before measuring; exit 1 if the machine is unfit")
    machine.add_argument("--device", choices=DEVICES, default="cpu", help="default: cpu; cuda also checks the GPUs")
    machine.add_argument("--strict", action="store_true", help="treat warnings as failures")
    machine.set_defaults(command=_machine)

    merge = commands.add_parser("merge", help="merge folders of results, in any order; each pass is kept once")
    folders = "a folder of results with benchmarks.json, or a folder of such folders"
    merge.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help=folders)
    merge.add_argument("--into", type=Path, default=RESULTS, metavar="FOLDER", help=f"default: {RESULTS}/")
    merge.add_argument("--also", default="", metavar="BRANCH", help="also merge FOLDER from this branch of origin, if there is one")
    merge.set_defaults(command=_merge)


def _dashboard(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import configuration
    from tensorcopy.measure import plan, run_passes
    from tensorcopy.releases import environments
    from tensorcopy.results import reader
    from tensorcopy.site import server

    paths = configuration.paths()
    if not options.no_serve:
        server.bound(paths.html, options.port).server_close()  # reports an unusable port before minutes of measuring
    named, pythons = [options.releases] if options.releases else [], environments.known_pythons(paths.pythons)
    chosen, skipped = plan.select(named, pythons, newest_first=True, first=not named)
    for line in skipped:
        console.print(line)
    options.machine = _own_name(options.machine, paths)
    results, measurements = reader.load_results(paths.results).results, []
    for measurement in chosen:
        result = None if options.again else run_passes.already_measured(results, measurement, options.machine, options.quick)
        if result is None:
            measurements.append(measurement)
        else:
            day = result.provenance["started"][:10]
            console.print(f"torch {measurement.release.version} was measured on this machine on {day}; --again adds samples")
    _prepare(options, measurements, paths, len(measurements), console)
    with progress_bar(console) as report_progress:
        problems = run_passes.measure_and_publish(measurements, paths, options.machine, options.quick, report_progress)
    print_errors(problems)
    for line in run_passes.not_measured(measurements, paths, options.machine):
        console.print(line, soft_wrap=True)
    console.print(f"The page: {paths.html / 'index.html'}", soft_wrap=True)
    if not options.no_serve:
        _serve(options, paths.html, console, failed=bool(problems))
    return 2 if problems else 0


def _own_name(machine: str, paths: Paths) -> str:
    """Return the name under which this host measures: `machine`, unless it is another host's.

    Prints a warning where it is, and those of the results.
    """
    from tensorcopy.results import reader, series_key
    from tensorcopy.worker import hardware

    results = reader.load_results(paths.results)
    print_warnings(results.warnings)
    holders = {result.machine: result.series_key.identity for result in results.results}
    name = series_key.measured_as(machine, hardware.identity(), holders)
    if name != machine:
        next_step = "nothing; or --machine with a name for this hardware"
        print_warnings([series_key.two_machines(machine, holders[machine], hardware.identity(), name, next_step)])
    return name


def _serve(options: argparse.Namespace, directory: Path, console: Console, *, failed: bool) -> None:
    """Serve the site until a signal ends the program; with exit code 2 where a release has failed."""
    import webbrowser

    from tensorcopy.site import server

    with server.bound(directory, options.port) as bound:
        address = f"http://127.0.0.1:{bound.server_address[1]}/"
        options.report_start("the server has ended; results and pages are kept", 2 if failed else 0)
        console.print(f"Served at {address} until Ctrl-C", soft_wrap=True)
        if options.open:
            webbrowser.open(address)
        bound.serve_forever()


def _measure(options: argparse.Namespace, console: Console) -> int:
    from random import SystemRandom

    from tensorcopy import configuration
    from tensorcopy.ci import github
    from tensorcopy.measure import plan, run_passes
    from tensorcopy.results import reader
    from tensorcopy.worker import nvidia

    until = monotonic() + options.budget
    paths = configuration.paths()
    of_machine = {runner.machine: runner.device for runner in github.load_runners(RUNNERS)} if RUNNERS.exists() else {}
    device = options.device or plan.named_device(options.bench) or of_machine.get(options.machine, "")  # that must be usable
    options.machine = _own_name(options.machine, paths)
    if options.interpreter is None:
        measured = {result.sha for result in reader.load_results(paths.results).results if result.machine == options.machine}
        measurements, skipped = plan.select(options.releases, paths.pythons, measured)
        measurements, refused = plan.runnable(measurements, nvidia.visible_gpus()[0]) if device == "cuda" else (measurements, [])
        for line in (*skipped, *refused):
            console.print(line)
    else:
        measurements = [plan.in_interpreter(options.interpreter, options.releases)]
    suites = plan.on_device(options.bench, options.device) if options.device else options.bench or plan.timed_suites()
    job = run_passes.Job(paths, options.machine, suites, shard=options.shard, device=device)
    size: dict[str, Any] = {"passes": options.passes, "max_environments": options.environments or len(measurements)}
    _prepare(options, measurements, paths, size["max_environments"], console)
    with progress_bar(console) as report_progress:
        problems = run_passes.measure_all(measurements, job, **size, random=SystemRandom(), report_progress=report_progress, until=until)
    print_errors(problems)
    for line in run_passes.not_measured(measurements, paths, options.machine):
        console.print(line, soft_wrap=True)
    counts = sorted({plan.count_passes(measurement.file(job.paths, job.machine), job.suites, job.device) for measurement in measurements})
    number = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    part = f" after part {job.shard}" if job.shard else ""
    console.print(f"{counted(len(measurements), 'release')} with {number} passes each{part}, in results/{job.machine}")
    left = run_passes.passes_left(measurements, job, **size) if monotonic() >= until else 0
    if left:
        console.print(
            f"stopped at the end of its time: {left} {'pass is' if left == 1 else 'passes are'} left; the same command takes them"
        )
    is_part = options.shard and options.shard.of > 1
    whole = not (options.bench or options.device or is_part or options.interpreter or options.no_confirm or left)
    ranges = list(dict.fromkeys(measurement.release.version for measurement in measurements))
    confirmed = confirm(ranges, options.machine, console, until) if whole and counts[0] >= ENOUGH else 0
    profiled = 0 if options.no_profile or options.environments or left else _profile(measurements, job, console)
    return 2 if problems or confirmed or profiled else 0


def _prepare(
    options: argparse.Namespace, measurements: Sequence[Measurement], paths: Paths, max_environments: int, console: Console
) -> None:
    """Register the machine, and print what room the missing environments need on the disk."""
    from tensorcopy import configuration
    from tensorcopy.measure import plan
    from tensorcopy.releases import environments

    configuration.register_machine(options.machine)
    if options.rebuild:
        os.environ[environments.REBUILD] = "1"
    sentence, too_much = plan.room(measurements, paths, max_environments)
    if sentence:
        console.print(sentence, soft_wrap=True)
    if too_much:
        next_step = "free some space, or tensorcopy measure --environments 2, which removes each as soon as it is measured"
        print_warnings([TensorcopyError("the disk may be too small", got=sentence, allowed="room for them together", next=next_step)])


def confirm(ranges: Sequence[str], machine: str, console: Console, until: float = inf) -> int:
    """Measure the unconfirmed steps of the history at these releases again, print the outcomes, and return the exit code.

    ranges : of releases, such as "2.10.."
    machine : its name in results
    until : when no further pair of releases begins, on the clock of `time.monotonic`

    Raises TensorcopyError.
    """
    from tensorcopy import configuration
    from tensorcopy.analysis import confirmation
    from tensorcopy.measure import confirm_history
    from tensorcopy.report.terminal import terminal_table
    from tensorcopy.results.confirmations import RepeatOutcome

    paths = configuration.paths()
    pairs, problems = pending(paths.results, ranges, machine)
    print_errors(problems)
    if not pairs:
        console.print("no step is left to confirm")
        return 2 if problems else 0
    steps, minutes = sum(len(pair.expected) for pair in pairs), sum(confirm_history.seconds(pair, paths) for pair in pairs) / 60
    these = f"{counted(steps, 'step')} of {counted(len(pairs), 'release pair')} {'is' if steps == 1 else 'are'}"
    console.print(f"{these} not confirmed yet (about {max(1, round(minutes))} min)", soft_wrap=True)
    confirm_history.require_host(pairs)
    with progress_bar() as report_progress:
        confirmed = confirm_history.confirm(pairs, paths, confirmation.confirm, report_progress, until, output.print_line)
    print_errors(confirmed.problems)
    if confirmed.left:
        console.print(f"stopped at the end of its time: {counted(confirmed.left, 'release pair')} of {len(pairs)} left to confirm")
    rows = []
    for pair, outcomes in confirmed.by_pair:
        counts = Counter(each.outcome for each in outcomes)
        before, after = pair.releases
        rows.append([after, before, pair.after.python, str(len(outcomes)), *(str(counts[outcome]) for outcome in RepeatOutcome)])
    if rows:
        titles = ["release", "previous", "Python", "cases", *(outcome.value for outcome in RepeatOutcome)]
        console.print(terminal_table(titles, rows, "lllrrrr"), soft_wrap=not console.is_terminal)
    return 2 if problems or confirmed.problems else 0


def pending(directory: Path, ranges: Sequence[str], machine: str) -> tuple[list[ReleasePair], list[TensorcopyError]]:
    """Return the pairs of releases with steps to measure again, and an error for each damaged line or result that could have some.

    directory : of the results

    Raises TensorcopyError for a selection that matches no result.
    """
    from tensorcopy.analysis import confirmation
    from tensorcopy.releases import release_table
    from tensorcopy.results import confirmations, reader, select

    shas = {release.sha for text in ranges for release in release_table.select(text)}
    loaded = reader.load_results(directory)
    if not loaded.results and loaded.problems:
        raise loaded.problems[0]
    newest = select.newest(loaded.results, machine=machine)
    of_machine = [each for each in loaded.results if each.machine == newest.machine]
    stored = confirmations.load(directory)
    pairs = confirmation.pending(of_machine, confirmations.latest(stored.confirmations), confirmation.AT_MOST)
    damaged = reader.concerning(loaded.problems, [newest.machine], [])
    return [pair for pair in pairs if pair.after.sha in shas], [*damaged, *stored.problems]


def _profile(measurements: Sequence[Measurement], job: Job, console: Console) -> int:
    """Count the functions of the releases whose instructions were counted, unless they have a profile, and return the exit code."""
    from tensorcopy.measure import functions
    from tensorcopy.worker import hardware

    missing = [] if hardware.missing_valgrind() else functions.not_counted(measurements, job.paths, job.machine)
    if not missing:
        return 0
    with progress_bar(console) as report_progress:
        written, problems = functions.count_all(missing, job.paths, job.machine, report_progress, output.print_line)
    print_errors(problems)
    console.print(f"functions of {counted(len(written), 'release')} counted, in results/{job.machine}")
    return 2 if problems else 0


def _init(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.measure import new_project

    project, written = new_project.new_project(Path.cwd(), options.name, options.title, options.suites)
    console.print(f"{project.title}: wrote {', '.join(written)}", soft_wrap=True)
    if new_project.is_below_repository(Path.cwd()):
        console.print(
            "GitHub reads workflows at the top of a repository only: docs/own-operation.md says how to move them there", soft_wrap=True
        )
    console.print("Next: tensorcopy measure 2.5.1 2.15.0 --passes 3, then asv publish")
    return 0


def _machine(options: argparse.Namespace, console: Console) -> int:
    from rich.table import Table
    from rich.text import Text

    from tensorcopy.measure import readiness
    from tensorcopy.measure.readiness import Level
    from tensorcopy.releases import environments, release_table
    from tensorcopy.worker import nvidia

    releases = () if environments.backend() else release_table.load()  # the table has the default wheels
    findings = readiness.findings(readiness.host(Path(".asv")), *nvidia.visible_gpus(), options.device, releases)
    table = Table(box=None, pad_edge=False, show_header=False)
    signs = {Level.OK: Text("ok"), Level.WARNING: Text("warning", "yellow"), Level.REFUSED: Text("refused", "red")}
    for finding in findings:
        table.add_row(signs[finding.level], finding.subject, finding.observed, finding.advice)
    console.print(table, soft_wrap=not console.is_terminal)
    failing = (Level.WARNING, Level.REFUSED) if options.strict else (Level.REFUSED,)
    failures = [finding for finding in findings if finding.level in failing]
    for finding in failures:
        print(
            f"tensorcopy: this machine is unfit for measuring, {finding.subject}: {finding.observed}; next: {finding.advice}",
            file=sys.stderr,
        )
    return 1 if failures else 0


def _merge(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.asv_plugin import stamp
    from tensorcopy.ci import git
    from tensorcopy.results import merge

    with tempfile.TemporaryDirectory() as temporary:
        folders = list(options.folders)
        sha = git.fetch_branch(options.also) if options.also else ""
        if sha:
            branch = Path(temporary) / "branch"
            git.export(sha, branch, only=options.into.as_posix())
            folders.append(branch / options.into)
        merged = merge.merge(folders, options.into, stamp.summary, output.print_line)
    print_warnings(merged.warnings)
    console.print(f"{options.into}: {merged.new} results added, {merged.grown} extended, {merged.unchanged} unchanged", soft_wrap=True)
    return 0
