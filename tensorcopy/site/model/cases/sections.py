"""The order in which pages list cases: copies, conversions, primitives, alternatives, threads, huge pages, then all others. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from tensorcopy.results.load import Case
from tensorcopy.site.model.explorer import place_of
from tensorcopy.site.model.machine import Machine

FIRST = ("copies", "conversions", "primitives", "alternatives", "own", "threads", "pages")  # modules of suites, whose cases are a section
NAMES = {"own": "Own operations", "pages": "Huge pages", "": "Others"}


def of_cases(machine: Machine, cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Return cases by the name of their section, without empty ones."""
    groups: dict[str, list[Case]] = {group: [] for group in (*FIRST, "")}
    for case in cases:
        place, module = place_of(machine, case), case.suite.partition(".")[0]
        by_method = place.group if place and place.group in FIRST else ""  # of a count
        groups.setdefault(module if module in FIRST or case.suite_name == case.suite else by_method, []).append(case)
    return {NAMES.get(group, group.capitalize()): members for group, members in groups.items() if members}
