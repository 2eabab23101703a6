"""Open regressions by device: what each method costs against its best release, since when and why; and those that were closed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.judge.case_history import Age, Standing
from tensorcopy.judge.change_points import Step
from tensorcopy.judge.groups import OpenRegression, by_age
from tensorcopy.numbers import counted
from tensorcopy.report import explanation
from tensorcopy.report.sentences import (
    acknowledged_text,
    against_earlier,
    against_text,
    age_text,
    ages_text,
    cost_extent_text,
    extent_text,
    margins,
    owner_noun,
    step_size,
)
from tensorcopy.results.cases import Case
from tensorcopy.results.suite_specs import SECONDS
from tensorcopy.site import addresses
from tensorcopy.site.changes import CauseLink, cause_link
from tensorcopy.site.content import Content
from tensorcopy.site.documents import Finding, findings
from tensorcopy.site.machine import DeviceResults, Machine
from tensorcopy.site.page import Page, circumstances
from tensorcopy.site.plots import since_best

TITLE = "Open regressions"


def pages(content: Content) -> Iterator[Page]:
    """Yield the page of every device, and one for each machine with other results; the addresses of machines' pages are stable."""
    yield _page(content, content.devices, addresses.REGRESSIONS)
    for machine in content.machines:
        if _has_own_page(content, machine):
            yield _page(content, _every(machine), addresses.of_regressions(machine.name))


def _every(machine: Machine) -> tuple[DeviceResults, ...]:
    return tuple(machine.devices.values()) or (DeviceResults(machine, "cpu"),)


def _has_own_page(content: Content, machine: Machine) -> bool:
    """Return whether a machine has a page of its own: all but the main one, and that too with a device that another answers for."""
    return machine is not content.machine or any(
        content.regressions_address(machine, each.device) != addresses.REGRESSIONS for each in _every(machine)
    )


def _page(content: Content, shown: Sequence[DeviceResults], address: str) -> Page:
    known = findings(content)
    others = [machine for machine in content.machines if machine not in [each.machine for each in shown]]
    elsewhere = [(machine.name, addresses.of_regressions(machine.name)) for machine in others if _has_own_page(content, machine)]
    values = {
        "devices": [_of_device(content, results, known) for results in shown],
        "others": [*([] if address == addresses.REGRESSIONS else [("all devices", addresses.REGRESSIONS)]), *elsewhere],
    }
    on = "" if address == addresses.REGRESSIONS else f" on {shown[0].machine.name}"
    description = f"What is slower{on} with the newest torch release than with an earlier one, since when and why."
    return Page(address, "regressions.html", f"{TITLE}{on}", values, description=description)


def _of_device(content: Content, results: DeviceResults, known: tuple[Finding, ...]) -> dict[str, Any]:
    """Return the part of the page about a device."""
    newest = results.newest.version
    groups = [
        (heading := age_text(age, newest), [row(content, results, each, heading, known) for each in of_age])
        for age, of_age in by_age(results.regressions).items()
    ]
    by_method: dict[str, list[dict[str, Any]]] = {}
    for each in (each for _, rows in groups for each in rows):
        by_method.setdefault(each["method"], []).append(each)
    return {
        "results": results,
        "machine": results.machine,
        "anchor": results.anchor,
        "suffix": "" if results.device == "cpu" else f"-{results.device}",
        "groups": groups,
        "by_method": [*by_method.values()],
        "new_against": against_earlier(results.regressions),
        "methods": counted(len(results.regressions), noun := owner_noun(results.standings)),
        "noun": noun,
        "open": sum(len(each.standings) for each in results.regressions),
        "ages": ages_text(results.regressions),
        "new": sum(standing.age is Age.NEW for regression in results.regressions for standing in regression.standings),
        "fixed": _fixed(results),
        "number": len(results.standings),
        "margins": margins(each.cost for each in results.standings.values() if each.cost).replace(" %", "\u202f%"),
    }


