"""What the terminal shows: a comparison, the evidence behind one verdict, and the history of one case or of many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import exp, log
from textwrap import fill
from typing import Literal

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text

from tensorcopy.judge.case_history import CaseHistory, releases_of, standing
from tensorcopy.judge.comparisons import Comparison, word
from tensorcopy.judge.groups import by_age, changes_by_release, open_regressions
from tensorcopy.judge.paired import ALPHA, FAILED, MOST_LAUNCHES, ONE_SIDED, Change, Reason, Verdict
from tensorcopy.numbers import (
    INSIDE,
    counted,
    duration,
    level,
    p_value,
    percent,
    quantity,
    ratio_text,
    signed_interval,
    signed_percent,
)
from tensorcopy.report.sentences import (
    CHANGED,
    SEEN,
    SIGNS,
    USUAL_SPEED,
    WAYS,
    WORK,
    accepted_text,
    against_earlier,
    against_text,
    age_text,
    ages_text,
    caption,
    change_text,
    cost_extent_text,
    cost_text,
    count_text,
    extent_text,
    headline,
    least_changes,
    mean_lines,
    no_change,
    none_open,
    not_included,
    ordered,
    owner_noun,
    reasons,
    sentence,
    step_size,
    step_text,
)
from tensorcopy.report.words import translate
from tensorcopy.results.cases import Case
from tensorcopy.results.effects import PAIRED, Point, points
from tensorcopy.results.suite_specs import SECONDS, is_tracked

BAR = 32  # columns: a row of a history fits into 80
NAME = 64  # columns of a case's name
LARGEST = 3  # changes of a group that are listed
JUSTIFY: dict[str, Literal["left", "right"]] = {"l": "left", "r": "right"}

WIDE = 150  # columns from which a case takes one line
LARGEST_CHANGES = 10  # of a verdict that are listed
WIDTH = 56  # columns of the axis of differences: a line is about 80 columns with its labels
ZERO, DIFFERENCE, LOW, HIGH = "│", "●", "├", "┤"

KEPT = "\xa0"  # a space at which no line is folded


@dataclass(frozen=True)
class Prose:
    """Text whose lines are folded to the width at spaces other than `KEPT`, and not within a number."""

    text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        lines = self.text.split("\n")
        if not options.no_wrap:
            indented = [(INSIDE.sub(KEPT, line), " " * (len(line) - len(line.lstrip()) + 2)) for line in lines]
            lines = [fill(line, options.max_width, subsequent_indent=indent, break_long_words=False) for line, indent in indented]
        yield Text("\n".join(lines).replace(KEPT, " "), no_wrap=True, overflow="ignore")


def _name(case: Case) -> str:
    """Return the name of a case, which stays whole."""
    return case.name.replace(" ", KEPT)


def overview(comparison: Comparison, *, width: int, all_cases: bool = False, how_to_list: str = "--all") -> RenderableType:
    """Return the headline, the changed cases with names that every command accepts, and the counts of the others.

    how_to_list : the option or command that lists every case
    width : of the terminal; below `WIDE` columns a case takes two lines, as does a long name
    """
    changes = comparison.changes
    ranked = ordered(changes.items())
    shown: list[tuple[Case, Change]] = ranked if all_cases else []
    notes, more = [*reasons(comparison), *caption(comparison)], list[str]()
    if not all_cases:
        for verdict in CHANGED:
            of_verdict = [row for row in ranked if row[1].verdict is verdict]
            shown += of_verdict[:LARGEST_CHANGES]
            if (others := len(of_verdict) - LARGEST_CHANGES) > 0:
                what = f"with {verdict.value} {of_verdict[0][1].unit}" if verdict in WORK else verdict.value
                more.append(f"and {counted(others, 'other')} {what}: {how_to_list} lists them")
        likely = [row for row in ranked if row[1].likely]
        shown += likely[:LARGEST_CHANGES]
        if (others := len(likely) - LARGEST_CHANGES) > 0:
            more.append(f"and {counted(others, 'other')} likely slower or faster: {how_to_list} lists them")
    lines = [f"{' → '.join(comparison.labels)}, on {comparison.on}", *headline(changes.values()), *mean_lines(comparison), ""]
    for case, change in shown:
        name = f"{SIGNS[change.verdict]} {_name(case)}"
        lines += [f"{name:<{NAME + 8}}{_figures(change)}"] if width >= WIDE and len(name) < NAME + 8 else [name, f"    {_figures(change)}"]
    lines += [""] if shown else []
    if not all_cases:
        for label, failing, only in zip(comparison.labels, FAILED, ONE_SIDED):
            notes += [f"failed with {label}: {_name(case)}: {each.failure}" for case, each in changes.items() if each.reason is failing]
            names = [_name(case) for case, each in changes.items() if each.reason is only]
            if names:
                notes.append(f"only in {label}: {_some(names)}")
        if versions := [_name(case) for case, each in changes.items() if each.reason is Reason.OTHER_VERSION]:
            notes.append(f"in another version of the benchmark: {_some(versions)}")
    if any(change.verdict is Verdict.UNKNOWN and change.reason not in ONE_SIDED for change in changes.values()) and not all_cases:
        notes.append(f"{how_to_list} lists every case, and how many more launches it needs")
    return Prose("\n".join([*lines, *more, *notes, *not_included(comparison.problems)]).rstrip("\n"))


def _some(names: Sequence[str]) -> str:
    return f"{', '.join(names[:LARGEST_CHANGES])}{', …' if names[LARGEST_CHANGES:] else ''}"


def _figures(change: Change) -> str:
    """Return before and after, the change of the time with its interval or reason, and that of the instructions."""
    sides = f"{quantity(change.before, change.unit)} → {quantity(change.after, change.unit)}"
    if not change.timed:
        return f"{sides}   {count_text(change.count)}" if change.count else sentence(change)
    if change.verdict is not Verdict.UNKNOWN:
        time = f"{signed_percent(change.ratio)} ({signed_interval(change.interval)})" if change.interval and change.ratio else ""
    elif change.interval:
        more = f"~{counted(change.more_launches, 'more launch')}" if change.more_launches else f">{MOST_LAUNCHES} more launches"
        time = f"{f'{word(change)}: ' if change.likely else ''}{signed_interval(change.interval)}; {more}"
    else:
        time = sentence(replace(change, count=None))
    count = ""
    if change.count:
        count = f"   {signed_percent(change.count.ratio) if change.count.changed else 'equal'} {change.count.unit}"
    return f"{sides}   {time}{count}{accepted_text(change)}"


def evidence(comparison: Comparison, case: Case) -> str:
    """Return all evidence on one case of a comparison, in lines of up to 100 columns."""
    change = comparison.changes[case]
    differences = [f"  {name}: {before or 'none'} → {after or 'none'}" for name, before, after in comparison.environment]
    sections = [
        [case.name, f"{' → '.join(comparison.labels)}, on {comparison.on}", sentence(change)],
        _picture(comparison, case, change),
        _statistics(comparison, change),
        ["environments", *(differences or ["  identical"])],
        not_included(comparison.problems),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _picture(comparison: Comparison, case: Case, change: Change) -> list[str]:
    """Return a line for each launch with its difference on a common axis, and the interval below; no lines where nothing was compared."""
    if change.reason is Reason.NEVER_MET:
        return []
    by_launch: dict[str, list[Point]] = {}
    for point in points(comparison.before.column, comparison.after.column, case):
        by_launch.setdefault(point.started, []).append(point)
    if not by_launch:
        return []
    ends = [log(end) for end in change.interval] if change.interval else []
    sizes = [0.0, *ends, *(point.size for of_launch in by_launch.values() for point in of_launch)]
    low, high = min(sizes), max(sizes)

    def axis(*marks: tuple[float, str]) -> str:
        cells = [" "] * WIDTH
        for size, sign in ((0.0, ZERO), *marks):
            cells[round((WIDTH - 1) * (size - low) / (high - low)) if high > low else 0] = sign
        return "".join(cells)

    what = f"{DIFFERENCE} difference" if change.way == PAIRED else "A and B, without the launch's part, against the mean of A"
    left, right = signed_percent(exp(low)), signed_percent(exp(high))
    lines = [f"launches ({what}, {ZERO} none)", f"{'':14}{left}{right:>{WIDTH - len(left)}}"]
    for started, of_launch in by_launch.items():
        marks = axis(*((point.size, point.side or DIFFERENCE) for point in of_launch))
        values = ", ".join(signed_percent(exp(point.size)) for point in of_launch)
        lines.append(f"  {started[5:10]} {started[11:16]} {marks}  {values}")
    if change.interval and change.ratio:
        marks = axis((ends[0], LOW), (ends[1], HIGH), (log(change.ratio), DIFFERENCE))
        lines.append(f"  {'interval':<12}{marks}  {signed_interval(change.interval)}")
    return lines


def _statistics(comparison: Comparison, change: Change) -> list[str]:
    """Return the ratio, its interval, the test, the pairing and what could have been seen, if there are any."""
    lines = []
    if change.ratio is not None and change.before and change.after:
        lines.append(
            f"ratio      {ratio_text(change.ratio, 3)} ({quantity(change.before, change.unit)} → {quantity(change.after, change.unit)})"
        )
    if change.interval and change.p is not None and change.detectable is not None:
        low, high = change.interval
        launches = " and ".join(str(number) for number in dict.fromkeys(change.launches))
        lines.append(f"interval   {low:.3f} to {high:.3f} ({level(change.level)}), from {launches} launches")
        lines.append(f"pairing    {WAYS[change.way]}")
        adjusted = f"adjusted for {counted(comparison.compared, 'case')} (Holm)"
        lines.append(f"test       {p_value(change.p)}, moderated t, {adjusted}; significant if p ≤ {ALPHA:.3g}")
        lines.append(f"margin     {least_changes([change])}; smaller changes are shown, and not called slower or faster")
        lines.append(f"seen       {percent(change.detectable, 1)}: the {SEEN}")
    if change.count and change.timed:
        before, after = (quantity(value, change.count.unit) for value in (change.count.before, change.count.after))
        repeats = change.count.repeatability
        differ = "" if repeats is None else f"; repeated counts differ by {percent(round(repeats, 4))}"
        lines.append(f"count      {count_text(change.count)} ({before} → {after}); they do not affect the verdict{differ}")
    return lines


def case_table(history: CaseHistory) -> RenderableType:
    """Return a row for each release with its time, a bar and its change from the release before, and a line for each change."""
    steps = {step.index: step for step in history.steps}
    greatest = max((value for value in history.values if value is not None), default=1.0)
    tracks = is_tracked(history.unit)
    rows = []
    for index, (release, result, value) in enumerate(zip(history.releases, history.results, history.values)):
        if value is None:
            failure = result.failures.get(history.case)
            rows.append((release, "", "", "", f"failed: {failure}" if failure else "not measured"))
        else:
            bar = "█" * max(1, round(BAR * value / greatest)) if value > 0 else ""
            step = steps.get(index)
            change = f"{SIGNS[Verdict(history.case.kind.verdict(step.before, step.after))]} {step_size(step, history.unit)}" if step else ""
            rows.append((release, quantity(value, history.unit), _variation(history, index), bar, change))
    title = "time" if history.case.spec.timed else history.unit
    if tracks:
        title = "value"
    table = terminal_table(("torch", title, "from launch to launch" if tracks else "±", "", ""), rows, "lrrll")
    lines = [f"torch {history.releases[step.index]}: {step_text(step, history)}" for step in history.steps]
    heading = f"{_name(history.case)}, on {history.on}"
    notes = [f"± is half the 95 % interval. {USUAL_SPEED}"] if history.case.spec.timed else []
    return Group(Prose(heading), table, Prose("\n".join([*(lines or [no_change([history])]), *notes])))


def _variation(history: CaseHistory, index: int) -> str:
    """Return how a value varies: of a time half of its interval, of others as their kind says."""
    case, result = history.case, history.results[index]
    if timing := result.timings.get(case):
        return percent(timing.factor() - 1, 1) if timing.factor() > 1 else ""
    return case.kind.variation(result.count_repeats[case], history.unit)


def summary_text(by_case: Mapping[Case, CaseHistory], *, all_cases: bool) -> RenderableType:
    """Return the changes by release and group, the newest release first.

    all_cases : list every case that changed, and not only the `LARGEST` changes of a group
    """
    heading = f"{len(by_case)} cases on {next(iter(by_case.values())).on}"
    lines = []
    for release, changes in groupby(reversed(changes_by_release(by_case)), key=lambda change: change.release):
        lines += ["", f"torch {release}"]
        for change in changes:
            shown = change.cases if all_cases else change.cases[:LARGEST]
            lines.append(f"  {change_text(change)}")
            sizes = [step_size(change.steps[case], change.group.unit, within=True) for case in shown]
            lines += [f"    {size:<{max(map(len, sizes))}}  {_name(case)}" for case, size in zip(shown, sizes)]
            more = len(change.cases) - len(shown)
            lines += [f"    and {more} more: --all lists them"] if more else []
    return Prose("\n".join([heading, *(lines or [no_change(by_case.values())])]))


def open_text(by_case: Mapping[Case, CaseHistory], *, all_cases: bool) -> RenderableType:
    """Return the methods whose newest release is slower than their best one: what is new first, each in order of `Standing.rank`.

    all_cases : list every case, and not only the `LARGEST` of a method
    """
    known = [each for history in by_case.values() if (each := standing(history))]
    if not known:
        return Prose("Open regressions: no case is timed")
    if not any(each.history.is_compared for each in known):
        return Prose(translate("nothing_compared"))
    regressions = open_regressions(known)
    number = sum(len(regression.standings) for regression in regressions)
    of = f"{number or 'none'} of {counted(len(known), 'case')}, each against the release with its lowest time"
    methods = f"{counted(len(regressions), owner_noun(by_case))} in {of}; {ages_text(regressions)}" if regressions else of
    newest = releases_of(each.history for each in known)[-1]
    first = next(iter(by_case.values()))
    lines = [f"Open regressions on {first.on}", f"torch {newest}: {methods}"]
    lines += [] if regressions else [none_open(known, newest)]
    for age, of_age in by_age(regressions).items():
        lines += ["", age_text(age, newest), *filter(None, [against_earlier(of_age)])]
        for regression in of_age:
            lines += ["", f"{regression.method}: {extent_text(regression)}; {cost_extent_text(regression)}"]
            for each in regression.standings if all_cases else regression.standings[:LARGEST]:
                before, after = map(duration, each.times)
                size = f" ({step_size(each.since, SECONDS)}{against_text(each.since)})" if each.since else ""
                lines += [
                    f"  {_name(each.history.case)}",
                    f"    {before} → {after}   {cost_text(each)}{accepted_text(each)}",
                    f"    since {each.since_release}{size}" if each.since else "    crept",
                ]
            more = 0 if all_cases else len(regression.standings) - LARGEST
            lines += [f"  and {more} more: --all lists them"] if more > 0 else []
    return Prose("\n".join(lines))


def terminal_table(header: Sequence[str], rows: Iterable[Sequence[RenderableType]], align: str) -> Table:
    """Return a table without borders, whose long cells are folded.

    align : a letter for each column: l for left, r for right
    """
    table = Table(box=None, pad_edge=False)
    for name, letter in zip(header, align):
        table.add_column(name, justify=JUSTIFY[letter], overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))  # brackets in data are no markup
    return table
