"""Confirm the steps of a machine's history: measure each again, the release before and after in turns. Prints nothing.

The outcomes of a pair of releases are stored together, so an interruption loses one pair at most, and the same command continues.
The samples go to a separate folder, which is emptied at the start of each pair. They must not join the results: cases are measured again
because of their results, and such samples would bias the history.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from math import inf
from time import monotonic

from tensorcopy.asv_plugin import configuration
from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.errors import DiskError, TensorcopyError, after
from tensorcopy.measure import plan, run_passes
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.progress import Progress, Reporter
from tensorcopy.measure.run_passes import Job
from tensorcopy.releases import release_table
from tensorcopy.results import confirmations, files, reader, series_key
from tensorcopy.results.confirmations import Confirmation, ReleasePair
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result
from tensorcopy.results.writing import ReportWait, ignore_wait
from tensorcopy.worker import hardware

FIRST = 4  # passes of each release, the first batch, which decides most steps (`analysis.confirmation`)
START = 1 / 8  # of a full pass: asv starts, and imports the suites with torch
FULL_PASS = 300  # cases in a full pass

# Brings both releases to this number of passes of these cases, in turns, and returns both results
Remeasure = Callable[[Sequence[Case], int], tuple[Result, Result]]
# Measures a pair with that function, given the suites' versions and the start: `analysis.confirmation.confirm`
Confirm = Callable[[ReleasePair, Remeasure, Mapping[str, str], str], tuple[Confirmation, ...]]


@dataclass(frozen=True)
class Confirmed:
    """The outcomes by pair, and why other pairs were not measured.

    left : how many pairs the time was too short for
    """

    by_pair: tuple[tuple[ReleasePair, tuple[Confirmation, ...]], ...]
    problems: tuple[TensorcopyError, ...]
    left: int = 0


def machine_here(results: Sequence[Result]) -> str:
    """Return the name of the results' machine that is this host; "" if there is none."""
    here = [result for result in results if result.series_key.identity == hardware.identity()]
    return max(here, key=lambda result: str(result.provenance["started"])).machine if here else ""


def require_host(pairs: Sequence[ReleasePair]) -> None:
    """Raise TensorcopyError unless all results of the pairs were taken on this host's hardware."""
    here = hardware.identity()
    for pair in pairs:
        for result in (pair.before, pair.after):
            if result.series_key.identity != here:
                version, python = result.provenance["torch"].partition("+")[0], result.python
                raise TensorcopyError(
                    "this host is not the machine of the results",
                    got=f"{series_key.displayed(here)}",
                    allowed=f"{series_key.displayed(result.series_key.identity)}, which measured torch {version} on {result.machine}",
                    next=f"run it there, or measure here under another name first: tensorcopy measure {version}@{python} --machine NAME",
                )


def seconds(pair: ReleasePair, paths: Paths) -> float:
    """Return the expected duration of a pair: most steps need the first batch only."""
    releases = [Measurement(release_table.find(version), pair.after.python) for version in pair.releases]
    missing = sum(not measurement.is_installed(paths) for measurement in releases)
    return len(releases) * FIRST * _pass_seconds(len(pair.expected)) + missing * run_passes.INSTALL


def confirm(
    pairs: Sequence[ReleasePair],
    paths: Paths,
    confirm_pair: Confirm,
    report_progress: Callable[[Progress], None],
    until: float = inf,
    report_wait: ReportWait = ignore_wait,
) -> Confirmed:
    """Measure the steps of the pairs again, and store the outcomes of each pair.

    A pair that cannot be measured does not stop the others.

    until : when no further pair begins, on the clock of `time.monotonic`
    report_wait : called with a sentence while another process writes the results

    Raises TensorcopyError where this host is not the machine of the results.
    """
    require_host(pairs)  # also for a caller that has not asked before it drew a progress bar
    durations = [seconds(pair, paths) for pair in pairs]
    versions = {suite: row["version"] for suite, row in files.suites(paths.results).items()}
    problems: dict[str, TensorcopyError] = {}
    by_pair, left = [], 0
    for number, pair in enumerate(pairs):
        if monotonic() >= until:
            left = len(pairs) - number
            break
        report = _within(report_progress, durations, number, pair)
        started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        try:
            with after(list(problems.values())):
                outcomes = confirm_pair(pair, remeasurer(pair, paths, report), versions, started)
                confirmations.append(paths.results, outcomes, report_wait)
        except DiskError:
            raise
        except TensorcopyError as error:
            problems[str(error)] = error  # the same problem, such as a locked checkout, once
            continue
        by_pair.append((pair, outcomes))
    return Confirmed(tuple(by_pair), tuple(problems.values()), left)


