"""Histories as reports: what is slower now, the changes of many cases, and one case over the releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp, isnan
from operator import itemgetter
from typing import Any

from tensorcopy.judge import case_history, comparisons, groups
from tensorcopy.judge.case_history import LAST, CaseHistory, OpenSince, Standing, Step, releases_of
from tensorcopy.judge.groups import DISPATCHER, OpenMethod, ReleaseChange, changes_by_release
from tensorcopy.judge.paired import Verdict
from tensorcopy.numbers import count, counted, duration, percent, quantity, signed_interval, signed_percent, slowdown
from tensorcopy.report.comparison import KNOWN, SIGNS, code_of, noticed, words
from tensorcopy.report.table import Report, ReportColumn, ReportSection, common
from tensorcopy.results.cases import Case
from tensorcopy.results.kinds import spread
from tensorcopy.results.result import Result
from tensorcopy.results.suite_specs import SECONDS

BAR = 12  # columns
TITLES = {
    OpenSince.NEW: "new with torch {}",
    OpenSince.BACK: "back to {}: no news",
    OpenSince.RECENT: f"with the last {LAST} releases",
    OpenSince.OLDER: "older",
}
CREPT = "no single slowdown"


def step_size(history: CaseHistory, step: Step) -> str:
    """Return the size of a step: "+4.1 %", of a tracked value "+0.05 GB/s"."""
    return history.case.kind.size(step.before, step.after, history.unit)


def beside(step: Step) -> str:
    """Return what a step is measured against, where that is not the release before."""
    return f" from {step.against}" * bool(step.against)


# What is slower now: a row is a method, or one of its cases, which is a method with one case


def known(row: OpenMethod) -> str:
    """Return why a slowdown stays, or of how many cases of a method that is known."""
    reasons = [each.accepted for each in row.cases if each.accepted]
    if len(reasons) < len(row.cases):
        return f"{len(reasons)} of {len(row.cases)} accepted" if reasons else ""
    return f"accepted: {'; '.join(dict.fromkeys(reasons))}"


def since_document(of: Standing) -> dict[str, object] | None:
    """Return the slowdown since which a case is open as a document; None where no single one remains."""
    if of.step is None:
        return None
    return {"release": of.release, "against": of.history.releases[of.history.before(of.step.index)], "ratio": of.step.ratio}


OPEN = (
    ReportColumn(key="case", value=lambda row: row.worst.case.name),
    ReportColumn(key="method", value=lambda row: groups.subject(row.worst.case)),
    ReportColumn(key="open_since", value=lambda row: row.since.value),
    ReportColumn(key="history", value=lambda row: row.worst.history.results[-1].history),
    ReportColumn("cases", lambda row: str(len(row.cases))),
    ReportColumn("last slowdown", lambda row: f"{row.slowed_most.release or CREPT} {slowed_by(row.slowed_most)}".rstrip()),
    ReportColumn(key="release", value=lambda row: row.worst.history.releases[row.worst.newest]),
    ReportColumn("fastest", lambda row: row.worst.best_release, "best", lambda row: row.worst.best_release),
    ReportColumn("time then", lambda row: duration(row.worst.times[0]), "before", lambda row: row.worst.times[0]),
    ReportColumn("time now", lambda row: duration(row.worst.times[1]), "after", lambda row: row.worst.times[1]),
    ReportColumn("in all", lambda row: percent(row.worst.ratio - 1, 1), "ratio", lambda row: row.worst.ratio),
    ReportColumn("95 % interval", lambda row: signed_interval(row.worst.cost.interval).replace("+", "")),
    ReportColumn(key="low", value=lambda row: row.worst.cost.interval[0]),
    ReportColumn(key="high", value=lambda row: row.worst.cost.interval[1]),
    ReportColumn(key="since", value=lambda row: since_document(row.cases[0])),
    ReportColumn(key="accepted", value=lambda row: row.worst.accepted),
    ReportColumn("", known, left=True),
)
OF_METHODS, OF_CASES = ("cases", "last slowdown"), ("time then", "time now")  # columns that only these have


def slowed_by(of: Standing) -> str:
    """Return the size of the last slowdown of an open case: "4.1 %"; "" where no single one remains."""
    return step_size(of.history, of.step)[1:] + beside(of.step) if of.step else ""


def since(row: OpenMethod) -> str:
    """Return since when a case is open, and why it stays: "last slowdown with 2.15.0: 4.1 %"."""
    of = row.worst
    return "; ".join(filter(None, [f"last slowdown with {of.release}: {slowed_by(of)}" if of.step else CREPT, known(row)]))


def of_open(by_case: Mapping[Case, CaseHistory], selected: Sequence[Case], device: str, *, everything: bool) -> Report:
    """Return what is slower with the newest release than with an earlier one: a row for each method, or where asked for each case.

    by_case : every history, also of instructions; selected : the cases that are asked for
    """
    every = case_history.standings({case: by_case[case] for case in selected})
    methods = groups.open_methods(every.values())
    cases = [OpenMethod(method.since, (each,)) for method in methods for each in method.cases]
    everything = everything or len({groups.subject(row.cases[0].case) for row in cases}) == 1
    newest = releases_of(each.history for each in every.values())[-1] if every else ""
    place, _, details = by_case[selected[0]].on.rpartition(" (")
    back = groups.gained(each for row in cases if row.since is OpenSince.BACK for each in row.cases)
    level = f"the level of {back[1]}" if back[1] else "an earlier level"
    sections, short = [], dict[Case, tuple[str, str]]()
    for age in OpenSince:
        rows = [row for row in (cases if everything else methods) if row.since is age]
        if everything:
            named = [(case, *words(case, case.name)) for case in (row.cases[0].case for row in rows)]
            heads = [head for _, head, _ in named]
            order = sorted(range(len(rows)), key=lambda index: heads.index(heads[index]))
            short |= common(named[index] for index in order)
            rows = [rows[index] for index in order]
        sections.append(ReportSection(TITLES[age].format(level if age is OpenSince.BACK else newest), rows, limited=False))
    hidden = OF_METHODS if everything else OF_CASES
    of_many = "" if everything else " Of a method's cases, the largest last slowdown and the largest in all; --all has each case."
    notes = [f"In all: torch {newest} against the fastest release.{of_many}"] if cases else unseen([*every.values()])
    notes += [f"{CREPT.capitalize()}: smaller changes add up."] * any(row.slowed_most.step is None for row in cases)
    return Report(
        heading=open_heading(cases, [*every.values()], newest, place, back[0]),
        lines=[f"On {place} ({details}."],
        columns=[
            replace(each, text=None if each.title in hidden else since if everything and each.text is known else each.text) for each in OPEN
        ],
        sections=sections,
        notes=notes,
        title="case" if everything else "method",
        name=lambda row: row.cases[0].case.name if everything else groups.subject(row.cases[0].case),
        short=(lambda row: short[row.cases[0].case]) if everything else None,
        fields={"device": device, "cases": len(every), "compared": sum(each.history.is_compared for each in every.values())},
        data=cases,
    )


def open_heading(cases: Sequence[OpenMethod], every: Sequence[Standing], newest: str, place: str, gained: str) -> str:
    """Return the answer: "29 of 265 cases on AMD EPYC are slower with torch 2.15.0 than with an earlier release: 14 new, 15 with …".

    gained : the release whose gain is lost by what is back to an earlier level; "" for several
    """
    if not any(each.history.is_compared for each in every):
        return f"No two releases could be compared on {place}" if every else f"No case is timed on {place}"
    number = Counter(row.since for row in cases)
    back = number.pop(OpenSince.BACK, 0)
    accepted = sum(bool(row.worst.accepted) for row in cases if row.since is not OpenSince.BACK)
    opened = sum(number.values())
    ages = f"{number[OpenSince.NEW]} new, {number[OpenSince.RECENT]} with the last {LAST} releases, {number[OpenSince.OLDER]} older"
    details = f": {ages}; {accepted or 'none'} accepted" if opened else ""
    others = f"; those that only lost what {gained or 'an earlier release'} had gained stand last: no news" if back else ""
    of = f"{opened or 'None'} of {counted(len(every), 'case')}"
    return f"{of} on {place} {'are' if opened > 1 else 'is'} slower with torch {newest} than with an earlier release{details}{others}"


def unseen(every: Sequence[Standing]) -> list[str]:
    """Return what would not have been noticed where no case is open."""
    changes = {each.case: each.history.neighbours.get(each.newest) for each in every}
    compared = {case: change for case, change in changes.items() if change}
    seen = [f"{slowdown(size)} ({name} elements)" for name, size in comparisons.sensitivity(compared).items() if name]
    unknown = sum(change.verdict is Verdict.UNKNOWN and not change.likely for change in compared.values())
    told = f"{unknown} of {counted(len(every), 'case')} could not be decided against the release before."
    return [noticed(each) for each in seen[:1]] + [told] * bool(unknown)


# The changes of many cases: a row is a group of cases that one release changed in one direction, or one of these cases


def group_name(change: ReleaseChange) -> str:
    """Return the name of a group of cases: "copies ≤ 2¹⁴"."""
    group = change.group
    size = "" if group.small is None else f" {'≤' if group.small else '>'} {count(DISPATCHER)}"
    unit = "" if group.unit in (SECONDS, group.module, "unit") else f" {group.unit}"  # what declares none is in "unit"
    return f"{group.module}{unit}{size}"


def ends(change: ReleaseChange) -> str:
    """Return the ends of the changes of a group, or the interval of a single case."""
    steps = [*change.steps.values()]
    outer = (min(step.ratio for step in steps), max(step.ratio for step in steps)) if len(steps) > 1 else steps[0].interval
    return signed_interval(outer) if outer and not change.group.kind.by_difference else ""


def median(change: ReleaseChange) -> str:
    """Return the median of the changes of a group, or the change of a single case."""
    step = next(iter(change.steps.values()))
    return signed_percent(change.ratio) if len(change.steps) > 1 else change.group.kind.size(step.before, step.after, change.group.unit)


CHANGES = (
    ReportColumn(key="release", value=lambda row: row.release),
    ReportColumn(key="case", value=lambda row: row.cases[0].name),
    ReportColumn(key="group", value=group_name),
    ReportColumn(key="device", value=lambda row: row.group.device),
    ReportColumn(key="unit", value=lambda row: row.group.unit),
    ReportColumn("cases", lambda row: f"{len(row.cases)} of {row.of}" if row.of else ""),
    ReportColumn("", lambda row: row.verdict.value, "verdict", lambda row: row.verdict.value, left=True),
    ReportColumn("median", median, "ratio", lambda row: row.ratio),
    ReportColumn("extent", ends, "interval", lambda row: next(iter(row.steps.values())).interval),
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
    of = f"{len(changed) or 'None'} of {counted(len(by_case), 'case')} on {on.rpartition(' (')[0]}"
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
    steps, changed = {step.index: step for step in history.steps}, dict[str, list[str]]()
    rows, launches = [], []
    for index, (release, result, value) in enumerate(zip(history.releases, history.results, history.values)):
        row: dict[str, Any] = {"release": release, "value": value, "step": None, "note": ""}
        if step := steps.get(index):
            verdict = Verdict(case.kind.verdict(step.before, step.after))
            changed.setdefault(verdict.value, []).append(release)
            document = step_document(history, step)
            row |= {
                "step": document,
                "change": f"{KNOWN if document['back'] else SIGNS[verdict]} {step_size(history, step)}",
                "interval": case.kind.interval(step.interval, unit) if step.interval else "",
                "until": document["until"] or "",
                "note": beside(step).strip(),
            }
        if value is None:
            row["note"] = f"failed: {failure}" if (failure := result.failures.get(case)) else "not measured"
        elif timed:
            row["half_interval"] = error = result.timings[case].interval[1] / value - 1
            row["±"] = percent(error, 1) if error > 0 else ""
        else:
            row["spread"] = spread(result.count_repeats[case])
            row["±"] = case.kind.variation(result.count_repeats[case], unit)
        if value is not None:
            row["time"], row["bar"] = quantity(value, unit), "█" * max(1, round(BAR * value / greatest)) if value > 0 else ""
        rows.append(row)
        launches += [{**row, "launch": started, "of_launch": each} for started, each in launches_of(case, result)] or [row]

    def cell(title: str, name: str, *, left: bool = False) -> ReportColumn:
        return ReportColumn(title, lambda row: row.get(name, ""), left=left)

    texts = (f"{word} with {' and '.join(of) if len(of) < 3 else len(of)}" for word, of in changed.items())
    unknown = f"; {len(history.unknown)} could not be decided" if history.unknown else ""
    kept = ("release", "value", "half_interval" if timed else "spread", "step", "note")
    code = code_of(case, history.results[-1])
    over = f"{case.name}{f', {code},' if code else ''} over {counted(len(history.places), 'release')} of torch"
    heading = f"{over}: {', '.join(texts) or 'no change found'}{unknown}"
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
            cell("from launch to launch" if case.kind.by_difference else "±", "±"),
            cell("", "bar", left=True),
            cell("change", "change"),
            cell("95 % interval", "interval"),
            cell("until", "until"),
            cell("", "note", left=True),
        ),
        sections=[ReportSection("", rows, limited=False)],
        title="torch",
        name=itemgetter("release"),
        notes=[
            *["± is half the 95 % interval. Use these times to compare releases of one case, not two methods."] * timed,
            *[f"{KNOWN} {OpenSince.BACK.value}: only the release before was faster."]
            * any(row["step"] and row["step"]["back"] for row in rows),
        ],
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
    if case.spec.timed and case in result.timings:
        for started, log in zip(result.effects.started, result.launch_logs(case).tolist()):
            if not isnan(log):
                yield started, exp(log)
    for value in result.count_repeats.get(case, ()):
        yield None, value


def step_document(history: CaseHistory, step: Step) -> dict[str, Any]:
    """Return a step as a document; until : the release that takes it back; back : whether it is back to an earlier level itself."""
    is_back = history.is_back(step.index)
    until = None if is_back else history.taken_back(step)
    sides = {"before": step.before, "after": step.after, "ratio": step.ratio, "interval": step.interval}
    return {**sides, "until": None if until is None else history.releases[until], "back": is_back, "against": step.against or None}