def row(content: Content, results: DeviceResults, regression: OpenRegression, heading: str, known: tuple[Finding, ...]) -> dict[str, Any]:
    """Return a method with its cases of one age, the largest slowdown of that age and the largest cost, and what explains its slowdowns."""
    worst, slowed, machine = regression.worst, regression.slowed_most, results.machine
    return {
        "anchor": results.regression_anchor(regression),
        "code": machine.case_code(worst.history.case),
        "method": regression.method,
        "heading": heading,
        "extent": extent_text(regression),
        "cost": cost_extent_text(regression),
        "acknowledged": acknowledged_text(regression),
        "line": since_best(worst, results.releases),
        "release": slowed.history.releases[slowed.latest.index] if slowed.latest else "",
        "explained": list(_explained(content, machine, regression, known)),
        "cases": [_case(content, machine, each) for each in regression.standings],
    }


def _case(content: Content, machine: Machine, standing: Standing) -> dict[str, Any]:
    """Return a case with its cost, and each of its slowdowns with the comparison that shows it."""
    history = standing.history
    return {
        "circumstances": circumstances(history.case),
        "address": machine.case_address(history.case),
        "times": standing.times,
        "best": standing.best_release,
        "cost": standing.cost,
        "unpaired": standing.is_unpaired,
        "acknowledged": acknowledged_text(standing),
        "since": [
            (
                history.releases[step.index],
                f"{step_size(step, SECONDS)}{against_text(step)}",
                content.comparison_address(*history.sides(step.index)),
            )
            for step in standing.open
        ],
    }


def _explained(content: Content, machine: Machine, regression: OpenRegression, known: tuple[Finding, ...]) -> Iterator[dict[str, Any]]:
    """Yield the open slowdowns of the case with the largest that are explained: the first that has a profile, and each that has a finding.

    The one that is shown with the method comes first, then the largest. Each has its release, its findings, its functions, and the issue
    to file about it; "" where none can be.
    """
    slowed = regression.slowed_most
    history, shown = slowed.history, slowed.latest
    code, has_functions = machine.case_code(history.case), False
    for largest in sorted(slowed.open, key=lambda step: (step is not shown, -step.ratio)):
        before, release = (result.version for result in history.sides(largest.index))
        links = [
            link
            for each in regression.standings
            for step in each.open
            if each.history.releases[step.index] == release
            and (link := cause_link(machine.causes, each.history.sides(step.index)[1], each.history.case))
            and link.change.difference.total > 0
        ]
        link = min(links, key=lambda link: bool(link.of), default=None)  # the case itself before a similar one
        about = [finding for finding in known if finding.is_about(code, before, release)]
        if about or (link and not has_functions):
            has_functions = has_functions or link is not None
            yield {
                "release": release,
                "findings": about,
                "cause": link,
                "sentence": explanation.sentence(link.change.difference) if link else "",
                "issue": _issue(content, machine, link) if link and not link.of else "",
            }


def _issue(content: Content, machine: Machine, link: CauseLink) -> str:
    """Return an issue about the case whose functions were counted; "" for none."""
    address = machine.case_address(machine.profiled[link.change.name])
    try:
        return explanation.issue(content.cause_of(machine, link.change), content.web.absolute(address))
    except TensorcopyError:
        return ""


def _fixed(results: DeviceResults) -> list[dict[str, Any]]:
    """Return the slowdowns that a later release took back by method, each with its largest and its interval, the largest of all first."""
    groups: dict[tuple[str, str, str], list[tuple[Step, Case]]] = {}
    machine = results.machine
    for standing in results.standings.values():
        case, releases = standing.history.case, standing.history.releases
        for step in standing.closed:
            key = machine.case_code(case), releases[step.index], releases[step.until or 0]
            groups.setdefault(key, []).append((step, case))
    rows = []
    for (code, release, until), members in groups.items():
        step, case = max(members, key=lambda member: member[0].ratio)
        address = machine.case_address(case)
        rows.append(
            {
                "code": code,
                "release": release,
                "until": until,
                "step": step,
                "size": step_size(step, SECONDS),
                "cases": len(members),
                "address": address,
            }
        )
    return sorted(rows, key=lambda row: -row["step"].ratio)
