"""The sentences of a comparison, of a case, of the methods and sizes that changed, and of a history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from math import exp, inf, log
from statistics import fmean
from typing import Any, TypeVar

from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import comparisons
from tensorcopy.judge.case_history import LAST, Age, CaseHistory, Standing, Step
from tensorcopy.judge.comparisons import Comparison, Mean
from tensorcopy.judge.groups import DISPATCHER, CaseGroup, OpenRegression, ReleaseChange
from tensorcopy.judge.paired import (
    APART,
    FAILED,
    FEWEST,
    MARGIN,
    MOST_LAUNCHES,
    ONE_SIDED,
    Change,
    CountPair,
    Reason,
    Verdict,
)
from tensorcopy.numbers import (
    change_size,
    count,
    counted,
    extent,
    level,
    percent,
    quantity,
    signed_interval,
    signed_percent,
    tracked,
    tracked_difference,
)
from tensorcopy.report.words import translate
from tensorcopy.results.cases import Case
from tensorcopy.results.effects import JOINED, PAIRED
from tensorcopy.results.result import Result
from tensorcopy.results.suite_specs import SECONDS, baselines, is_tracked, sections

SYMBOLS = {Verdict.SLOWER: "🔴", Verdict.FASTER: "🟢"}
SIGNS = {
    Verdict.SLOWER: "▲",
    Verdict.FASTER: "▼",
    Verdict.UNCHANGED: "=",
    Verdict.UNKNOWN: "?",
    Verdict.MORE: "△",
    Verdict.FEWER: "▽",
    Verdict.HIGHER: "△",
    Verdict.LOWER: "▽",
    Verdict.EQUAL: "=",
}
TIME = (Verdict.SLOWER, Verdict.FASTER, Verdict.UNCHANGED, Verdict.UNKNOWN)
WORK = (Verdict.MORE, Verdict.FEWER, Verdict.EQUAL)
TRACKED = (Verdict.HIGHER, Verdict.LOWER, Verdict.EQUAL, Verdict.UNKNOWN)
SEEN = "smallest slowdown seen 9 times in 10"
USUAL_SPEED = (  # of the times of releases, of their errors, and of launches
    "Where releases took turns, times, their intervals and those of launches are at the usual speed of the machine: what a launch adds to "
    "all of them is taken out. So they compare releases, and not one case with another."
)
CHANGED = (Verdict.SLOWER, Verdict.FASTER, Verdict.MORE, Verdict.FEWER, Verdict.HIGHER, Verdict.LOWER)

WORDS = {
    Reason.FAILED_BEFORE: "failed",
    Reason.FAILED_AFTER: "failed",
    Reason.ONLY_BEFORE: "only before",
    Reason.ONLY_AFTER: "only after",
    Reason.OTHER_VERSION: "in another version",
}
UNMEASURED = tuple(dict.fromkeys(WORDS.values()))  # what an unknown case may be, besides undecided
LIKELY = tuple(f"likely {verdict.value}" for verdict in (Verdict.SLOWER, Verdict.FASTER, Verdict.HIGHER, Verdict.LOWER))  # or else

WAYS = {
    PAIRED: "both sides took turns in the same launches",
    JOINED: "compared by way of other releases in their launches",
}

T = TypeVar("T")


def sentence(change: Change) -> str:
    """Return the verdict on the time and its reason, and the exact count beside it.

    For example "slower by 18.4 % (15.9 to 20.8 %); 5.2 % more instructions", or of a tracked value "higher by 0.05 GB/s".
    """
    if not change.timed and change.count:
        return f"{count_text(change.count)} ({quantity(change.before, change.unit)} → {quantity(change.after, change.unit)})"
    link = " " if change.reason is Reason.CHANGED else ": "
    beside = f"; {count_text(change.count)}" if change.count else ""
    return f"{comparisons.word(change)}{link}{_reason(change)}{beside}{accepted_text(change)}"


def accepted_text(each: Change | Standing | OpenRegression) -> str:
    """Return why a slowdown is known and stays: "; accepted: the price of a correct warning"; "" where it is not.

    Of a method with other cases it is their number: "; 1 of 3 cases accepted".
    """
    if each.accepted:
        return f"; accepted: {each.accepted}"
    some = each.number_accepted if isinstance(each, OpenRegression) else 0
    return f"; {some} of {len(each.standings)} cases accepted" if isinstance(each, OpenRegression) and some else ""


def age_text(age: Age, newest: str, language: str = "en") -> str:
    """Return the heading of the open regressions of an age; `newest` is the newest release."""
    return translate(f"open_{age.value}", language, torch=newest, last=LAST)


def ages_text(regressions: Iterable[OpenRegression]) -> str:
    """Return how many open cases are of each age: "14 new, 26 with the last 8 releases, 103 older; none accepted"."""
    standings = [standing for regression in regressions for standing in regression.standings]
    number = Counter(standing.age for standing in standings)
    known = sum(bool(standing.accepted) for standing in standings)
    recent = f"{number[Age.RECENT]} with the last {LAST} releases"
    return f"{number[Age.NEW]} new, {recent}, {number[Age.OLDER]} older; {known or 'none'} accepted"


def none_open(standings: Collection[Standing], newest: str, language: str = "en") -> str:
    """Return that no case is open, and what that leaves out: slowdowns that are too small to be seen, and unknown cases.

    For example "No case is significantly slower with torch 2.15.0 than with an earlier release. Smallest slowdown seen 9 times in 10:
    15.0 % (≤ 2¹⁴ elements). Unknown against the release before: 95 of 121 cases. 25 of the 121 cases are baselines, such as memcpy."
    """
    with_newest = {each.history.case: each.history.neighbours.get(each.newest) for each in standings}
    changes = {case: change for case, change in with_newest.items() if change}
    seen = {name: size for name, size in comparisons.sensitivity(changes).items() if name}
    sentences = [translate("open_regressions_none", language, torch=newest)]
    if seen:
        numel, size = next(iter(seen.items()))
        sentences.append(translate("open_seen", language, numel=numel, size=percent(size, 1)))
    if unknown := by_word(changes.values())[Verdict.UNKNOWN.value]:
        sentences.append(translate("open_unknown", language, unknown=unknown, cases=len(standings)))
        if number := sum(case.suite in baselines() for case in with_newest):  # on a device; on the CPU they run no torch
            sentences.append(translate("baselines", language, baselines=number, cases=len(standings)))
    return translate("space", language).join(sentences)


def against_earlier(regressions: Iterable[OpenRegression], language: str = "en") -> str:
    """Return how the cases that the newest release slowed compare with the release before the previous one: "" where nothing tells.

    What the previous release gained and the newest one lost is no slowdown there: "The new ones against 2.13.0: 0 slower, 14 unchanged."
    """
    by_release: dict[str, list[Change]] = {}
    for standing in (standing for regression in regressions for standing in regression.standings if standing.age is Age.NEW):
        *earlier, _, newest = (index for index, value in enumerate(standing.history.values) if value is not None)
        if earlier and (change := standing.history.change(earlier[-1], newest)):
            by_release.setdefault(standing.history.releases[earlier[-1]], []).append(change)
    sentences = []
    for release, changes in by_release.items():
        number = by_word(changes)
        words = [Verdict.SLOWER.value, *(word for word in number if word != Verdict.SLOWER.value)]
        counts = [translate("news_count", language, number=number[word], word=translate(word_key(word), language)) for word in words]
        sentences.append(translate("new_against", language, release=release, counts=translate("and", language).join(counts)))
    return translate("space", language).join(sentences)


def word_key(word: str) -> str:
    """Return the name of the text of a word of `by_word`."""
    return f"word_{word.replace(' ', '_')}"


def margins(changes: Iterable[Change]) -> str:
    """Return the margins of cases, the smallest first: "3 %", "3 % or 10 %"."""
    return " or ".join(percent(margin) for margin in sorted({change.margin for change in changes} or {MARGIN}))


def least_changes(changes: Collection[Change]) -> str:
    """Return the smallest changes that are called slower and faster: "3 % (faster: the inverse, −2.9 %)"."""
    inverses = [signed_percent(1 / (1 + margin)) for margin in sorted({change.margin for change in changes} or {MARGIN})]
    return f"{margins(changes)} (faster: the inverse, {' or '.join(inverses)})"


def levels(changes: Iterable[Change]) -> str:
    """Return the levels of the intervals of changes, the lowest first: "95 %", "95 % or 98.3 %"; "" without one."""
    return " or ".join(map(level, sorted({change.level for change in changes if change.has_interval})))


def count_text(count: CountPair) -> str:
    """Return the change of an exact count, "5.2 % more instructions", or of a tracked value, "higher by 0.05 GB/s"."""
    if is_tracked(count.unit):
        ends = [tracked_difference(end, count.unit) for end in count.interval or ()]
        between = f"{ends[0].removesuffix(f' {count.unit}')} to {ends[1]}" if ends else ""
        if count.verdict is Verdict.UNKNOWN:
            verdict = f"likely {count.likely.value}" if count.likely else "unknown"
            return f"{verdict}: {between or 'one launch does not tell how much it varies'}"
        size = f" by {tracked(abs(count.after - count.before), count.unit, 3)}" if count.changed else ""
        return f"{count.verdict.value}{size}{f' ({between})' if between else ''}"
    size = f"{change_size(count.ratio)} " if count.changed and count.before else ""
    return f"{size}{count.verdict.value} {count.unit}"


def summary(change: Change) -> str:
    """Return why a change of a time is unknown, without numbers, to count cases by it."""
    texts = {
        Reason.INTERVAL_TOO_WIDE: "undecided, more launches needed",
        Reason.TOO_FEW_LAUNCHES: "too few launches",
    }
    return texts.get(change.reason) or _reason(replace(change, failure=""))


def nothing_compared(changes: Iterable[Change]) -> str:
    """Return that none of some changes was compared, and why: first the reason of most."""
    reasons = [reason for reason, _ in Counter(map(summary, changes)).most_common()]
    return f"nothing was compared: {'; '.join(reasons) or 'a side has no result'}"


def _reason(change: Change) -> str:
    """Return the part of the sentence after the verdict."""
    if change.interval and change.ratio is not None:
        return _of_interval(change, change.ratio, *change.interval)
    if change.reason is Reason.TOO_FEW_LAUNCHES:
        more = f"; {change.more_launches} more needed" if change.more_launches else ""
        return f"too few launches ({change.launches[0]} before, {change.launches[1]} after){more}"
    if change.reason is Reason.NEVER_MET:
        return "never measured beside each other, not even by way of another release"
    if change.reason in (*ONE_SIDED, Reason.OTHER_VERSION):
        return WORDS[change.reason]
    if change.reason in FAILED:
        side = "before" if change.reason is Reason.FAILED_BEFORE else "after"
        return f"failed {side} ({change.failure})" if change.failure else f"failed {side}"
    side = "before" if change.reason is Reason.NOT_MEASURED_BEFORE else "after"
    return f"no result {side} (skipped: {change.failure})" if change.failure else f"no result {side} (skipped)"


def _of_interval(change: Change, ratio: float, low: float, high: float) -> str:
    """Return the reason of a case that was tested."""
    if change.reason is Reason.CHANGED:
        return f"by {change_size(ratio)} ({_range(low, high)})"
    if change.reason is Reason.WITHIN_MARGIN:
        return f"within ±{change_size(max(high, 1 / low))}"
    needed = f"about {counted(change.more_launches, 'more launch')}" if change.more_launches else f"over {MOST_LAUNCHES} more launches"
    return f"{signed_interval((low, high))}; {needed} needed"


def _range(low: float, high: float) -> str:
    """Return an interval that excludes 1 without signs: "15.9 to 20.8 %"."""
    near, far = sorted(abs(ratio - 1) for ratio in (low, high))
    return f"{percent(near, 1).removesuffix(' %')} to {percent(far, 1)}"


def headline(changes: Collection[Change]) -> list[str]:
    """Return the numbers of cases by verdict: two for the time, those of its other cases, the same of tracked values, and the counts.

    For example "Time: 3 slower, 12 faster.", "Of 277 cases: 2 likely slower, 240 unchanged, 20 unknown." and "Instructions: more in 0,
    fewer in 27 of 249 timed cases."
    Between them are the sizes of the slowdowns and speedups, with their geometric mean: "Slower: +3.1 to +12.4 %, mean +6.8 %."
    Cases that are likely slower, that fail, or that one side does not have, are named where there are any.
    """
    sentences = []
    timed = sum(change.timed for change in changes)
    for title, verdicts, of_kind in (
        ("Time", TIME, [change for change in changes if change.timed]),
        ("Tracked values", TRACKED, [change for change in changes if is_tracked(change.unit)]),
    ):
        number = by_word(of_kind)
        if of_kind:
            first, rest = (", ".join(f"{number[word]} {word}" for word in words) for words in headwords(verdicts, number))
            sentences += [f"{title}: {first}.", f"Of {counted(len(of_kind), 'case')}: {rest}."]
    sizes = {verdict: sizes_of(changes, verdict) for verdict in (Verdict.SLOWER, Verdict.FASTER)}
    if any(sizes.values()):
        sentences.append(" ".join(f"{verdict.value.capitalize()}: {text}." for verdict, text in sizes.items() if text))
    pairs = [change.count for change in changes if change.count and not is_tracked(change.unit)]
    if pairs:
        work = Counter(pair.verdict for pair in pairs)
        more, fewer = work[Verdict.MORE], work[Verdict.FEWER]
        text = f"more in {more}, fewer in {fewer}" if more or fewer else f"equal in {len(pairs)}"
        cases = counted(len(pairs), "timed case" if timed else "case")
        sentences.append(f"{pairs[0].unit.capitalize()}: {text} of {cases}.")
    return sentences or ["No case was compared."]


def mean_lines(comparison: Comparison) -> list[str]:
    """Return a line for each group of methods: "all copies: −0.3 % (−0.5 to −0.1 %), unchanged; geometric mean of 145 cases"."""
    return [f"{mean_name(mean)}: {mean_text(mean)}" for mean in comparisons.group_means(comparison)]


def mean_name(mean: Mean) -> str:
    """Return the group of a mean in words: "all copies", "all copies on cuda"."""
    return f"all {sections()[mean.module].lower()}{'' if mean.device == 'cpu' else f' on {mean.device}'}"


def mean_text(mean: Mean) -> str:
    """Return a mean with its interval and verdict: "−0.3 % (−0.5 to −0.1 %), unchanged; geometric mean of 145 cases"."""
    size = f"{signed_percent(mean.change.size)} ({signed_interval(mean.change.interval or ())})"
    return f"{size}, {comparisons.word(mean.change)}; geometric mean of {counted(len(mean.cases), 'case')}"


def sizes_of(changes: Iterable[Change], verdict: Verdict) -> str:
    """Return the smallest and the largest change with a verdict and the geometric mean of all; "" for none."""
    ratios = [change.size for change in changes if change.verdict is verdict]
    return _range_with(ratios, "mean", exp(fmean(map(log, ratios)))) if ratios else ""


def _range_with(ratios: Collection[float], name: str, middle: float) -> str:
    """Return the smallest and the largest of some changes with their mean or median; of equal ones only that."""
    differ = signed_percent(min(ratios)) != signed_percent(max(ratios))
    ends = f"{signed_interval((min(ratios), max(ratios)))}, {name} " if differ else ""
    return f"{ends}{signed_percent(middle)}"


def by_word(changes: Iterable[Change]) -> Counter[str]:
    """Return the number of cases by word: the verdict, or what is likely, or that a case failed, or which side alone has it."""
    return Counter(WORDS.get(change.reason, comparisons.word(change)) for change in changes)


def words_of(verdicts: Sequence[Verdict], number: Mapping[str, int]) -> list[str]:
    """Return the words of verdicts, behind the first two those of `LIKELY`, and last those of `UNMEASURED`, if there are such cases.

    number : of cases by word
    """
    first, rest = [verdict.value for verdict in verdicts[:2]], [verdict.value for verdict in verdicts[2:]]
    return [*first, *(word for word in LIKELY if number[word]), *rest, *(word for word in UNMEASURED if number[word])]


def headwords(verdicts: Sequence[Verdict], number: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """Return the two words that a headline counts, and all others: slower and faster, or where there is neither, the next that have cases.

    number : of cases by word
    """
    words = words_of(verdicts, number)
    first = words[:2] if any(number[word] for word in words[:2]) else sorted(words[2:], key=lambda word: not number[word])[:2]
    return first, [word for word in words if word not in first]


def apart_text(change: Change, labels: tuple[str, str]) -> str:
    """Return which side a case failed with, or which alone has it: "failed with torch 2.15.0", "only in base 1234abcd"."""
    if change.reason is Reason.OTHER_VERSION:
        return WORDS[change.reason]
    before, after = labels
    side = before if change.reason in (Reason.FAILED_BEFORE, Reason.ONLY_BEFORE) else after
    return f"failed with {side}" if change.reason in FAILED else f"only in {side}"


def device_lines(provenances: Sequence[tuple[str, Mapping[str, Any]]], device: str) -> list[str]:
    """Return what the times of a device depend on besides torch, as far as it is known; nothing for the CPU.

    provenances : by release, in order

    For example "Driver 580.159.04 up to torch 2.11.0, 590.44 from 2.13.0 on: times across a change of the driver are not compared.",
    "CUDA 12.4 with torch 2.5.1, 12.8 with 2.8.0 to 2.10.0." and "Clock 1980 of 1980 MHz, memory 3201 MHz.", the clock when it was read.
    """
    if device == "cpu":
        return []
    lines = []
    drivers = _runs((release, str(each.get("driver") or "")) for release, each in provenances)
    if len(drivers) == 1:
        lines.append(f"Driver {drivers[0][0]}.")
    elif drivers:
        (first, _, last), *later = drivers
        changed = ", ".join(f"{driver} from {release} on" for driver, release, _ in later)
        lines.append(f"Driver {first} up to torch {last}, {changed}: times across a change of the driver are not compared.")
    builds = _runs((release, str(each.get("cuda") or "")) for release, each in provenances)
    if builds:
        texts = [f"{build} with {first}{f' to {last}' if last != first else ''}" for build, first, last in builds]
        lines.append(f"CUDA {', '.join(texts).replace(' with ', ' with torch ', 1)}.")
    gpus = [each.get("gpu") or {} for _, each in provenances]

    def mhz(name: str) -> str:
        readings = sorted({gpu[name] for gpu in gpus if isinstance(gpu.get(name), (int, float))})
        return " to ".join(f"{each:g}" for each in dict.fromkeys((*readings[:1], *readings[-1:])))

    clock, highest, memory = map(mhz, ("clock_mhz", "max_clock_mhz", "max_memory_clock_mhz"))
    clocks = [f"clock {clock}{f' of {highest}' if highest else ''} MHz"] if clock else []
    clocks += [f"memory {memory} MHz"] if memory else []
    text = ", ".join(clocks)
    return [*lines, f"{text[0].upper()}{text[1:]}."] if text else lines


def _runs(values: Iterable[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Return each value with the first and the last of the releases in a row that have it; unknown ones are left out."""
    runs: list[tuple[str, str, str]] = []
    for release, value in values:
        if value and runs and runs[-1][0] == value:
            runs[-1] = value, runs[-1][1], release
        elif value:
            runs.append((value, release, release))
    return runs


