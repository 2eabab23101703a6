"""The index of histories: the machines, and the changes and all cases of the first of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup

from tensorcopy.results import related, suite_specs
from tensorcopy.results.passes import Case, Timing
from tensorcopy.site import addresses, plots
from tensorcopy.site.model import explorer
from tensorcopy.site.model.cases import sections
from tensorcopy.site.model.cases.case_changes import CaseChange
from tensorcopy.site.model.changes import MachineChange, count_changes, machine_changes
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.history import History
from tensorcopy.site.model.machine import Machine, longest_history
from tensorcopy.site.page import Page


@dataclass(frozen=True)
class CaseRow:
    """A case in the index: its newest time or count, and the number and the last of its changes."""

    case: Case
    address: str
    timing: Timing | None
    unit: str
    times_memcpy: float | None
    changes: int
    last: CaseChange | None


def pages(content: Content) -> Iterator[Page]:
    """Yield the index of times and, where anything was counted, the one of counts.

    The cases of the machine with the longest history are listed; others have their own pages, so that the index does not grow.
    """
    values = {
        "machines": content.machines,
        "machine": content.machine,
        "changes": lambda machine: _ordered(machine_changes(content, machine)),
        "sections": partial(_sections, timed=True),
        "explorer": explorer.of_history,
        "plot": lambda machine, history: Markup(plots.of_group(history, _codes(machine, history)).svg()),  # noqa: S704 - our own SVG
        "codes": lambda machine, history: list(_codes(machine, history).values()),
    }
    yield Page(addresses.HISTORIES, "histories.html", "History over torch releases", values)
    counting = [machine for machine in content.machines if machine.counts_instructions]
    counted = {
        "machines": counting,
        "machine": longest_history(counting),
        "changes": lambda machine: _ordered(count_changes(content, machine)),
        "sections": partial(_sections, timed=False),
    }
    yield from [Page(addresses.COUNTS, "counts.html", "Exact counts over torch releases", counted)] if counting else []


def _ordered(changes: Sequence[MachineChange]) -> list[MachineChange]:
    """Return changes in their order of releases; with each, copies and conversions before all others."""
    releases = list(dict.fromkeys(change.release for change in changes))
    modules = {name: index for index, name in enumerate(suite_specs.sections())}
    return sorted(changes, key=lambda change: (releases.index(change.release), modules.get(change.change.group.module, len(modules))))


def _sections(machine: Machine, *, timed: bool) -> list[tuple[str, list[CaseRow]]]:
    """Return the timed or counted cases of a machine: copies and conversions before all others."""
    cases = [case for case in machine.cases if case.spec.timed is timed]
    return [(name, [_row(machine, case) for case in group]) for name, group in sections.of_cases(machine, cases).items()]


def _row(machine: Machine, case: Case) -> CaseRow:
    """Return a case's row, from the first series that has it."""
    series = next(series for series in machine.series if case in series.series_by_case)
    changes = machine.case_changes[case]
    return CaseRow(
        case=case,
        address=machine.case_address(case),
        timing=related.measured(series.newest, case),
        unit=case.spec.unit,
        times_memcpy=related.times_memcpy(series.newest, case),
        changes=len(changes),
        last=changes[-1] if changes else None,
    )


def _codes(machine: Machine, history: History) -> dict[str, str]:
    return {method: machine.code(method) for method in history.methods}
