"""The sentences of a comparison, of a case, of the methods and sizes that changed, and of a history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf
from statistics import median, median_low
from typing import TypeVar

from tensorcopy.analysis.change_points import Step
from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.paired import JOINED, MOST_LAUNCHES, PAIRED, UNPAIRED, Change, CountPair, Reason, Verdict
from tensorcopy.analysis.series import DISPATCHER, CaseGroup, ReleaseChange
from tensorcopy.errors import TensorcopyError
from tensorcopy.numbers import change_size, count, counted, percent, quantity, short_change, signed_percent
from tensorcopy.results.suite_specs import SECONDS

SYMBOLS = {Verdict.SLOWER: "🔴", Verdict.FASTER: "🟢", Verdict.UNCHANGED: "⚪", Verdict.INCONCLUSIVE: "❓"}
SIGNS = {Verdict.SLOWER: "▲", Verdict.FASTER: "▼", Verdict.UNCHANGED: "=", Verdict.INCONCLUSIVE: "?"}
CHANGED = (Verdict.SLOWER, Verdict.FASTER)

WIDE = 0.25  # a half width of an interval above which the headline gives the median case and not the worst
WAYS = {
    PAIRED: "both sides took turns in the same launches",
    JOINED: "compared by way of other releases in their launches",
    UNPAIRED: "unpaired: the intervals have all the variation of the machine",
}

MOST_METHODS = 6  # of one direction and kind on a line

T = TypeVar("T")


def sentence(change: Change) -> str:
    """Return the verdict and its reason: "slower by 18.4 % (15.9 to 20.8 %); 5.2 % more instructions"."""
    if change.count and change.unit != SECONDS:
        return f"{count_text(change.count)} ({quantity(change.before, change.unit)} → {quantity(change.after, change.unit)})"
    link = " " if change.reason is Reason.CHANGED else ": "
    beside = f"; {count_text(change.count)}" if change.count else ""
    return f"{change.verdict.value}{link}{_reason(change)}{beside}"


def count_text(count: CountPair) -> str:
    """Return the change of an exact count: "5.2 % more instructions".

    "same instructions" where it is equal as far as it repeats.
    """
    if count.equal:
        return f"same {count.unit}"
    if not count.before:
        return f"more {count.unit}"
    size = change_size(count.ratio, 1 if abs(count.ratio - 1) >= 0.001 else 2)
    return f"{size} {'more' if count.ratio > 1 else 'fewer'} {count.unit}"


def summary(change: Change) -> str:
    """Return why a case is inconclusive, without numbers, to count cases by it."""
    texts = {
        Reason.INTERVAL_TOO_WIDE: "interval too wide; more launches needed",
        Reason.PROVENANCE_DIFFERS: "measured under different conditions",
        Reason.TOO_FEW_LAUNCHES: "too few launches",
    }
    return texts.get(change.reason) or _reason(replace(change, failure=""))


def _reason(change: Change) -> str:
    """Return the part of the sentence after the verdict."""
    if change.interval and change.ratio is not None:
        return _of_interval(change, change.ratio, *change.interval)
    if change.reason is Reason.PROVENANCE_DIFFERS:
        fields = ", ".join(f"{field}: {before} → {after}" for field, before, after in change.differences)
        return "measured under different conditions" + (f" ({fields})" if fields else "")
    if change.reason is Reason.TOO_FEW_LAUNCHES:
        more = f"; {change.more_launches} more needed" if change.more_launches else ""
        return f"too few launches ({change.launches[0]} before, {change.launches[1]} after){more}"
    if change.reason is Reason.NEVER_MET:
        return "never measured beside each other, not even by way of another release"
    side = "before" if change.reason is Reason.NOT_MEASURED_BEFORE else "after"
    return f"no result {side} ({change.failure or 'not measured, or skipped'})"


def _of_interval(change: Change, ratio: float, low: float, high: float) -> str:
    """Return the reason of a case that was tested."""
    if change.reason is Reason.CHANGED:
        return f"by {change_size(ratio)} ({_range(low, high)})"
    if change.reason is Reason.WITHIN_MARGIN:
        return f"within ±{change_size(max(high, 1 / low))}"
    needed = f"about {change.more_launches}" if change.more_launches else f"over {MOST_LAUNCHES}"
    direction = " slower" if low > 1 else " faster" if high < 1 else ""
    return f"{_range(low, high)}{direction}; {needed} more launch{'' if change.more_launches == 1 else 'es'} needed"


def _range(low: float, high: float) -> str:
    """Return an interval of a ratio: "15.9 to 20.8 %".

    Around no change it is "between 1.2 % faster and 4.5 % slower".
    """
    if low > 1 or high < 1:
        near, far = sorted(abs(ratio - 1) for ratio in (low, high))
        return f"{percent(near, 1).removesuffix(' %')} to {percent(far, 1)}"
    return f"between {percent(1 - low, 1)} faster and {percent(high - 1, 1)} slower"


def headline(rows: Sequence[tuple[str, Change]]) -> str:
    """Return the whole comparison in one sentence.

    rows : every case's name and change"""
    units = {change.unit for _, change in rows}
    number = Counter(change.verdict for _, change in rows)
    if rows and SECONDS not in units:
        unit, (name, change) = units.pop(), ordered(rows)[0]
        if change.verdict not in CHANGED:
            return f"No change of {unit} in {counted(len(rows), 'case')}"
        more = f"more {unit} in {number[Verdict.SLOWER]} of {counted(len(rows), 'case')}"
        return f"{more}, fewer in {number[Verdict.FASTER]}; largest change: {name}, {sentence(change)}"
    if number[Verdict.SLOWER] or number[Verdict.FASTER]:
        first = Verdict.SLOWER if number[Verdict.SLOWER] else Verdict.FASTER
        counts = [f"{number[first]} of {counted(len(rows), 'case')} {first.value}"]
        counts += [f"{number[verdict]} {verdict.value}" for verdict in Verdict if number[verdict] and verdict is not first]
        start = "" if number[Verdict.SLOWER] else "No significant slowdowns: "
        name, change = ordered(rows)[0]
        kind = "slowdown" if first is Verdict.SLOWER else "speedup"
        return f"{start}{', '.join(counts)}; largest {kind}: {name}, {_reason(change)}"
    intervals = [change.interval for _, change in rows if change.interval]
    if not intervals:
        return f"Nothing could be compared ({counted(len(rows), 'case')})"
    ends = [max(high - 1, 1 - low) for low, high in intervals]  # the largest change that each interval allows
    rest = f"; {len(rows) - len(intervals)} could not be compared" if len(intervals) < len(rows) else ""
    within = f"half of them within ±{percent(median(ends), 1)}" if max(ends) > WIDE else f"within ±{percent(max(ends), 1)}"
    return f"No significant change in {counted(len(intervals), 'case')}: {within}{rest}"


