"""The history of each case of each machine, with that of its instructions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from tensorcopy.analysis.series import CaseSeries
from tensorcopy.analysis.two_sample import Change
from tensorcopy.results import related
from tensorcopy.results.passes import Case, Timing
from tensorcopy.site import addresses, plots
from tensorcopy.site.data_files import case_csv
from tensorcopy.site.filters import circumstances
from tensorcopy.site.model import explorer
from tensorcopy.site.model.cases import counted_changes
from tensorcopy.site.model.cases.case_changes import CaseChange
from tensorcopy.site.model.cases.counted_changes import CauseLink
from tensorcopy.site.model.cases.siblings import Places, other_machines
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.history import release_versions
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.page import File, Page


@dataclass(frozen=True)
class ReleaseRow:
    """A case with one release on one Python.

    python : its version, with the build where several were measured
    anchor : of the row
    notes : the address of the release notes, where something changed; else ""
    pair, pair_address : the comparison with the release before on this Python
    machine_changes : differences of the machine from that release
    change : the change detected at this release; None for none
    count, count_change : the same of the instructions
    cause : the link to the functions behind that change; None where nothing changed, or where they were not counted
    """

    release: str
    python: str
    anchor: str
    notes: str
    timing: Timing | None
    passes: int
    times_memcpy: float | None
    pair: Change | None
    pair_address: str
    machine_changes: Sequence[str]
    change: CaseChange | None
    count: Timing | None
    count_change: CaseChange | None
    cause: CauseLink | None


def pages(content: Content) -> Iterator[Page | File]:
    """Yield nothing: every history belongs to a machine."""
    yield from ()


def machine_pages(content: Content, machine: Machine) -> Iterator[Page | File]:
    """Yield a page and a CSV for each case of a machine; one whose count is on the page of a time has none."""
    places = Places.of_machine(machine)
    for case in machine.cases:
        if case not in machine.timed_by_count:
            yield from _case_page(content, places, case)


def _case_page(content: Content, places: Places, case: Case) -> Iterator[Page | File]:
    machine = places.machine
    address, counted = machine.case_address(case), machine.count_of(case)
    csv_address = addresses.data(address, "csv")
    rows = _rows(content, machine, case, counted)
    values = {
        "machine": machine,
        "case": case,
        "suite": case.spec.label,
        "siblings": places.siblings(case),
        "machines": other_machines(content.machines, machine, case),
        "explorer": explorer.link(machine, case) if explorer.place_of(machine, case) else "",
        "unit": case.spec.unit,
        "changes": machine.case_changes[case],
        "count_changes": machine.case_changes[counted] if counted else (),
        "svg": _svg(content, machine, case, address, above=counted is not None),
        "count_svg": _svg(content, machine, counted, "", below=True) if counted else "",
        "pythons": list(dict.fromkeys(row.python for row in rows)),
        "releases": len({row.release for row in rows}),
        "scaled": _scaled(machine.history[case]),
        "shows_baseline": plots.shows_baseline(machine, case),
        "baseline": related.baseline_timing(machine.result, case) if related.times_memcpy(machine.result, case) is not None else None,
        "counted_with": " or ".join(sorted({row.cause.of for row in rows if row.cause and row.cause.of})),
        "rows": rows,
        "csv": csv_address,
    }
    code = machine.case_code(case)
    yield Page(address, "history.html", f"{code}, {circumstances(case)}", values)
    yield File(csv_address, case_csv(machine, case))


def _svg(content: Content, machine: Machine, case: Case, page: str, *, above: bool = False, below: bool = False) -> Markup:
    """Return the drawing of a case: a change leads to the comparison that shows it, or to its row.

    page : the address from which a change leads to a comparison
    """

    def change_link(change: CaseChange) -> str:
        address = _comparison_address(content, machine, change) if page else ""
        return addresses.relative(page, address) if address else f"#{anchor(machine, change.release, change.environment)}"

    return Markup(plots.of_case(machine, case, change_link, above=above, below=below))  # noqa: S704 - our own SVG


def _comparison_address(content: Content, machine: Machine, change: CaseChange) -> str:
    """Return the address of the comparison of the releases between which a change lies; "" when they have no page."""
    for series in machine.series:
        for release, (before, after) in zip(series.releases[1:], pairwise(series.results)):
            if (release.version, series.environment) == (change.release, change.environment):
                return content.comparison_address(before, after)
    return ""


def anchor(machine: Machine, release: str, environment: str) -> str:
    """Return the anchor of a release's row: "2.15.0", with the environment unless it is the first's."""
    return addresses.slug(release if environment == machine.series[0].environment else f"{release}-{environment}")


def _scaled(case_series: CaseSeries) -> str:
    """Return how the Pythons are joined, as a sentence; "" for one Python."""
    sentences = [
        f"Before torch {case_series.releases[joint.index]}, changes are those of Python {joint.older.python}, whose times are drawn as "
        f"measured. With that release, Python {case_series.results[joint.index].python} takes {joint.factor:.3f} times as long as "
        f"{joint.older.python}."
        for joint in case_series.joints
    ]
    return " ".join(sentences)


def _rows(content: Content, machine: Machine, case: Case, counted: Case | None) -> list[ReleaseRow]:
    """Return a row for each release and Python that measured a case, the newest release first."""
    order = {version: index for index, version in enumerate(release_versions(machine.series))}
    changes, count_changes = (_by_place(machine.case_changes[key]) if key else {} for key in (case, counted))
    one_build = len({result.series_key.build for result in machine.results}) == 1
    rows = []
    for series in machine.series:
        previous = {after.path: before for before, after in pairwise(series.results)}
        for release, result in zip(series.releases, series.results):
            timing, count = related.measured(result, case), related.measured(result, counted) if counted else None
            if timing is None and count is None:
                continue
            place, before = (release.version, series.environment), previous.get(result.path)
            address = content.comparison_address(before, result) if before else ""
            rows.append(
                ReleaseRow(
                    release=release.version,
                    python=result.python if one_build else result.environment,
                    anchor=anchor(machine, release.version, series.environment),
                    notes=release.notes if place in changes else "",
                    timing=timing,
                    passes=related.passes(result, case),
                    times_memcpy=related.times_memcpy(result, case),
                    pair=content.comparisons[address].changes.get(case) if address else None,
                    pair_address=address,
                    machine_changes=series.machine_changes.get(release.version, ()),
                    change=changes.get(place),
                    count=count,
                    count_change=count_changes.get(place),
                    cause=counted_changes.link_of(machine.causes, result, case) if place in changes or place in count_changes else None,
                )
            )
    return sorted(rows, key=lambda row: order[row.release], reverse=True)


def _by_place(changes: Sequence[CaseChange]) -> dict[tuple[str, str], CaseChange]:
    return {(change.release, change.environment): change for change in changes}
