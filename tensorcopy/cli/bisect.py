"""The command that finds the build with which a call changed: bisect."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import RESULTS, expression, progress_bar
from tensorcopy.errors import TensorcopyError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from tensorcopy.analysis.bisection import Outcome
    from tensorcopy.measure.profiles.builds import Job
    from tensorcopy.measure.run_passes import Progress

COUNTING = 120.0  # seconds: installing a build, and counting one call under valgrind


def _minor(text: str) -> str:
    """Return a Python unchanged, such as "3.11"."""
    if text and not re.fullmatch(r"3\.\d{1,2}", text):  # argparse passes the default too
        raise argparse.ArgumentTypeError(f"got {text[:20]!r}; allowed: a Python such as 3.11")
    return text


def add(commands: Any) -> None:
    """Add this command to the parser."""
    bisect = commands.add_parser(
        "bisect",
        help="find the build with which a call changed, among all that can be installed between two releases; resumes where it stopped",
    )
    bisect.add_argument(
        "case", type=expression, metavar="CASE", help="a method such as detach (its smallest tensor), or a name as compare prints it"
    )
    bisect.add_argument("before", metavar="A", help="a release such as 2.8.0, in the table of releases or not")
    bisect.add_argument("after", metavar="B", help="a later one")
    bisect.add_argument(
        "--python", type=_minor, default="", metavar="N.N", help="such as 3.11; default: the first that both releases run on"
    )
    bisect.add_argument("--time", action="store_true", help="search by time; default: by instructions, and by time where they are equal")
    bisect.set_defaults(command=_bisect)


def _bisect(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.analysis import bisection
    from tensorcopy.analysis.profiles import difference
    from tensorcopy.measure.profiles import builds
    from tensorcopy.releases import wheel_index
    from tensorcopy.report.why import bisection_text

    ends = _ends(options.before, options.after)
    name, python = _name(options.case), options.python or _python(ends)
    versions = wheel_index.between(*ends, python)
    count = len(versions)
    console.print(
        f"{count} builds from torch {versions[0]} to {versions[-1]} on Python {python}, {bisection.steps(versions) + 2} to measure"
    )
    with progress_bar() as report_progress:
        job = _job(name, python, bisection.steps(versions) + 2, report_progress)
        outcome = _outcome(options, job, versions)
    functions = None
    if outcome.unit == bisection.COUNT:
        before, after = (builds.profile(job, version) for version in (outcome.interval.before, outcome.interval.after))
        functions = difference.between(int(job.name.split()[1]), before, after) if before and after else None
    shas = {version: builds.sha(job, version) for version in outcome.values}
    heading = f"{job.name}, Python {job.python}"
    console.print(bisection_text.text(heading, outcome, shas, functions, builds.failures(job)), soft_wrap=True, end="", markup=False)
    return 0


def _outcome(options: argparse.Namespace, job: Job, versions: list[str]) -> Outcome:
    """Search by count, then by time. Raises TensorcopyError where both ends are alike."""
    from functools import partial

    from tensorcopy.analysis import bisection
    from tensorcopy.measure.profiles import builds
    from tensorcopy.worker.probes.functions import valgrind

    outcome = None
    if not options.time and not valgrind.missing():
        outcome = bisection.by_count(versions, partial(builds.count, job))
    outcome = outcome or bisection.by_time(versions, partial(builds.in_turns, job))
    if outcome is None:
        failures = "; ".join(builds.failures(job).values())
        raise TensorcopyError(
            "nothing to search",
            got=failures or f"no significant difference of {job.name} between torch {versions[0]} and {versions[-1]}",
            allowed="two releases between which the instructions or the time of the call differ",
            next=f"tensorcopy history {job.name.split()[0]} shows where it changed; on a busy machine, repeat when it is quiet",
        )
    return outcome


def _name(pattern: str) -> str:
    """Return the name of the profiled case that a pattern selects. Raises TensorcopyError."""
    from tensorcopy.report.why import cause
    from tensorcopy.results import reader
    from tensorcopy.results.profiles import profile_file

    return profile_file.name_of(cause.selected(reader.load_results(RESULTS).results, pattern)[0])


def _job(name: str, python: str, expected: int, report_progress: Callable[[Progress], None]) -> Job:
    """Return what is measured.

    expected : how many builds, for the progress
    """
    from tensorcopy.asv_plugin import configuration
    from tensorcopy.measure.profiles import builds
    from tensorcopy.measure.run_passes import Progress
    from tensorcopy.worker import hardware

    begun: list[str] = []

    def report(step: str) -> None:
        done = min(len(begun), expected - 1)
        begun.append(step)
        report_progress(Progress(step, done / expected, COUNTING * (expected - done)))

    job = builds.Job(name, python, configuration.paths(), hardware.identity(), report)
    builds.forget_failures(job)
    return job


def _ends(before: str, after: str) -> tuple[str, str]:
    """Return both ends as versions. Raises TensorcopyError for what is none, and for a wrong order."""
    from tensorcopy.releases import release_table

    ends = _version(before), _version(after)
    if ends[0] == ends[1] or release_table.in_order(ends) != [*ends]:
        raise TensorcopyError("the releases are in the wrong order", got=" ".join(ends), allowed="A before B", next="swap them")
    return ends


def _version(text: str) -> str:
    """Return "2.9.1" for "2.9", "v2.9.1" or its SHA, and any other version unchanged. Raises TensorcopyError for what is none."""
    from packaging.version import Version

    from tensorcopy.releases import release_table

    try:
        return release_table.find(text).version
    except TensorcopyError as unknown:
        try:
            return str(Version(text))
        except ValueError:  # no version, or a number of thousands of digits
            raise unknown from None


def _python(ends: tuple[str, str]) -> str:
    """Return the first Python that is here and has wheels of both ends; one that is not in the table is taken to have them."""
    from tensorcopy.asv_plugin import configuration
    from tensorcopy.releases import release_table, uv

    pythons = configuration.paths().pythons
    rows = [row for row in release_table.load() if row.version in ends]
    for python in pythons:
        if all(row.runs_on(python) for row in rows) and uv.find_python(python):
            return python
    raise TensorcopyError(
        "no Python here runs both releases",
        got=" and ".join(ends),
        allowed=f"wheels for {' or '.join(pythons)}",
        next="search between releases that share a Python; tensorcopy list releases lists them",
    )
