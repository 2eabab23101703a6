"""Histories as reports: what is slower now, the changes of many cases, and one case over the releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp, isnan
from operator import itemgetter
from typing import Any

from tensorcopy.judge import comparisons
from tensorcopy.judge.case_history import LAST, Age, CaseHistory, Standing, Step, releases_of, standing
from tensorcopy.judge.groups import DISPATCHER, OpenRegression, ReleaseChange, by_age, changes_by_release, open_regressions
from tensorcopy.judge.paired import Verdict
from tensorcopy.numbers import count, counted, duration, percent, quantity, signed_interval, signed_percent, tracked_difference
from tensorcopy.report.comparison import SIGNS, code_of, noticed, words
from tensorcopy.report.table import Report, ReportColumn, ReportSection, common
from tensorcopy.results.cases import Case
from tensorcopy.results.kinds import TRACKED
from tensorcopy.results.result import Result
from tensorcopy.results.suite_specs import SECONDS, baselines

BAR = 12  # columns
TITLES = {Age.NEW: "new with torch {}", Age.RECENT: f"with the last {LAST} releases", Age.OLDER: "older"}
CREPT = "crept"


def step_size(history: CaseHistory, step: Step) -> str:
    """Return the size of a step: "+4.1 %"."""
    return history.case.kind.size(step.before, step.after, history.unit)


def beside(step: Step) -> str:
    """Return what a step is measured against, where that is not the release before."""
    return f" from {step.against}" * bool(step.against)


def within(history: CaseHistory, step: Step) -> str:
    """Return the interval of a step."""
    if step.interval and history.case.kind is TRACKED:
        return " to ".join(tracked_difference(end, history.unit) for end in step.interval)
    return signed_interval(step.interval) if step.interval else ""


# What is slower now: a row is a method, or one of its cases, which is a method with one case


def known(row: OpenRegression) -> str:
    """Return why a slowdown stays, or of how many cases of a method that is known."""
    some = f"{row.number_accepted} of {len(row.standings)} accepted" if row.number_accepted else ""
    return f"accepted: {row.accepted}" if row.accepted else some


def since_document(each: Standing) -> dict[str, object] | None:
    """Return the last slowdown of an open case as a document; None where it crept."""
    if each.since is None:
        return None
    against = each.history.releases[each.history.before(each.since.index)]
    return {"release": each.since_release, "against": against, "ratio": each.since.ratio}


OPEN = (
    ReportColumn(key="case", value=lambda row: row.worst.history.case.name),
    ReportColumn(key="method", value=lambda row: row.method),
    ReportColumn(key="age", value=lambda row: row.worst.age.value),
    ReportColumn(key="history", value=lambda row: row.worst.history.results[-1].history),
    ReportColumn("cases", lambda row: str(len(row.standings))),
    ReportColumn("since", lambda row: since(row)[0]),
    ReportColumn("by", lambda row: since(row)[1]),
    ReportColumn(key="release", value=lambda row: row.worst.history.releases[row.worst.newest]),
    ReportColumn("fastest", lambda row: row.worst.best_release, "best", lambda row: row.worst.best_release),
    ReportColumn("time", lambda row: duration(row.worst.times[0]), "before", lambda row: row.worst.times[0]),
    ReportColumn("now", lambda row: duration(row.worst.times[1]), "after", lambda row: row.worst.times[1]),
    ReportColumn("in all", lambda row: percent(row.worst.ratio - 1, 1), "ratio", lambda row: row.worst.ratio),
    ReportColumn("95 % interval", lambda row: signed_interval(row.worst.cost.interval).replace("+", "")),
    ReportColumn(key="low", value=lambda row: row.worst.cost.interval[0]),
    ReportColumn(key="high", value=lambda row: row.worst.cost.interval[1]),
    ReportColumn(key="since", value=lambda row: since_document(row.worst)),
    ReportColumn(key="accepted", value=lambda row: row.worst.accepted),
    ReportColumn("", known, left=True),
)
OF_METHODS, OF_CASES = ("cases", "since", "by"), ("time", "now")  # columns that only these have


def since(row: OpenRegression) -> tuple[str, str]:
    """Return the release of the largest slowdown of its age, and its size."""
    most = row.slowed_most
    return (most.since_release, step_size(most.history, most.since)[1:] + beside(most.since)) if most.since else (CREPT, "")


def of_one(row: OpenRegression) -> str:
    """Return since when a case is slower, and why it stays: "since 2.15.0 by 4.1 %"."""
    release, by = since(row)
    return "; ".join(filter(None, [f"since {release} by {by}" if by else CREPT, known(row)]))


def of_open(by_case: Mapping[Case, CaseHistory], device: str, *, everything: bool) -> Report:
    """Return what is slower with the newest release than with an earlier one: a row for each method, or where asked for each case."""
    every = [each for history in by_case.values() if (each := standing(history))]
    ages = by_age(open_regressions(every))
    cases = [OpenRegression((each,)) for of_age in ages.values() for regression in of_age for each in regression.standings]
    everything = everything or len({row.method for row in cases}) == 1
    newest = releases_of(each.history for each in every)[-1] if every else ""
    place, _, details = next(iter(by_case.values())).on.partition(" (")
    sections, short = [], dict[str, tuple[str, str]]()
    for age, of_age in ages.items():
        rows = [OpenRegression((each,)) for row in of_age for each in row.standings] if everything else of_age
        named = [(case.name, *words(case, case.name)) for case in (row.worst.history.case for row in rows)]
        heads = [head for _, head, _ in named]
        order = sorted(range(len(rows)), key=lambda index: heads.index(heads[index]))
        short |= common(named[index] for index in order)
        title = f"{TITLES[age].format(newest)}{as_before(of_age) if age is Age.NEW else ''}"
        sections.append(ReportSection(title, [rows[index] for index in order] if everything else rows, limited=False))
    hidden = OF_METHODS if everything else OF_CASES
    crept = any(since(row)[0] == CREPT for row in cases)
    of_many = "" if everything else " Of a method's cases, the largest slowdown of its age and the largest in all; --all has each case."
    notes = [f"In all: torch {newest} against the fastest release.{of_many}"] if cases else unseen(every)
    notes += ["Crept: in steps too small to date."] * crept
    return Report(
        heading=open_heading(cases, every, newest, place),
        lines=[f"On {place} ({details}."] if details else [],
        columns=[
            replace(each, text=None if each.title in hidden else of_one if everything and each.text is known else each.text)
            for each in OPEN
        ],
        sections=sections,
        notes=notes,
        title="case" if everything else "method",
        name=lambda row: row.worst.history.case.name if everything else row.method,
        short=(lambda row: short[row.worst.history.case.name]) if everything else None,
        fields={"device": device, "cases": len(every), "compared": sum(each.history.is_compared for each in every)},
        data=cases,
    )


def open_heading(cases: Sequence[OpenRegression], every: Sequence[Standing], newest: str, place: str) -> str:
    """Return the answer: "29 of 265 cases on AMD EPYC are slower with torch 2.15.0 than with an earlier release: 14 new, 15 with …"."""
    if not any(each.history.is_compared for each in every):
        return f"No two releases could be compared on {place}" if every else f"No case is timed on {place}"
    number, accepted = Counter(row.worst.age for row in cases), sum(bool(row.accepted) for row in cases)
    ages = f"{number[Age.NEW]} new, {number[Age.RECENT]} with the last {LAST} releases, {number[Age.OLDER]} older"
    details = f": {ages}; {accepted or 'none'} accepted" if cases else ""
    verb = "are" if len(cases) > 1 else "is"
    of = f"{len(cases) or 'None'} of {counted(len(every), 'case')}"
    return f"{of} on {place} {verb} slower with torch {newest} than with an earlier release{details}"


def as_before(regressions: Sequence[OpenRegression]) -> str:
    """Return how many new slowdowns are none against the release before the previous one: that alone was faster."""
    texts = Counter[str]()
    for each in (each for regression in regressions for each in regression.standings):
        *before, previous, newest = (index for index, value in enumerate(each.history.values) if value is not None)
        if before and (change := each.history.change(before[-1], newest)) and change.verdict in (Verdict.UNCHANGED, Verdict.FASTER):
            earlier, faster = each.history.releases[before[-1]], each.history.releases[previous]
            texts[f"as fast as with {earlier}: {faster} was faster for one release"] += 1
    return "".join(f"; {number} {text}" for text, number in texts.items())


def unseen(every: Sequence[Standing]) -> list[str]:
    """Return what would not have been noticed where no case is open."""
    changes = {each.history.case: each.history.neighbours.get(each.newest) for each in every}
    compared = {case: change for case, change in changes.items() if change}
    seen = [f"{percent(size, 1)} ({name} elements)" for name, size in comparisons.sensitivity(compared).items() if name]
    unknown = sum(change.verdict is Verdict.UNKNOWN and not change.likely for change in compared.values())
    memcpy = sum(case.suite in baselines() for case in changes)
    of = f"of {counted(len(every), 'case')}"
    told = f"{unknown} {of} could not be decided against the release before; {memcpy} are baselines, such as memcpy."
    return [noticed(each) for each in seen[:1]] + [told] * bool(unknown)


# The changes of many cases: a row is a group of cases that one release changed in one direction, or one of these cases


def group_name(change: ReleaseChange) -> str:
    """Return the name of a group of cases: "copies ≤ 2¹⁴"."""
    group = change.group
    size = "" if group.small is None else f" {'≤' if group.small else '>'} {count(DISPATCHER)}"
    unit = "" if group.unit in (SECONDS, group.module, "unit") else f" {group.unit}"  # what declares none is in "unit"
    return f"{group.module}{unit}{size}"


def spread(change: ReleaseChange) -> str:
    """Return the ends of the changes of a group, or the interval of a single case."""
    steps = [*change.steps.values()]
    ends = (min(step.ratio for step in steps), max(step.ratio for step in steps)) if len(steps) > 1 else steps[0].interval
    return signed_interval(ends) if ends and change.group.kind is not TRACKED else ""


def median(change: ReleaseChange) -> str:
    """Return the median of the changes of a group, or the change of a single case."""
    (first, *others) = change.steps.values()
    return signed_percent(change.ratio) if others else change.group.kind.size(first.before, first.after, change.group.unit)


CHANGES = (
    ReportColumn(key="release", value=lambda row: row.release),
    ReportColumn(key="case", value=lambda row: row.cases[0].name),
    ReportColumn(key="group", value=group_name),
    ReportColumn(key="device", value=lambda row: row.group.device),
    ReportColumn(key="unit", value=lambda row: row.group.unit),
    ReportColumn("cases", lambda row: f"{len(row.cases)} of {row.of}" if row.of else ""),
    ReportColumn("", lambda row: row.verdict.value, "verdict", lambda row: row.verdict.value, left=True),
    ReportColumn("median", median, "ratio", lambda row: row.ratio),
    ReportColumn("extent", spread, "interval", lambda row: next(iter(row.steps.values())).interval),
    ReportColumn("", lambda row: beside(next(iter(row.steps.values()))).strip(), "against", lambda row: row.against or None, left=True),
)


def each_case(change: ReleaseChange) -> Iterator[ReleaseChange]:
    """Yield the change of each case of a group."""
    for case in change.cases:
        yield replace(change, cases=(case,), of=0, ratio=change.steps[case].ratio, steps={case: change.steps[case]})


def of_many(by_case: Mapping[Case, CaseHistory], device: str, *, everything: bool) -> Report:
    """Return the changes by release and group, the newest release first; where asked with each case."""
    changes = changes_by_release(by_case)[::-1]
    of_release: dict[str, list[ReleaseChange]] = {}
    for change in changes:
        of_release.setdefault(change.release, []).extend([change, *each_case(change)] if everything else [change])
    on = next(iter(by_case.values())).on
    unknown = sum(bool(each.unknown) for each in by_case.values())
    changed = {case for change in changes for case in change.cases}
    of = f"{len(changed) or 'None'} of {counted(len(by_case), 'case')} on {on.partition(' (')[0]}"
    heading = f"{of} changed" + f", with {counted(len(of_release), 'release')} of torch" * bool(of_release)
    if not any(each.is_compared for each in by_case.values()):
        heading = f"No two releases could be compared for {counted(len(by_case), 'case')}"
    return Report(
        heading=heading,
        lines=[f"On {on}."],
        columns=CHANGES,
        sections=[ReportSection(f"torch {release}", rows, limited=False) for release, rows in of_release.items()],
        notes=[
            *[f"{unknown} of {counted(len(by_case), 'case')} could not be decided with some release."] * bool(unknown),
            *["--all has each case with its interval."] * bool(changes and not everything),
        ],
        title="group",
        name=lambda row: group_name(row) if row.of else row.cases[0].name,
        short=lambda row: ("", group_name(row) if row.of else f"  {row.cases[0].name}"),
        mark=lambda row: SIGNS[row.verdict] if row.of else "",
        fields={"device": device, "cases": len(by_case)},
        data=[each for change in changes for each in each_case(change)],
    )


# One case: a row of a text is a release, and a row of a document a launch of it


def of_case(history: CaseHistory, device: str) -> Report:
    """Return a row for each release with its time, a bar, and its change from the release before; the data are its launches."""
    case, unit, timed = history.case, history.unit, history.case.spec.timed
    greatest = max((value for value in history.values if value is not None), default=1.0)
    steps = {step.index: step for step in history.steps}
    rows, launches = [], []
    for index, (release, result, value) in enumerate(zip(history.releases, history.results, history.values)):
        step = steps.get(index)
        back = history.taken_back(step) if step else None
        row: dict[str, Any] = {
            "release": release,
            "value": value,
            "change": f"{SIGNS[verdict_of(history, step)]} {step_size(history, step)}" if step else "",
            "interval": within(history, step) if step else "",
            "until": history.releases[back] if back is not None else "",
            "note": beside(step).strip() if step else "",
            "step": step and step_document(history, step, back),
        }
        if value is None:
            row["note"] = f"failed: {failure}" if (failure := result.failures.get(case)) else "not measured"
        else:
            timing, repeats = result.timings.get(case), result.count_repeats.get(case, ())
            error = timing.factor() - 1 if timing else 0.0
            row["half_interval"] = error if timing else None
            row["±"] = (percent(error, 1) if error > 0 else "") if timing else case.kind.variation(repeats, unit)
            row["time"], row["bar"] = quantity(value, unit), "█" * max(1, round(BAR * value / greatest)) if value > 0 else ""
        rows.append(row)
        launches += [{**row, "launch": started, "of_launch": each} for started, each in launches_of(case, result)] or [row]

    def cell(title: str, name: str, *, left: bool = False) -> ReportColumn:
        return ReportColumn(title, lambda row: row.get(name, ""), left=left)

    changed: dict[str, list[str]] = {}
    for step in history.steps:
        changed.setdefault(verdict_of(history, step).value, []).append(history.releases[step.index])
    texts = (f"{word} with {' and '.join(of) if len(of) < 3 else len(of)}" for word, of in changed.items())
    counts = ", ".join(texts) or "no change found"
    measured = sum(value is not None for value in history.values)
    unknown = f"; {len(history.unknown)} could not be decided" if history.unknown else ""
    usual = "± is half the 95 % interval. Use these times to compare releases of one case, not two methods."
    kept = ("release", "value", "half_interval", "step", "note")
    code = code_of(case, history.results[-1])
    name = f"{case.name}, {code}," if code else case.name
    heading = f"{name} over {counted(measured, 'release')} of torch: {counts}{unknown}"
    return Report(
        heading=heading if history.is_compared else f"{case.name}: no two releases could be compared",
        lines=[f"On {history.on}."],
        columns=(
            ReportColumn(key="release", value=itemgetter("release")),
            ReportColumn(key="launch", value=lambda row: row.get("launch")),
            ReportColumn(key="value", value=lambda row: row.get("of_launch")),
            ReportColumn(key="unit", value=lambda _: unit),
            ReportColumn(key="note", value=itemgetter("note")),
            cell("time" if timed else "value", "time"),
            cell("from launch to launch" if case.kind is TRACKED else "±", "±"),
            cell("", "bar", left=True),
            cell("change", "change"),
            cell("95 % interval", "interval"),
            cell("until", "until"),
            cell("", "note", left=True),
        ),
        sections=[ReportSection("", rows, limited=False)],
        title="torch",
        name=itemgetter("release"),
        notes=[usual] * timed,
        fields={
            "case": case.name,
            "device": device,
            "unit": unit,
            "on": history.on,
            "releases": [{name: row.get(name) for name in kept} for row in rows],
        },
        data=launches,
    )


def launches_of(case: Case, result: Result) -> Iterator[tuple[str | None, float]]:
    """Yield the start and the value of each launch of a case: of a time at the usual speed of the machine; counts have no start."""
    if case.spec.timed and result.column and case in result.timings:
        for started, log in zip(result.column.effects.started, result.column.launch_logs(case).tolist()):
            if not isnan(log):
                yield started, exp(log)
    for value in result.count_repeats.get(case, ()):
        yield None, value


def verdict_of(history: CaseHistory, step: Step) -> Verdict:
    """Return the verdict on a step."""
    return Verdict(history.case.kind.verdict(step.before, step.after))


def step_document(history: CaseHistory, step: Step, back: int | None) -> dict[str, object]:
    """Return a step as a document; back : the index of the release that takes it back."""
    until = None if back is None else history.releases[back]
    sides = {"before": step.before, "after": step.after, "ratio": step.ratio, "interval": step.interval}
    return {**sides, "until": until, "against": step.against or None}
