"""The siblings of a case: those that differ from it in one respect. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any

from tensorcopy.report.numbers import count
from tensorcopy.results.passes import Case
from tensorcopy.site import addresses
from tensorcopy.site.model.explorer import Place, place_of
from tensorcopy.site.model.machine import Machine

NAMES = {"numel": "size", "quantity": "measured"}  # of axes that readers call otherwise
OMITTED = ("group",)  # its methods differ
OTHER_MACHINES = 4  # that a page links to: no page grows with the number of machines
MOST = 40  # values of an axis that a page links to, those next to its own: no page grows with the number of cases
GRAD = {"no": "no grad", "yes": "requires grad"}


@dataclass(frozen=True)
class Sibling:
    """A value of an axis, with the case that has it.

    code : whether the label is code
    """

    label: str
    address: str
    code: bool
    current: bool


@dataclass(frozen=True)
class Places:
    """The cases of a machine by place, so that siblings are found without a search."""

    machine: Machine
    cases: Mapping[Place, Sequence[Case]]
    values: Mapping[str, Mapping[Any, int]]  # of each axis, in order, with their numbers

    @classmethod
    def of_machine(cls, machine: Machine) -> Places:
        """Return the places of all cases of a machine."""
        cases: dict[Place, list[Case]] = {}
        for case in machine.cases:
            if place := place_of(machine, case):
                cases.setdefault(place, []).append(case)
        axes = [field.name for field in fields(Place) if field.name not in OMITTED]
        values = {axis: list(dict.fromkeys(getattr(place, axis) for place in cases)) for axis in axes}
        ordered = {**values, "numel": sorted(values["numel"])}
        return cls(machine, cases, {axis: {value: number for number, value in enumerate(row)} for axis, row in ordered.items()})

    def siblings(self, case: Case) -> list[tuple[str, list[Sibling]]]:
        """Return the siblings of a case by axis, with the case itself; axes with one value are omitted."""
        place = place_of(self.machine, case)
        rows = {axis: self._along(case, place, axis) for axis in self.values} if place else {}
        return [(NAMES.get(axis, axis), row) for axis, row in rows.items() if len(row) > 1]

    def _along(self, case: Case, place: Place, axis: str) -> list[Sibling]:
        """Return the cases that differ from a case in one axis."""
        row: dict[str, Sibling] = {}
        numbers = self.values[axis]
        start = max(0, min(numbers[getattr(place, axis)] - MOST // 2, len(numbers) - MOST))
        for value in islice(numbers, start, start + MOST):
            cases = self.cases.get(replace(place, **{axis: value}), ())
            if cases:
                nearest = min(cases, key=lambda other: (other != case, other.suite != case.suite, other.spec.rank > 0))
                address = self.machine.case_address(nearest)
                label = self.machine.code(value, place.device) if axis == "method" else _label(axis, value)
                sibling = Sibling(label, address, axis == "method", nearest == case)
                row.setdefault(address.partition("#")[0], sibling)  # times before the counts on the same page
        return list(row.values())


def other_machines(machines: Sequence[Machine], machine: Machine, case: Case) -> list[Sibling]:
    """Return the same case on other machines, and the list of all when there are more of them."""
    others = [other for other in machines if other is not machine and other.has(case)]
    row = [Sibling(other.name, other.case_address(case), code=False, current=False) for other in others[:OTHER_MACHINES]]
    more = [Sibling("all machines", addresses.HISTORIES, code=False, current=False)] if len(others) > OTHER_MACHINES else []
    return [Sibling(machine.name, machine.case_address(case), code=False, current=True), *row, *more] if row else []


def _label(axis: str, value: Any) -> str:
    if axis == "numel":
        return count(value)
    if axis == "grad":
        return GRAD[value]
    return f"{value} thread{'' if value == 1 else 's'}" if axis == "threads" else str(value)