def failures(result: Result, suites: Container[str] | None = None) -> list[str]:
    """Return a line for each case that failed in its last launch: its name and its own error.

    suites : whose cases are meant; None for all
    """
    return [f"{case.name}: {text}" for case, text in result.failures.items() if suites is None or case.suite in suites]


def skips(result: Result) -> list[str]:
    """Return a line for each reason why cases of a third-party suite were skipped, with their number."""
    of_suite = Counter((case.suite, reason) for case, reason in result.skips.items() if not case.spec.shipped)
    return [f"{counted(number, 'case')} of {suite}: {reason}" for (suite, reason), number in of_suite.items()]


def largest(rows: Sequence[tuple[str, Change]]) -> str:
    """Return the largest slowdown, or else the largest speedup, as a sentence; "" where no time changed.

    rows : every case's name and change
    """
    first = next((row for row in ordered(rows) if row[1].verdict in (Verdict.SLOWER, Verdict.FASTER)), None)
    if first is None:
        return ""
    name, change = first
    return f"Largest {'slowdown' if change.verdict is Verdict.SLOWER else 'speedup'}: {name}, {_reason(change)}."


def ordered(rows: Iterable[tuple[T, Change]], *, by_factor: bool = False) -> list[tuple[T, Change]]:
    """Sort changes: slower, faster, likely ones, unknown, unchanged; or more, fewer, equal. Within each the largest comes first.

    by_factor : whether the largest is that which exceeds the smallest detectable change of its case the most
    """
    order = (Verdict.SLOWER, Verdict.FASTER, Verdict.HIGHER, Verdict.LOWER, Verdict.UNKNOWN, Verdict.UNCHANGED, *WORK)

    def rank(row: tuple[T, Change]) -> tuple[int, bool, float]:
        ratio = row[1].size
        size = max(ratio, 1 / ratio if ratio else inf)
        return order.index(row[1].verdict), not row[1].likely, -((row[1].factor or 0.0) if by_factor else size)

    return sorted(rows, key=rank)


