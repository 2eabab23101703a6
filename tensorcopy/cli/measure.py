"""Measuring on the command line: dashboard, measure, machine, merge and verify. Arguments, printing, exit codes."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import webbrowser
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from time import monotonic
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tensorcopy.ci.runners import DEVICES
from tensorcopy.cli.arguments import RESULTS, bar, expression, positive, say
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import progress
from tensorcopy.releases import environments
from tensorcopy.results import load
from tensorcopy.results.passes import PASSES

if TYPE_CHECKING:  # asv takes a second to import
    from tensorcopy.asv_plugin.configuration import Paths
    from tensorcopy.measure.plan import Measurement, Shard


def add(commands: Any) -> None:
    """The measuring commands, beside the others'."""
    board = commands.add_parser("dashboard", help="measure torch on this machine, publish the site, show it")
    board.add_argument("--releases", default="", metavar="RANGE", help="2.15.0, 2.10.., ..2.0.1 or 2.5.1..2.9.1; the newest by default")
    board.add_argument("--quick", action="store_true", help="copies and conversions by size only, with few samples")
    board.add_argument("--again", action="store_true", help="measure also what this machine has measured, and add the samples")
    board.add_argument(
        "--machine", default=platform.node(), metavar="NAME", help="this machine's name in results; its host name by default"
    )
    board.add_argument("--no-serve", action="store_true", help="write site/ and stop there")
    board.add_argument("--port", type=int, metavar="N", help="serve on this port of the loopback; 8080 or the next free one by default")
    board.add_argument("--open", action="store_true", help="open the served page in a browser")
    board.set_defaults(command=_dashboard)

    passes = commands.add_parser("measure", help="fill the history: several passes of each release, in random order; resumes where it was")
    passes.add_argument(
        "releases",
        nargs="*",
        metavar="RANGE",
        help="2.15.0, 2.10.., ..2.0.1@3.9 (on that Python), or NEW: the last one measured here and all since; every release by default",
    )
    passes.add_argument("--passes", type=positive, default=PASSES, metavar="N", help=f"so many of each release; {PASSES} by default")
    passes.add_argument(
        "--machine", default=platform.node(), metavar="NAME", help="this machine's name in results; its host name by default"
    )
    passes.add_argument(
        "--bench", type=expression, default="", metavar="REGEX", help="suites; by default all that are timed, but the article's"
    )
    passes.add_argument(
        "--interpreter", metavar="PYTHON", help='measure the torch that an interpreter has and install none: "same", or a program'
    )
    passes.add_argument(
        "--shard", type=_shard, metavar="K/N", help="only this machine's share of the passes, of N machines of one kind; then merge"
    )
    passes.add_argument(
        "--environments", type=_several, metavar="N", help="at most so many on the disk together: groups that share the newest release"
    )
    passes.set_defaults(command=_measure)

    fit = commands.add_parser("machine", help="is this machine fit to be measured? driver, clocks, other load, memory; exit 1 where not")
    fit.add_argument("--device", choices=DEVICES, default="cpu", help="cpu by default; on cuda the GPUs are looked at too")
    fit.add_argument("--strict", action="store_true", help="what is warned of is refused too")
    fit.set_defaults(command=_machine)

    join = commands.add_parser("merge", help="put folders of results together: every pass of each, once, in whatever order")
    join.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="as measure writes it, with benchmarks.json in it")
    join.add_argument("--into", type=Path, default=RESULTS, metavar="FOLDER", help=f"{RESULTS}/ by default")
    join.add_argument("--also", default="", metavar="BRANCH", help="and what this branch at the origin has of FOLDER, where there is one")
    join.set_defaults(command=_merge)

    agreement = commands.add_parser("verify", help="compare asv's figures with torch's own Timer, by turns; exit 1 where they disagree")
    agreement.add_argument("release", nargs="?", default="", metavar="RELEASE", help="2.15.0; the newest that can be installed by default")
    agreement.add_argument("--device", default="cpu", help="cpu by default; on cuda the references are the Timer and the device's events")
    agreement.add_argument("--bench", type=expression, default="", metavar="REGEX", help="suites; every one that times a method by default")
    agreement.add_argument("--keep", action="store_true", help="write the figures into docs/agreement.json, where all agree")
    agreement.set_defaults(command=_verify)


