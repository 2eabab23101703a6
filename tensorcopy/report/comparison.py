"""The comparison of two results as a report, and the evidence behind one verdict."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import reduce
from math import exp, inf, log
from typing import Any, NamedTuple

from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import comparisons
from tensorcopy.judge.case_history import OpenSince
from tensorcopy.judge.comparisons import Comparison, word
from tensorcopy.judge.paired import ALPHA, APART, FEWEST, MARGIN, MOST_LAUNCHES, Change, Reason, Verdict
from tensorcopy.numbers import counted, extent, p_value, percent, quantity, signed_percent, size_range, slowdown
from tensorcopy.report.table import KEPT, Report, ReportColumn, ReportSection, common
from tensorcopy.results.cases import Case
from tensorcopy.results.effects import JOINED, LEVEL, PAIRED
from tensorcopy.results.kinds import COUNT, KINDS
from tensorcopy.results.launches import method_code
from tensorcopy.results.result import Result, points
from tensorcopy.results.suite_specs import INSTRUCTIONS

SIGNS = dict(zip(Verdict, "▲▼=?△▽△▽=", strict=True))
KNOWN, FAILS = "▴", "✗"  # of a slowdown that is no alarm, since it is accepted or back to an earlier level, and of a case that fails now
MOVED = (Verdict.SLOWER, Verdict.FASTER, Verdict.HIGHER, Verdict.LOWER, Verdict.MORE, Verdict.FEWER)
STILL = {Verdict.UNCHANGED: "unchanged", Verdict.EQUAL: "equal"}
TEXTS = {
    Reason.FAILED_AFTER: "fails",
    Reason.OTHER_VERSION: "in another version of the benchmark",
    Reason.NEVER_MET: "never measured beside each other, not even by way of another release",
}  # of reasons whose names do not say it
DECIDED = (Reason.CHANGED, Reason.WITHIN_MARGIN, Reason.INTERVAL_TOO_WIDE, Reason.COUNT_CHANGED, Reason.COUNT_UNCHANGED)
WAYS = {
    PAIRED: "fresh processes of both, which took turns",
    JOINED: "of each beside other releases, which both are compared with",
}
AXIS = 46  # columns


class ComparedCase(NamedTuple):
    """A case of a comparison."""

    name: str
    change: Change
    case: Case | None = None  # None of a case of which the name alone is known
    is_back: bool = False  # of a slower case, whether it is back to an earlier level: no news


# What is said of a change


def size(change: Change) -> str:
    """Return a change without its interval: "+4.1 %", of a tracked value "+0.05 GB/s"."""
    if not change.timed and change.before is not None and change.after is not None:
        return change.kind.size(change.before, change.after, change.unit)
    return signed_percent(change.ratio) if change.ratio else ""


def interval(change: Change) -> str:
    """Return the interval of a change: "+2.9 to +5.5 %"."""
    ends = change.interval or change.difference
    return change.kind.interval(ends, change.unit) if ends else ""


def instructions(change: Change) -> str:
    """Return the change of the instructions beside a time: "−1.1 %", "=" for none."""
    return "" if not change.count else signed_percent(change.count.size) if change.count.changed else "="


def text_of(reason: Reason) -> str:
    """Return a reason in words: "too few launches"."""
    return TEXTS.get(reason, reason.value.replace("_", " "))


def note(change: Change) -> str:
    """Return why a case is not decided, or what is known of it."""
    if change.reason not in DECIDED:
        launches = "{} and {}".format(*change.launches) if change.reason is Reason.TOO_FEW_LAUNCHES else ""
        return ": ".join(filter(None, [text_of(change.reason), change.failure or launches]))
    if change.verdict is Verdict.UNKNOWN and change.timed:
        more = f"~{counted(change.more_launches, 'more launch')}" if change.more_launches else f">{MOST_LAUNCHES} more launches"
        return f"{word(change)}, " * bool(change.likely) + more
    if change.verdict is Verdict.UNKNOWN:
        return word(change) if change.likely else "varies between launches"
    return f"accepted: {change.accepted}" if change.accepted else ""


def mark(row: ComparedCase) -> str:
    """Return the sign of a verdict."""
    change = row.change
    is_known = change.accepted or row.is_back
    return KNOWN if is_known else FAILS if change.reason is Reason.FAILED_AFTER else SIGNS[change.verdict]


# The table


def column(key: str, of: str = "") -> ReportColumn:
    """Return a column of data with a field of the change, or of the count beside it; None where there is none."""
    return ReportColumn(key=key, value=lambda row: reduce(lambda each, name: getattr(each, name, None), (of or key).split("."), row.change))


COUNTED = {key: key for key in ("unit", "verdict", "before", "after", "ratio", "interval", "repeatability")}  # fields of a count, by key
COUNTED |= {"verdict": "verdict.value", "interval": "difference"}
COLUMNS = (
    ReportColumn(key="case", value=lambda row: row.case.name if row.case else row.name),
    ReportColumn(key="suite", value=lambda row: row.case.suite if row.case else ""),
    ReportColumn(key="parameters", value=lambda row: dict(row.case.parameters) if row.case else {}),
    ReportColumn(key="device", value=lambda row: row.case.device if row.case else ""),
    ReportColumn(key="metric", value=lambda row: "time" if row.change.timed else row.change.unit),
    column("verdict", "verdict.value"),
    column("likely", "likely.value"),
    column("reason", "reason.value"),
    ReportColumn("before", lambda row: quantity(row.change.before, row.change.unit), "before", lambda row: row.change.before),
    ReportColumn("after", lambda row: quantity(row.change.after, row.change.unit), "after", lambda row: row.change.after),
    ReportColumn("change", lambda row: size(row.change), "ratio", lambda row: row.change.ratio),
    ReportColumn(f"{percent(1 - ALPHA)} interval", lambda row: interval(row.change)),
    ReportColumn(key="low", value=lambda row: (row.change.interval or [None])[0]),
    ReportColumn(key="high", value=lambda row: (row.change.interval or [None])[-1]),
    ReportColumn(key="level", value=lambda row: LEVEL if row.change.interval or row.change.difference else None),
    column("p"),
    column("margin"),
    column("detectable"),
    column("factor"),
    ReportColumn(key="launches_before", value=lambda row: row.change.launches[0]),
    ReportColumn(key="launches_after", value=lambda row: row.change.launches[1]),
    column("more_launches"),
    ReportColumn(key="way", value=lambda row: row.change.way if row.change.timed and row.change.ratio else None),
    ReportColumn("instr.", lambda row: instructions(row.change)),
    *(column(f"count_{key}", f"counted.{of}") for key, of in COUNTED.items()),
    ReportColumn(key="back", value=lambda row: row.is_back),
    column("accepted"),
    column("failure"),
    ReportColumn("", lambda row: note(row.change), "note", lambda row: note(row.change), left=True),
)


def report(comparison: Comparison) -> Report:
    """Return the report of a comparison."""
    number = Counter(case.name for case in comparison.changes)  # two functions of one class may track the same case
    names = {
        case: case.name.replace(case.spec.label, case.spec.page) if number[case.name] > 1 else case.name for case in comparison.changes
    }
    rows = grouped(ComparedCase(names[case], change, case, is_back=case in comparison.back) for case, change in comparison.changes.items())
    changes = [row.change for row in rows]
    codes = {row.name: code_of(row.case, comparison.after).replace(" ", KEPT) for row in rows if row.case}
    short = {
        name: (": ".join(filter(None, [group, codes[name]])), rest)
        for name, (group, rest) in common((row.name, *words(row.case, row.name)) for row in rows if row.case).items()
    }
    in_launches = "; ".join(launches(changes) or ["no launches in common"] * any(change.timed for change in changes))
    before, after = comparison.labels
    first = f"{before.split(' ')[0]} "
    shared = before.removeprefix(first) if after.startswith(first) else before
    return of_rows(
        rows,
        heading=f"{after} against {shared} on {comparison.on.rpartition(' (')[0]}: {moved(rows)}",
        lines=[f"On {'; '.join(filter(None, [comparison.on, in_launches]))}."],
        notes=notes(comparison),
        short=lambda row: short.get(row.name, ("", row.name)),
        fields={
            "before": {"label": before, **side(comparison.before)},
            "after": {"label": after, **side(comparison.after)},
            "device": comparison.device,
            "margin": comparison.question.margin or MARGIN,
            "alpha": ALPHA,
            "counts": Counter(change.verdict.value for change in changes),
            "back": sum(row.is_back for row in rows),
            "problems": [problem.document() for problem in comparison.problems],
        },
        data=rows,
    )


def of_rows(rows: Sequence[ComparedCase], *, heading: str, lines: Sequence[str], **fields: Any) -> Report:
    """Return the report of the cases of a comparison: those that fail now first, then those that changed; others are folded.

    fields : of the report
    """
    changes = [row.change for row in rows]
    failing = [row for row in rows if row.change.reason is Reason.FAILED_AFTER]
    alone = [row for row in rows if row.change.reason in APART and row not in failing]
    likely = [row for row in rows if row.change.likely]
    unknown = [row for row in rows if row.change.verdict is Verdict.UNKNOWN and row.change.reason not in APART and row not in likely]
    undecided, apart = ([row for row in unknown if row.change.compared is is_compared] for is_compared in (True, False))
    return Report(
        heading=heading,
        alarm=f"{len(failing)} {'fails' if len(failing) == 1 else 'fail'}" if failing else "",
        lines=[*still(changes), *lines],
        columns=COLUMNS,
        sections=[
            ReportSection("", failing),
            *(ReportSection("", [row for row in rows if row.change.verdict is verdict and not row.is_back]) for verdict in MOVED),
            ReportSection(f"{OpenSince.BACK.value}: no news", [row for row in rows if row.is_back]),
            ReportSection("likely, not significant among all cases", likely),
            ReportSection("failed before, or on one side only", alone),
            ReportSection(f"{len(undecided)} undecided", undecided, folded=True),
            ReportSection(f"{len(apart)} not compared ({reasons(row.change for row in apart)})", apart, folded=True),
            *(
                ReportSection(f"{len(unchanged)} {text}", unchanged, folded=True)
                for verdict, text in STILL.items()
                if (unchanged := [row for row in rows if row.change.verdict is verdict])
            ),
        ],
        name=lambda row: row.name,
        mark=mark,
        **fields,
    )


def side(result: Result) -> dict[str, object]:
    """Return a side as a document."""
    return {"history": result.history, "python": result.python, "build": result.build, "provenance": result.provenance}


def code_of(case: Case, result: Result) -> str:
    """Return the code that a case runs; "" for another's suite."""
    row = result.methods.get(dict(case.parameters).get("method", ""), {}) if case.spec.shipped else {}
    return method_code(row, case.device)


