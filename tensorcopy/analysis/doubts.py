"""Steps of a history that its launches do not decide. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import log

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.paired import Change, Reason, Verdict
from tensorcopy.results.cases import Case
from tensorcopy.results.reader import Result
from tensorcopy.results.series_key import by_series


def in_doubt(results: Iterable[Result], launches: int, most: int) -> Iterator[tuple[Result, Result, list[Case]]]:
    """Yield each two neighbours of a history between which some cases are in doubt, with these cases.

    launches : that a step must have
    most : launches after which it stays as it is
    """
    for series in by_series(results).values():
        for before, after in pairwise(series):
            changes = comparisons.between(before, after).changes
            if cases := [case for case, change in changes.items() if _is_in_doubt(change, launches, most)]:
                yield before, after, cases


def _is_in_doubt(change: Change, launches: int, most: int) -> bool:
    """Return whether a change looks as large as the margin and cannot be told, or was told by few launches."""
    if not change.timed or min(change.launches) >= most:
        return False
    if change.verdict is Verdict.UNKNOWN:
        return change.reason is Reason.INTERVAL_TOO_WIDE and abs(log(change.size)) >= log(1 + change.margin)
    return change.reason is Reason.CHANGED and min(change.launches) < launches
