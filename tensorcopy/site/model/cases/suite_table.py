"""The cases of one suite as a table: a row for each method, a column for each value of the other parameters. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tensorcopy.results.passes import Case
from tensorcopy.site.model.machine import Machine

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


def of_cases(machine: Machine, values: Mapping[Case, Value]) -> list[SuiteTable[Value]]:
    """Return a table for each suite and device of some cases, those by size first."""
    groups: dict[tuple[str, str], dict[Case, Value]] = {}
    for case, value in values.items():
        groups.setdefault((case.spec.label, case.device), {})[case] = value
    ordered = sorted(groups.items(), key=lambda group: next(iter(group[1])).spec.rank)
    return [_table(machine, suite, group) for (suite, _), group in ordered]


def _table(machine: Machine, suite: str, values: Mapping[Case, Value]) -> SuiteTable[Value]:
    others = {case: tuple((name, value) for name, value in case.parameters if name != METHOD) for case in values}
    orders = _orders(others.values())
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
        rows=[_row(machine, [cases.get(column) for column in distinct], values) for cases in by_method.values()],
    )


def _row(machine: Machine, cases: Sequence[Case | None], values: Mapping[Case, Value]) -> MethodRow[Value]:
    first = next(case for case in cases if case)
    return MethodRow(first, machine.case_code(first), [values[case] if case else None for case in cases])


def _orders(all_parameters: Iterable[Parameters]) -> dict[str, list[str]]:
    """Return the values of each parameter: numbers by size, others as they occur."""
    orders: dict[str, dict[str, None]] = {}
    for parameters in all_parameters:
        for name, value in parameters:
            orders.setdefault(name, {})[value] = None
    return {name: sorted(order, key=int) if all(map(str.isdecimal, order)) else list(order) for name, order in orders.items()}