def ordered(rows: Iterable[tuple[T, Change]]) -> list[tuple[T, Change]]:
    """Sort changes: slower, faster, inconclusive, unchanged.

    Within each the largest first.
    """
    order = (Verdict.SLOWER, Verdict.FASTER, Verdict.INCONCLUSIVE, Verdict.UNCHANGED)

    def rank(row: tuple[T, Change]) -> tuple[int, float]:
        ratio = row[1].size
        return order.index(row[1].verdict), -max(ratio, 1 / ratio if ratio else inf)

    return sorted(rows, key=rank)


def step_text(step: Step, releases: Sequence[str] = (), unit: str = SECONDS) -> str:
    """Return a change of level in words: "slower by 12.1 %".

    A change that a later release takes back has an end: "slower by 24.2 %, until 1.13.1". A change of a count is "5.2 % more instructions".
    """
    if unit != SECONDS:
        return f"{change_size(step.ratio)} {'more' if step.ratio > 1 else 'fewer'} {unit}"
    direction = "slower" if step.ratio > 1 else "faster"
    until = f", until {releases[step.until]}" if step.until is not None and releases else ""
    return f"{direction} by {change_size(step.ratio)}{until}{', based on a single release' if step.alone else ''}"


def change_text(change: ReleaseChange) -> str:
    """Return a change of a group of cases in words.

    For example "31 of 40 copies at numel ≤ 2¹⁴ slower, median +38.0 %".
    """
    if change.group.unit != SECONDS:
        more = "more" if change.verdict == "slower" else "fewer"
        where = f"{len(change.cases)} of {change.of} cases{_relation(change.group)}"
        return f"{more} {change.group.unit} in {where}, median {signed_percent(change.ratio)}"
    name = group_name(change.group)
    if change.as_group:
        alone = f"; {len(change.cases)} of {change.of} by themselves" if change.cases else ""
        return f"{name} {change.verdict} as a group, {signed_percent(change.ratio)}{alone}"
    return f"{len(change.cases)} of {change.of} {name} {change.verdict}, median {signed_percent(change.ratio)}"


def group_name(group: CaseGroup) -> str:
    """Return a group in words: "copies at numel ≤ 2¹⁴", "primitives on cuda at numel > 2¹⁴"."""
    device = "" if group.device == "cpu" else f" on {group.device}"
    return f"{group.module}{device}{_relation(group)}"


