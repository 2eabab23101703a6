"""The machine of the person who publishes the site, beside the machine whose history is shown. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tensorcopy.results.passes import Case
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.costs import case_of
from tensorcopy.site.model.machine import Machine

NUMEL = 2**14  # of the article's largest tensor, and of the chart on the landing page


@dataclass(frozen=True)
class OwnMachine:
    """The machine that measured last, with its fastest copy at one size.

    code, time : of the fastest copy, in seconds
    ratio : of that time to the shown machine's, of the same method with the same release; None where that was not measured
    """

    machine: Machine
    numel: int
    code: str
    time: float
    ratio: float | None


def own_machine(content: Content) -> OwnMachine | None:
    """Return the machine that measured last; None where it is the one whose history is shown, or has no copies."""
    machine = content.machines[0] if content.machines else None
    shown = content.machine
    table = next((table for table in machine.costs if table.group == "copy"), None) if machine else None
    if machine is None or shown is None or machine is shown or table is None:
        return None
    column = min(range(len(table.numels)), key=lambda index: abs(table.numels[index] - NUMEL))
    row, numel = table.fastest_row(column), table.numels[column]
    if row is None:
        return None
    method = table.methods[row]
    case, release = case_of("copy", method, numel, table.device), machine.newest.version
    time, reference = _time(machine, case, release), _time(shown, case, release)
    if time is None:
        return None
    return OwnMachine(machine, numel, machine.code(method, table.device), time, time / reference if reference else None)


def _time(machine: Machine, case: Case, release: str) -> float | None:
    """Return the time of a case with a release, as measured on the newest Python that has it; None for no measurement."""
    series = machine.history.get(case)
    if series is None or release not in series.releases:
        return None
    return series.measured[series.releases.index(release)]
