"""Judge the launches of two sides at a few fixed numbers of them. Pure.

Who judges after each launch, until something is significant, will find something. At fixed looks, which share the chance of a false alarm,
it stays what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.paired import ALPHA, Change, Reason
from tensorcopy.results.cases import Case

UNDECIDED = (Reason.INTERVAL_TOO_WIDE, Reason.TOO_FEW_LAUNCHES)  # what more launches can decide

Take = Callable[[int, Sequence[Case]], bool]


def judge(looks: Sequence[int], take: Take, compared: Callable[[float], Comparison | None]) -> Comparison | None:
    """Return the comparison after as many looks as it needs; None without a launch.

    looks : the numbers of launches after which is judged
    take : takes launches of some cases, or of all for none, until there are so many; returns whether there are
    compared : compares what there is, with this chance of a false alarm

    A case that a look decides keeps that verdict, and is not timed again.
    """
    decided: dict[Case, Change] = {}
    undecided: list[Case] = []
    comparison = None
    for look in looks:
        complete = take(look, undecided)
        seen = compared(ALPHA / len(looks))
        if seen is None:
            return None
        changes = {case: decided.get(case, change) for case, change in seen.changes.items()}
        comparison = replace(seen, changes=changes)
        undecided = [case for case, change in changes.items() if change.timed and change.reason in UNDECIDED]
        if not undecided or not complete:
            break
        decided = {case: change for case, change in changes.items() if case not in undecided}
    return comparison
