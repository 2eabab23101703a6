"""The histories: an index for each machine with its changes and all cases, and a page for each case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from markupsafe import Markup

from tensorcopy.judge.case_history import CaseHistory
from tensorcopy.numbers import duration_range, quantity, value_range
from tensorcopy.report.sentences import device_lines, no_change_of_case, over_releases
from tensorcopy.results import suite_specs
from tensorcopy.results.cases import Case
from tensorcopy.results.result import Result
from tensorcopy.site import addresses, history_chart, plots
from tensorcopy.site.case_tables import index_sections
from tensorcopy.site.changes import CaseChange, cause_link
from tensorcopy.site.content import Content, MachineChange, changes_of
from tensorcopy.site.documents import Finding, findings
from tensorcopy.site.machine import Machine
from tensorcopy.site.page import Page, circumstances

TITLE = "History over torch releases"


def pages(content: Content) -> Iterator[Page]:
    """Yield the index of a site without results; with any, it is a machine's."""
    if not content.machines:
        yield Page(addresses.HISTORIES, "histories.html", TITLE, {"machines": (), "machine": None}, description="Nothing is measured yet.")


def _indices(content: Content, machine: Machine) -> Iterator[Page]:
    """Yield the index of a machine's times and, where anything was counted, the one of its counts."""
    address, of_counts = content.histories_address(machine), content.counts_address(machine)
    shared = {"machines": content.machines, "machine": machine, "histories": address}
    values = {
        "changes": _changes(content, machine),
        "sections": index_sections(machine, suite_specs.TIME),
        "tracked": index_sections(machine, suite_specs.TRACKED),
        "pictures": plots.pictures(machine),
        "regressions": content.regressions_address(machine, next(iter(machine.devices), "cpu")),
        "counts": of_counts,
    }
    over = f"over {over_releases(machine.releases)} on {machine.name}"
    description = f"The times of every case {over}, with the newest change of each."
    yield Page(address, "histories.html", f"{TITLE} on {machine.name}", {**shared, **values}, description=description)
    if of_counts:
        counted = {"changes": _changes(content, machine, counted=True), "sections": index_sections(machine, "")}
        title, description = (
            f"Exact counts over torch releases on {machine.name}",
            f"Instructions, bytes and allocations of every case {over}.",
        )
        yield Page(of_counts, "counts.html", title, {**shared, **counted}, description=description)


def _changes(content: Content, machine: Machine, *, counted: bool = False) -> list[list[MachineChange]]:
    """Return changes by release, in their order of releases; with each, copies and conversions before all others."""
    by_release: dict[str, list[MachineChange]] = {}
    for change in changes_of(content, machine, counted=counted):
        by_release.setdefault(change.release, []).append(change)
    modules = {name: index for index, name in enumerate(suite_specs.sections())}
    return [sorted(changes, key=lambda change: modules.get(change.change.group.module, len(modules))) for changes in by_release.values()]


def machine_pages(content: Content, machine: Machine) -> Iterator[Page]:
    """Yield the indices of a machine, and a page for each case; one whose count is on the page of a time has none."""
    yield from _indices(content, machine)
    known = findings(content)
    for case in machine.cases:
        if case not in machine.timed_by_count:
            yield _case_page(content, machine, known, case)


def _case_page(content: Content, machine: Machine, known: Sequence[Finding], case: Case) -> Page:
    counted = machine.count_of(case)
    rows = _release_rows(content, machine, case, counted)
    history = machine.history[case]
    changed = [[result.version for result in history.sides_of(step)] for step in history.all_steps]
    regression = anatomy_of = svg = ""
    if case in machine.open_cases:
        regression = content.regression_address(machine.devices[case.device], machine.open_cases[case])
    if (counted or case).spec.metric == suite_specs.INSTRUCTIONS and case["method"] in machine.counted_methods:
        anatomy_of = "instructions"
    elif any(case in result.parts for result in history.results):
        anatomy_of = "time"
    if any(row.measured for row in rows):
        svg = Markup(plots.of_case(machine, case, lambda change: f"#{anchor(machine, change.release, change.environment)}"))  # noqa: S704 - our own SVG
    values = {
        "machine": machine,
        "histories": content.histories_address(machine),
        "case": case,
        "suite": case.spec.label,
        "machines": other_machines(content.machines, machine, case),
        "explorer": history_chart.link(machine, case) if history_chart.place_of(machine, case) else "",
        "unit": case.spec.unit,
        "value_name": {suite_specs.TIME: "time", suite_specs.TRACKED: "value"}.get(case.spec.metric, case.spec.unit),
        "changes": machine.case_changes[case],
        "no_change": no_change_of_case(history),
        "standing": machine.standings.get(case),
        "regression": regression,
        "seen": next(((row.release, row.pair.detectable) for row in rows if row.pair and row.pair.detectable), None),
        "findings": [finding for finding in known if any(finding.is_about(machine.case_code(case), *versions) for versions in changed)],
        "count_changes": machine.case_changes[counted] if counted else (),
        "counted": counted,
        "anatomy_of": anatomy_of,
        "svg": svg,
        "pythons": [python_of(machine, series.newest) for series in machine.series if case in series.cases],
        "unpaired": [release for release, is_unpaired in zip(history.releases, history.unpaired) if is_unpaired],
        "device_lines": device_lines(_provenances(history), case.device),
        "linear": any(row.measured and row.measured.value <= 0 for row in rows),
        "releases": len({row.release for row in rows if row.measured or row.count}),
        "scaled": _scaled(history),
        "shows_baseline": plots.shows_baseline(machine, case),
        "baseline": machine.result.baseline_timing(case) if machine.result.times_memcpy(case) is not None else None,
        "counted_with": " or ".join(sorted({row.cause.of for row in rows if row.cause and row.cause.of})),
        "rows": rows,
    }
    title = f"{machine.case_code(case)}, {circumstances(case)} on {machine.name}"
    description = f"{title}: {_summary(rows, machine.case_changes[case], history)}"
    return Page(machine.case_address(case), "history.html", title, values, description=description)


