"""Measure the steps between two releases again, and decide whether they hold.

The caller passes the function that measures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import log
from statistics import median

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.retest import PASSES, Remeasure
from tensorcopy.analysis.two_sample import ALPHA, Change, Samples, judge
from tensorcopy.results.confirmations import Confirmation, Outcome, ReleasePair
from tensorcopy.results.noise import AS_MEASURED
from tensorcopy.results.passes import Case
from tensorcopy.results.series_key import identity_of

SHARE = 1 / 2  # of a step, on a logarithmic scale, that must be there again: the first estimate of a selected change is too large
AT_MOST = PASSES[-1]  # passes of each release


def batches(passes: int) -> tuple[int, ...]:
    """Return how many passes each release has after each batch: 4, 8, 16, … `passes`."""
    sizes, size = [], PASSES[0]
    while size < passes:
        sizes.append(size)
        size *= 2
    return (*sizes, passes)


def outcome(expected: float, change: Change, looks: int) -> Outcome:
    """Return what a repeat measurement shows of a step.

    It held if the repeat is significant and at least `SHARE` of the step; it fell if the whole interval is below that.

    looks : how many batches may be judged; each is a chance to hold (Bonferroni)
    """
    if change.ratio is None or change.interval is None or change.p is None:
        return Outcome.OPEN
    direction, least = (1 if expected > 1 else -1), SHARE * abs(log(expected))
    if max(direction * log(end) for end in change.interval) < least:
        return Outcome.FELL
    significant = change.p * looks <= ALPHA
    return Outcome.HELD if significant and direction * log(change.ratio) >= least else Outcome.OPEN


def confirm(
    pair: ReleasePair, remeasure: Remeasure, versions: Mapping[str, str], started: str, passes: int = AT_MOST
) -> tuple[Confirmation, ...]:
    """Measure the cases of a pair again, each until its step holds, falls, or has `passes`.

    versions : of the suites
    started : ISO 8601 in UTC
    """
    confirmations = {case: _not_measured(pair, case, versions[case.suite], started) for case in pair.expected}
    open_cases = list(pair.expected)
    noise = AS_MEASURED.noise(pair.others, open_cases)
    sizes = batches(passes)
    for size in sizes:
        before, after = remeasure(1, open_cases, size)
        samples = {case: (comparisons.samples_of(before, case, after), comparisons.samples_of(after, case, before)) for case in open_cases}
        for case, change in judge(samples, noise=noise).items():
            confirmations[case] = replace(
                confirmations[case],
                ratio=change.ratio,
                interval=change.interval,
                passes=size,
                passes_before=_medians(samples[case][0]),
                passes_after=_medians(samples[case][1]),
                outcome=outcome(pair.expected[case], change, len(sizes)),
            )
        open_cases = [case for case in open_cases if confirmations[case].outcome is Outcome.OPEN]
        if not open_cases:
            break
    return tuple(confirmations.values())


def _medians(side: Samples) -> tuple[float, ...]:
    """Return the median of each pass, in seconds."""
    return tuple(median(samples) for samples in side.passes if samples)


def _not_measured(pair: ReleasePair, case: Case, version: str, started: str) -> Confirmation:
    """Return the confirmation of a step before its first pass."""
    before, after = pair.releases
    return Confirmation(
        machine=pair.after.machine,
        case=case,
        version=version,
        before=before,
        after=after,
        sha_before=pair.before.sha,
        sha_after=pair.after.sha,
        python=pair.after.python,
        build=pair.after.build,
        identity=identity_of(pair.after),
        expected=pair.expected[case],
        ratio=None,
        interval=None,
        passes=0,
        passes_before=(),
        passes_after=(),
        outcome=Outcome.OPEN,
        started=started,
    )
