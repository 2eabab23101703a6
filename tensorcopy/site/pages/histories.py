"""Histories: a page for each case of each machine, and an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup

from tensorcopy.analysis.change_points import Step
from tensorcopy.analysis.confirmation import Status
from tensorcopy.analysis.series import CaseSeries
from tensorcopy.analysis.verdict import Change
from tensorcopy.report.case_history import step_text
from tensorcopy.results import baseline, counts
from tensorcopy.results.load import Case, Result
from tensorcopy.results.passes import Timing
from tensorcopy.site import addresses
from tensorcopy.site.charts import charts
from tensorcopy.site.data_files.times_csv import times_csv
from tensorcopy.site.filters import circumstances
from tensorcopy.site.model.changes import count_changes, machine_changes
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.history import History
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.model.result_series import Series
from tensorcopy.site.page import File, Page

STATUS = {
    Status.CONFIRMED_BY_COUNT: "confirmed by an exact count",
    Status.CONFIRMED: "confirmed by a repeat measurement",
    Status.REJECTED: "not confirmed",
    Status.UNCONFIRMED: "not yet confirmed",
}


@dataclass(frozen=True)
class CaseRow:
    """A case in the index: its newest time and the changes since the first release."""

    case: Case
    suite: str
    address: str
    timing: Timing | None
    unit: str
    times_memcpy: float | None
    steps: Sequence[Step]
    last_release: str  # of the last change; "" without one


@dataclass(frozen=True)
class HistoryRow:
    """A case with one release of a series.

    comparison_address, change : against the release before
    machine_changes : differences of the machine from the release before
    step : the change detected at this release, in words; "" for none
    """

    release: str
    notes: str
    timing: Timing | None
    passes: int
    times_memcpy: float | None
    bandwidth: float | None
    comparison_address: str
    change: Change | None
    machine_changes: Sequence[str]
    step: str


def pages(content: Content) -> Iterator[Page]:
    """Yield the index of times and, where anything was counted, the one of counts."""
    values = {
        "machines": content.machines,
        "changes": partial(machine_changes, content),
        "cases": partial(_case_rows, timed=True),
        "plot": lambda machine, history: Markup(charts.of_group(history, _codes(machine, history))),  # noqa: S704 - our own SVG
        "codes": lambda machine, history: list(_codes(machine, history).values()),
    }
    yield Page(addresses.HISTORIES, "histories.html", "History over torch releases", values)
    counting = [machine for machine in content.machines if machine.counts_instructions]
    counted = {"machines": counting, "changes": partial(count_changes, content), "cases": partial(_case_rows, timed=False)}
    yield from [Page(addresses.COUNTS, "counts.html", "Exact counts over torch releases", counted)] if counting else []


def machine_pages(content: Content, machine: Machine) -> Iterator[Page | File]:
    """Yield a page and a CSV for each case of a machine."""
    for case in machine.cases:
        yield from _case_page(content, machine, case)


def _case_page(content: Content, machine: Machine, case: Case) -> Iterator[Page | File]:
    address = addresses.of_case(machine.name, case)
    csv_address = addresses.data(address, "csv")
    all_series = [series for series in machine.series if case in series.series_by_case]
    has_baseline = baseline.times_memcpy(machine.result, case) is not None
    values = {
        "machine": machine,
        "case": case,
        "suite": case.suite.rpartition(".")[0],
        "all_series": all_series,
        "conclusion": _conclusion(machine, case),
        "unit": counts.unit_of(case),
        "joints": machine.history[case].joints,
        "scaled": _scaled(machine.history[case]),
        "count_address": _count_address(machine, case),
        "shows_baseline": charts.shows_baseline(machine, case),
        "baseline": baseline.timing_of(machine.result, case) if has_baseline else None,
        "svg": Markup(charts.of_case(machine, case, partial(_comparison_link, content, address))),  # noqa: S704 - our own SVG
        "rows": partial(_release_rows, content, machine, case),
        "csv": csv_address,
    }
    code = machine.code(dict(case.parameters).get("method", case.suite), case.device)
    yield Page(address, "history.html", f"{code}, {circumstances(case)}", values)
    yield File(csv_address, times_csv([result for series in all_series for result in series.results], [case]))


def _conclusion(machine: Machine, case: Case) -> str:
    """Return the detected changes of a case as a sentence."""
    case_series = machine.history[case]
    if not case_series.steps:
        return "No change detected over the releases."
    last, number = case_series.steps[-1], len(case_series.steps)
    changes = f"{number} changes detected, the last" if number > 1 else "1 change detected,"
    text = step_text(last, case_series.releases, case_series.unit)
    return f"{changes} with torch {case_series.releases[last.index]}: {text} ({STATUS[machine.status(case, last)]})."


def _scaled(case_series: CaseSeries) -> str:
    """Return how the Pythons are joined, as a sentence; "" for one Python."""
    sentences = [
        f"Before torch {case_series.releases[joint.index]}, levels and changes are those of Python {joint.older.python}, "
        f"scaled by {joint.factor:.3f}, the ratio of the two Pythons with that release."
        for joint in case_series.joints
    ]
    return " ".join(sentences)


def _count_address(machine: Machine, case: Case) -> str:
    """Return the address of the history of a timed case's instructions; "" without one."""
    counted = counts.case_of(case)
    return addresses.of_case(machine.name, counted) if counted in machine.history else ""


