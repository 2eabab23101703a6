"""Confirm the steps of a machine's history: measure each again, the release before and after in turns. Prints nothing.

The outcomes of a pair of releases are stored together, so an interruption loses one pair at most, and the same command continues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from math import inf
from time import monotonic

from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.errors import DiskError, TensorcopyError, after
from tensorcopy.measure import remeasure, run_passes
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.run_passes import Progress
from tensorcopy.releases import release_table
from tensorcopy.results import confirmations, files, series_key
from tensorcopy.results.confirmations import Confirmation, ReleasePair
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result
from tensorcopy.results.writing import ReportWait, ignore_wait
from tensorcopy.worker import hardware

FIRST = 4  # passes of each release, the first batch, which decides most steps (`analysis.retest`)

# Brings both sides to this number of passes of these cases, interleaved, and returns both results; the first argument is always 1
Remeasure = Callable[[int, Sequence[Case], int], tuple[Result, Result]]
# Returns the function that measures a pair again, and reports its progress to the given one
Measurer = Callable[[ReleasePair, Callable[[Progress], None]], Remeasure]
# Measures a pair with that function, given the suites' versions and the start: `analysis.confirmation.repeat.confirm`
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
    here = [result for result in results if series_key.identity_of(result) == hardware.identity()]
    return max(here, key=lambda result: str(result.provenance["started"])).machine if here else ""


def require_host(pairs: Sequence[ReleasePair]) -> None:
    """Raise TensorcopyError unless all results of the pairs were taken on this host's hardware."""
    here = hardware.identity()
    for pair in pairs:
        for result in (pair.before, pair.after):
            if series_key.identity_of(result) != here:
                version, python = result.provenance["torch"].partition("+")[0], result.python
                raise TensorcopyError(
                    "this host is not the machine of the results",
                    got=f"{series_key.displayed(here)}",
                    allowed=f"{series_key.displayed(series_key.identity_of(result))}, which measured torch {version} on {result.machine}",
                    next=f"run it there, or measure here under another name first: tensorcopy measure {version}@{python} --machine NAME",
                )


def seconds(pair: ReleasePair, paths: Paths) -> float:
    """Return the expected duration of a pair: most steps need the first batch only."""
    releases = [Measurement(release_table.find(version), pair.after.python) for version in pair.releases]
    missing = sum(not measurement.is_installed(paths) for measurement in releases)
    return len(releases) * FIRST * remeasure.seconds(len(pair.expected)) + missing * run_passes.INSTALL


def measurer(paths: Paths) -> Measurer:
    """Return the function that measures a pair with asv."""
    return lambda pair, report_progress: remeasure.measurer(pair.before, pair.after, paths, report_progress)


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
    measure_with = measurer(paths)
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
                outcomes = confirm_pair(pair, measure_with(pair, report), versions, started)
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
