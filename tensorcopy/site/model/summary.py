"""Several verdicts summed up in one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.two_sample import Change, Verdict


@dataclass(frozen=True)
class Summary:
    """What became of several cases at once, as "slower", "faster", "unchanged" or "inconclusive".

    ratio : of the case that moved most where something changed, else the median
    counts : how many of the cases had each verdict
    """

    verdict: Verdict
    ratio: float | None
    counts: dict[Verdict, int]

    @property
    def cases(self) -> int:
        return sum(self.counts.values())


def summary(changes: Sequence[Change]) -> Summary | None:
    """Several changes in one word: any slower case makes it slower, then any faster one; same only where all are. None of none."""
    if not changes:
        return None
    counts = {verdict: sum(change.verdict is verdict for change in changes) for verdict in Verdict}
    for verdict in (Verdict.SLOWER, Verdict.FASTER):
        ratios = [change.ratio for change in changes if change.verdict is verdict and change.ratio]
        if ratios:
            return Summary(verdict, max(ratios, key=lambda ratio: max(ratio, 1 / ratio)), counts)
    word = Verdict.UNCHANGED if counts[Verdict.UNCHANGED] == len(changes) else Verdict.INCONCLUSIVE
    known = [change.ratio for change in changes if change.ratio]
    return Summary(word, median(known) if known else None, counts)


def by_method(found: Comparison) -> dict[tuple[str, str], Summary]:
    """What became of all cases of each method on each device."""
    groups: dict[tuple[str, str], list[Change]] = {}
    for case, change in found.changes.items():
        groups.setdefault((dict(case.parameters).get("method", ""), case.device), []).append(change)
    return {key: told for key, changes in groups.items() if (told := summary(changes))}
