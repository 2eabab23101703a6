"""The command line: arguments, printing, exit codes. 0 done; 1 it does not hold; 2 something could not be done, said in one line."""

from __future__ import annotations

import argparse
import json
import platform
import re
import sys
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from tensorcopy import __version__, cli_judge, documents, environments, progress, releases, results
from tensorcopy.errors import TensorcopyError
from tensorcopy.passes import PASSES
from tensorcopy.releases import Release, minor

RESULTS = Path("results")
AGREEMENT = Path("docs/agreement.json")  # written by `tensorcopy verify --keep`


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    options = _parser().parse_args(arguments)
    console = Console(highlight=False)
    try:
        return int(options.command(options, console))
    except TensorcopyError as error:
        print(f"tensorcopy: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("tensorcopy: interrupted; what was finished is kept, the same command goes on with the rest", file=sys.stderr)
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

    passes = commands.add_parser("measure", help="fill the history: several passes of each release, in random order; resumes where it was")
    passes.add_argument(
        "releases", nargs="*", metavar="RANGE", help="2.15.0, 2.10.., ..2.0.1@3.9 (on that Python); every release by default"
    )
    passes.add_argument(
        "--passes", type=cli_judge.positive, default=PASSES, metavar="N", help=f"so many of each release; {PASSES} by default"
    )
    passes.add_argument(
        "--machine", default=platform.node(), metavar="NAME", help="this machine's name in results; its host name by default"
    )
    passes.add_argument(
        "--bench", type=cli_judge.expression, default="", metavar="REGEX", help="suites; by default all that are timed, but the article's"
    )
    passes.add_argument(
        "--environments", type=_several, metavar="N", help="at most so many on the disk together: groups that share the newest release"
    )
    passes.set_defaults(command=_measure)

    agreement = commands.add_parser("verify", help="compare asv's figures with torch's own Timer, by turns; exit 1 where they disagree")
    agreement.add_argument("release", nargs="?", default="", metavar="RELEASE", help="2.15.0; the newest that can be installed by default")
    agreement.add_argument("--device", default="cpu", help="cpu by default; on cuda the references are the Timer and the device's events")
    agreement.add_argument(
        "--bench", type=cli_judge.expression, default="", metavar="REGEX", help="suites; every one that times a method by default"
    )
    agreement.add_argument("--keep", action="store_true", help="write the figures into docs/agreement.json, where all agree")
    agreement.set_defaults(command=_verify)

    table = commands.add_parser("releases", help="list the torch releases and what this machine can install; add one")
    actions = table.add_subparsers(metavar="ACTION")
    table.set_defaults(command=_releases)
    add = actions.add_parser("add", help="make the row of a release or nightly from its wheel")
    add.add_argument("version", help="such as 2.16.0")
    add.set_defaults(command=_add_release)

    times = commands.add_parser("times", help="what each case takes, as time, as multiple of its floor and as bytes a second")
    times.add_argument("release", nargs="?", default="", metavar="RELEASE", help="2.15.0; the newest that was measured by default")
    times.add_argument("--machine", default="", metavar="NAME", help="as in results; the one that measured last by default")
    times.add_argument("--python", default="", metavar="N.N", help="3.11; the newest that was measured by default")
    times.add_argument(
        "--bench", type=cli_judge.expression, default=r"\.BySize\.", metavar="REGEX", help="suites; those by size by default"
    )
    times.set_defaults(command=_times)

    methods = commands.add_parser("methods", help="list the ways of copying and what each was seen to do")
    methods.add_argument("name", nargs="?", help="one of them, on every release that was measured")
    methods.set_defaults(command=_methods)

    cli_judge.add(commands)

    page = commands.add_parser("readme", help="write the produced parts of README.md and docs/ anew from results/")
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
    with bar(console) as tell:
        problems = dashboard.run(wanted, places, options.machine, options.quick, tell)
    _say(problems)
    console.print(f"The page: {places.html / 'index.html'}", soft_wrap=True)
    if not options.no_serve:
        _serve(options, places.html, console)
    return 2 if problems else 0


def _measure(options: argparse.Namespace, console: Console) -> int:
    from random import SystemRandom

    from tensorcopy import measure
    from tensorcopy.asv_plugin import configuration

    places = configuration.places()
    measurements, left_out = measure.selected(options.releases, places.pythons)
    for line in left_out:
        console.print(line)
    configuration.register(options.machine)
    suites = options.bench or measure.TIMED
    with bar(console) as tell:
        problems = measure.run(
            measurements,
            places,
            options.machine,
            passes=options.passes,
            suites=suites,
            room=options.environments or len(measurements),
            random=SystemRandom(),
            tell=tell,
        )
    _say(problems)
    counts = [measure.passes_of(one.file(places, options.machine), suites) for one in measurements]
    console.print(f"{len(measurements)} releases with {min(counts)} to {max(counts)} passes each, in results/{options.machine}")
    return 2 if problems else 0


def _verify(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import measure, verify
    from tensorcopy.asv_plugin import configuration

    places = configuration.places()
    (one, *_), _left_out = measure.selected([options.release] if options.release else [], places.pythons, newest_first=True)
    with bar(console) as tell:
        tell(progress.Progress(f"torch {one.release.version} on Python {one.python}", 0.0, 0.0))
        environment = environments.build(places.environments, one.release, one.python, environments.expected_build())
        begun = monotonic()

        def told(share: float, doing: str) -> None:
            elapsed = monotonic() - begun
            tell(progress.Progress(f"torch {one.release.version}: {doing}", share, elapsed / share * (1 - share) if share else 0.0))

        found = verify.run(environment, told, device=options.device, suites=options.bench)
    table = Table(box=None, pad_edge=False)
    for title in ("asv over the reference", "cases", "median", "least", "greatest"):
        table.add_column(title, justify="left" if title.startswith("asv") else "right")
    for name, ratios in verify.by_suite(found.ratios).items():
        values = sorted(ratio.ratio for ratio in ratios)
        table.add_row(name, str(len(values)), f"{median(values):.3f}", f"{values[0]:.3f}", f"{values[-1]:.3f}")
    console.print(table)
    for ratio in found.outside:
        console.print(f"disagrees: {ratio.ratio:.3f}  {ratio.suite} {ratio.case}", soft_wrap=True)
    word = "agree" if found.holds else "DISAGREE"
    console.print(
        f"asv and its reference {word} with torch {found.torch} on {found.on}: the median of {len(found.ratios)} cases "
        f"is {found.median:.3f} (allowed 1 ± {verify.WITHIN}), {len(found.outside)} outside 1 ± {verify.NONE_OUTSIDE}",
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
        AGREEMENT.write_text(json.dumps(verify.document(found, day), indent=2) + "\n", encoding="utf-8")
    return 0 if found.holds else 1


@contextmanager
def bar(console: Console) -> Iterator[Callable[[progress.Progress], None]]:
    """A function to tell how far a job is: a bar on a terminal, a line for each step elsewhere."""
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
                left = _left(now.remaining)
                console.print(f"{doing} ({left})" if left else doing)

        yield tell


def _several(text: str) -> int:
    number = int(text)
    if number < 2:
        raise argparse.ArgumentTypeError(f"got {number}; allowed: 2 or more, the newest release and another")
    return number


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


def _times(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import floors
    from tensorcopy.units import duration

    read = results.load(RESULTS)
    result = results.newest(read.found, options.release, options.machine, options.python)
    wanted = re.compile(options.bench)
    cases = [case for case in result.timings if wanted.search(case.suite)]
    if not cases:
        suites = sorted({case.suite for case in result.timings})
        raise TensorcopyError("no such suite was measured", got=options.bench, allowed=", ".join(suites), next="another --bench")
    for suite in dict.fromkeys(case.suite for case in cases):
        rows = [case for case in cases if case.suite == suite]
        table = Table(box=None, pad_edge=False, title=suite, title_justify="left")
        for name, _ in rows[0].parameters:
            table.add_column(name)
        for title in ("time", "of passes", "× floor", "GB/s", "passes"):
            table.add_column(title, justify="right")
        for case in rows:
            timing, multiple, speed = result.timings[case], floors.multiple(result, case), floors.bandwidth(result, case)
            table.add_row(
                *(value for _, value in case.parameters),
                duration(timing.median),
                f"{duration(timing.low)} … {duration(timing.high)}",
                f"{multiple:.2f}" if multiple else "",
                f"{speed / 1e9:.3g}" if speed else "",
                f"{len(timing.judged)} of {len(timing.visits)}",
            )
        console.print(table)
        console.print("")
    ledger = result.ledger
    console.print(
        f"torch {ledger['torch']}, Python {ledger['python']}, {result.machine} ({ledger['cpu']}), {ledger['started'][:10]}. "
        "The floor is the same bytes copied by the machine alone into fresh memory; GB/s counts each byte once.",
        soft_wrap=True,
    )
    _say(read.problems)
    return 2 if read.problems else 0


def _readme(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import readme

    read = results.load(RESULTS)
    if read.problems:
        raise read.problems[0]  # a README from fewer results would be a wrong one
    machine = readme.best_known(read.found)
    for name, parts in (("README.md", readme.parts(machine)), ("docs/methodology.md", _methodology(machine.results))):
        page = Path(name)
        page.write_text(readme.written(page.read_text(encoding="utf-8"), parts, name), encoding="utf-8")
    Path("docs/history.svg").write_text(readme.picture(machine), encoding="utf-8")
    console.print(f"README.md, docs/methodology.md and docs/history.svg: from {len(machine.results)} results of {machine.name}")
    return 0


def _methodology(found: Sequence[results.Result]) -> dict[str, str]:
    """The produced parts of docs/methodology.md by name."""
    from tensorcopy import known as changes
    from tensorcopy import methodology, report_card

    if not AGREEMENT.exists():
        raise TensorcopyError("no agreement was kept", got=f"no {AGREEMENT}", allowed="its figures", next="tensorcopy verify --keep")
    if not report_card.FILE.exists():
        raise TensorcopyError("no report card", got=f"no {report_card.FILE}", allowed="its figures", next="tensorcopy report-card")
    known = {release.sha: release for release in releases.load()}
    kept, schema, card = (json.loads(path.read_text(encoding="utf-8")) for path in (AGREEMENT, documents.SCHEMA, report_card.FILE))
    return {
        "card": report_card.markdown(card),
        "agreement": methodology.agreement(kept),
        "quiet": methodology.quiet(found),
        "repeated": methodology.repeated(found, known),
        "sets": methodology.sets(found, results.load(changes.FOLDER).found),
        "memory": methodology.memory(found, known),
        "seen": methodology.seen(found, known),
        "ledger": methodology.ledger(schema),
    }


if __name__ == "__main__":
    sys.exit(main())
