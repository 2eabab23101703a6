"""Lists and documents on the command line: releases, times and methods. Arguments, printing, exit codes."""

from __future__ import annotations

import argparse
import re
from typing import Any

from rich.console import Console
from rich.table import Table

from tensorcopy.cli.arguments import RESULTS, expression, say
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import environments, release_table
from tensorcopy.releases.release_table import Release, minor
from tensorcopy.results import load, select


def add(commands: Any) -> None:
    """These commands, beside the others'."""
    table = commands.add_parser("releases", help="list the torch releases and what this machine can install; add one")
    actions = table.add_subparsers(metavar="ACTION")
    table.set_defaults(command=_releases)
    add = actions.add_parser("add", help="make the row of a release or nightly from its wheel")
    add.add_argument("version", help="such as 2.16.0")
    add.set_defaults(command=_add_release)

    new = actions.add_parser("new", help="make the rows of all releases that the index has and the table has not")
    new.add_argument("--nightly", action="store_true", help="also of the newest nightly, where the index has some (UV_INDEX)")
    new.set_defaults(command=_new_releases)

    times = commands.add_parser("times", help="what each case takes, as time, as multiple of its floor and as bytes a second")
    times.add_argument("release", nargs="?", default="", metavar="RELEASE", help="2.15.0; the newest that was measured by default")
    times.add_argument("--machine", default="", metavar="NAME", help="as in results; the one that measured last by default")
    times.add_argument("--python", default="", metavar="N.N", help="3.11; the newest that was measured by default")
    times.add_argument("--bench", type=expression, default=r"\.BySize\.", metavar="REGEX", help="suites; those by size by default")
    times.set_defaults(command=_times)

    methods = commands.add_parser("methods", help="list the ways of copying and what each was seen to do")
    methods.add_argument("name", nargs="?", help="one of them, on every release that was measured")
    methods.set_defaults(command=_methods)


def _releases(options: argparse.Namespace, console: Console) -> int:
    read = load.load_results(RESULTS) if RESULTS.exists() else load.Results((), ())
    table = Table(box=None, pad_edge=False)
    for title in ("torch", "date", "wheels for Python", "installable here on", "measured on"):
        table.add_column(title, overflow="fold")
    for release in release_table.load():
        machines = dict.fromkeys(result.machine for result in read.results if result.sha == release.sha)
        kind = "" if release.kind == "release" else f" ({release.kind})"
        table.add_row(
            f"{release.version}{kind}", str(release.date), "{} to {}".format(*release.pythons), _here(release), ", ".join(machines) or "–"
        )
    console.print(table)
    say(read.problems)
    return 2 if read.problems else 0


def _here(release: Release) -> str:
    found = environments.pythons_for(release, [])
    return ", ".join(sorted(found, key=minor)) or f"nothing: uv python install {release.pythons[1]}"


def _add_release(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.releases import wheel_index

    release = wheel_index.release(options.version.removeprefix("v"))
    release_table.add(release)
    console.print(
        f"torch {release.version} of {release.date}, {release.sha}, Python {release.pythons[0]} to {release.pythons[1]}: in the table"
    )
    return 0


def _new_releases(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.releases import wheel_index

    found = wheel_index.unknown(nightly=options.nightly)
    for version in found:
        release = wheel_index.release(version)
        release_table.add(release)
        console.print(f"torch {release.version} of {release.date}: new in the table")
    if not found:
        console.print(f"The index has no torch that the table has not; {release_table.load()[-1].version} is the newest")
    return 0


def _methods(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.report.semantics_text import outcome

    order = {release.sha: index for index, release in enumerate(release_table.load())}
    read = load.load_results(RESULTS)
    observed = sorted((r for r in read.results if r.sha in order and r.methods), key=lambda r: order[r.sha])
    if not observed and read.problems:
        raise read.problems[0]
    if not observed:
        raise TensorcopyError("nothing was observed yet", got="no results", allowed="results/ of a checkout", next="tensorcopy dashboard")
    rows = observed[-1].methods
    if options.name is not None and options.name not in rows:
        raise TensorcopyError("unknown method", got=repr(options.name), allowed=", ".join(rows), next="tensorcopy methods lists them")
    table = Table(box=None, pad_edge=False)
    if options.name is None:
        console.print(f"Observed with torch {observed[-1].provenance['torch']} on the CPU, for a leaf that requires grad.\n")
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
            table.add_row(result.provenance["torch"], result.python, *of)
    console.print(table)
    say(read.problems)
    return 2 if read.problems else 0


def _times(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.report.units import duration
    from tensorcopy.results import baseline

    read = load.load_results(RESULTS)
    result = select.newest(read.results, options.release, options.machine, options.python)
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
            timing, multiple, speed = result.timings[case], baseline.multiple(result, case), baseline.bandwidth(result, case)
            table.add_row(
                *(value for _, value in case.parameters),
                duration(timing.median),
                f"{duration(timing.low)} … {duration(timing.high)}",
                f"{multiple:.2f}" if multiple else "",
                f"{speed / 1e9:.3g}" if speed else "",
                f"{len(timing.judged)} of {len(timing.by_pass)}",
            )
        console.print(table)
        console.print("")
    provenance = result.provenance
    console.print(
        f"torch {provenance['torch']}, Python {provenance['python']}, {result.machine} ({provenance['cpu']}), {provenance['started'][:10]}. "
        "The floor is the same bytes copied by the machine alone into fresh memory; GB/s counts each byte once.",
        soft_wrap=True,
    )
    say(read.problems)
    return 2 if read.problems else 0
