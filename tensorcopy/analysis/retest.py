"""Choose the changes to measure again, and check whether they are confirmed.

The caller passes the function that measures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.two_sample import Change, Reason, Verdict, judge
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result

CONFIRMATIONS = 2  # repeat measurements that must confirm a change: each squares the chance of a false alarm
PASSES = (4, 8, 16)  # on each side of a repeat measurement: more only while the case is inconclusive

# Brings both sides of the repeat measurement with this number to this many passes of these cases, interleaved; returns both results
Remeasure = Callable[[int, Sequence[Case], int], tuple[Result, Result]]


def flagged(comparison: Comparison) -> dict[Case, Verdict]:
    """Return the cases to measure again, each with the verdict to confirm.

    Flagged are the slower and faster cases, and the suspects: inconclusive, but at least as large as the margin and with an interval that
    excludes no change. Promoting a suspect is no weaker than Holm: its interval excludes no change, and each repeat measurement is tested
    among all flagged cases.
    """
    expected = {case: _expected(change, comparison.margin) for case, change in comparison.changes.items()}
    return {case: verdict for case, verdict in expected.items() if verdict}


def _expected(change: Change, margin: float) -> Verdict | None:
    """Return the verdict to confirm; None if there is nothing to confirm."""
    if change.verdict is not Verdict.INCONCLUSIVE or not change.ratio or not change.interval:
        return change.verdict if change.verdict in (Verdict.SLOWER, Verdict.FASTER) else None
    low, high = change.interval
    if max(change.ratio, 1 / change.ratio) < 1 + margin or low <= 1 <= high:
        return None
    return Verdict.SLOWER if change.ratio > 1 else Verdict.FASTER


def confirmed(comparison: Comparison, remeasure: Remeasure) -> Comparison:
    """Measure each flagged case again, and return the comparison with the outcome.

    A case is slower or faster if every repeat measurement confirms it, else inconclusive.
    """
    expected = flagged(comparison)
    if not expected:
        return comparison
    latest = dict(comparison.changes)
    held, tried = dict.fromkeys(expected, 0), dict.fromkeys(expected, 0)
    of_all = comparison.noise
    noise = {case: of_all[case] for case in expected if case in of_all}
    for number in range(1, CONFIRMATIONS + 1):
        open_cases = [case for case in expected if held[case] == number - 1]  # a case that failed once is not measured again
        tried.update(dict.fromkeys(open_cases, number))
        for passes in PASSES:
            if not open_cases:
                break
            before, after = remeasure(number, open_cases, passes)
            pairs = {
                case: (comparisons.samples_of(before, case, after), comparisons.samples_of(after, case, before)) for case in open_cases
            }
            judged = judge(pairs, margin=comparison.margin, noise=noise)
            for case in [case for case in open_cases if judged[case].verdict is not Verdict.INCONCLUSIVE]:
                held[case] += judged[case].verdict is expected[case]
                latest[case] = judged[case]
                open_cases.remove(case)
    changes = dict(comparison.changes)
    for case, verdict in expected.items():
        change = replace(changes[case], confirmed=(held[case], tried[case]))
        changes[case] = _confirmed(change, verdict, latest[case]) if held[case] == CONFIRMATIONS else _not_confirmed(change)
    return replace(comparison, changes=changes)


def _confirmed(change: Change, verdict: Verdict, repeated: Change) -> Change:
    """Return a significant change as it was first measured.

    A suspect with the numbers of its repeat measurement, and the p of the first.
    """
    if change.verdict is verdict:
        return change
    return replace(repeated, p=change.p, p_is_bound=change.p_is_bound, confirmed=change.confirmed)


def _not_confirmed(change: Change) -> Change:
    """Return the change as inconclusive; a suspect stays as it was."""
    if change.verdict is Verdict.INCONCLUSIVE:
        return change
    return replace(change, verdict=Verdict.INCONCLUSIVE, reason=Reason.NOT_CONFIRMED)