def words(case: Case, name: str) -> tuple[list[str], list[str]]:
    """Return the words of a case's name that make its group, and its other parameters; name : as it is shown."""
    values = dict(case.parameters)
    label = name.removesuffix(case.name.removeprefix(case.spec.label))
    head = [label, *([values["method"]] if "method" in values else [])]
    return head, [f"{name}={value}" for name, value in values.items() if name != "method"]


def grouped(rows: Iterable[ComparedCase]) -> list[ComparedCase]:
    """Return rows by verdict, what is back behind its own, the suite and method with the largest change first; unchanged ones by name."""
    order, largest = [*MOVED, Verdict.UNKNOWN, *STILL], defaultdict[tuple[int, bool, bool, str], float](float)
    ranked = []
    for row in rows:
        change, parameters = row.change, row.case.parameters if row.case else ()
        values = [(value.isdecimal() and int(value), value) for name, value in parameters if name != "method"]
        method = dict(parameters).get("method", "")
        group = order.index(change.verdict), row.is_back, not change.likely, f"{row.case.spec.page if row.case else row.name} {method}"
        largest[group] = max(largest[group], abs(log(change.size)) if change.verdict not in STILL and 0 < change.size < inf else 0.0)
        ranked.append((group, values, row))
    ranked.sort(key=lambda each: (each[0][:3], -largest[each[0]], each[0][3], each[1]))
    return [row for *_, row in ranked]