def _relation(group: CaseGroup) -> str:
    return "" if group.small is None else f" at numel {'≤' if group.small else '>'} {count(DISPATCHER)}"


def not_included(problems: Iterable[TensorcopyError]) -> list[str]:
    """Return a line for each file that could have taken part, and could not be read."""
    return [f"not included: {problem.what}: {problem.got}" for problem in problems]


def causes(comparison: Comparison) -> Iterator[str]:
    """Yield a line for each kind of timed case that changed, the main ones first.

    For example "faster: 56 of 165 copies and conversions at numel ≤ 2¹⁴, −12 % to −27 %".
    """
    changes = comparison.changes
    if any(change.unit != SECONDS for change in changes.values()):
        return
    for relation, is_small in (("≤", True), (">", False)):
        sizes = [int(dict(case.parameters).get("numel", "0")) if case.spec.headline else None for case in changes]
        rows = [change for numel, change in zip(sizes, changes.values()) if numel is not None and (numel <= DISPATCHER) is is_small]
        for verdict in CHANGED:
            ratios = sorted((change.size for change in rows if change.verdict is verdict), reverse=verdict is Verdict.FASTER)
            if ratios:
                extent = dict.fromkeys(short_change(ratio) for ratio in (ratios[0], ratios[-1]))
                where = f"copies and conversions at numel {relation} {count(DISPATCHER)}"
                yield f"{verdict.value}: {len(ratios)} of {len(rows)} {where}, {' to '.join(extent)}"
    for module in dict.fromkeys(case.spec.module for case in changes if not case.spec.headline):
        for verdict in CHANGED:
            largest: dict[str, float] = {}
            for case, change in changes.items():
                if case.spec.module == module and change.verdict is verdict:
                    method = dict(case.parameters).get("method", case.suite)
                    extreme = max if verdict is Verdict.SLOWER else min
                    largest[method] = extreme(change.size, largest.get(method, change.size))
            if largest:
                by_size = sorted(largest, key=lambda method: largest[method], reverse=verdict is Verdict.SLOWER)
                shown = ", ".join(f"{method} {short_change(largest[method])}" for method in by_size[:MOST_METHODS])
                more = f" and {len(by_size) - MOST_METHODS} more" if len(by_size) > MOST_METHODS else ""
                yield f"{verdict.value}: {module}: {shown}{more}"


def reasons(comparison: Comparison) -> list[str]:
    """Return a line for each reason of the unchanged and the inconclusive cases."""
    changes = comparison.changes.values()
    unchanged = sum(change.verdict is Verdict.UNCHANGED for change in changes)
    inconclusive = Counter(summary(change) for change in changes if change.verdict is Verdict.INCONCLUSIVE)
    lines = [f"{unchanged} unchanged: within ±{percent(comparison.margin)}"] if unchanged else []
    return lines + [f"{number} inconclusive: {reason}" for reason, number in inconclusive.most_common()]


def caption(comparison: Comparison) -> list[str]:
    """Return lines on how the times were compared: in how many launches, and what these would have shown; then the exact counts beside."""
    timed = {case: change for case, change in comparison.changes.items() if change.interval}
    lines = []
    for way, text in WAYS.items():
        changes = [change for change in timed.values() if change.way == way]
        if changes:
            numbers = dict.fromkeys(median_low([change.launches[side] for change in changes]) for side in (0, 1))
            of = "" if len(changes) == len(timed) else f" of {counted(len(changes), 'case')}"
            lines.append(f"{' and '.join(map(str, numbers))} launches{of} (median of the cases): {text}")
    small = [change.detectable for case, change in timed.items() if int(dict(case.parameters).get("numel", DISPATCHER + 1)) <= DISPATCHER]
    shown = [each for each in small or [change.detectable for change in timed.values()] if each is not None]
    if shown:
        where = f" up to {count(DISPATCHER)}" if small else ""
        lines.append(f"the smallest slowdown these launches would have shown: {percent(median(shown), 1)} (median of cases{where})")
    return lines + counts_beside([change for change in comparison.changes.values() if change.unit == SECONDS])


def counts_beside(changes: Iterable[Change]) -> list[str]:
    """Return a line on the exact counts beside the times, which decide no verdict; none where nothing was counted."""
    pairs = [change.count for change in changes if change.count]
    if not pairs:
        return []
    more, fewer = (sum(pair.changed and pair.direction is verdict for pair in pairs) for verdict in CHANGED)
    return [f"beside the times: more {pairs[0].unit} in {more} of {counted(len(pairs), 'case')}, fewer in {fewer}"]
