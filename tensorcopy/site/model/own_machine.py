"""The machine of the person who publishes the site, beside the machine whose history is shown. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tensorcopy.analysis import recommend
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import Machine

NUMEL = 2**14  # of the article's largest tensor, and of the chart on the landing page


@dataclass(frozen=True)
class OwnMachine:
    """The machine that measured last, with its recommended copy at one size.

    code, time : of the recommended copy, in seconds
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
    if machine is None or shown is None or machine is shown:
        return None
    request = recommend.common_request("tensor", machine.device)
    option = recommend.recommended(machine.result, request, machine.series[0].results, NUMEL)
    if option is None or option.timing is None:
        return None
    series, release = shown.history.get(option.case), machine.newest.version
    place = series.releases.index(release) if series and release in series.releases else None
    reference = series.measured[place] if series and place is not None else None
    time = option.timing.median
    return OwnMachine(machine, int(option.case["numel"]), option.code, time, time / reference if reference else None)