def step_text(step: Step, history: CaseHistory) -> str:
    """Return a change from the release before in words: "slower by 12.1 % (10.4 to 13.8 %)".

    One that a later release takes back has an end: "slower by 24.2 % (23.1 to 25.4 %), until 1.13.1". A change of a count is "5.2 % more
    instructions", of a tracked value "higher by 0.05 GB/s". Where releases before were not measured: "5.2 % more instructions than 2.10.0".
    """
    than, unit = _than(step), history.unit
    if is_tracked(unit):
        return f"{count_text(CountPair(unit, step.before, step.after, interval=step.interval, kind=history.case.kind))}{than}"
    if unit != SECONDS:
        return f"{change_size(step.ratio)} {'more' if step.ratio > 1 else 'fewer'} {unit}{than}"
    direction = "slower" if step.ratio > 1 else "faster"
    within = f" ({_range(*step.interval)})" if step.interval else ""
    back = history.taken_back(step)
    until = f", until {history.releases[back]}" if back is not None else ""
    return f"{direction} by {change_size(step.ratio)}{within}{than}{until}"


def over_releases(releases: Sequence[str]) -> str:
    """Return the number of releases and their ends: "22 torch releases, 1.9.0 to 2.15.0"."""
    return counted(len(releases), "torch release") + (f", {releases[0]} to {releases[-1]}" if releases[1:] else "")