# The sentences above and below it


def moved(rows: Collection[ComparedCase]) -> str:
    """Return the answer: "14 of 265 cases slower (3.2 to 4.1 %), 2 back to an earlier level (3.1 %), 11 faster (3.1 to 7.1 %)"."""
    kinds = [kind for kind in KINDS.values() if any(row.change.kind is kind for row in rows)]
    parts: list[str] = []
    for kind in kinds:
        of_kind = [row for row in rows if row.change.kind is kind]
        for text in (kind.rises, OpenSince.BACK.value, kind.falls):
            changes = [row.change for row in of_kind if (OpenSince.BACK.value if row.is_back else row.change.verdict.value) == text]
            if not changes and (kind is not kinds[0] or text == OpenSince.BACK.value):
                continue
            of = "" if parts else f" of {counted(len(rows), 'case')}"
            unit = f" {of_kind[0].change.unit}" if text == COUNT.rises and not parts else ""
            ratios = [] if kind.by_difference else [change.size for change in changes]
            with_ = "with " if kind is COUNT else ""
            parts.append(f"{len(changes) or 'none'}{of} {with_}{text}{unit}{f' ({size_range(ratios)})' if ratios else ''}")
    return ", ".join(parts) if rows else "no case"


def still(changes: Collection[Change]) -> list[str]:
    """Return how many cases did not change, or are not decided, and how the counts beside the times changed."""

    def text(change: Change) -> str:
        if change.likely:
            return word(change)
        if change.verdict is Verdict.UNKNOWN and not change.compared:
            return text_of(change.reason) if change.reason in APART else "not compared"
        return change.verdict.value if change.verdict is not Verdict.UNKNOWN else "undecided (more launches would tell)"

    number = Counter(text(each) for each in changes if each.verdict not in MOVED and each.reason is not Reason.FAILED_AFTER)
    margins = " or ".join(percent(each) for each in sorted({each.margin for each in changes if each.verdict is Verdict.UNCHANGED}))
    parts = [f"{many} {text}{f' (within ±{margins})' if text == 'unchanged' else ''}" for text, many in number.most_common()]
    pairs = [each.count for each in changes if each.count and each.count.unit == INSTRUCTIONS]
    more, fewer = (sum(pair.verdict is verdict for pair in pairs) for verdict in (Verdict.MORE, Verdict.FEWER))
    executes = f"{more or 'No'} case{'s execute' if more > 1 else ' executes'} more instructions; {fewer or 'none'} of {len(pairs)} fewer."
    return [" ".join(filter(None, [f"{', '.join(parts)}." if parts else "", executes if pairs else ""]))] if parts or pairs else []


