"""The command that lists what there is: list releases and list times."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tensorcopy.cli import output
from tensorcopy.cli.arguments import add_history, campaign, results_folder
from tensorcopy.cli.output import print_errors
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure.settings import expression

if TYPE_CHECKING:
    from rich.console import Console

    from tensorcopy.report.table import Report
    from tensorcopy.results.cases import Case
    from tensorcopy.results.result import Result


def add(commands: Any) -> None:
    """Add this command to the parser."""
    listing = commands.add_parser("list", help="list the releases of torch, or the times of a release")
    kinds = listing.add_subparsers(required=True, metavar="WHAT")

    releases = kinds.add_parser("releases", help="list the torch releases, and where each was measured and can be installed")
    releases.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: also whether this GPU can run each")
    releases.add_argument(
        "--add",
        nargs="?",
        const="",
        metavar="RELEASE",
        help="add this release, such as 2.16.0, to the table; without a number, all new ones of the package index",
    )
    releases.add_argument("--nightly", action="store_true", help="also add the newest nightly, from the index NIGHTLY_INDEX or uv's own")
    releases.set_defaults(command=_releases)

    times = kinds.add_parser("times", help="list times, also relative to memcpy and in bytes per second")
    times.add_argument("release", nargs="?", default="", metavar="RELEASE", help="such as 2.15.0; default: the newest that was measured")
    add_history(times)
    times.add_argument("--bench", type=expression, metavar="REGEX", help="suites; default: those by size, in a project all")
    times.set_defaults(command=_times)


def _releases(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.releases import environments, release_table, uv
    from tensorcopy.report.table import of_cells
    from tensorcopy.results import reader
    from tensorcopy.worker import nvidia

    if options.add is not None or options.nightly:
        return _added(options, console)
    own = campaign()
    results = reader.load_results(results_folder(), own.releases)
    gpus, reason = nvidia.visible_gpus() if options.device == "cuda" else ([], "")
    if options.device == "cuda" and not gpus:
        raise TensorcopyError(
            "cuda cannot be used on this machine", got=reason, allowed="an NVIDIA GPU and its driver", next="tensorcopy list releases"
        )
    titles = ["CUDA", " or ".join(dict.fromkeys(gpu.name for gpu in gpus))] if gpus else []
    rows = []
    for release in own.releases:
        names = dict.fromkeys(result.history for result in results.results if result.sha == release.sha)
        kind = "" if release.kind == "release" else f" ({release.kind})"
        pythons = "{} to {}".format(*release.pythons)
        here = [python for python in environments.known_pythons() if release.runs_on(python) and uv.find_python(python)]
        installable = ", ".join(sorted(here, key=release_table.minor)) or f"none: uv python install {release.pythons[1]}"
        cells = [f"{release.version}{kind}", str(release.date), pythons, installable, ", ".join(names) or "–"]
        rows.append([*cells, *([release.cuda, environments.why_no_gpu(release, gpus) or "runs"] if gpus else [])])
    header = ["torch", "date", "wheels for Python", "installable here on", "measured in", *titles]
    output.show(of_cells("", header, rows, "l" * len(header)), console)
    if gpus and environments.backend():
        console.print(f"CUDA is that of the default wheels: {environments.BACKEND}={environments.backend()} selects others")
    return print_errors(results.problems)


def _added(options: argparse.Namespace, console: Console) -> int:
    """Add releases to the table."""
    from tensorcopy.releases import release_table, wheel_index

    if options.add and options.nightly:
        raise TensorcopyError("two ways to add", got=f"--add {options.add} --nightly", allowed="one of them", next="--add --nightly")
    own = campaign()
    versions = [options.add.removeprefix("v")] if options.add else wheel_index.unknown(own.releases, nightly=options.nightly)
    try:
        release_table.in_order(versions)
    except ValueError as error:
        allowed, following = "a number such as 2.16.0 or 2.16", "tensorcopy list releases --add"
        raise TensorcopyError("not a torch release", got=repr(options.add), allowed=allowed, next=following) from error
    if known := [row.version for row in own.releases if row.version in versions]:
        console.print(f"torch {known[0]} is already in the table")
        return 0
    for version in versions:
        release = wheel_index.release(version)
        release_table.add(release, own.table)
        pythons = "{} to {}".format(*release.pythons)
        console.print(
            f"Added torch {release.version} of {release.date} ({release.sha}, Python {pythons}) to {own.table.name}", soft_wrap=True
        )
    if not versions:
        console.print(f"The package index has no new torch release; the newest is {own.releases[-1].version}")
    return 0


def _times(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.numbers import counted
    from tensorcopy.report.comparison import not_included
    from tensorcopy.report.table import Report
    from tensorcopy.results import histories, reader
    from tensorcopy.results.cases import in_order_of_size

    own = campaign()
    loaded = reader.load_results(results_folder(), own.releases)
    if not loaded.results and loaded.problems:
        raise loaded.problems[0]
    by_size, wanted = not options.bench and own.is_shipped, re.compile(options.bench or "")
    history, device = histories.chosen(loaded.histories, options.history, options.device, command="tensorcopy list times")

    def measured(result: Result) -> list[Case]:
        cases = (*result.timings, *(case for case in result.counts if case.tracked))
        return [case for case in cases if case.device == device]

    def listed(result: Result) -> list[Case]:
        return [case for case in measured(result) if (case.spec.rank == 0 and device == "cpu" if by_size else wanted.search(case.suite))]

    version = own.releases.find(options.release).version if options.release else ""
    of_device = [each for each in history.on(device) if version in ("", each.version)]
    if not of_device:
        measured_releases = ", ".join(each.version for each in history.on(device))
        following = f"name one of these, or tensorcopy measure {version}"
        raise TensorcopyError(f"no result of torch {version}", got=version, allowed=f"torch {measured_releases}", next=following)
    result = next((each for each in reversed(of_device) if listed(each)), of_device[-1])
    cases = listed(result) or [case for case in measured(result) if by_size and case.spec.headline]  # on a GPU no suite has rank 0
    if not cases:
        suites = ", ".join(sorted({case.suite for each in history.results for case in measured(each)})) or "none: nothing was timed"
        raise TensorcopyError("no such suite was measured", got=options.bench or "none by size", allowed=suites, next="another --bench")
    tables: dict[str, list[Case]] = {}
    for case in in_order_of_size(cases):
        tables.setdefault(case.suite, []).append(case)
    provenance = result.provenance
    place = f"{result.hardware(device)} ({result.history}, {device})"
    console.print(f"torch {provenance['torch']} on {place}, Python {provenance['python']}, {provenance['started'][:10]}", soft_wrap=True)
    for suite, members in tables.items():
        console.print("")
        output.show(_times_of(suite, members, result), console)
    timings = [case for case in cases if not case.tracked]
    notes = [
        (
            "± is half the 95 % interval. Use these times to compare releases of one case.",
            any(result.timings[case].error > 0 for case in timings),
        ),
        (
            "memcpy copies the same bytes, on the CPU by numpy into fresh memory, on a device by torch's copy_ into existing memory.",
            any(map(result.times_memcpy, timings)),
        ),
        (
            "GB/s counts each byte once, and is the bandwidth of the cache or memory that holds the tensor and its copy.",
            any(map(result.bandwidth, timings)),
        ),
    ]
    problems = loaded.concerning(options.history)
    skipped = Counter((case.suite, reason) for case, reason in result.skips.items() if not case.spec.shipped)
    lines = [
        *(f"failed: {line}" for line in result.failed()),
        *(f"skipped: {counted(number, 'case')} of {suite}: {reason}" for (suite, reason), number in skipped.items()),
        *(note for note, is_shown in notes if is_shown),
        *not_included(problems),
    ]
    output.show(Report("", [], [], notes=lines), console)
    return print_errors(problems)


def _times_of(title: str, cases: Sequence[Case], result: Result) -> Report:
    """Return a table of the times of one suite's cases, or of the values that it tracks, without empty columns."""
    from tensorcopy.numbers import duration, percent, quantity, ratio_text, value_range
    from tensorcopy.report.comparison import code_of, words
    from tensorcopy.report.table import common, of_cells

    def cells(case: Case) -> tuple[str, ...]:
        if case.tracked:
            values, unit = result.count_repeats[case], case.spec.unit
            return quantity(result.counts[case], unit), value_range(values, unit), str(len(values))
        timing, multiple, speed = result.timings[case], result.times_memcpy(case), result.bandwidth(case)
        return (
            duration(timing.seconds),
            percent(timing.factor() - 1, 1) if timing.error > 0 else "",
            ratio_text(multiple) if multiple else "",
            f"{speed / 1e9:.3g}" if speed else "",
            result.bytes_in(case) if speed else "",
            str(timing.launches),
        )

    titles = ("value", "from launch to launch") if cases[0].tracked else ("time", "±", "× memcpy", "GB/s", "in")
    short = common((case.name, words(case, case.name)[0][1:], words(case, case.name)[1]) for case in cases)
    groups = {case.name: ": ".join(filter(None, [short[case.name][0], code_of(case, result)])) for case in cases}
    rows = [[case.name, *cells(case)] for case in cases]
    report = of_cells(title, ("", *titles, "launches"), rows, "l" + "r" * (len(titles) + 1))
    return replace(report, short=lambda row: (groups[row[0]], short[row[0]][1] or row[0]))
