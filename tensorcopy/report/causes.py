"""Which functions make a change: what `tensorcopy why` answers."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tensorcopy.campaign import VerdictRules
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import comparisons, function_changes
from tensorcopy.judge.comparisons import Question, word
from tensorcopy.judge.function_changes import FunctionChange, ProfileDifference
from tensorcopy.judge.paired import Change, Verdict
from tensorcopy.numbers import counted, duration, number, percent, signed, signed_interval, signed_percent
from tensorcopy.report.comparison import side
from tensorcopy.report.table import Report, ReportColumn, ReportSection, data
from tensorcopy.results import function_profiles
from tensorcopy.results.cases import Case, only_match
from tensorcopy.results.effects import LEVEL
from tensorcopy.results.select import SelectedPair


@dataclass(frozen=True)
class FunctionRow:
    """A group of functions, or a named function of it; instructions of one call."""

    name: str
    group: str
    before: float
    after: float
    change: FunctionChange | None = None


COLUMNS = (
    ReportColumn(key="function", value=lambda row: row.change.function[1] if row.change else None),
    ReportColumn(key="library", value=lambda row: row.change.function[0] if row.change else None),
    ReportColumn(key="group", value=lambda row: row.group),
    ReportColumn("before", lambda row: number(row.before), "before", lambda row: row.before),
    ReportColumn("after", lambda row: number(row.after), "after", lambda row: row.after),
    ReportColumn("change", lambda row: signed(row.after - row.before)),
    ReportColumn("calls", lambda row: calls(row.change), left=True),
    ReportColumn(key="calls_before", value=lambda row: row.change.before.calls if row.change else None),
    ReportColumn(key="calls_after", value=lambda row: row.change.after.calls if row.change else None),
)


def calls(change: FunctionChange | None) -> str:
    return " → ".join(dict.fromkeys([number(change.before.calls), number(change.after.calls)])) if change else ""


def of_pair(pair: SelectedPair, pattern: str, rules: VerdictRules) -> Report:
    """Return the cause of the change of a case between two results. Raises TensorcopyError."""
    before, after = function_profiles.profiles_of(pair.before), function_profiles.profiles_of(pair.after)
    if before is None or after is None:
        missing = pair.after if before else pair.before
        counting = f"of the shipped methods, tensorcopy measure {missing.version}@{missing.python} counts them, which needs valgrind"
        on_cpu = f"tensorcopy why {shlex.quote(pattern)} {pair.before.version} {pair.after.version} --device cpu"
        raise TensorcopyError(
            f"the functions of torch {missing.version} were not counted in {missing.history}",
            got=f"--device {pair.device}",
            allowed="a release whose functions were counted, on the CPU",
            next=counting if pair.device == "cpu" else on_cpu,
        )
    cases: dict[str, list[Case]] = {name: [] for name in before.cases if name in after.cases}
    for case in dict.fromkeys(case for result in (pair.after, pair.before) for case in (*result.timings, *result.counts)):
        cases.get(function_profiles.name_of(case), []).append(case)
    name = selected(cases, pattern)
    timed = next((case for case in cases[name] if case in pair.before.timings and case in pair.after.timings), None)
    time = comparisons.between(Question(pair.before, pair.after, rules)).changes[timed] if timed else None
    return report(pair, name, timed, time, function_changes.between(before.of(name), after.of(name)))


def selected(cases: dict[str, list[Case]], pattern: str) -> str:
    """Return the one profiled case of a pattern; a method alone is its smallest contiguous tensor. Raises TensorcopyError."""
    if of_method := function_profiles.smallest(cases).get(pattern):
        return of_method
    names = {text: name for name, of_name in cases.items() for text in (name, *(case.name for case in of_name))}
    following = f"a method alone, such as {next(iter(cases), 'detach').split()[0]}, or a whole name"
    return only_match(names, pattern, "no such case was profiled on both sides", following)


def report(pair: SelectedPair, name: str, case: Case | None, time: Change | None, difference: ProfileDifference) -> Report:
    """Return the report of a profiled case."""
    method, before, after = name.split()[0], difference.before, difference.after
    method_row = pair.after.methods.get(method) or pair.before.methods.get(method) or {}
    code = method_row.get("code", method)
    labels = comparisons.labels(pair.before, pair.after)
    device = case.device if case else "cpu"
    moved = time is not None and time.verdict in (Verdict.SLOWER, Verdict.FASTER)
    only = ["The time changed and the instructions did not: memory, caches or the machine."] if moved and not difference.changed else []
    return Report(
        heading=heading(code, labels, time, difference),
        lines=[
            f"{case_text(name)}, on {pair.after.hardware(device)} ({pair.after.history}, {device}), Python {pair.after.python}; "
            "instructions of one call.",
            *only,
        ],
        columns=COLUMNS,
        sections=[ReportSection("", [*rows(difference)], limited=False)],
        notes=parts(difference),
        title="instructions, without callees",
        name=lambda row: row.name,
        short=lambda row: ("", f"  {row.name}" if row.change else row.name),
        fields={
            "case": name,
            "code": code,
            "before": {"sha": pair.before.sha, **side(pair.before)},
            "after": {"sha": pair.after.sha, **side(pair.after)},
            "instructions": {"before": before.instructions, "after": after.instructions, "difference": difference.total},
            "changed": difference.changed,
            "only_the_clock": bool(only),
            "share_named": difference.share_named,
            "unnamed": difference.unnamed,
            "groups": data(COLUMNS[2:5], (FunctionRow("", each.group, each.before, each.after) for each in difference.groups)),
            "time": time and {"verdict": time.verdict.value, "before": time.before, "after": time.after, "ratio": time.ratio},
        },
        data=[FunctionRow(each.function[1], each.group, each.before.own, each.after.own, each) for each in difference.functions],
    )


def heading(code: str, labels: tuple[str, str], time: Change | None, difference: ProfileDifference) -> str:
    """Return the answer: "x.detach() with torch 2.15.0 against 2.5.1: 522 ns → 310 ns (−40.6 %), 1 646 instructions fewer (−29.9 %)"."""
    total = f"{signed(difference.total)} instructions ({signed_percent(difference.ratio)})"
    if not difference.changed:
        total = f"no change of instructions ({total}, less than two counts of one release may differ)"
    took = ""
    if time and time.ratio and time.before and time.after:
        verdict = "" if time.verdict in (Verdict.SLOWER, Verdict.FASTER) else f", {word(time)}"
        between = f", {percent(LEVEL)} interval {signed_interval(time.interval)}" if time.interval else ""
        took = f"{duration(time.before)} → {duration(time.after)} ({signed_percent(time.ratio)}{verdict}{between}), "
    return f"{code} with {labels[1]} against {labels[0].removeprefix('torch ')}: {took}{total}"


def parts(difference: ProfileDifference) -> list[str]:
    """Return how much of a change is named, and how much is not."""
    if not difference.changed:
        return []
    functions, others = len(difference.named), len(difference.functions) - len(difference.named)
    omitted = "those that the profile omits (together 1 % of a call)"
    rest = f"{counted(others, 'other function')} and in {omitted}" if others else omitted
    named = f"{counted(functions, 'function')}, {percent(difference.share_named, 0)} of the change"
    return [f"Named: {named}. Not named: {signed(difference.unnamed)}, in {rest}."]


def case_text(name: str) -> str:
    """Return what a profiled case is measured on: "numel=16, float32, contiguous, requires grad"."""
    _, numel, dtype, layout, *grad = name.split()
    return ", ".join([f"numel={numel}", dtype, layout, *(["requires grad"] if grad else [])])


def rows(difference: ProfileDifference) -> Iterator[FunctionRow]:
    """Yield a row for each group, followed by those of its named functions; one name in several libraries has its library."""
    several = Counter(name for _, name in {change.function for change in difference.functions})
    for group in difference.groups:
        yield FunctionRow(group.group, group.group, group.before, group.after)
        for each in group.named:
            library, function = each.function
            name = f"{function} ({library})" if several[function] > 1 else function
            yield FunctionRow(name, group.group, each.before.own, each.after.own, each)
