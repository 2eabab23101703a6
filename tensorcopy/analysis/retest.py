"""Which changes are measured again, and whether they hold. Pure: whoever calls brings the function that measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.two_sample import Change, Verdict, judge
from tensorcopy.results.load import Case, Result

CONFIRMATIONS = 2  # that a change must hold in: each squares the chance of a false alarm
PASSES = (4, 8, 16)  # of either side in one: as soon as it is decided, and at most so many

# Brings both sides of the confirmation with this number up to so many passes of these cases, interleaved, and returns their results
Again = Callable[[int, Sequence[Case], int], tuple[Result, Result]]


def flagged(found: Comparison) -> dict[Case, Verdict]:
    """The cases that are worth measuring again, and what is to be confirmed of each.

    Those that are slower or faster, and the suspects: inconclusive, but worth telling, and clear of no change as long as nobody asks how many
    cases there are. To promote a suspect is no weaker than Holm: it must be clear by itself, and again among the flagged every time.
    """
    expected = {case: _expected(change, found.margin) for case, change in found.changes.items()}
    return {case: verdict for case, verdict in expected.items() if verdict}


def _expected(change: Change, margin: float) -> Verdict | None:
    """What is to be confirmed of a change; None where nothing is."""
    if change.verdict is not Verdict.INCONCLUSIVE or not change.ratio or not change.interval:
        return change.verdict if change.verdict in (Verdict.SLOWER, Verdict.FASTER) else None
    low, high = change.interval
    if max(change.ratio, 1 / change.ratio) < 1 + margin or low <= 1 <= high:
        return None
    return Verdict.SLOWER if change.ratio > 1 else Verdict.FASTER


def confirmed(found: Comparison, again: Again) -> Comparison:
    """`found`, with each flagged case measured again. What holds every time is slower or faster, what does not is inconclusive."""
    expected = flagged(found)
    if not expected:
        return found
    changes, last = dict(found.changes), dict(found.changes)
    held, tried = dict.fromkeys(expected, 0), dict.fromkeys(expected, 0)
    noise = {case: found.noise[case] for case in expected if case in found.noise}
    for time in range(1, CONFIRMATIONS + 1):
        standing = [case for case in expected if held[case] == time - 1]  # what has fallen once has fallen
        tried.update(dict.fromkeys(standing, time))
        for passes in PASSES:
            if not standing:
                break
            one, other = again(time, standing, passes)
            pairs = {case: (comparisons.side(one, case, other), comparisons.side(other, case, one)) for case in standing}
            judged = judge(pairs, margin=found.margin, noise=noise)
            for case in [case for case in standing if judged[case].verdict is not Verdict.INCONCLUSIVE]:
                held[case] += judged[case].verdict is expected[case]
                last[case] = judged[case]
                standing.remove(case)
    for case, verdict in expected.items():
        change = replace(changes[case], confirmed=(held[case], tried[case]))
        changes[case] = _held(change, verdict, last[case]) if held[case] == CONFIRMATIONS else _fallen(change)
    return replace(found, changes=changes)


def _held(change: Change, verdict: Verdict, again: Change) -> Change:
    """What was clear already says what it said; a suspect says what was measured of it alone."""
    if change.verdict is verdict:
        return change
    return replace(again, p=change.p, confirmed=change.confirmed)


def _fallen(change: Change) -> Change:
    if change.verdict is Verdict.INCONCLUSIVE:
        return change
    return replace(change, verdict=Verdict.INCONCLUSIVE, reason=f"{change.verdict.value} {change.reason}, but not when measured again")
