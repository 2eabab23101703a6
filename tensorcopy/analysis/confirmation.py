"""Confirm the steps of a history: how each is known, which are to be measured again, and what measuring them again shows.

A step is found in passes that may lie weeks apart. It is confirmed if an exact count changed with it, or if both releases, measured again
in turns, still differ by at least half of its size. The caller passes the function that measures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from math import log
from pathlib import Path
from statistics import median

from tensorcopy.analysis import comparisons, series
from tensorcopy.analysis.change_points import Step
from tensorcopy.analysis.series import CaseSeries
from tensorcopy.analysis.two_sample import ALPHA, Change, judge
from tensorcopy.releases import release_table
from tensorcopy.results.confirmations import Confirmation, Key, ReleasePair, RepeatOutcome, key_of
from tensorcopy.results.noise import AS_MEASURED
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result
from tensorcopy.results.series_key import by_history

SAME_STEP = 2  # a step that is now so many times as large, or as small, as when it was measured again is another step
EXPLAINED = 1 / 10  # of a step, on a logarithmic scale: an instruction count that rose by 1 % does not explain a time ten times as long
SHARE = 1 / 2  # of a step, on a logarithmic scale, that must be there again: the first estimate of a selected change is too large
FIRST, AT_MOST = 4, 16  # passes of each release: in the first batch, which decides most steps, and in all

# Brings both releases to this number of passes of these cases, in turns, and returns both results
Remeasure = Callable[[Sequence[Case], int], tuple[Result, Result]]


class Status(str, Enum):
    """How a step is known."""

    CONFIRMED_BY_COUNT = "confirmed_by_count"  # an exact count changed in the same direction
    CONFIRMED = "confirmed"  # measured again, it held
    REJECTED = "rejected"  # measured again, it fell
    UNCONFIRMED = "unconfirmed"  # not measured again, or still open


def status_of(
    before: Result, after: Result, case: Case, ratio: float, by_key: Mapping[Key, Confirmation], others: Sequence[Result] = ()
) -> Status:
    """Return how a step between two results is known.

    A step that fell is rejected, whatever the count: the count then changed, and the time did not.

    ratio : of the step
    by_key : the confirmations that count, see `results.confirmations.latest`
    others : results of the same machine, which show how exact counts repeat
    """
    if not case.spec.timed:
        return Status.CONFIRMED_BY_COUNT
    confirmation = _applicable(by_key.get(key_of(before, after, case)), before, after, ratio)
    if confirmation and confirmation.outcome is RepeatOutcome.FELL:
        return Status.REJECTED
    if explained_by_count(before, after, case, ratio, others):
        return Status.CONFIRMED_BY_COUNT
    return Status.CONFIRMED if confirmation and confirmation.outcome is RepeatOutcome.HELD else Status.UNCONFIRMED


def status_in(case_series: CaseSeries, step: Step, by_key: Mapping[Key, Confirmation]) -> Status:
    """Return how one step of a series is known."""
    return status_of(*case_series.sides(step), case_series.case, step.ratio, by_key, case_series.results)


def without_rejected(by_case: Mapping[Case, CaseSeries], by_key: Mapping[Key, Confirmation]) -> dict[Case, CaseSeries]:
    """Return the series without the steps that a repeat measurement did not show."""
    if not by_key:
        return dict(by_case)
    remaining = {}
    for case, case_series in by_case.items():
        steps = tuple(step for step in case_series.steps if status_in(case_series, step, by_key) is not Status.REJECTED)
        remaining[case] = replace(case_series, steps=steps)
    return remaining


def explained_by_count(before: Result, after: Result, case: Case, ratio: float, others: Sequence[Result] = ()) -> bool:
    """Return whether an exact count changed in the direction of a step, and enough for it."""
    count = comparisons.count_change(before, after, case, others)
    if count is None or not count.changed or not count.before or not count.after:
        return False
    return log(count.ratio) / log(ratio) >= EXPLAINED


def _applicable(confirmation: Confirmation | None, before: Result, after: Result, ratio: float) -> Confirmation | None:
    """Return a confirmation if it is one of this step, on this host; else None."""
    if confirmation is None or before.series_key.identity != confirmation.identity:
        return None
    expected = log(confirmation.expected)
    return confirmation if expected and 1 / SAME_STEP <= log(ratio) / expected <= SAME_STEP else None


def pending(results: Iterable[Result], by_key: Mapping[Key, Confirmation], passes: int) -> list[ReleasePair]:
    """Return the steps to measure again, by pair of releases, the newest first.

    An open step is measured again only with more passes: repeating the same measurement until it holds would confirm noise.

    results : of one machine
    passes : the most to take of each release
    """
    releases = release_table.load()
    histories = {key: axes for key, axes in by_history(results).items() if not key.is_of_interpreter}  # whose torch uv does not install
    pairs = [pair for axes in histories.values() for pair in _pairs(axes, by_key, passes)]
    return sorted(pairs, key=lambda pair: (releases.position(pair.after.sha), release_table.minor(pair.after.python)), reverse=True)


def _pairs(axes: Sequence[Sequence[Result]], by_key: Mapping[Key, Confirmation], passes: int) -> list[ReleasePair]:
    """Return the steps of one build that are to be measured again.

    They are those of the joined history, and of each Python's own.

    axes : of each Python, the newest first, its results in order of release
    """
    histories = [series.joined(axes), *(series.over(axis) for axis in axes if len(axes) > 1)]
    expected: dict[tuple[Path, Path], dict[Case, float]] = {}
    by_path = {result.path: result for axis in axes for result in axis}
    of_python = {axis[0].python: tuple(axis) for axis in axes}
    for case_series in (case_series for history in histories for case_series in history.values()):
        for step in case_series.steps:
            before, after = case_series.sides(step)
            case = case_series.case
            status = status_of(before, after, case, step.ratio, by_key, case_series.results)
            known = _applicable(by_key.get(key_of(before, after, case)), before, after, step.ratio)
            if status is Status.UNCONFIRMED and (known is None or known.passes < passes):
                expected.setdefault((before.path, after.path), {}).setdefault(case, step.ratio)
    return [
        ReleasePair(by_path[before], by_path[after], cases, of_python[by_path[after].python]) for (before, after), cases in expected.items()
    ]


def batches(passes: int) -> tuple[int, ...]:
    """Return how many passes each release has after each batch: 4, 8, 16, … `passes`."""
    sizes, size = [], FIRST
    while size < passes:
        sizes.append(size)
        size *= 2
    return (*sizes, passes)


def outcome(expected: float, change: Change, looks: int) -> RepeatOutcome:
    """Return what a repeat measurement shows of a step.

    It held if the repeat is significant and at least `SHARE` of the step; it fell if the whole interval is below that.

    looks : how many batches may be judged; each is a chance to hold (Bonferroni)
    """
    if change.ratio is None or change.interval is None or change.p is None:
        return RepeatOutcome.OPEN
    direction, least = (1 if expected > 1 else -1), SHARE * abs(log(expected))
    if max(direction * log(end) for end in change.interval) < least:
        return RepeatOutcome.FELL
    significant = change.p * looks <= ALPHA
    return RepeatOutcome.HELD if significant and direction * log(change.ratio) >= least else RepeatOutcome.OPEN


def confirm(
    pair: ReleasePair, remeasure: Remeasure, versions: Mapping[str, str], started: str, passes: int = AT_MOST
) -> tuple[Confirmation, ...]:
    """Measure the cases of a pair again, each until its step holds, falls, or has `passes`.

    versions : of the suites
    started : ISO 8601 in UTC
    """
    before, after = pair.releases
    key = pair.after.series_key
    confirmations = {
        case: Confirmation(
            machine=pair.after.machine,
            case=case,
            version=versions[case.suite],
            before=before,
            after=after,
            sha_before=pair.before.sha,
            sha_after=pair.after.sha,
            python=key.python,
            build=key.build,
            identity=key.identity,
            expected=expected,
            ratio=None,
            interval=None,
            passes=0,
            passes_before=(),
            passes_after=(),
            outcome=RepeatOutcome.OPEN,
            started=started,
        )
        for case, expected in pair.expected.items()
    }
    open_cases = list(pair.expected)
    noise = AS_MEASURED.noise(pair.others, open_cases)
    sizes = batches(passes)
    for size in sizes:
        first, second = remeasure(open_cases, size)
        samples = {case: (comparisons.samples_of(first, case, second), comparisons.samples_of(second, case, first)) for case in open_cases}
        for case, change in judge(samples, noise=noise).items():
            medians = [tuple(median(times) for times in side.passes if times) for side in samples[case]]  # of each pass, in seconds
            confirmations[case] = replace(
                confirmations[case],
                ratio=change.ratio,
                interval=change.interval,
                passes=size,
                passes_before=medians[0],
                passes_after=medians[1],
                outcome=outcome(pair.expected[case], change, len(sizes)),
            )
        open_cases = [case for case in open_cases if confirmations[case].outcome is RepeatOutcome.OPEN]
        if not open_cases:
            break
    return tuple(confirmations.values())