def _than(change: Step | ReleaseChange) -> str:
    return f" than {change.against}" if change.against else ""


def no_change(histories: Collection[CaseHistory], language: str = "en") -> str:
    """Return that no case changed and how many are unknown with some release, or that nothing could be compared."""
    if not any(each.is_compared for each in histories):
        return translate("nothing_compared", language)
    unknown = sum(bool(each.unknown) for each in histories)
    rest = translate("no_changes_unknown", language, unknown=unknown, cases=len(histories)) if unknown else ""
    return translate("space", language).join(filter(None, [translate("no_changes", language), rest]))


def no_change_of_case(history: CaseHistory) -> str:
    """Return that a case did not change, and with how many releases that is unknown, without a point.

    For example "no change detected over 22 releases, unknown with 3 of them".
    """
    releases = len({release for release, value in zip(history.releases, history.values) if value is not None})
    rest = f", unknown with {len(history.unknown)} of them" if history.unknown else ""
    return f"no change detected over {counted(releases, 'release')}{rest}"


def against_text(step: Step, language: str = "en") -> str:
    """Return the release of a change, where it is not from the one before: " against 2.10.0"; else ""."""
    return translate("against", language, release=step.against) if step.against else ""


def step_size(step: Step, unit: str, *, within: bool = False) -> str:
    """Return the size of a change with its sign: "−17.3 %", within its interval "−17.3 % (−19.0 to −15.6 %)"; tracked "+0.05 GB/s"."""
    if is_tracked(unit):
        return tracked_difference(step.after - step.before, unit)
    return signed_percent(step.ratio) + (f" ({signed_interval(step.interval)})" if within and step.interval else "")


