"""The order in which pages list cases: copies, conversions, primitives, alternatives, threads, then all others. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from tensorcopy.results.load import Case
from tensorcopy.site.model.explorer import place_of
from tensorcopy.site.model.machine import Machine

THREADS = "threads"  # a module of suites: its copies are not counted among the copies, which use one thread
FIRST = ("copies", "conversions", "primitives", "alternatives", "own", THREADS)
NAMES = {"own": "Own operations", "": "Others"}


def of_cases(machine: Machine, cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Return cases by the name of their section, without empty ones."""
    groups: dict[str, list[Case]] = {group: [] for group in (*FIRST, "")}
    for case in cases:
        place, module = place_of(machine, case), case.suite.partition(".")[0]
        others = module if case.suite_name == case.suite else ""  # the module of a third-party suite
        group = place.group if place and place.group in FIRST else others
        groups.setdefault(THREADS if module == THREADS else group, []).append(case)
    return {NAMES.get(group, group.capitalize()): members for group, members in groups.items() if members}