def _comparison_link(content: Content, page: str, before: Result, after: Result) -> str:
    """Return the link from a page to a comparison; "" when it has no page."""
    address = content.comparison_address(before, after)
    return addresses.relative(page, address) if address else ""


def _release_rows(content: Content, machine: Machine, case: Case, series: Series) -> list[HistoryRow]:
    """Return a row for each release of a series, the newest first."""
    steps = _steps_in(machine, series, case)
    rows = []
    for index, (release, result) in enumerate(zip(series.releases, series.results)):
        address = content.comparison_address(series.results[index - 1], result) if index else ""
        rows.append(
            HistoryRow(
                release=release.version,
                notes=release.notes,
                timing=counts.measured(result, case),
                passes=counts.passes(result, case),
                times_memcpy=baseline.times_memcpy(result, case),
                bandwidth=baseline.bandwidth(result, case),
                comparison_address=address,
                change=content.comparisons[address].changes.get(case) if address else None,
                machine_changes=series.machine_changes.get(release.version, ()),
                step=steps.get(release.version, ""),
            )
        )
    return rows[::-1]


def _steps_in(machine: Machine, series: Series, case: Case) -> dict[str, str]:
    """Return the detected changes that belong to a series, by release, with their status."""
    case_series = machine.history[case]
    texts = {}
    for step in case_series.steps:
        if case_series.sides(step)[1].environment == series.environment:
            text = step_text(step, case_series.releases, case_series.unit)
            texts[case_series.releases[step.index]] = f"{text} ({STATUS[machine.status(case, step)]})"
    return texts


def _case_rows(machine: Machine, *, timed: bool) -> list[CaseRow]:
    """Return a row for each timed or counted case, from the first series that has it."""
    rows = []
    for case in machine.cases:
        if (counts.unit_of(case) == counts.SECONDS) is not timed:
            continue
        series = next(series for series in machine.series if case in series.series_by_case)
        case_series = machine.history[case]
        steps = case_series.steps
        rows.append(
            CaseRow(
                case=case,
                suite=case.suite.rpartition(".")[0],
                address=addresses.of_case(machine.name, case),
                timing=counts.measured(series.newest, case),
                unit=case_series.unit,
                times_memcpy=baseline.times_memcpy(series.newest, case),
                steps=steps,
                last_release=case_series.releases[steps[-1].index] if steps else "",
            )
        )
    return rows


def _codes(machine: Machine, history: History) -> dict[str, str]:
    return {method: machine.code(method) for method in history.methods}