def cost_text(standing: Standing) -> str:
    """Return what a case costs against its best release; "" for nothing.

    For example "+12.1 % (+10.4 to +13.8 %) against 2.9.1".
    """
    cost = standing.cost
    if not (standing.is_open and cost and cost.interval):
        return ""
    return f"{signed_percent(cost.size)} ({signed_interval(cost.interval)}) against {standing.best_release}"


def extent_text(regression: OpenRegression) -> str:
    """Return the largest slowdown of its age among the cases of a method; what they cost in all is `cost_extent_text`.

    For example "up to +3.9 % (+2.4 to +5.4 %) with 2.15.0 in 6 cases", or "no single release in 1 case".
    """
    number, slowed = len(regression.standings), regression.slowed_most
    largest = translate("no_single_release")
    if step := slowed.since:
        size = step_size(step, SECONDS, within=True)
        largest = f"{'up to ' if number > 1 else ''}{size} with {slowed.history.releases[step.index]}{against_text(step)}"
    return f"{largest} in {counted(number, 'case')}"


def cost_extent_text(regression: OpenRegression) -> str:
    """Return the largest cost among the cases of a method: "up to +18.2 % (+16.4 to +20.0 %) against 1.9.1"."""
    return f"{'up to ' if len(regression.standings) > 1 else ''}{cost_text(regression.worst)}"


