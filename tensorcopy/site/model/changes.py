"""The changes at each release on a machine, with their evidence. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tensorcopy.analysis import groups
from tensorcopy.analysis.confirmation import Status, explained_by_count
from tensorcopy.analysis.groups import ReleaseChange
from tensorcopy.report.case_history import change_text
from tensorcopy.results.confirmations import Outcome, key_of
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result
from tensorcopy.results.suite_specs import SECONDS
from tensorcopy.site import addresses
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.model.result_series import Series

LARGEST = 3  # changes of single cases that are shown with their group


@dataclass(frozen=True)
class MachineChange:
    """Cases of one group that changed in the same direction at one release.

    series : the series that has the release and the one before it
    date : the release's, "2026-01-21"
    found : the day of the newest measurement that shows the change
    comparison_address : the comparison with the release before
    machine_changes : differences of the machine between the two releases
    confirmed : an exact count or a repeat measurement shows the change too
    """

    machine: Machine
    series: Series
    change: ReleaseChange
    date: str
    found: str
    comparison_address: str
    machine_changes: tuple[str, ...]
    confirmed: bool

    @property
    def release(self) -> str:
        """The release's version."""
        return self.change.release

    @property
    def environment(self) -> str:
        """The series' environment."""
        return self.series.environment

    @property
    def slower(self) -> bool:
        """Whether the cases became slower."""
        return self.change.verdict == "slower"

    @property
    def text(self) -> str:
        """The change as a sentence."""
        return change_text(self.change)

    @property
    def largest(self) -> Sequence[tuple[Case, float, str]]:
        """The cases with the largest changes, their ratios, and the addresses of their histories."""
        return [(case, self.change.steps[case].ratio, self.machine.case_address(case)) for case in self.change.cases[:LARGEST]]


def machine_changes(content: Content, machine: Machine) -> list[MachineChange]:
    """Return the changes of the times on a machine, the newest release first."""
    changes = [_machine_change(content, machine, change) for change in machine.changes_by_release if change.group.unit == SECONDS]
    return [change for change in reversed(changes) if change]


def count_changes(content: Content, machine: Machine) -> list[MachineChange]:
    """Return the changes of the exact counts on a machine, the newest release first."""
    changes = [_machine_change(content, machine, change) for change in machine.changes_by_release if change.group.unit != SECONDS]
    return [change for change in reversed(changes) if change]


def _machine_change(content: Content, machine: Machine, change: ReleaseChange) -> MachineChange | None:
    """Return a change with its series: the newest Python's with the release and the one before."""
    for series in machine.series:
        index = next((index for index, release in enumerate(series.releases) if release.version == change.release), 0)
        if index:
            before, after = series.results[index - 1], series.results[index]
            return MachineChange(
                machine=machine,
                series=series,
                change=change,
                date=series.releases[index].date.isoformat(),
                found=_found(machine, change, before, after),
                comparison_address=content.comparison_address(before, after) or addresses.HISTORIES,
                machine_changes=tuple(series.machine_changes.get(change.release, ())),
                confirmed=_is_confirmed(machine, change, before, after),
            )
    return None


def _found(machine: Machine, change: ReleaseChange, before: Result, after: Result) -> str:
    """Return the day of the newest evidence for a change: a pass of either release, or a repeat measurement that shows it."""
    times = [str(record["started"]) for result in (before, after) for record in (result.provenance, *result.passes)]
    for case, step in change.steps.items():
        repeated = machine.confirmations.get(key_of(*machine.history[case].sides(step), case))
        if repeated and repeated.outcome is Outcome.HELD:
            times.append(repeated.started)
    return max(times)[:10]


def _is_confirmed(machine: Machine, change: ReleaseChange, before: Result, after: Result) -> bool:
    """Return whether the step of any of the cases is confirmed; a change of counts always is.

    A group that changed as a whole is also confirmed by the exact counts of at least half of its cases.
    """
    if change.group.unit != SECONDS:
        return True
    if any(machine.status(case, change.steps[case]) in (Status.CONFIRMED, Status.CONFIRMED_BY_COUNT) for case in change.cases):
        return True
    if not change.as_group:
        return False
    cases = groups.grouped(machine.history)[change.group]
    explained = sum(explained_by_count(before, after, case, change.ratio, machine.results) for case in cases)
    return 2 * explained >= len(cases)
