"""The history explorer: a page for each machine, and its whole history as scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tensorcopy.report.numbers import quantity
from tensorcopy.results import suite_specs
from tensorcopy.results.passes import Case
from tensorcopy.site import addresses, plots
from tensorcopy.site.filters import circumstances
from tensorcopy.site.model import explorer
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import History, Machine
from tensorcopy.site.page import File, Page

TIMES, COUNTS = "times", "counts"


@dataclass(frozen=True)
class LinkTable:
    """Links to the histories of one suite: a row for each method, a column for each of its other parameters.

    cells : by method and column, the text and the address; the text is the newest value
    """

    suite: str
    methods: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], tuple[str, str]]


def pages(content: Content) -> Iterator[Page | File]:
    """Yield nothing: every explorer belongs to a machine."""
    yield from ()


def machine_pages(content: Content, machine: Machine) -> Iterator[Page | File]:
    """Yield the explorer of a machine and its data."""
    machines = [[each.name, addresses.of_explorer(each.name).removesuffix("index.html")] for each in content.machines]
    timed = [case for case in machine.cases if case.spec.timed]
    counted = [case for case in machine.cases if not case.spec.timed]
    yield _page(content, machine, counted)
    for name, cases in ((TIMES, timed), (COUNTS, counted)):
        data = {**explorer.chart_data(machine, cases, content.comparison_address), "machines": machines, "quantity": name}
        yield File(addresses.of_history_data(machine.name, name), f"tensorHistory.receive({explorer.json_text(data)});\n")


def _page(content: Content, machine: Machine, counted: Sequence[Case]) -> Page:
    """Return the page: the chart, and what is shown without scripts."""
    places = [place for case in counted if (place := explorer.place_of(machine, case))]
    values = {
        "machine": machine,
        "charted": any(explorer.place_of(machine, case) for case in machine.cases),
        "machines": content.machines,
        "times": addresses.of_history_data(machine.name, TIMES),
        "units": list(dict.fromkeys(place.quantity for place in places)),
        "plots": list(_plots(machine)),
        "tables": _link_tables(machine),
        "explorer_address": addresses.of_explorer,
        "data": [("CSV", addresses.of_machine_data(machine.name, "csv")), ("JSON", addresses.of_machine_data(machine.name, "json"))],
    }
    return Page(addresses.of_explorer(machine.name), "explorer.html", f"History explorer: {machine.name}", values)


def _plots(machine: Machine) -> Iterator[tuple[History, dict[str, str], Markup]]:
    """Yield the drawings without scripts, with the code of each line."""
    for history in machine.histories:
        codes = {method: machine.code(method) for method in history.methods}
        yield history, codes, Markup(plots.of_group(history, codes).svg())  # noqa: S704 - our own SVG


def _link_tables(machine: Machine) -> list[LinkTable]:
    """Return a table of links for each suite, times first."""
    by_suite: dict[str, list[Case]] = {}
    for case in machine.cases:
        by_suite.setdefault(case.suite, []).append(case)
    suites = sorted(by_suite, key=lambda suite: (not suite_specs.find(suite).timed, suite_specs.find(suite).rank > 0))
    return [_link_table(machine, suite, by_suite[suite]) for suite in suites]


def _link_table(machine: Machine, suite: str, cases: Sequence[Case]) -> LinkTable:
    methods = [dict(case.parameters).get("method", suite) for case in cases]
    cells = {(method, circumstances(case)): (_newest(machine, case), machine.case_address(case)) for method, case in zip(methods, cases)}
    return LinkTable(
        suite=suite_specs.find(suite).label if suite_specs.find(suite).timed else suite,
        methods=tuple(dict.fromkeys(methods)),
        columns=tuple(dict.fromkeys(circumstances(case) for case in cases)),
        cells=cells,
    )


def _newest(machine: Machine, case: Case) -> str:
    """Return the newest value of a case as text."""
    history = machine.history[case]
    values = [value for value in history.measured if value is not None]
    return quantity(values[-1], history.unit) if values else "not measured"
