"""Comparisons: a page and a CSV for each pair of results that has one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from tensorcopy.analysis.comparisons import Comparison, case_name, version
from tensorcopy.analysis.two_sample import Change, Verdict
from tensorcopy.report import formats as comparison_formats
from tensorcopy.report import terminal
from tensorcopy.report.sentences import BY_COUNT, CHANGED, headline, ordered
from tensorcopy.report.tables import csv_text
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result
from tensorcopy.site import addresses, filters, plots
from tensorcopy.site.model import result_series
from tensorcopy.site.model.cases import counted_changes, sections, suite_table
from tensorcopy.site.model.cases.counted_changes import CauseLink, CountedChange, Key
from tensorcopy.site.model.cases.suite_table import SuiteTable
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.model.result_series import Series
from tensorcopy.site.page import File, Page

VERDICTS = (Verdict.SLOWER, Verdict.FASTER, Verdict.UNCHANGED, Verdict.INCONCLUSIVE)
MOST_LISTED = 20  # slower cases of a section that have a row, and faster ones; a table of every case shows hundreds better
COLUMNS = ("case", "verdict", "ratio", "low", "high", "p", "before", "after")


@dataclass(frozen=True)
class CaseRow:
    """A case with its change.

    anchor : of its row, or of its cell in the table of every case
    by_count : whether its instructions decide the verdict, and not its time
    is_listed : whether it has a row
    """

    case: Case
    change: Change
    anchor: str
    by_count: bool
    is_listed: bool = False

    @property
    def is_changed(self) -> bool:
        """Whether the case is slower or faster."""
        return self.change.verdict in CHANGED

    @property
    def decisive(self) -> float | None:
        """The ratio that decides the verdict."""
        return self.change.count.ratio if self.by_count and self.change.count else self.change.ratio


@dataclass(frozen=True)
class Section:
    """The copies, the conversions, or another kind of cases.

    counts : the number of cases by verdict, in the order of `VERDICTS`
    listed : the most significant of the slower cases, then of the faster ones
    tables : every case, a table for each suite
    """

    name: str
    counts: Sequence[int]
    listed: Sequence[CaseRow]
    tables: Sequence[SuiteTable[CaseRow]]


def pages(content: Content) -> Iterator[Page | File]:
    """Yield a page and a CSV for each pair of two machines."""
    for address in content.comparisons.between_machines():
        yield from _comparison_page(content, address, content.comparisons[address])


def machine_pages(content: Content, machine: Machine) -> Iterator[Page | File]:
    """Yield a page and a CSV for each pair of a machine."""
    across = set(content.comparisons.between_machines())
    for address in content.comparisons.of_machine(machine.name):
        if address not in across:
            yield from _comparison_page(content, address, content.comparisons[address])


def _comparison_page(content: Content, address: str, comparison: Comparison) -> Iterator[Page | File]:
    before, after, changes = comparison.before, comparison.after, comparison.changes
    csv_address = addresses.data(address, "csv")
    machine, limit = content.machine_of(after), filters.axis_limit(list(changes.values()))
    series = next(series for series in machine.series if after in series.results)
    by_section = sections.of_cases(machine, changes)
    plotted = {name: _plotted(comparison, cases) for name, cases in by_section.items()}
    rows = _rows(comparison, plotted)
    shown = [_section(machine, name, [rows[case] for case in cases]) for name, cases in by_section.items()]
    values = {
        "comparison": comparison,
        "machine": machine,
        "headline": headline(comparison_formats.rows(comparison)),
        "verdicts": [verdict.value for verdict in VERDICTS],
        "totals": [sum(section.counts[index] for section in shown) for index in range(len(VERDICTS))],
        "sections": shown,
        "omitted": sum(row.is_changed for row in rows.values()) - sum(len(section.listed) for section in shown),
        "most_listed": MOST_LISTED,
        "reasons": terminal.counts(comparison),
        "limit": limit,
        "svg": Markup(plots.of_changes(comparison, plotted, limit)),  # noqa: S704 - our own SVG
        "neighbours": _neighbours(content, comparison, series),
        "machine_differences": result_series.machine_differences(before, after) if before.machine == after.machine else [],
        "releases": [release for release in series.releases if release.sha == after.sha],
        "provenance_differences": _provenance_differences(before, after),
        "arguments": [_argument(content, result) for result in (before, after)],
        "csv": csv_address,
        "cause": partial(_cause, _causes(machine, comparison), comparison),
    }
    yield Page(address, "compare.html", f"{comparison.labels[0]} → {comparison.labels[1]}", values)
    yield File(csv_address, _csv(comparison))


def _causes(machine: Machine, comparison: Comparison) -> dict[Key, CountedChange]:
    """Return the counted changes between the two results; none where they are no neighbours."""
    paths = (comparison.before.path, comparison.after.path)
    return {key: cause for key, cause in machine.causes.items() if (cause.before.path, cause.after.path) == paths}


def _cause(causes: dict[Key, CountedChange], comparison: Comparison, case: Case) -> CauseLink | None:
    """Return the link to the functions behind a case's change; None where nothing changed, or none were counted."""
    change = comparison.changes[case]
    changed = change.verdict in CHANGED or (change.count is not None and change.count.changed)
    return counted_changes.link_of(causes, comparison.after, case) if changed else None


