"""The landing page of a project: its operations and suites over torch releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.two_sample import Change, Verdict
from tensorcopy.report.numbers import quantity
from tensorcopy.results.passes import Case
from tensorcopy.site import addresses, plots
from tensorcopy.site.content import Content, time_changes
from tensorcopy.site.machine import History, Machine, release_versions
from tensorcopy.site.page import Page
from tensorcopy.site.pages import explorer
from tensorcopy.site.plots import sparkline

MOST_CASES = 200  # in the table, so that the page stays short; the histories have all
RECENT_CHANGES = 6


@dataclass(frozen=True)
class ProjectRow:
    """A case in the table.

    value : the newest, with its unit
    line : the sparkline of its history; "" for values without a logarithm
    change : from the first release to the newest; None where they were not compared
    """

    case: Case
    address: str
    value: str
    line: str
    change: Change | None


@dataclass(frozen=True)
class LatestUpgrade:
    """The comparison of the first and the newest release of a machine.

    before, after : their versions; counts : of the cases, by verdict
    """

    before: str
    after: str
    address: str
    comparison: Comparison

    @property
    def counts(self) -> dict[str, int]:
        """The number of cases of each verdict."""
        verdicts = [change.verdict for change in self.comparison.changes.values()]
        return {verdict.value: verdicts.count(verdict) for verdict in Verdict}


def pages(content: Content) -> Iterator[Page]:
    """Yield the landing page of a project."""
    if content.project is None:
        return
    machine = content.machine
    values = {"machine": machine, "machines": content.machines, **(_values(content, machine) if machine else {})}
    title = content.project.title
    yield Page(addresses.LANDING, "project.html", title, values, description=f"{title}: times with asv, every change tested.")


def _values(content: Content, machine: Machine) -> dict[str, object]:
    releases, cases = release_versions(machine.series), machine.cases
    upgrade = _upgrade(content, machine)
    return {
        "releases": releases,
        "number": len(cases),
        "upgrade": upgrade,
        "groups": [(history.group, history, _codes(machine, history)) for history in machine.histories],
        "plot": lambda history: Markup(plots.of_group(history, _codes(machine, history)).svg()),  # noqa: S704 - our own SVG
        "explorer": lambda history: explorer.of_history(machine, history),
        "sections": _sections(machine, cases[:MOST_CASES], releases, upgrade),
        "more": max(0, len(cases) - MOST_CASES),
        "changes": time_changes(content, machine)[:RECENT_CHANGES],
    }


def _codes(machine: Machine, history: History) -> dict[str, str]:
    return {method: machine.code(method) for method in history.methods}


def _upgrade(content: Content, machine: Machine) -> LatestUpgrade | None:
    """Return the comparison of the first and the newest release of the longest series; None for a single release."""
    series = max(machine.series, key=lambda series: len(series.releases))  # of several, that of the newest Python
    before, after = series.results[0], series.newest
    address = content.comparison_address(before, after) if before is not after else ""
    if not address:
        return None
    return LatestUpgrade(series.releases[0].version, series.releases[-1].version, address, content.comparisons[address])


def _sections(
    machine: Machine, cases: Sequence[Case], releases: Sequence[str], upgrade: LatestUpgrade | None
) -> dict[str, list[ProjectRow]]:
    """Return the rows of cases by suite: the operations by size first, third-party suites last."""
    changes = upgrade.comparison.changes if upgrade else {}
    sections: dict[str, list[ProjectRow]] = {}
    for case in sorted(cases, key=lambda case: (not case.spec.shipped, case.spec.rank > 0)):
        series = machine.history[case]
        values = [value for value in series.measured if value is not None]
        if values:
            line = sparkline(series, releases).svg if min(values) > 0 else ""
            row = ProjectRow(case, machine.case_address(case), quantity(values[-1], series.unit), line, changes.get(case))
            sections.setdefault(_section(case), []).append(row)
    return sections


def _section(case: Case) -> str:
    """Return the heading of a case: tensorcopy's suite, or the module of a third-party one."""
    return case.spec.label if case.spec.shipped else case.spec.module
