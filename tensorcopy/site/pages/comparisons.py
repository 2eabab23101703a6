"""The comparisons: an index with two selects and the permanent pairs as links for each machine, and a page and a CSV for each pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, TypeVar

from markupsafe import Markup

from tensorcopy.analysis.comparisons import Comparison, case_name, version
from tensorcopy.analysis.two_sample import Change, Verdict
from tensorcopy.report import formats as comparison_formats
from tensorcopy.report.formats import csv_text
from tensorcopy.report.sentences import BY_COUNT, CHANGED, headline, ordered, reasons
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result
from tensorcopy.site import addresses, plots
from tensorcopy.site.changes import CauseLink, CountedChange, ProfileKey, cause_link
from tensorcopy.site.content import Content
from tensorcopy.site.machine import Machine, Series, machine_differences
from tensorcopy.site.page import File, Page
from tensorcopy.site.pages.explorer import group_by_section

Across = dict[Path, list[Comparison]]  # by the path of a result, its comparisons with other environments and machines


@dataclass(frozen=True)
class PairLink:
    """A comparison's page and its counts of cases.

    name : of the side that the column does not name: "2.14.1", or "Python 3.9"
    conclusive : at least half of the cases have an interval
    """

    name: str
    address: str
    slower: int
    faster: int
    conclusive: bool


@dataclass(frozen=True)
class PairRow:
    """The comparisons of one result: from earlier releases, to the newest, and with other environments and machines."""

    release: str
    earlier: Sequence[PairLink]
    newest: Sequence[PairLink]
    across: Sequence[PairLink]


def pages(content: Content) -> Iterator[Page | File]:
    """Yield an index for each machine, and a page and a CSV for each pair of two machines.

    The index of the machine with the longest history is that of all, too.
    """
    across: Across = {}
    for comparison in content.comparisons.values():
        for result in () if _same_environment(comparison) else (comparison.before, comparison.after):
            across.setdefault(result.path, []).append(comparison)
    for machine in content.machines:
        yield _index(content, machine, addresses.of_comparisons(machine.name), across)
    if content.machine:
        yield _index(content, content.machine, addresses.COMPARISONS, across)
    else:
        yield Page(addresses.COMPARISONS, "comparisons.html", "Compare two releases", {"machine": None, "machines": (), "environments": []})
    for address in content.comparisons.between_machines():
        yield from _comparison_page(content, address, content.comparisons[address])


def _index(content: Content, machine: Machine, address: str, across: Across) -> Page:
    values = {
        "machine": machine,
        "machines": content.machines,
        "environments": [(series, _pair_rows(content, series, across)) for series in machine.series],
    }
    return Page(address, "comparisons.html", "Compare two releases", values)


def _same_environment(comparison: Comparison) -> bool:
    before, after = comparison.before, comparison.after
    return before.series_key == after.series_key


def _pair_rows(content: Content, series: Series, across: Across) -> list[PairRow]:
    """Return a row for each release, the newest first."""
    rows = []
    for index, result in enumerate(series.results):
        earlier = [_pair_link(content, before, result, version(before)) for before in reversed(series.results[:index])]
        newest = _pair_link(content, result, series.newest, series.releases[-1].version) if index < len(series.results) - 2 else None
        rows.append(
            PairRow(
                release=series.releases[index].version,
                earlier=[link for link in earlier if link] if result is not series.newest else [link for link in earlier[:1] if link],
                newest=[newest] if newest else [],
                across=[_across_link(comparison, result) for comparison in across.get(result.path, ())],
            )
        )
    return rows[::-1]


def _across_link(comparison: Comparison, result: Result) -> PairLink:
    """Return the link to a comparison of one release in two environments or on two machines, named by the other one."""
    after = comparison.after if comparison.before is result else comparison.before
    machine = f"{after.machine}, " if after.machine != result.machine else ""
    build = f" {after.series_key.build}" if after.series_key.build != result.series_key.build else ""
    return _counted_link(addresses.of_comparison(comparison.before, comparison.after), f"{machine}Python {after.python}{build}", comparison)


def _pair_link(content: Content, before: Result, after: Result, name: str) -> PairLink | None:
    address = content.comparison_address(before, after)
    return _counted_link(address, name, content.comparisons[address]) if address else None


def _counted_link(address: str, name: str, comparison: Comparison) -> PairLink:
    changes = list(comparison.changes.values())
    return PairLink(
        name=name,
        address=address,
        slower=sum(change.verdict is Verdict.SLOWER for change in changes),
        faster=sum(change.verdict is Verdict.FASTER for change in changes),
        conclusive=2 * sum(change.interval is not None for change in changes) >= len(changes) > 0,
    )


VERDICTS = (Verdict.SLOWER, Verdict.FASTER, Verdict.UNCHANGED, Verdict.INCONCLUSIVE)
MOST_LISTED = 20  # slower cases of a section that have a row, and faster ones; a table of every case shows hundreds better
COLUMNS = ("case", "verdict", "ratio", "low", "high", "p", "before", "after")


@dataclass(frozen=True)
class ComparedCase:
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
class ComparedSection:
    """The copies, the conversions, or another kind of cases.

    counts : the number of cases by verdict, in the order of `VERDICTS`
    listed : the most significant of the slower cases, then of the faster ones
    tables : every case, a table for each suite
    """

    name: str
    counts: Sequence[int]
    listed: Sequence[ComparedCase]
    tables: Sequence[SuiteTable[ComparedCase]]


def machine_pages(content: Content, machine: Machine) -> Iterator[Page | File]:
    """Yield a page and a CSV for each pair of a machine."""
    across = set(content.comparisons.between_machines())
    for address in content.comparisons.of_machine(machine.name):
        if address not in across:
            yield from _comparison_page(content, address, content.comparisons[address])


def _comparison_page(content: Content, address: str, comparison: Comparison) -> Iterator[Page | File]:
    before, after, changes = comparison.before, comparison.after, comparison.changes
    csv_address = addresses.data(address, "csv")
    machine, limit = content.machine_of(after), axis_limit(list(changes.values()))
    series = next(series for series in machine.series if after in series.results)
    by_section = group_by_section(machine, changes)
    plotted = {name: _plotted(comparison, cases) for name, cases in by_section.items()}
    rows = _compared(comparison, plotted)
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
        "reasons": reasons(comparison),
        "limit": limit,
        "svg": Markup(plots.of_changes(comparison, plotted, limit)),  # noqa: S704 - our own SVG
        "neighbours": _neighbours(content, comparison, series),
        "machine_differences": machine_differences(before, after) if before.machine == after.machine else [],
        "releases": [release for release in series.releases if release.sha == after.sha],
        "provenance_differences": _provenance_differences(before, after),
        "arguments": [_argument(content, result) for result in (before, after)],
        "csv": csv_address,
        "cause": partial(_cause, _causes(machine, comparison), comparison),
    }
    yield Page(address, "compare.html", f"{comparison.labels[0]} → {comparison.labels[1]}", values)
    yield File(csv_address, _csv(comparison))


def axis_limit(changes: list[Change]) -> float:
    """Return an axis limit that holds nine tenths of the intervals, as a share.

    It is at least 0.1.
    """
    ends = sorted(max(change.interval[1], 1 / change.interval[0]) - 1 for change in changes if change.interval)
    return max(0.1, ends[int(0.9 * (len(ends) - 1))]) if ends else 0.1


def _causes(machine: Machine, comparison: Comparison) -> dict[ProfileKey, CountedChange]:
    """Return the counted changes between the two results; none where they are no neighbours."""
    paths = (comparison.before.path, comparison.after.path)
    return {key: cause for key, cause in machine.causes.items() if (cause.before.path, cause.after.path) == paths}


def _cause(causes: dict[ProfileKey, CountedChange], comparison: Comparison, case: Case) -> CauseLink | None:
    """Return the link to the functions behind a case's change; None where nothing changed, or none were counted."""
    change = comparison.changes[case]
    changed = change.verdict in CHANGED or (change.count is not None and change.count.changed)
    return cause_link(causes, comparison.after, case) if changed else None


