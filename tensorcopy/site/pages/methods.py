"""A page for each method: its time on every machine, its behaviour by release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tensorcopy.analysis.comparisons import version
from tensorcopy.report.numbers import quantity, size
from tensorcopy.results import related, suite_specs
from tensorcopy.results.passes import Case, Timing
from tensorcopy.results.reader import Result
from tensorcopy.site import addresses
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import Machine, longest_history
from tensorcopy.site.page import Page
from tensorcopy.site.pages.memory import host_peak
from tensorcopy.site.pages.semantics import INPUTS, observed, result_by_release
from tensorcopy.worker.semantics import describe

COUNTED_NUMEL = "1024"  # at which the instructions of every method are shown


@dataclass(frozen=True)
class CaseCost:
    """A case of the method on one machine.

    times_memcpy : None when the baseline was not measured
    """

    case: Case
    suite: str
    timing: Timing
    times_memcpy: float | None
    address: str


@dataclass(frozen=True)
class MethodRelease:
    """The method with one release.

    outcomes : for each of INPUTS; changed : whether each differs from the release before
    peak : memory on the host; instructions : without and with grad; "" when not counted
    """

    release: str
    environment: str
    outcomes: tuple[str, ...]
    changed: tuple[bool, ...]
    peak: str
    instructions: tuple[str, ...]


def pages(content: Content) -> Iterator[Page]:
    """Yield a page for each method, from the machine with the longest history among those that have it."""
    for name in content.methods if content.machine else ():
        machine = longest_history([machine for machine in content.machines if name in machine.methods])
        if machine is None:
            continue
        code = machine.methods[name]["code"]
        values = {
            "name": name,
            "code": code,
            "lead": _lead(machine, name),
            "costs": [(machine, costs) for machine in content.machines if (costs := _costs(machine, name))],
            "releases": _releases(machine, name)[::-1],
        }
        yield Page(addresses.of_method(name), "method.html", code, values, description=f"{code}: {values['lead']}")


def _lead(machine: Machine, name: str) -> str:
    outcome_with_grad = observed(machine.result, name, "with_grad")
    if not outcome_with_grad:
        return "Not observed with the newest torch."
    return f"With torch {machine.newest.version}, for a leaf that requires grad: {describe(outcome_with_grad)}."


def _costs(machine: Machine, name: str) -> list[CaseCost]:
    return [
        CaseCost(
            case=case,
            suite=case.spec.label,
            timing=timing,
            times_memcpy=related.times_memcpy(machine.result, case),
            address=machine.case_address(case),
        )
        for case, timing in machine.result.timings.items()
        if dict(case.parameters).get("method") == name
    ]


def _releases(machine: Machine, name: str) -> list[MethodRelease]:
    rows: list[MethodRelease] = []
    for result in result_by_release(machine):
        outcomes = tuple(describe(seen) if (seen := observed(result, name, kind)) else "not observed" for kind in INPUTS)
        peak = result.counts.get(host_peak(name))
        rows.append(
            MethodRelease(
                release=version(result),
                environment=result.environment,
                outcomes=outcomes,
                changed=tuple(bool(rows) and text != rows[-1].outcomes[index] for index, text in enumerate(outcomes)),
                peak="" if peak is None else size(int(peak)),
                instructions=tuple(_instructions(result, name, grad) for grad in ("False", "True")),
            )
        )
    return rows


def _instructions(result: Result, name: str, grad: str) -> str:
    parameters = (("method", name), ("numel", COUNTED_NUMEL), ("requires_grad", grad))
    suites = [spec.name for spec in suite_specs.counting(suite_specs.INSTRUCTIONS)]
    values = [result.counts[case] for suite in suites if (case := Case(suite, parameters)) in result.counts]
    return quantity(values[0], suite_specs.INSTRUCTIONS) if values else ""
