"""The landing page of a campaign without pages of its own: its operations and suites over torch releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tensorcopy.judge.paired import ONE_SIDED, Change
from tensorcopy.numbers import quantity
from tensorcopy.report.sentences import LIKELY, by_word, levels
from tensorcopy.results.cases import Case, own_group, own_groups
from tensorcopy.site import addresses, plots
from tensorcopy.site.content import Content, changes_of, recent
from tensorcopy.site.machine import Machine
from tensorcopy.site.page import Page

MOST_CASES = 200  # in the table, so that the page stays short; the histories have all
RECENT_CHANGES = 6
CERTAIN, WITHOUT_CHANGE = ("slower", "faster", "higher", "lower"), ("unchanged", "equal", "unknown")  # words, in their order


def pages(content: Content) -> Iterator[Page]:
    """Yield the landing page."""
    if content.campaign.pages:
        return
    machine = content.machine
    values = {"machine": machine, "machines": content.machines, **(_values(content, machine) if machine else {})}
    title = content.campaign.title
    yield Page(addresses.LANDING, "project.html", title, values, description=f"{title}: times with asv, every change tested.")


def _values(content: Content, machine: Machine) -> dict[str, object]:
    releases, cases = machine.releases, machine.cases
    series = machine.series[0]
    before, after = series.results[0], series.newest
    address = content.comparison_address(before, after) if before is not after else ""
    judged = content.comparisons[address].changes if address else {}
    changes = {case: change for case, change in judged.items() if change.reason not in ONE_SIDED}  # the reference has no tracked values
    upgrade = {  # from the first to the newest release, with the number of cases of each word
        "before": series.releases[0].version,
        "after": series.releases[-1].version,
        "address": address,
        "levels": levels(changes.values()),
        "counts": by_word(changes.values()),
        "words": (*CERTAIN, *LIKELY, *WITHOUT_CHANGE),  # the page lists what fails
    }
    return {
        "releases": releases,
        "number": len(cases),
        "upgrade": upgrade if address else None,
        "pictures": plots.pictures(machine),
        "sections": _sections(machine, cases[:MOST_CASES], releases, changes),
        "more": max(0, len(cases) - MOST_CASES),
        "changes": recent(changes_of(content, machine), RECENT_CHANGES),
    }


def _sections(
    machine: Machine, cases: Sequence[Case], releases: Sequence[str], changes: Mapping[Case, Change]
) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of cases by tensorcopy's suite or the module of a third-party one: operations by size first, third-party suites last.

    Of several groups of operations, each has a section.

    value : the newest, with its unit; line : the sparkline of its history, "" for values without a logarithm
    change : from the first release to the newest; None where they were not compared
    """
    sections: dict[str, list[dict[str, Any]]] = {}
    groups = ["", *own_groups(machine.methods)]
    grouped = {case: own_group(machine.methods, case) for case in cases}
    for case in sorted(cases, key=lambda case: (not case.spec.shipped, groups.index(grouped[case]), case.spec.rank > 0)):
        history = machine.history[case]
        values = [value for value in history.measured if value is not None]
        if values:
            row = {
                "case": case,
                "address": machine.case_address(case),
                "value": quantity(values[-1], history.unit),
                "line": plots.sparkline(history, releases) if min(values) > 0 else "",
                "change": changes.get(case),
            }
            sections.setdefault(grouped[case] or (case.spec.label if case.spec.shipped else case.spec.module), []).append(row)
    return sections
