"""What the terminal shows: a comparison, the evidence behind one verdict, and the history of one case or of many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import exp, isnan, log
from statistics import median
from typing import Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tensorcopy.analysis.comparisons import Comparison, case_name
from tensorcopy.analysis.series import CaseSeries, changes_by_release
from tensorcopy.analysis.paired import ALPHA, Change, Reason, Verdict
from tensorcopy.numbers import count, counted, duration, multiple, p_value, percent, quantity, signed_interval, signed_percent
from tensorcopy.report.formats import rows
from tensorcopy.report.sentences import (
    BY_COUNT,
    CHANGED,
    SIGNS,
    causes,
    change_text,
    count_text,
    headline,
    left_out,
    not_included,
    ordered,
    reasons,
    sentence,
    step_text,
)
from tensorcopy.results.cases import Case
from tensorcopy.results.suite_specs import SECONDS

BAR = 32  # columns: a row of a history fits into 80
ALIKE = 0.005  # two sizes of a change that differ by less are written once
NAME = 64  # columns of a case's name
LARGEST = 3  # changes of a group that are listed
NO_CHANGE = "No change detected."
JUSTIFY: dict[str, Literal["left", "right"]] = {"l": "left", "r": "right"}

WIDE = 120  # columns from which a row has its whole sentence
WIDTH = 56  # columns of the axis of samples: a line is about 80 columns with its labels
SAMPLE, MEDIAN = "·", "●"
NOT_EVIDENCE = ("started", "asv", "tensorcopy")  # fields of the provenance that cannot change a time

Row = tuple[Case, Change]


def overview(comparison: Comparison, *, all_cases: bool = False, width: int = 80, how_to_list: str = "--all") -> RenderableType:
    """Return the headline, the causes, the changed cases by suite, and the counts of the others.

    how_to_list : the option or command that lists every case
    width : of the terminal; no row is longer than 80 columns in a narrower one than `WIDE`
    """
    shown = [row for row in ordered(comparison.changes.items()) if all_cases or row[1].verdict in CHANGED]
    before, after = comparison.labels
    parts: list[RenderableType] = [Text(f"{before} → {after}, on {comparison.on}"), Text(headline(rows(comparison)) + "\n")]
    lines = list(causes(comparison))
    parts += [Text("\n".join(lines) + "\n")] if lines else []
    if shown:
        cells = [(*_start(case, change, case_name(case)), multiple(change.ratio), sentence(change)) for case, change in shown]
        wide = terminal_table(("", "case", "before", "after", "ratio", ""), cells, "llrrrl")
        parts += [wide if width >= WIDE else _narrow(shown), Text("")]
    unit = next((change.unit for change in comparison.changes.values()), SECONDS)
    if unit != SECONDS:
        same = sum(change.verdict is Verdict.UNCHANGED for change in comparison.changes.values())
        line = f"{same} unchanged: by less than {percent(comparison.margin)}, or by no more than repeated counts differ"
        return Group(*parts, Text("\n".join([line, *not_included(comparison.problems)])))
    inconclusive = any(change.verdict is Verdict.INCONCLUSIVE for change in comparison.changes.values())
    hint = [f"{how_to_list} lists every case, and how many more passes it needs"] if inconclusive and not all_cases else []
    return Group(*parts, Text("\n".join([*reasons(comparison), *left_out(comparison), *hint, *not_included(comparison.problems)])))


def _narrow(shown: Sequence[Row]) -> RenderableType:
    """Return a table with a heading for each suite, whose rows fit in 80 columns."""
    by_suite: dict[str, list[Row]] = {}
    for case, change in shown:
        by_suite.setdefault(case.spec.label, []).append((case, change))
    cells = []
    for suite, suite_rows in by_suite.items():
        cells.append(("", suite, "", "", ""))
        for case, change in suite_rows:
            values = [  # such as "clone_detach 2¹⁷ float16"
                ("grad" if value == "True" else "no grad") if name == "requires_grad" else count(int(value)) if name == "numel" else value
                for name, value in case.parameters
            ]
            name = f" {' '.join(values)}"
            cells.append((*_start(case, change, name), _evidence(change)))
    return terminal_table(("", "case", "before", "after", "change"), cells, "llrrl")


def _start(case: Case, change: Change, name: str) -> tuple[str, str, str, str]:
    return SIGNS[change.verdict], name, quantity(change.before, change.unit), quantity(change.after, change.unit)


def _evidence(change: Change) -> str:
    """Return what speaks for the verdict, in few words."""
    if change.unit != SECONDS:
        return signed_percent(change.size)
    if change.reason in BY_COUNT and change.count:
        return count_text(change.count)
    return signed_interval(change.interval) if change.reason is Reason.CHANGED and change.interval else multiple(change.ratio)


def evidence(comparison: Comparison, case: Case) -> str:
    """Return all evidence on one case of a comparison, in lines of up to 100 columns."""
    change = comparison.changes[case]
    before, after = comparison.labels
    fields = comparison.before.provenance, comparison.after.provenance
    differences = [
        f"  {name}: {fields[0].get(name)} → {fields[1].get(name)}"
        for name in {**fields[0], **fields[1]}
        if name not in NOT_EVIDENCE and fields[0].get(name) != fields[1].get(name)
    ]
    sections = [
        [case_name(case), f"{before} → {after}, on {comparison.on}", sentence(change)],
        _picture(comparison, case),
        _statistics(comparison, case, change),
        ["environments", *(differences or ["  identical"])],
        not_included(comparison.problems),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _picture(comparison: Comparison, case: Case) -> list[str]:
    """Return a line for each pass with its samples on a common axis.

    No lines if nothing was measured.
    """
    sides = [
        (label, result.timings[case].by_pass)
        for label, result in zip(comparison.labels, (comparison.before, comparison.after))
        if case in result.timings
    ]
    samples = [sample for _, by_pass in sides for pass_samples in by_pass for sample in pass_samples.speed_corrected]
    if not samples:
        return []
    low, high = min(samples), max(samples)
    lines = [" " * 12 + duration(low) + duration(high).rjust(WIDTH - len(duration(low)))]
    for label, by_pass in sides:
        lines.append(f"{label}, {len(by_pass)} passes ({SAMPLE} sample, {MEDIAN} median)")
        for number, pass_samples in enumerate(by_pass, 1):
            axis = [" "] * WIDTH
            middle = median(pass_samples.speed_corrected)
            for sample, sign in (*((sample, SAMPLE) for sample in pass_samples.speed_corrected), (middle, MEDIAN)):
                axis[round((WIDTH - 1) * (sample - low) / (high - low)) if high > low else 0] = sign
            note = _note(pass_samples, comparison.drift.pass_drift(case, pass_samples))
            lines.append(f"  pass {number}".ljust(12) + f"{''.join(axis)}  {note}")
    return lines


def _statistics(comparison: Comparison, case: Case, change: Change) -> list[str]:
    """Return the ratio, its interval, the test and the repeats, if there are any."""
    lines = []
    if change.ratio is not None and change.before and change.after:
        corrected = ", drift-corrected" if case in comparison.drift.exponents else ""
        lines.append(f"ratio      {change.ratio:.3f} ({duration(change.before)} → {duration(change.after)}{corrected})")
    if change.interval and change.p is not None:
        low, high = change.interval
        lines.append(f"interval   {low:.3f} to {high:.3f} ({percent(1 - ALPHA)}), bootstrapped over passes")
        p = p_value(change.p, is_bound=change.p_is_bound)
        lines.append(f"test       {p}, adjusted for {counted(comparison.compared, 'case')} (Holm); significant if p ≤ {ALPHA:g}")
        lines.append(f"margin     {percent(comparison.margin)}; smaller changes are not reported")
    if change.count:
        before, after = (quantity(value, change.count.unit) for value in (change.count.before, change.count.after))
        repeats = f"repeated counts differ by {percent(round(change.count.repeatability, 4))}"
        lines.append(f"count      {count_text(change.count)} ({before} → {after}); {repeats}")
    return lines


def _note(pass_samples: PassSamples, pass_drift: float | None) -> str:
    """Return the median of a pass, its quiet samples and its machine drift.

    For an excluded pass, return the reason.
    """
    if pass_samples.excluded:
        return f"excluded: {pass_samples.excluded}"
    parts = [duration(median(pass_samples.quiet or pass_samples.speed_corrected))]
    if pass_samples.pairs:
        parts.append(f"{len(pass_samples.quiet)} of {len(pass_samples.samples)} quiet")
    if pass_drift is not None and pass_samples.quiet:
        parts.append(f"machine drift {signed_percent(exp(pass_drift))}")
    return ", ".join(parts)


def case_table(case_series: CaseSeries) -> RenderableType:
    """Return a row for each release with its time, a bar and its change, and a line for each change.

    The first release of a new level is also compared with the one before it, where that differs from the step between the levels.
    """
    steps = {step.index: step for step in case_series.steps}
    greatest = max((value for value in case_series.values if value is not None), default=1.0)
    is_timed = case_series.unit == SECONDS
    several = len({result.python for result in case_series.results}) > 1
    rows = []
    for index, (release, value, spread) in enumerate(zip(case_series.releases, case_series.values, case_series.spreads)):
        name = f"{release} ({case_series.results[index].python})" if several else release
        measured = case_series.measured[index]
        if value is None or measured is None:
            rows.append((name, "", "", "", "not measured"))
        else:
            bar = "█" * max(1, round(BAR * value / greatest))
            change = f"{'▲' if steps[index].ratio > 1 else '▼'} {signed_percent(steps[index].ratio)}" if index in steps else ""
            rows.append((name, quantity(measured, case_series.unit), percent(spread, 1), bar, change))
    table = terminal_table(("torch", "time" if is_timed else case_series.unit, "±", "", ""), rows, "lrrll")
    lines = []
    for step in case_series.steps:
        differs = is_timed and not isnan(step.change) and abs(log(step.change / step.ratio)) >= ALIKE
        beside = f" ({signed_percent(step.change)} from the release before)" if differs else ""
        lines.append(f"torch {case_series.releases[step.index]}: {step_text(step, case_series.releases, case_series.unit)}{beside}")
    return Group(Text(f"{case_name(case_series.case)}, on {case_series.on}"), table, Text("\n".join(lines) or NO_CHANGE))


def summary_text(by_case: Mapping[Case, CaseSeries], *, all_cases: bool = False) -> RenderableType:
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
            lines += [f"    {case_name(case):<{NAME}} {signed_percent(change.steps[case].ratio):>9}" for case in shown]
            more = len(change.cases) - len(shown)
            lines += [f"    and {more} more: --all lists them"] if more else []
    return Group(Text(heading), Text("\n".join(lines) if lines else NO_CHANGE))


def terminal_table(header: Sequence[str], rows: Iterable[Sequence[RenderableType]], align: str, title: str | None = None) -> Table:
    """Return a table without borders, whose long cells are folded.

    align : a letter for each column: l for left, r for right
    """
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for name, letter in zip(header, align):
        table.add_column(name, justify=JUSTIFY[letter], overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))  # brackets in data are no markup
    return table