def _summary(rows: Sequence[SimpleNamespace], changes: Sequence[CaseChange], history: CaseHistory) -> str:
    """Return the newest value of a case, over which releases it was measured, and its newest change, as a sentence."""
    measured = [row for row in rows if row.measured]
    releases = list(dict.fromkeys(row.release for row in reversed(measured)))
    newest = f"{quantity(measured[0].measured.value, history.unit)} with torch {releases[-1]}; " if measured else ""
    change = f"{changes[-1].text} with {changes[-1].release}" if changes else no_change_of_case(history)
    return f"{newest}{over_releases(releases)}; {change}."


def _provenances(history: CaseHistory) -> list[tuple[str, dict[str, Any]]]:
    """Return the provenance of each release that has a case: that of the launches whose values it has."""
    measured = [(result, value) for result, value in zip(history.results, history.values) if value is not None]
    return [(result.version, result.provenance_in(result.under.get(history.case, ""))) for result, _ in measured]


def python_of(machine: Machine, result: Result) -> str:
    """Return the Python of a result, with the build where several were measured."""
    return result.python if len(machine.builds) == 1 else result.environment


def anchor(machine: Machine, release: str, environment: str) -> str:
    """Return the anchor of a release's row: "2.15.0", with the environment unless it is the first's."""
    return addresses.slug(release if environment == machine.series[0].environment else f"{release}-{environment}")


def _scaled(history: CaseHistory) -> str:
    """Return how the Pythons are joined, as a sentence; "" for one Python."""
    sentences = [
        f"Before torch {history.releases[joint.index]}, changes are those of Python {joint.older.python}, whose times are drawn as "
        f"measured. With that release, Python {history.results[joint.index].python} takes {joint.factor:.3f} times as long as "
        f"{joint.older.python}."
        for joint in history.joints
    ]
    return " ".join(sentences)


def _release_rows(content: Content, machine: Machine, case: Case, counted: Case | None) -> list[SimpleNamespace]:
    """Return a row for each release that measured a case, the newest first, with the newest Python that decides there.

    An older Python has another row only where it changed or failed.

    anchor : of the row
    failure : what the case raised in its last launch
    extent : the shortest and the longest time of a launch, or the range of a tracked value
    unpaired : whether its launches had it alone, while those of other releases had several
    pair, pair_address : the comparison with the release before on this Python
    change : the change detected at this release; None for none
    count, count_change : the same of the instructions
    cause : the link to the functions behind that change; None where nothing changed, or where they were not counted
    """
    order = {version: index for index, version in enumerate(machine.releases)}
    changes, count_changes = (
        {(change.release, change.environment): change for change in (machine.case_changes[key] if key else ())} for key in (case, counted)
    )
    history = machine.history[case]
    unpaired = {result.place for result, is_unpaired in zip(history.results, history.unpaired) if is_unpaired}
    joined, joins = dict(zip(machine.history[case].releases, machine.history[case].results)), machine.joined_series
    rows: list[SimpleNamespace] = []
    for series in machine.series:
        before: Result | None = None
        for release, result in zip(series.releases, series.results):
            address = content.comparison_address(before, result) if before else ""
            before = result
            measured, count = result.measured(case), result.measured(counted) if counted else None
            failure = result.failures.get(case, "")
            place = release.version, series.environment
            if measured is None and count is None and not failure:
                continue
            is_followed = series in joins and joined.get(release.version, result) is not result
            if is_followed and not failure and place not in changes and place not in count_changes:
                continue
            rows.append(
                SimpleNamespace(
                    release=release.version,
                    python=python_of(machine, result),
                    anchor=anchor(machine, *place),
                    measured=measured,
                    failure=failure,
                    extent=value_range(result.count_repeats[case], case.spec.unit)
                    if case in result.count_repeats and case.tracked
                    else duration_range(plots.launch_times(result, case)),
                    unpaired=result.place in unpaired,
                    pair=content.comparisons[address].changes.get(case) if address else None,
                    pair_address=address,
                    change=changes.get(place),
                    count=count,
                    count_change=count_changes.get(place),
                    cause=cause_link(machine.causes, result, case) if place in changes or place in count_changes else None,
                )
            )
    return sorted(rows, key=lambda row: order[row.release], reverse=True)


OTHER_MACHINES = 4  # that a page links to: no page grows with the number of machines


def other_machines(machines: Sequence[Machine], machine: Machine, case: Case) -> list[tuple[str, str]]:
    """Return the name of each other machine with the address of the same case, and the list of all when there are more of them."""
    others = [(other.name, other.case_address(case)) for other in machines if other is not machine and other.has(case)]
    return others if len(others) <= OTHER_MACHINES else [*others[:OTHER_MACHINES], ("all machines", addresses.HISTORIES)]