def _dashboard(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.asv_plugin import configuration
    from tensorcopy.measure import dashboard
    from tensorcopy.site import server

    paths = configuration.paths()
    if not options.no_serve:
        server.bound(paths.html, options.port).server_close()  # a port that cannot be had is said before minutes of measuring
    choice = dashboard.choose(options.releases, paths.pythons)
    for line in choice.left_out:
        console.print(line)
    found = load.load_results(paths.results).results
    wanted = []
    for measurement in choice.measurements:
        result = None if options.again else dashboard.already_measured(found, measurement, options.machine, options.quick)
        if result is None:
            wanted.append(measurement)
        else:
            day = result.provenance["started"][:10]
            console.print(f"torch {measurement.release.version} was measured on this machine on {day}; --again adds samples")
    configuration.register(options.machine)
    with bar(console) as tell:
        problems = dashboard.run(wanted, paths, options.machine, options.quick, tell)
    say(problems)
    console.print(f"The page: {paths.html / 'index.html'}", soft_wrap=True)
    if not options.no_serve:
        _serve(options, paths.html, console)
    return 2 if problems else 0


def _serve(options: argparse.Namespace, directory: Path, console: Console) -> None:
    from tensorcopy.site import server

    with server.bound(directory, options.port) as bound:
        address = f"http://127.0.0.1:{bound.server_address[1]}/"
        console.print(f"Served at {address} until Ctrl-C", soft_wrap=True)
        if options.open:
            webbrowser.open(address)
        try:
            bound.serve_forever()
        except KeyboardInterrupt:
            console.print("")


def _measure(options: argparse.Namespace, console: Console) -> int:
    from random import SystemRandom

    from tensorcopy.asv_plugin import configuration
    from tensorcopy.measure import plan, run_passes

    paths = configuration.paths()
    measurements, left_out = _asked_for(options, paths)
    for line in left_out:
        console.print(line)
    configuration.register(options.machine)
    suites = options.bench or plan.TIMED
    with bar(console) as tell:
        problems = run_passes.measure_all(
            measurements,
            run_passes.Job(paths, options.machine, suites, shard=options.shard),
            passes=options.passes,
            room=options.environments or len(measurements),
            random=SystemRandom(),
            tell=tell,
        )
    say(problems)
    counts = sorted({plan.passes_of(one.file(paths, options.machine), suites) for one in measurements})
    number = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    part = f" after part {options.shard}" if options.shard else ""
    several = "releases" if len(measurements) > 1 else "release"
    console.print(f"{len(measurements)} {several} with {number} passes each{part}, in results/{options.machine}")
    return 2 if problems else 0


def _asked_for(options: argparse.Namespace, paths: Paths) -> tuple[list[Measurement], list[str]]:
    from tensorcopy.measure import plan

    if options.interpreter is None:
        measured = {one.sha for one in load.load_results(paths.results).results if one.machine == options.machine}
        return plan.selected(options.releases, paths.pythons, measured)
    one = plan.in_interpreter(options.interpreter)
    others = [text for text in options.releases if text not in (plan.NEW, one.release.version, one.release.tag)]
    if others:
        raise TensorcopyError(
            "this interpreter has another torch",
            got=", ".join(others),
            allowed=one.release.version,
            next="leave --interpreter out, and the release is installed",
        )
    return [one], []


def _machine(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.measure import host_probe, preflight
    from tensorcopy.measure.preflight import Level

    found = preflight.findings(host_probe.host(Path(".asv")), *host_probe.gpus(), options.device)
    table = Table(box=None, pad_edge=False, show_header=False)
    signs = {Level.FINE: "ok", Level.WARNED: "[yellow]warning[/]", Level.REFUSED: "[red]refused[/]"}
    for one in found:
        table.add_row(signs[one.level], escape(one.what), escape(one.seen), escape(one.next))
    console.print(table, soft_wrap=not console.is_terminal)
    grave = [one for one in found if one.level is Level.REFUSED or (options.strict and one.level is Level.WARNED)]
    for one in grave:
        print(f"tensorcopy: this machine is not fit to be measured, {one.what}: {one.seen}; next: {one.next}", file=sys.stderr)
    return 1 if grave else 0


def _merge(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.asv_plugin import statistics
    from tensorcopy.ci import git
    from tensorcopy.results import merge

    with tempfile.TemporaryDirectory() as place:
        folders = list(options.folders)
        sha = git.at_origin(options.also) if options.also else ""
        if sha:
            git.export(sha, Path(place) / "branch", only=options.into.as_posix())
            folders.append(Path(place) / "branch" / options.into)
        done = merge.merge(folders, options.into, statistics.summary)
    console.print(f"{options.into}: {done.new} results are new, {done.grown} have grown, {done.unchanged} are as they were", soft_wrap=True)
    return 0


def _verify(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.asv_plugin import configuration
    from tensorcopy.measure import crosscheck, plan

    paths = configuration.paths()
    (one, *_), _left_out = plan.selected([options.release] if options.release else [], paths.pythons, newest_first=True)
    with bar(console) as tell:
        tell(progress.Progress(f"torch {one.release.version} on Python {one.python}", 0.0, 0.0))
        environment = environments.build(paths.environments, one.release, one.python, environments.expected_build())
        begun = monotonic()

        def told(share: float, doing: str) -> None:
            elapsed = monotonic() - begun
            tell(progress.Progress(f"torch {one.release.version}: {doing}", share, elapsed / share * (1 - share) if share else 0.0))

        found = crosscheck.run(environment, told, device=options.device, suites=options.bench)
    table = Table(box=None, pad_edge=False)
    for title in ("asv over the reference", "cases", "median", "least", "greatest"):
        table.add_column(title, justify="left" if title.startswith("asv") else "right")
    for name, ratios in crosscheck.by_suite(found.ratios).items():
        values = sorted(ratio.ratio for ratio in ratios)
        table.add_row(name, str(len(values)), f"{median(values):.3f}", f"{values[0]:.3f}", f"{values[-1]:.3f}")
    console.print(table)
    for ratio in found.outside:
        console.print(f"disagrees: {ratio.ratio:.3f}  {ratio.suite} {ratio.case}", soft_wrap=True)
    word = "agree" if found.holds else "DISAGREE"
    console.print(
        f"asv and its reference {word} with torch {found.torch} on {found.on}: the median of {len(found.ratios)} cases "
        f"is {found.median:.3f} (allowed 1 ± {crosscheck.WITHIN}), {len(found.outside)} outside 1 ± {crosscheck.NONE_OUTSIDE}",
        soft_wrap=True,
    )
    if options.keep and (options.bench or options.device != "cpu" or not found.holds):
        raise TensorcopyError(
            "these figures are not kept",
            got="a part of the cases, another device, or a disagreement",
            allowed="every case on the CPU, in agreement",
            next="tensorcopy verify --keep on a machine with nothing else to do",
        )
    if options.keep:
        day = datetime.now(timezone.utc).date().isoformat()
        crosscheck.FILE.write_text(json.dumps(crosscheck.document(found, day), indent=2) + "\n", encoding="utf-8")
    return 0 if found.holds else 1


def _several(text: str) -> int:
    number = int(text)
    if number < 2:
        raise argparse.ArgumentTypeError(f"got {number}; allowed: 2 or more, the newest release and another")
    return number


def _shard(text: str) -> Shard:
    number, slash, of = text.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(f"got {text!r}; allowed: 1/5 to 5/5 for five machines")
    from tensorcopy.measure.plan import Shard

    return Shard(int(number), int(of))
