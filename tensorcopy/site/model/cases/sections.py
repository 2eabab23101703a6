"""The sections in which pages list cases: those of the table of suites, those of a third party's suites, then all others. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from tensorcopy.results import suite_specs
from tensorcopy.results.passes import Case
from tensorcopy.site.model.explorer import place_of
from tensorcopy.site.model.machine import Machine


def of_cases(machine: Machine, cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Return cases by the title of their section, without empty ones. A count is in the section of its method."""
    titles = suite_specs.sections()
    groups: dict[str, list[Case]] = {title: [] for title in (*titles.values(), "Others")}
    for case in cases:
        place = None if case.spec.title else place_of(machine, case)
        title = case.spec.title or (titles.get(place.group) if place else "") or "Others"
        groups.setdefault(title, []).append(case)
    return {title: members for title, members in groups.items() if members}
