"""Tables of cases: of each suite a row for each method, a column for each value of the other parameters; of an index, by section. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Generic, TypeVar

from tensorcopy.judge.case_history import Standing
from tensorcopy.judge.paired import Verdict
from tensorcopy.results import suite_specs
from tensorcopy.results.cases import Case, own_group, own_groups
from tensorcopy.results.result import Measured
from tensorcopy.results.suite_specs import NUMEL, TIME, TRACKED, N
from tensorcopy.site.changes import CaseChange
from tensorcopy.site.history_chart import place_of
from tensorcopy.site.machine import Machine
from tensorcopy.site.page import waiting

SIZES = (NUMEL, N)  # the parameters of a size
MOST_ROWS = 30  # that an index shows without being opened, beside the first table of each section
Parameters = tuple[tuple[str, str], ...]
Cell = TypeVar("Cell")


@dataclass(frozen=True)
class SuiteRow(Generic[Cell]):
    """A row of a table of cases.

    first : its first case; code : what it times; kind : the values of its parameters, where the columns are sizes
    values : the cell of each column; None where there is no such case
    """

    first: Case
    code: str
    kind: Parameters
    values: tuple[Cell | None, ...]


@dataclass(frozen=True)
class SuiteTable(Generic[Cell]):
    """The cases of one suite on one device.

    shared : the parameters that all of them have in common; waiting : when the device is waited for, "" for a CPU
    names : of the columns; columns : their values
    """

    suite: str
    shared: Parameters
    waiting: str
    names: tuple[str, ...]
    columns: tuple[Parameters, ...]
    rows: tuple[SuiteRow[Cell], ...]


def suite_tables(machine: Machine, cells: Mapping[Case, Cell], *, by_size: bool = False) -> list[SuiteTable[Cell]]:
    """Return a table of cells for each suite and device, those of cases by size first.

    by_size : whether only sizes have columns, and other parameters rows of their own
    """
    groups: dict[tuple[str, str], dict[Case, Cell]] = {}
    for case, cell in cells.items():
        groups.setdefault((case.spec.label, case.device), {})[case] = cell
    ordered = sorted(groups.items(), key=lambda group: next(iter(group[1])).spec.rank)
    return [_suite_table(machine, suite, group, by_size=by_size) for (suite, _), group in ordered]


def _suite_table(machine: Machine, suite: str, cells: Mapping[Case, Cell], *, by_size: bool) -> SuiteTable[Cell]:
    others = {case: (*_quantity(case), *((name, value) for name, value in case.parameters if name != "method")) for case in cells}
    orders: dict[str, list[str]] = {}  # of the values of each parameter: numbers by size, others as they occur
    for name, value in dict.fromkeys(parameter for parameters in others.values() for parameter in parameters):
        orders.setdefault(name, []).append(value)
    orders = {name: sorted(order, key=int) if all(map(str.isdecimal, order)) else order for name, order in orders.items()}
    differing = [name for name, order in orders.items() if len(order) > 1]
    names = [name for name in differing if name in SIZES] if by_size else differing
    if not names:  # a suite of one size
        names = differing
    by_row: dict[tuple[str, Parameters], dict[Parameters, Case]] = {}
    for case, parameters in others.items():
        column, kind = _only(parameters, names), _only(parameters, [name for name in differing if name not in names])
        by_row.setdefault((dict(case.parameters).get("method", ""), kind), {})[column] = case
    distinct = {column for columns in by_row.values() for column in columns}
    columns = sorted(distinct, key=lambda column: [orders[name].index(value) for name, value in column])
    methods = list(dict.fromkeys(method for method, _ in by_row))
    rows = []
    for (_, kind), by_column in sorted(by_row.items(), key=lambda row: methods.index(row[0][0])):
        row = [by_column.get(column) for column in columns]
        first = next(case for case in row if case)
        rows.append(SuiteRow(first, machine.case_code(first), kind, tuple(cells[case] if case else None for case in row)))
    shared = tuple((name, value) for name, value in next(iter(others.values())) if name not in differing)
    return SuiteTable(suite, shared, waiting(next(iter(others))), tuple(names), tuple(columns), tuple(rows))


def _quantity(case: Case) -> Parameters:
    """Return what is counted as a parameter: a suite may count several quantities of the same calls."""
    return () if case.spec.metric in (TIME, TRACKED) else (("quantity", case.spec.metric),)


def _only(parameters: Parameters, names: Collection[str]) -> Parameters:
    return tuple((name, value) for name, value in parameters if name in names)


def group_by_section(machine: Machine, cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Return cases by the title of their section, without empty ones. A count is in the section of its method.

    Of several groups of own operations, each has a section.
    """
    titles, own = suite_specs.sections(), own_groups(machine.methods)
    ordered = [[title, *(f"{title}: {group}" for group in own if module == suite_specs.OWN)] for module, title in titles.items()]
    groups: dict[str, list[Case]] = {title: [] for title in (*chain(*ordered), "Others")}
    for case in cases:
        place = None if case.spec.title else place_of(machine, case)
        title = case.spec.title or (titles.get(place.group) if place else "") or "Others"
        group = own_group(machine.methods, case)
        title += f": {group}" if group else ""
        groups.setdefault(title, []).append(case)
    return {title: members for title, members in groups.items() if members}


@dataclass(frozen=True)
class CaseCell:
    """A case in the table of its suite.

    measured : the newest value
    change : the last of its changes
    standing : of a time, where it stands
    verdict : of a case that has not changed, unchanged or unknown; None where nothing was compared
    """

    case: Case
    address: str
    measured: Measured | None
    failed: bool
    change: CaseChange | None
    standing: Standing | None
    verdict: Verdict | None


@dataclass(frozen=True)
class IndexTable:
    """The table of a suite in an index.

    is_open : whether it is shown without being opened
    """

    table: SuiteTable[CaseCell]
    is_open: bool


def index_sections(machine: Machine, metric: str) -> list[tuple[str, list[IndexTable]]]:
    """Return the tables of the timed, tracked or counted cases of a machine by section, each case as in the first series that has it.

    metric : `TIME` or `TRACKED`; "" for every exact count

    Where there are many rows, only the first table of each section is open.
    """
    shown = (TIME, TRACKED)
    sections = group_by_section(
        machine, (case for case in machine.cases if metric == (case.spec.metric if case.spec.metric in shown else ""))
    )
    tables = {name: suite_tables(machine, {case: _cell(machine, case) for case in cases}, by_size=True) for name, cases in sections.items()}
    is_short = sum(len(table.rows) for of_section in tables.values() for table in of_section) <= MOST_ROWS
    return [
        (name, [IndexTable(table, is_short or not number) for number, table in enumerate(of_section)])
        for name, of_section in tables.items()
    ]


def _cell(machine: Machine, case: Case) -> CaseCell:
    newest = next(series.newest for series in machine.series if case in series.cases)
    return CaseCell(
        case,
        machine.case_address(case),
        newest.measured(case),
        case in newest.failures,
        next(reversed(machine.case_changes[case]), None),
        machine.standings.get(case),
        (Verdict.UNKNOWN if machine.history[case].unknown else Verdict.UNCHANGED) if machine.history[case].neighbours else None,
    )