def change_text(change: ReleaseChange, *, names_device: bool = True) -> str:
    """Return a change of a group of cases in words.

    For example "31 of 40 copies at numel ≤ 2¹⁴ slower, +4.1 to +52.3 %, median +38.0 %", or of a single case, with its interval:
    "1 of 40 copies at numel ≤ 2¹⁴ slower, +3.2 % (+2.8 to +3.6 %)". The members of a group vary together, so their median has no interval
    that its launches could tell.
    """
    word, than = change.verdict.value, _than(change)
    if is_tracked(change.group.unit):
        return f"{word}{than} in {len(change.cases)} of {counted(change.of, 'value')} that {change.group.module} tracks"
    if change.group.unit != SECONDS:
        where = f"{len(change.cases)} of {counted(change.of, 'case')}{_relation(change.group)}"
        size = f"{'median ' if len(change.cases) > 1 else ''}{signed_percent(change.ratio)}"
        return f"{word} {change.group.unit}{than} in {where}, {size}"
    steps = [*change.steps.values()]
    ratios = [step.ratio for step in steps]
    size = step_size(steps[0], SECONDS, within=True) if len(steps) == 1 else _range_with(ratios, "median", change.ratio)
    name = group_name(change.group, names_device=names_device)
    return f"{len(change.cases)} of {change.of} {name} {word}{than}, {size}"


