"""Verdicts on several cases, summarised as one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.verdict import Change, Verdict


@dataclass(frozen=True)
class Summary:
    """The verdict on several cases together.

    ratio : of the case with the largest change when any changed, else the median
    counts : the number of cases by verdict
    """

    verdict: Verdict
    ratio: float | None
    counts: dict[Verdict, int]

    @property
    def cases(self) -> int:
        """The number of cases."""
        return sum(self.counts.values())


def summary(changes: Sequence[Change]) -> Summary | None:
    """Summarise changes in one verdict; return None for no changes.

    It is slower if any case is slower, else faster if any case is faster, and unchanged only if all cases are.

    Returns None for no changes.
    """
    if not changes:
        return None
    counts = {verdict: sum(change.verdict is verdict for change in changes) for verdict in Verdict}
    for verdict in (Verdict.SLOWER, Verdict.FASTER):
        ratios = [change.ratio for change in changes if change.verdict is verdict and change.ratio]
        if ratios:
            return Summary(verdict, max(ratios, key=lambda ratio: max(ratio, 1 / ratio)), counts)
    verdict = Verdict.UNCHANGED if counts[Verdict.UNCHANGED] == len(changes) else Verdict.INCONCLUSIVE
    ratios = [change.ratio for change in changes if change.ratio]
    return Summary(verdict, median(ratios) if ratios else None, counts)


def by_method(comparison: Comparison) -> dict[tuple[str, str], Summary]:
    """Summarise the cases of each method on each device."""
    groups: dict[tuple[str, str], list[Change]] = {}
    for case, change in comparison.changes.items():
        groups.setdefault((dict(case.parameters).get("method", ""), case.device), []).append(change)
    return {key: group_summary for key, changes in groups.items() if (group_summary := summary(changes))}
