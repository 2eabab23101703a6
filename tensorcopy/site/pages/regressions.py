"""Open regressions: what each method costs against its best release, since when and why; and those that a later release closed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.judge.change_points import Step
from tensorcopy.judge.standings import OpenRegression, Standing
from tensorcopy.report import explanation
from tensorcopy.report.findings import Finding
from tensorcopy.report.sentences import acknowledged_text, against_text, extent_text, margins, step_size
from tensorcopy.results.cases import Case
from tensorcopy.results.suite_specs import SECONDS
from tensorcopy.site import addresses
from tensorcopy.site.changes import CauseLink, cause_link
from tensorcopy.site.content import Content
from tensorcopy.site.documents import findings
from tensorcopy.site.machine import Machine
from tensorcopy.site.page import Page, circumstances
from tensorcopy.site.plots import sparkline

TITLE = "Open regressions"
DESCRIPTION = "What is slower with the newest torch release than with an earlier one, since when and why."


def pages(content: Content) -> Iterator[Page]:
    """Yield the page of each machine; that of the machine with the longest history is the main one."""
    for machine in content.machines or [None]:
        yield _page(content, machine, address_of(content, machine))


def address_of(content: Content, machine: Machine | None) -> str:
    """Return the address of a machine's page."""
    return addresses.of_regressions(machine.name) if machine and machine is not content.machine else addresses.REGRESSIONS


def _page(content: Content, machine: Machine | None, address: str) -> Page:
    known = findings(content)
    values = {
        "machine": machine,
        "others": [(other.name, address_of(content, other)) for other in content.machines if other is not machine],
        "rows": [row(content, machine, regression, known) for regression in machine.regressions] if machine else [],
        "fixed": _fixed(machine) if machine else [],
        "number": len(machine.standings) if machine else 0,
        "margins": margins(each.cost for each in machine.standings.values() if each.cost).replace(" %", "\u202f%") if machine else "",
    }
    return Page(address, "regressions.html", f"{TITLE} on {machine.name}" if machine else TITLE, values, description=DESCRIPTION)


def anchor(regression: OpenRegression) -> str:
    """Return the anchor of a method's regression."""
    device = regression.worst.series.case.device
    return addresses.slug(regression.method if device == "cpu" else f"{regression.method}-{device}")


def code_of(machine: Machine, case: Case) -> str:
    """Return the code of a case, with its device unless that is the CPU."""
    return machine.case_code(case) + ("" if case.device == "cpu" else f" on {case.device}")


def line(machine: Machine, regression: OpenRegression) -> str:
    """Return the sparkline of the worst case, strong since its best release."""
    worst = regression.worst
    return sparkline(worst.series, machine.releases, worst.best or 0, "slower")


def row(content: Content, machine: Machine, regression: OpenRegression, known: tuple[Finding, ...]) -> dict[str, Any]:
    """Return a method with its cases, the largest slowdown that is open in the worst of them, and what explains its slowdowns."""
    worst = regression.worst
    largest = worst.largest
    code = machine.case_code(worst.series.case)
    device = worst.series.case.device
    return {
        "anchor": anchor(regression),
        "code": code,
        "on": "" if device == "cpu" else device,
        "method": regression.method,
        "extent": extent_text(regression),
        "acknowledged": acknowledged_text(regression),
        "line": line(machine, regression),
        "release": worst.series.releases[largest.index] if largest else "",
        "size": f"{step_size(largest, SECONDS)}{against_text(largest)}" if largest else "",
        "explained": list(_explained(content, machine, regression, known)),
        "cases": [_case(content, machine, each) for each in regression.standings],
    }


def _case(content: Content, machine: Machine, standing: Standing) -> dict[str, Any]:
    """Return a case with its cost, and each of its slowdowns with the comparison that shows it."""
    series = standing.series
    return {
        "circumstances": circumstances(series.case),
        "address": machine.case_address(series.case),
        "times": standing.times,
        "best": standing.best_release,
        "cost": standing.cost,
        "acknowledged": acknowledged_text(standing),
        "since": [
            (
                series.releases[step.index],
                f"{step_size(step, SECONDS)}{against_text(step)}",
                content.comparison_address(*series.sides(step.index)),
            )
            for step in standing.open
        ],
    }


def _explained(content: Content, machine: Machine, regression: OpenRegression, known: tuple[Finding, ...]) -> Iterator[dict[str, Any]]:
    """Yield the largest open slowdown of the worst case that has a profile, and each that has a finding; the largest first.

    Each has its release, its findings, its functions, and the issue to file about it; "" where none can be.
    """
    series = regression.worst.series
    code, has_functions = machine.case_code(series.case), False
    for largest in sorted(regression.worst.open, key=lambda step: -step.ratio):
        before, release = (result.version for result in series.sides(largest.index))
        links = [
            link
            for each in regression.standings
            for step in each.open
            if each.series.releases[step.index] == release
            and (link := cause_link(machine.causes, each.series.sides(step.index)[1], each.series.case))
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
    before, after = link.change.before, link.change.after
    case = machine.profiled[link.change.name]
    comparison = content.comparison_address(before, after)
    time = content.comparisons[comparison].changes.get(case) if comparison else None
    cause = explanation.of_results(before, after, link.change.name, link.change.difference, time, case)
    try:
        return explanation.issue(cause, content.web.absolute(machine.case_address(case)))
    except TensorcopyError:
        return ""


def _fixed(machine: Machine) -> list[dict[str, Any]]:
    """Return the slowdowns that a later release took back by method, each with its largest and its interval, the largest of all first."""
    groups: dict[tuple[str, str, str], list[tuple[Step, Case]]] = {}
    for standing in machine.standings.values():
        case, releases = standing.series.case, standing.series.releases
        for step in standing.closed:
            key = code_of(machine, case), releases[step.index], releases[step.until or 0]
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