def _plotted(comparison: Comparison, cases: Sequence[Case]) -> list[Case]:
    """Return the cases that have an interval, the largest speedup first."""
    judged = [case for case in cases if comparison.changes[case].interval and comparison.changes[case].ratio]
    return sorted(judged, key=lambda case: comparison.changes[case].ratio or 1.0)


def _compared(comparison: Comparison, plotted: Mapping[str, Sequence[Case]]) -> dict[Case, ComparedCase]:
    """Return the row of each case; the plotted ones are numbered in the order of the plot."""
    cases = dict.fromkeys([*(case for cases in plotted.values() for case in cases), *comparison.changes])
    changes = [(case, comparison.changes[case]) for case in cases]
    return {case: ComparedCase(case, change, f"c{number}", change.reason in BY_COUNT) for number, (case, change) in enumerate(changes, 1)}


def _section(machine: Machine, name: str, rows: Sequence[ComparedCase]) -> ComparedSection:
    verdicts = [row.change.verdict for row in rows]
    changed = [sorted((row for row in rows if row.change.verdict is verdict), key=_significance) for verdict in CHANGED]
    listed = {row.case: replace(row, is_listed=True) for group in changed for row in group[:MOST_LISTED]}
    return ComparedSection(
        name=name,
        counts=[verdicts.count(verdict) for verdict in VERDICTS],
        listed=list(listed.values()),
        tables=suite_tables(machine, {row.case: listed.get(row.case, row) for row in rows}),
    )


