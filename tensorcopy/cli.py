"""The command line: arguments, printing, exit codes. 0 done; 2 something could not be done, said in one line."""

from __future__ import annotations

import argparse
import platform
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from tensorcopy import __version__, environments, progress, releases, results
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import Release, minor

RESULTS = Path("results")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    options = _parser().parse_args(arguments)
    console = Console(highlight=False)
    try:
        return int(options.command(options, console))
    except TensorcopyError as error:
        print(f"tensorcopy: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("tensorcopy: interrupted; releases that were finished are kept, the same command goes on with the next", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tensorcopy", description="How do I copy a tensor? Measured on every torch release and device.")
    parser.add_argument("--version", action="version", version=f"tensorcopy {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

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

    table = commands.add_parser("releases", help="list the torch releases and what this machine can install; add one")
    actions = table.add_subparsers(metavar="ACTION")
    table.set_defaults(command=_releases)
    add = actions.add_parser("add", help="make the row of a release or nightly from its wheel")
    add.add_argument("version", help="such as 2.16.0")
    add.set_defaults(command=_add_release)

    methods = commands.add_parser("methods", help="list the ways of copying and what each was seen to do")
    methods.add_argument("name", nargs="?", help="one of them, on every release that was measured")
    methods.set_defaults(command=_methods)

    page = commands.add_parser("readme", help="write the produced parts of README.md and docs/history.svg anew from results/")
    page.set_defaults(command=_readme)
    return parser


def _dashboard(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import dashboard, server
    from tensorcopy.asv_plugin import configuration

    places = configuration.places()
    if not options.no_serve:
        server.bound(places.html, options.port).server_close()  # a port that cannot be had is said before minutes of measuring
    choice = dashboard.choose(options.releases, places.pythons)
    for line in choice.left_out:
        console.print(line)
    found = results.load(places.results).found
    wanted = []
    for measurement in choice.measurements:
        result = None if options.again else dashboard.already_measured(found, measurement, options.machine, options.quick)
        if result is None:
            wanted.append(measurement)
        else:
            day = result.ledger["started"][:10]
            console.print(f"torch {measurement.release.version} was measured on this machine on {day}; --again adds samples")
    configuration.register(options.machine)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %  {task.fields[left]}"), console=console
    ) as bar:
        task = bar.add_task("starting", total=1.0, left="")
        said = set()

        def tell(now: progress.Progress) -> None:
            bar.update(task, description=now.doing, completed=now.done, left=_left(now.remaining))
            doing = now.doing.split(":")[0]
            if not console.is_terminal and doing not in said:
                said.add(doing)
                console.print(f"{doing} ({_left(now.remaining)})")

        problems = dashboard.run(wanted, places, options.machine, options.quick, tell)
    _say(problems)
    console.print(f"The page: {places.html / 'index.html'}", soft_wrap=True)
    if not options.no_serve:
        _serve(options, places.html, console)
    return 2 if problems else 0


def _serve(options: argparse.Namespace, directory: Path, console: Console) -> None:
    from tensorcopy import server

    with server.bound(directory, options.port) as bound:
        address = f"http://127.0.0.1:{bound.server_address[1]}/"
        console.print(f"Served at {address} until Ctrl-C", soft_wrap=True)
        if options.open:
            webbrowser.open(address)
        try:
            bound.serve_forever()
        except KeyboardInterrupt:
            console.print("")


def _left(seconds: float) -> str:
    if seconds == 0:
        return ""
    if seconds >= 90:
        return f"about {round(seconds / 60)} min left"
    return f"about {max(5, round(seconds / 5) * 5)} s left"


def _say(problems: Sequence[TensorcopyError]) -> None:
    for problem in problems:
        print(f"tensorcopy: {problem}", file=sys.stderr)


def _releases(options: argparse.Namespace, console: Console) -> int:
    read = results.load(RESULTS) if RESULTS.exists() else results.Results((), ())
    table = Table(box=None, pad_edge=False)
    for title in ("torch", "date", "wheels for Python", "installable here on", "measured on"):
        table.add_column(title, overflow="fold")
    for release in releases.load():
        machines = dict.fromkeys(result.machine for result in read.found if result.sha == release.sha)
        kind = "" if release.kind == "release" else f" ({release.kind})"
        table.add_row(
            f"{release.version}{kind}", str(release.date), "{} to {}".format(*release.pythons), _here(release), ", ".join(machines) or "–"
        )
    console.print(table)
    _say(read.problems)
    return 2 if read.problems else 0


def _here(release: Release) -> str:
    found = environments.pythons_for(release, [])
    return ", ".join(sorted(found, key=minor)) or f"nothing: uv python install {release.pythons[1]}"


def _add_release(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import wheels

    release = wheels.release(options.version.removeprefix("v"))
    releases.add(release)
    console.print(
        f"torch {release.version} of {release.date}, {release.sha}, Python {release.pythons[0]} to {release.pythons[1]}: in the table"
    )
    return 0


def _methods(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.site.answers import outcome

    order = {release.sha: index for index, release in enumerate(releases.load())}
    read = results.load(RESULTS)
    observed = sorted((r for r in read.found if r.sha in order and r.methods), key=lambda r: order[r.sha])
    if not observed and read.problems:
        raise read.problems[0]
    if not observed:
        raise TensorcopyError("nothing was observed yet", got="no results", allowed="results/ of a checkout", next="tensorcopy dashboard")
    rows = observed[-1].methods
    if options.name is not None and options.name not in rows:
        raise TensorcopyError("unknown method", got=repr(options.name), allowed=", ".join(rows), next="tensorcopy methods lists them")
    table = Table(box=None, pad_edge=False)
    if options.name is None:
        console.print(f"Observed with torch {observed[-1].ledger['torch']} on the CPU, for a leaf that requires grad.\n")
        for title in ("method", "code", "result"):
            table.add_column(title, overflow="fold")
        for name, row in rows.items():
            seen = row["observed"].get("cpu")
            table.add_row(name, row["code"], outcome(seen["with_grad"]) if seen else f"exists from torch {row['since']} on")
    else:
        console.print(f"{options.name}: {rows[options.name]['code']}\n")
        for title in ("torch", "Python", "of a plain tensor", "of one that requires grad"):
            table.add_column(title, overflow="fold")
        for result in observed:
            seen = result.methods.get(options.name, {}).get("observed", {}).get("cpu")
            of = (outcome(seen["plain"]), outcome(seen["with_grad"])) if seen else ("not there, or not observed yet", "")
            table.add_row(result.ledger["torch"], result.python, *of)
    console.print(table)
    _say(read.problems)
    return 2 if read.problems else 0


def _readme(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import readme

    read = results.load(RESULTS)
    if read.problems:
        raise read.problems[0]  # a README from fewer results would be a wrong one
    machine = readme.best_known(read.found)
    page = Path("README.md")
    page.write_text(readme.written(page.read_text(encoding="utf-8"), machine), encoding="utf-8")
    Path("docs/history.svg").write_text(readme.picture(machine), encoding="utf-8")
    console.print(f"README.md and docs/history.svg: from {len(machine.results)} results of {machine.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