def reasons(changes: Iterable[Change]) -> str:
    """Return why cases were not compared: first the reason of most."""
    return ", ".join(text_of(reason) for reason, _ in Counter(change.reason for change in changes).most_common())


def launches(changes: Collection[Change]) -> list[str]:
    """Return in how many launches the cases were compared, for each way, and how many cases have too few."""
    parts = []
    for way, text in WAYS.items():
        if of_way := [change for change in changes if change.interval and change.way == way]:
            numbers = dict.fromkeys(extent(change.launches[side] for change in of_way) for side in (0, 1))
            of = f" for {counted(len(of_way), 'case')}" if len(of_way) < len(changes) else ""
            parts.append(f"{' and '.join(numbers)} launches{of}: {text}")
    few = sum(change.timed and change.reason is Reason.TOO_FEW_LAUNCHES for change in changes)
    return [*parts, *([f"fewer than {FEWEST} launches for {counted(few, 'case')}: not judged"] if few else [])]


def notes(comparison: Comparison) -> list[str]:
    """Return what would not have been noticed, what is no news, and what is not shown."""
    seen = sorted(comparisons.sensitivity(comparison.changes).items(), key=lambda each: not each[0])  # what has no size comes last
    units = [" elements", *[""] * len(seen)]  # once
    texts = [f"{slowdown(size)} ({name + unit if name else 'without a size'})" for (name, size), unit in zip(seen, units)]
    lines = [noticed(", ".join(texts))] if texts else []
    if comparison.back:
        lines.append(f"Back to an earlier level: only torch {comparison.before.version} was faster. --fail-on slower leaves that out.")
    lines += [f"Cases on {device}: --device {device}." for device in comparison.other_devices]
    return lines + not_included(comparison.problems)