def owner_noun(cases: Iterable[Case]) -> str:
    """Return what cases are of in words: a method, or where all are of other suites than the shipped ones a benchmark."""
    return "benchmark" if {case.spec.shipped for case in cases} == {False} else "method"


def group_name(group: CaseGroup, *, names_device: bool) -> str:
    """Return a group in words: "copies at numel ≤ 2¹⁴", "primitives on cuda at numel > 2¹⁴"."""
    device = f" on {group.device}" if names_device and group.device != "cpu" else ""
    return f"{group.module}{device}{_relation(group)}"


def _relation(group: CaseGroup) -> str:
    return "" if group.small is None else f" at numel {'≤' if group.small else '>'} {count(DISPATCHER)}"


def not_included(problems: Iterable[TensorcopyError]) -> list[str]:
    """Return a line for each file that could have taken part, and could not be read."""
    return [f"not included: {problem.what}: {problem.got}" for problem in problems]


def reasons(comparison: Comparison) -> list[str]:
    """Return a line for each reason of the unchanged and the unknown times; a case that failed, or is new, is no reason to count."""
    changes = comparison.changes.values()
    unchanged = [change for change in changes if change.verdict is Verdict.UNCHANGED]
    likely = [change for change in changes if change.likely]
    unknown = Counter(
        summary(change) for change in changes if change.verdict is Verdict.UNKNOWN and not change.likely and change.reason not in APART
    )
    lines = [f"{len(unchanged)} unchanged: within ±{margins(unchanged)}"] if unchanged else []
    lines += (
        [f"{len(likely)} likely: beyond the margin, not significant among all {counted(comparison.compared, 'case')}"] if likely else []
    )
    return lines + [f"{number} unknown: {reason}" for reason, number in unknown.most_common()]