def _within(
    report_progress: Callable[[Progress], None], durations: Sequence[float], number: int, pair: ReleasePair
) -> Callable[[Progress], None]:
    """Return a function that reports the progress of one pair as a part of all.

    Each batch of passes has its own progress, so the share of a pair may fall when another batch begins.
    """
    before, own, later = sum(durations[:number]), durations[number], sum(durations[number + 1 :])
    title = f"torch {' and '.join(pair.releases)} on Python {pair.after.python}, pair {number + 1} of {len(durations)}"

    def report(progress: Progress) -> None:
        done = (before + own * progress.done) / (before + own + later)
        report_progress(Progress(f"{title}: {progress.doing}", done, progress.remaining + later))

    return report


def remeasurer(pair: ReleasePair, paths: Paths, report_progress: Callable[[Progress], None]) -> Remeasure:
    """Return the function that measures the releases of a pair again.

    Raises TensorcopyError where this machine cannot install them.
    """
    sides, machine = (_measurement_of(pair.before), _measurement_of(pair.after)), pair.before.machine
    configuration.register_machine(machine)
    separate = replace(paths, results=paths.environments.parent / "confirmation")
    shutil.rmtree(separate.results, ignore_errors=True)

    def remeasure(cases: Sequence[Case], passes: int) -> tuple[Result, Result]:
        job = Job(separate, machine, plan.expression_of(cases))
        files_of = [measurement.file(separate, machine) for measurement in sides]
        order = [
            sides[index] for index in plan.alternating([len(files.records(path)) if path.exists() else 0 for path in files_of], passes)
        ]
        reporter = Reporter([(measurement.release.version, _pass_seconds(len(cases))) for measurement in order], report_progress)
        for number, measurement in enumerate(order):
            report = partial(reporter.at, number)
            run_passes.measure_pass(measurement, job, report, report)
        return _load_pair(sides, separate, pair.before)

    return remeasure


def _pass_seconds(cases: int) -> float:
    """Return the expected duration of a pass of some cases."""
    return run_passes.PASS * (START + cases / FULL_PASS)


def _measurement_of(result: Result) -> Measurement:
    """Return the measurement that repeats a result.

    Raises TensorcopyError where it cannot be installed, or only in another environment.
    """
    version = result.provenance["torch"].partition("+")[0]
    measurement = plan.select([f"{version}@{result.python}"], (result.python,))[0][0]
    if measurement.environment != result.environment:
        raise TensorcopyError(
            f"torch {version} cannot be measured again in its environment",
            got=result.environment,
            allowed=f"{measurement.environment}, which uv installs here",
            next="measure both releases in such environments: tensorcopy measure",
        )
    return measurement


def _load_pair(pair: tuple[Measurement, Measurement], paths: Paths, original: Result) -> tuple[Result, Result]:
    """Load the new results.

    Raises TensorcopyError where `original` is of another machine with the same name.
    """
    loaded = reader.load_results(paths.results)
    if loaded.problems:
        raise loaded.problems[0]
    by_path = {result.path: result for result in loaded.results}
    before, after = (by_path[measurement.file(paths, original.machine)] for measurement in pair)
    for name in ("cpu", "identity"):
        here, there = before.provenance.get(name), original.provenance.get(name)
        if there is not None and here != there:  # a result from before version 4 of the suites has no identity
            raise TensorcopyError(
                "this is not the machine of the results",
                got=f"{name} {here}",
                allowed=f"{original.machine}, {name} {there}",
                next="measure both releases here, under another name",
            )
    return before, after