def noticed(size: str) -> str:
    """Return which slowdown would have been noticed."""
    return f"9 times in 10, we would notice a slowdown of {size}; a smaller one may be missed."


def not_included(problems: Iterable[TensorcopyError]) -> list[str]:
    """Return a line for each file that could have taken part, and could not be read."""
    return [f"Not included: {problem.what}: {problem.got}" for problem in problems]


# The evidence behind one verdict


def evidence(comparison: Comparison, case: Case) -> Report:
    """Return all evidence on one case: the numbers of the test, and each launch with its difference on a common axis."""
    change = comparison.changes[case]
    met = () if change.reason is Reason.NEVER_MET else points(comparison.before, comparison.after, case)
    rows: list[tuple[str, dict[float, str], str]] = [
        (f"{start[5:10]} {start[11:16]} {name}".rstrip(), {size: "●"}, signed_percent(exp(size))) for start, name, size in met
    ]
    if rows and change.interval and change.ratio:
        rows.append(("interval", {**dict(zip(map(log, change.interval), "├┤")), log(change.ratio): "●"}, interval(change)))
    low, high = (pick([0.0, *(place for _, marks, _ in rows for place in marks)]) for pick in (min, max))

    def axis(row: tuple[str, dict[float, str], str]) -> str:
        cells = [" "] * AXIS
        for place, sign in {0.0: "│", **row[1]}.items():
            cells[round((AXIS - 1) * (place - low) / (high - low)) if high > low else 0] = sign
        return "".join(cells)

    environment = [f"  {name}: {old or 'none'} → {new or 'none'}" for name, old, new in comparison.environment]
    sides = "of the sides" if change.way == PAIRED else "of A, before, and B, after, from the mean of A"
    return Report(
        heading=f"{case.name}: {word(change)}{f', {OpenSince.BACK.value}' * (case in comparison.back)}",
        lines=[f"{' → '.join(comparison.labels)}, on {comparison.on}", *statistics(comparison, case)],
        title="launch",
        columns=[ReportColumn(f"difference {sides}, │ none", axis, left=True), ReportColumn("", lambda row: row[2])],
        sections=[ReportSection("", rows, limited=False)],
        name=lambda row: row[0],
        notes=[
            "What differs between the sides:",
            *(environment or ["  nothing that is recorded"]),
            *not_included(comparison.problems),
        ],
    )


def statistics(comparison: Comparison, case: Case) -> list[str]:
    """Return the numbers behind a verdict; its p is adjusted for the cases of its device that could be tested."""
    change, every = comparison.changes[case], comparisons.judged(comparison.question)
    among = sum(each.interval is not None for other, each in every.items() if other.device == case.device)
    sides = f"{quantity(change.before, change.unit)} → {quantity(change.after, change.unit)}"
    lines = [f"  ratio {change.ratio:.4g} ({sides}), {size(change)}"] if change.ratio and not change.kind.by_difference else []
    if change.kind.by_difference and change.counted:
        between = f", {percent(LEVEL)} interval {interval(change)}" if change.difference else ""
        lines.append(f"  {sides}, {size(change)}{between}")
    if change.interval and change.p is not None and change.detectable is not None:
        low, high = change.interval
        least = f"{percent(change.margin)} (faster: {signed_percent(1 / (1 + change.margin))})"
        lines += [
            f"  {percent(LEVEL)} interval {low:.3f} to {high:.3f}, {interval(change)}",
            f"  {extent(change.launches)} launches: {WAYS[change.way]}",
            f"  {p_value(change.p)} (moderated t, Holm among {among} cases), significant to {ALPHA:.3g}",
            f"  margin {least}: a smaller change is not called slower or faster",
            f"  9 times in 10, a slowdown of {slowdown(change.detectable)} would be noticed",
        ]
    lines += [f"  {note(change)}"] if note(change) else []
    if change.count:
        before, after = (quantity(value, change.count.unit) for value in (change.count.before, change.count.after))
        repeats = change.count.repeatability
        differ = "" if repeats is None else f", repeated counts within {percent(round(repeats, 4))}"
        lines.append(f"  {change.count.unit} {before} → {after} ({instructions(change)}), beside the verdict{differ}")
    return lines
