"""Comparisons: a page for each pair of results, and an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from tensorcopy.analysis.comparisons import Comparison, case_name, version
from tensorcopy.analysis.verdict import Change, Verdict
from tensorcopy.report.comparison import formats as comparison_formats
from tensorcopy.report.comparison import terminal
from tensorcopy.report.comparison.wording import CHANGED, headline, ordered
from tensorcopy.report.tables import csv_text
from tensorcopy.results.load import Case, Result
from tensorcopy.site import addresses, filters
from tensorcopy.site.charts import charts
from tensorcopy.site.model import result_series
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.model.result_series import Series
from tensorcopy.site.page import File, Page

VERDICTS = (Verdict.SLOWER, Verdict.FASTER, Verdict.UNCHANGED, Verdict.INCONCLUSIVE)
COLUMNS = ("case", "verdict", "ratio", "low", "high", "p", "before", "after")

CaseChange = tuple[Case, Change]


@dataclass(frozen=True)
class ComparisonCounts:
    """A comparison's page and its counts of cases.

    conclusive : at least half of the cases have an interval
    """

    address: str
    labels: tuple[str, str]
    after: str  # the later side's release
    cases: int
    slower: int
    faster: int
    conclusive: bool


@dataclass(frozen=True)
class UnchangedGroup:
    """The cases of one suite and method that are unchanged or inconclusive."""

    suite: str
    method: str
    code: str
    changes: list[CaseChange]


def pages(content: Content) -> Iterator[Page]:
    """Yield the index."""
    grids = [{"series": series, "rows": _grid(content, series)} for series in content.series]
    across = [_counts(address, comparison) for address, comparison in content.comparisons.items() if not _same_environment(comparison)]
    yield Page(addresses.COMPARISONS, "comparisons.html", "Compare two releases", {"grids": grids, "across": across})


def machine_pages(content: Content, machine: Machine) -> Iterator[Page | File]:
    """Yield a page and a CSV for each pair whose later side is of a machine."""
    series_of = {result.path: series for series in machine.series for result in series.results}
    for address in content.comparisons.of_machine(machine.name):
        comparison = content.comparisons[address]
        yield from _comparison_page(content, address, comparison, series_of[comparison.after.path])


def _same_environment(comparison: Comparison) -> bool:
    before, after = comparison.before, comparison.after
    return (before.machine, before.environment) == (after.machine, after.environment)


def _comparison_page(content: Content, address: str, comparison: Comparison, series: Series) -> Iterator[Page | File]:
    before, after, changes = comparison.before, comparison.after, comparison.changes
    csv_address = addresses.data(address, "csv")
    verdicts = [change.verdict for change in changes.values()]
    machine, limit = content.machine_of(after), filters.axis_limit(list(changes.values()))
    changed = [row for row in changes.items() if row[1].verdict in CHANGED]
    values = {
        "comparison": comparison,
        "machine": machine,
        "headline": headline(comparison_formats.rows(comparison)),
        "counts": [(verdict.value, verdicts.count(verdict)) for verdict in VERDICTS],
        "changed": sorted(ordered(changed), key=_significance),
        "unchanged": _unchanged(machine, [row for row in changes.items() if row[1].verdict not in CHANGED]),
        "reasons": terminal.counts(comparison),
        "limit": limit,
        "svg": Markup(charts.of_changes(comparison, limit)),  # noqa: S704 - our own SVG
        "case_address": lambda case: addresses.of_case(after.machine, case),
        "neighbours": _neighbours(content, comparison, series),
        "machine_differences": result_series.machine_differences(before, after) if before.machine == after.machine else [],
        "releases": [release for release in series.releases if release.sha == after.sha],
        "provenance_differences": _provenance_differences(before, after),
        "arguments": [_argument(content, result) for result in (before, after)],
        "csv": csv_address,
    }
    yield Page(address, "compare.html", f"{comparison.labels[0]} → {comparison.labels[1]}", values)
    yield File(csv_address, _csv(comparison))


def _significance(row: CaseChange) -> tuple[int, float, float]:
    """Sort slower cases first, then by p, then by size."""
    change = row[1]
    ratio = change.ratio or 1.0
    return CHANGED.index(change.verdict), round(change.p or 1.0, 6), -max(ratio, 1 / ratio)


def _argument(content: Content, result: Result) -> str:
    """Return a result as `tensorcopy explain` takes it: "2.15.0@3.11@machine"."""
    parts = [version(result), result.python, result.machine, *([result.build] if len(content.builds) > 1 else [])]
    return "@".join(parts)


def _unchanged(machine: Machine, rows: Sequence[CaseChange]) -> list[UnchangedGroup]:
    """Group unchanged and inconclusive cases by suite and method."""
    groups: dict[tuple[str, str, str], list[CaseChange]] = {}
    for case, change in rows:
        method = dict(case.parameters).get("method", case.suite)
        groups.setdefault((case.suite.rpartition(".")[0], method, machine.code(method, case.device)), []).append((case, change))
    return [UnchangedGroup(suite, method, code, changes) for (suite, method, code), changes in groups.items()]


def _csv(comparison: Comparison) -> str:
    """Return a row for each case; times in seconds; an empty field is unknown.

    `tensorcopy compare --format csv` has the reasons too.
    """
    rows = []
    for case, change in ordered(comparison.changes.items()):
        numbers = (change.ratio, *(change.interval or (None, None)), change.p, change.before, change.after)
        rows.append([case_name(case), change.verdict.value, *("" if number is None else f"{number:.4g}" for number in numbers)])
    return csv_text(COLUMNS, rows)


def _grid(content: Content, series: Series) -> list[tuple[str, list[ComparisonCounts | None]]]:
    """Return a row for each release but the last.

    Each has a cell for each release but the first.
    """
    rows = []
    for index, (before, release) in enumerate(zip(series.results[:-1], series.releases)):
        cells: list[ComparisonCounts | None] = [None] * index
        for after in series.results[index + 1 :]:
            address = content.comparison_address(before, after)
            cells.append(_counts(address, content.comparisons[address]) if address else None)
        rows.append((release.version, cells))
    return rows


def _counts(address: str, comparison: Comparison) -> ComparisonCounts:
    changes = list(comparison.changes.values())
    return ComparisonCounts(
        address=address,
        labels=comparison.labels,
        after=version(comparison.after),
        cases=len(changes),
        slower=sum(change.verdict is Verdict.SLOWER for change in changes),
        faster=sum(change.verdict is Verdict.FASTER for change in changes),
        conclusive=2 * sum(change.interval is not None for change in changes) >= len(changes) > 0,
    )


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