def _plotted(comparison: Comparison, cases: Sequence[Case]) -> list[Case]:
    """Return the cases that have an interval, the largest speedup first."""
    judged = [case for case in cases if comparison.changes[case].interval and comparison.changes[case].ratio]
    return sorted(judged, key=lambda case: comparison.changes[case].ratio or 1.0)


def _rows(comparison: Comparison, plotted: Mapping[str, Sequence[Case]]) -> dict[Case, CaseRow]:
    """Return the row of each case; the plotted ones are numbered in the order of the plot."""
    cases = dict.fromkeys([*(case for cases in plotted.values() for case in cases), *comparison.changes])
    changes = [(case, comparison.changes[case]) for case in cases]
    return {case: CaseRow(case, change, f"c{number}", change.reason in BY_COUNT) for number, (case, change) in enumerate(changes, 1)}


def _section(machine: Machine, name: str, rows: Sequence[CaseRow]) -> Section:
    verdicts = [row.change.verdict for row in rows]
    changed = [sorted((row for row in rows if row.change.verdict is verdict), key=_significance) for verdict in CHANGED]
    listed = {row.case: replace(row, is_listed=True) for group in changed for row in group[:MOST_LISTED]}
    return Section(
        name=name,
        counts=[verdicts.count(verdict) for verdict in VERDICTS],
        listed=list(listed.values()),
        tables=suite_table.of_cases(machine, {row.case: listed.get(row.case, row) for row in rows}),
    )


def _significance(row: CaseRow) -> tuple[float, float]:
    """Sort by p, then by size."""
    ratio = row.change.ratio or 1.0
    return round(row.change.p or 1.0, 6), -max(ratio, 1 / ratio)


def _argument(content: Content, result: Result) -> str:
    """Return a result as `tensorcopy compare` takes it: "2.15.0@3.11@machine"."""
    parts = [version(result), result.python, result.machine, *([result.series_key.build] if len(content.builds) > 1 else [])]
    return "@".join(parts)


def _four(number: float | None) -> str:
    return "" if number is None else f"{number:.4g}"


def _csv(comparison: Comparison) -> str:
    """Return a row for each case; times in seconds; an empty field is unknown.

    `tensorcopy compare --format csv` has the reasons too.
    """
    rows = []
    for case, change in ordered(comparison.changes.items()):
        p = "" if change.p is None else f"{change.p:.2g}"
        ratios, times = (change.ratio, *(change.interval or (None, None))), (change.before, change.after)
        rows.append([case_name(case), change.verdict.value, *map(_four, ratios), p, *map(_four, times)])
    return csv_text(COLUMNS, rows)


def _neighbours(content: Content, comparison: Comparison, series: Series) -> list[tuple[str, str]]:
    """Return links to the comparisons from one release earlier and to one later."""
    previous = {after.path: before for before, after in pairwise(series.results)}.get(comparison.before.path)
    following = {before.path: after for before, after in pairwise(series.results)}.get(comparison.after.path)
    links = []
    if previous:
        links.append((f"from {version(previous)}", content.comparison_address(previous, comparison.after)))
    if following:
        links.append((f"to {version(following)}", content.comparison_address(comparison.before, following)))
    return [(label, address) for label, address in links if address]


def _provenance_differences(before: Result, after: Result) -> list[tuple[str, str, str]]:
    """Return each differing field with both values."""
    names = dict.fromkeys([*before.provenance, *after.provenance])
    rows = [(name, _text(before.provenance.get(name)), _text(after.provenance.get(name))) for name in names]
    return [row for row in rows if row[1] != row[2]]


def _text(value: Any) -> str:
    return "" if value in (None, {}, "") else str(value)
