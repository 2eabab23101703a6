"""The sections in which pages list cases: those of the registry, of own operations and of a third party's suites, then all others. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from tensorcopy.results.passes import Case
from tensorcopy.site.model.explorer import place_of
from tensorcopy.site.model.machine import Machine

FIRST = ("copies", "conversions", "primitives", "alternatives", "own", "threads")  # suites whose cases are a section
NAMES = {"own": "Own operations", "": "Others"}


def of_cases(machine: Machine, cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Return cases by the name of their section, without empty ones."""
    groups: dict[str, list[Case]] = {group: [] for group in (*FIRST, "")}
    for case in cases:
        groups.setdefault(_group(machine, case), []).append(case)
    return {NAMES.get(group, group.capitalize()): members for group, members in groups.items() if members}


def _group(machine: Machine, case: Case) -> str:
    """Return the suites of a case's section; "" for all others."""
    for name in FIRST:
        if case.suite.startswith(f"{name}."):
            return name
    if case.suite_name == case.suite:
        return case.suite.partition(".")[0]
    place = place_of(machine, case)
    return place.group if place and place.group in FIRST else ""  # of a count