def _significance(row: ComparedCase) -> tuple[float, float]:
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
    rows = [(name, _provenance_text(before.provenance.get(name)), _provenance_text(after.provenance.get(name))) for name in names]
    return [row for row in rows if row[1] != row[2]]


def _provenance_text(value: Any) -> str:
    return "" if value in (None, {}, "") else str(value)


Value = TypeVar("Value")
METHOD = "method"
Parameters = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class MethodRow(Generic[Value]):
    """The values of one method, in the order of the columns; None where a case does not exist.

    first : its first case
    """

    first: Case
    code: str
    values: Sequence[Value | None]


@dataclass(frozen=True)
class SuiteTable(Generic[Value]):
    """The cases of one suite on one device.

    shared : the parameters that all of them have in common
    names : the names of the others
    columns : the values of the others
    """

    suite: str
    shared: Parameters
    names: Sequence[str]
    columns: Sequence[Parameters]
    rows: Sequence[MethodRow[Value]]


def suite_tables(machine: Machine, values: Mapping[Case, Value]) -> list[SuiteTable[Value]]:
    """Return a table for each suite and device of some cases, those by size first."""
    groups: dict[tuple[str, str], dict[Case, Value]] = {}
    for case, value in values.items():
        groups.setdefault((case.spec.label, case.device), {})[case] = value
    ordered = sorted(groups.items(), key=lambda group: next(iter(group[1])).spec.rank)
    return [_suite_table(machine, suite, group) for (suite, _), group in ordered]


def _suite_table(machine: Machine, suite: str, values: Mapping[Case, Value]) -> SuiteTable[Value]:
    others = {case: tuple((name, value) for name, value in case.parameters if name != METHOD) for case in values}
    orders = _value_orders(others.values())
    names = [name for name, order in orders.items() if len(order) > 1]
    columns = {case: tuple((name, value) for name, value in parameters if name in names) for case, parameters in others.items()}
    distinct = sorted(set(columns.values()), key=lambda column: [orders[name].index(value) for name, value in column])
    by_method: dict[str, dict[Parameters, Case]] = {}
    for case, column in columns.items():
        by_method.setdefault(dict(case.parameters).get(METHOD, ""), {})[column] = case
    return SuiteTable(
        suite=suite,
        shared=tuple((name, value) for name, value in next(iter(others.values())) if name not in names),
        names=names,
        columns=distinct,
        rows=[_method_row(machine, [cases.get(column) for column in distinct], values) for cases in by_method.values()],
    )


def _method_row(machine: Machine, cases: Sequence[Case | None], values: Mapping[Case, Value]) -> MethodRow[Value]:
    first = next(case for case in cases if case)
    return MethodRow(first, machine.case_code(first), [values[case] if case else None for case in cases])


def _value_orders(all_parameters: Iterable[Parameters]) -> dict[str, list[str]]:
    """Return the values of each parameter: numbers by size, others as they occur."""
    orders: dict[str, dict[str, None]] = {}
    for parameters in all_parameters:
        for name, value in parameters:
            orders.setdefault(name, {})[value] = None
    return {name: sorted(order, key=int) if all(map(str.isdecimal, order)) else list(order) for name, order in orders.items()}
