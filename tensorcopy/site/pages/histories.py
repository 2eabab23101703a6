"""Histories: a page for each case of each machine, and one that leads to them all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from markupsafe import Markup

from tensorcopy.report.case_history import said
from tensorcopy.results import baseline
from tensorcopy.results.load import Case, Result
from tensorcopy.site import addresses
from tensorcopy.site.charts import charts
from tensorcopy.site.filters import circumstances
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.history import History
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.model.result_series import Series
from tensorcopy.site.page import File, Page
from tensorcopy.site.pages import landing
from tensorcopy.site.pages.data import times


def pages(content: Content) -> Iterator[Page | File]:
    values = {
        "machines": content.machines,
        "moved": lambda machine: sorted(
            (release_change for one in machine.series for release_change in landing.changes_by_release(content, one)),
            key=lambda release_change: release_change["date"],
            reverse=True,
        ),
        "cases": _cases,
        "picture": lambda machine, history: Markup(charts.of_group(history, _codes(machine, history))),  # noqa: S704 - our own SVG
        "names": lambda machine, history: list(_codes(machine, history).values()),
    }
    yield Page(addresses.HISTORIES, "histories.html", "Over torch releases", values)
    for machine in content.machines:
        for case in machine.cases:
            yield from _of_case(content, machine, case)


def _of_case(content: Content, machine: Machine, case: Case) -> Iterator[Page | File]:
    address = addresses.of_case(machine.name, case)
    csv = addresses.data(address, "csv")
    shown = [one for one in machine.series if case in one.series_by_case]
    steps = [step for one in shown[:1] for step in one.series_by_case[case].steps]
    names = [one.series_by_case[case].releases[step.index] for one in shown[:1] for step in one.series_by_case[case].steps]
    values = {
        "machine": machine,
        "case": case,
        "suite": case.suite.rpartition(".")[0],
        "shown": shown,
        "ended": f"{len(steps)} step{'s' if len(steps) > 1 else ''}; the last with torch {names[-1]}: {said(steps[-1])}."
        if steps
        else "No step is seen.",
        "floored": charts.reaches_floor(machine, case),
        "floor": baseline.timing(machine.result, case) if baseline.multiple(machine.result, case) else None,
        "svg": Markup(charts.of_case(machine, case, partial(_linked, content, address))),  # noqa: S704 - our own SVG
        "rows": partial(_rows, content, case),
        "csv": csv,
    }
    code = machine.code(dict(case.parameters).get("method", case.suite), case.device)
    yield Page(address, "history.html", f"{code}, {circumstances(case)}", values)
    yield File(csv, times([result for one in shown for result in one.results], [case]))


def _linked(content: Content, here: str, one: Result, other: Result) -> str:
    """A link from the page at `here` to the comparison of two results; "" where there is none."""
    address = content.linked(one, other)
    return addresses.relative(here, address) if address else ""


def _rows(content: Content, case: Case, one: Series) -> list[dict[str, Any]]:
    """A row for each release of a series, the newest first."""
    case_series = one.series_by_case[case]
    steps = {case_series.releases[step.index]: said(step) for step in case_series.steps}
    rows = []
    for index, (release, result) in enumerate(zip(one.releases, one.results)):
        before = one.results[index - 1] if index else None
        address = content.linked(before, result) if before else ""
        rows.append(
            {
                "release": release.version,
                "notes": release.notes,
                "timing": result.timings.get(case),
                "multiple": baseline.multiple(result, case),
                "bandwidth": baseline.bandwidth(result, case),
                "address": address,
                "change": content.comparisons[address].changes.get(case) if address else None,
                "machine_changes": one.machine_changes.get(release.version, []),
                "step": steps.get(release.version, ""),
            }
        )
    return rows[::-1]


def _cases(machine: Machine) -> list[dict[str, Any]]:
    rows = []
    for case in machine.cases:
        one = next((one for one in machine.series if case in one.series_by_case), None)
        if one is not None:
            case_series = one.series_by_case[case]
            rows.append(
                {
                    "case": case,
                    "suite": case.suite.rpartition(".")[0],
                    "address": addresses.of_case(machine.name, case),
                    "timing": one.newest.timings.get(case),
                    "multiple": baseline.multiple(one.newest, case),
                    "steps": case_series.steps,
                    "last": case_series.releases[case_series.steps[-1].index] if case_series.steps else "",
                }
            )
    return rows


def _codes(machine: Machine, history: History) -> dict[str, str]:
    return {method: machine.code(method) for method in history.methods}