def caption(comparison: Comparison) -> list[str]:
    """Return lines on how the times were compared: in how many launches, and what would not have been seen."""
    seen = sensitivity_text(comparisons.sensitivity(comparison.changes))
    lines = launch_lines(comparison)
    if seen:
        lines.append(f"{SEEN}: {seen}")
    return [*lines, *(f"cases on {device} are not among these: --device {device}" for device in comparison.other_devices)]


def launch_lines(comparison: Comparison) -> list[str]:
    """Return in how many launches the times were compared, a line for each way: "12 launches for 181 cases: both sides took turns …".

    Beside them stands how many cases have too few launches.
    """
    timed = [change for change in comparison.changes.values() if change.interval]
    few = sum(change.timed and change.reason is Reason.TOO_FEW_LAUNCHES for change in comparison.changes.values())
    lines = []
    for way, text in WAYS.items():
        changes = [change for change in timed if change.way == way]
        if changes:
            numbers = dict.fromkeys(extent(change.launches[side] for change in changes) for side in (0, 1))
            of = "" if len(changes) == len(timed) and not few else f" for {counted(len(changes), 'case')}"
            lines.append(f"{' and '.join(numbers)} launches{of}: {text}")
    if timed and few:
        lines.append(f"fewer than {FEWEST} launches for {counted(few, 'case')}: not judged")
    return lines


def sensitivity_text(smallest: Mapping[str, float]) -> str:
    """Return the smallest slowdown seen 9 times in 10, by size, as `comparisons.sensitivity` returns it.

    For example "5.2 % (≤ 2¹⁴ elements), 3.1 % (≤ 2¹⁷)"; "" where nothing was compared. Cases without a size come last.
    """
    of_sizes = {name: size for name, size in smallest.items() if name}
    units = [" elements", *[""] * len(of_sizes)]  # once
    texts = [f"{percent(size, 1)} ({name}{unit})" for (name, size), unit in zip(of_sizes.items(), units)]
    if (without_size := smallest.get("")) is not None:
        texts.append(f"{percent(without_size, 1)} (without a size)" if texts else percent(without_size, 1))
    return ", ".join(texts)
