"""Verdicts in words: what was found in one sentence, in which order the changes are told, and their signs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import TypeVar

from tensorcopy.analysis.two_sample import Change, Verdict
from tensorcopy.report.units import duration

SYMBOLS = {Verdict.SLOWER: "🔴", Verdict.FASTER: "🟢", Verdict.UNCHANGED: "⚪", Verdict.INCONCLUSIVE: "❓"}
SIGNS = {Verdict.SLOWER: "▲", Verdict.FASTER: "▼", Verdict.UNCHANGED: "=", Verdict.INCONCLUSIVE: "?"}
CHANGED = (Verdict.SLOWER, Verdict.FASTER)

MUCH = 0.25  # what can have changed by more than that is not summed up by its greatest change

T = TypeVar("T")


def headline(rows: Sequence[tuple[str, Change]]) -> str:
    """What was found, in one sentence. rows : every case's name and change"""
    number = Counter(change.verdict for _, change in rows)
    if number[Verdict.SLOWER] or number[Verdict.FASTER]:
        said = [f"{number[verdict]} {verdict.value}" for verdict in CHANGED if number[verdict]]
        name, change = ordered(rows)[0]
        return f"{' and '.join(said)} of {cases(len(rows))}; most of all {name}, {change.sentence}"
    known = [change.interval for _, change in rows if change.interval]
    if not known:
        return f"Nothing could be said of {cases(len(rows))}"
    ends = [max(high - 1, 1 - low) for low, high in known]  # the farthest that each can have changed
    rest = f"; {len(rows) - len(known)} could not be compared" if len(known) < len(rows) else ""
    if max(ends) > MUCH:
        half = f"half of which cannot have changed by more than {100 * median(ends):.1f} %"
        return f"No change is seen in {cases(len(known))}, {half}{rest}"
    return f"No change larger than {100 * max(ends):.1f} % in {cases(len(known))}{rest}"


def ordered(rows: Iterable[tuple[T, Change]]) -> list[tuple[T, Change]]:
    """Slower, faster, inconclusive, same; within each the largest change first."""
    order = (Verdict.SLOWER, Verdict.FASTER, Verdict.INCONCLUSIVE, Verdict.UNCHANGED)

    def place(row: tuple[T, Change]) -> tuple[int, float]:
        ratio = row[1].ratio or 1.0
        return order.index(row[1].verdict), -max(ratio, 1 / ratio)

    return sorted(rows, key=place)


def cases(count: int) -> str:
    """ "1 case", "2 cases"."""
    return f"{count} case{'' if count == 1 else 's'}"


def percent(share: float) -> str:
    """ "3 %" of 0.03."""
    return f"{100 * share:g} %"


def seconds(value: float | None) -> str:
    """A time, or nothing where there is none."""
    return duration(value) if value is not None else ""


def times(ratio: float | None) -> str:
    """ "1.25×", or nothing where there is no ratio."""
    return f"{ratio:.2f}×" if ratio is not None else ""
