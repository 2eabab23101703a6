"""The methods of a group by size: the time, the rank and the history of each. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tensorcopy.results.passes import Timing
from tensorcopy.site import addresses
from tensorcopy.site.charts.sparkline import Sparkline, sparkline
from tensorcopy.site.model.costs import CostTable, case_of
from tensorcopy.site.model.machine import Machine


@dataclass(frozen=True)
class GridCell:
    """A method at one size.

    rank : "fastest", "tied" with the fastest, or ""
    address : of the case's history
    """

    numel: int
    rank: str
    address: str
    line: Sparkline


@dataclass(frozen=True)
class GridRow:
    """A method with its cells; None where it was not measured."""

    method: str
    code: str
    cells: tuple[GridCell | None, ...]


@dataclass(frozen=True)
class MethodGrid:
    """The methods of a group on a device.

    baselines : the memcpy baseline of each size
    """

    group: str
    device: str
    numels: tuple[int, ...]
    rows: tuple[GridRow, ...]
    baselines: tuple[Timing | None, ...]


def method_grids(machine: Machine, releases: Sequence[str]) -> list[MethodGrid]:
    """Return a grid for each group and device of a machine.

    releases : the horizontal axis of every sparkline
    """
    return [
        MethodGrid(
            table.group,
            table.device,
            table.numels,
            tuple(
                GridRow(
                    method,
                    machine.code(method, table.device),
                    tuple(_cell(machine, table, row, column, releases) for column in range(len(table.numels))),
                )
                for row, method in enumerate(table.methods)
            ),
            table.baselines,
        )
        for table in machine.costs
    ]


def _cell(machine: Machine, table: CostTable, row: int, column: int, releases: Sequence[str]) -> GridCell | None:
    numel, cost = table.numels[column], table.costs[row][column]
    case = case_of(table.group, table.methods[row], numel, table.device)
    series = machine.history.get(case)
    if series is None or not any(series.values):
        return None
    rank = "fastest" if cost.fastest else "tied" if cost.among_fastest else ""
    return GridCell(numel, rank, addresses.of_case(machine.name, case), sparkline(series, releases))
