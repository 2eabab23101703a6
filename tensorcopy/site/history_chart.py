"""The data of the interactive chart: where a case is among all, the address that shows it, and the history of a machine as JSON. Pure.

Suites differ in their parameters; here every case has the same axes (`Axes`), so that one set of controls reaches all of them. A case of
`copies.ByGrad` is a case of `copies.BySize` with grad.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

from markupsafe import Markup

from tensorcopy.judge.comparisons import Comparison
from tensorcopy.numbers import duration, unbroken
from tensorcopy.report.sentences import step_size
from tensorcopy.results import suite_specs
from tensorcopy.results.cases import Case, own_group
from tensorcopy.results.suite_specs import NUMEL, N
from tensorcopy.site import addresses
from tensorcopy.site.changes import CaseChange
from tensorcopy.site.machine import Machine, Series, release_versions

FEWEST_DIGITS, MOST_DIGITS = 5, 8  # of a value; more only where rounding twice would show another duration
NANO = 1e9
BY_N = "-by-n"  # ends the group of operations with inputs; explorer.js knows it
UNIT = 1e3  # half widths of intervals and detectable changes are in these parts of the value: the chart shows as many digits
TIMES, COUNTS = "times", "counts"
Judged = Mapping[str, Comparison]  # comparisons by address, of pairs that have a page


class Axes(NamedTuple):
    """Where a case is among all cases of a machine; the fields are axes of the explorer.

    group : of own operations their own; those with inputs are another, since n is not a number of elements
    numel : or n, the size of a case of an operation with inputs
    quantity : the metric of its suite
    timed : "throughput" or "latency", which differ on devices with a queue
    """

    group: str
    method: str
    numel: int
    quantity: str = "time"
    grad: str = "no"
    dtype: str = "float32"
    layout: str = "contiguous"
    device: str = "cpu"
    timed: str = "throughput"


DEFAULTS = {name: Axes._field_defaults.get(name) for name in Axes._fields}


def place_of(machine: Machine, case: Case) -> Axes | None:
    """Return a case's place; None for a case without a method and a size, or of a third-party suite."""
    parameters = dict(case.parameters)
    spec, size = case.spec, parameters.get(NUMEL) or parameters.get(N)
    if "method" not in parameters or not size or not spec.shipped:
        return None
    methods = spec.methods or machine.methods.get(parameters["method"], {}).get("group", "")
    group = own_group(machine.methods, case) or suite_specs.section_of(methods) or spec.module
    return Axes(
        group=group + BY_N * (N in parameters),
        method=parameters["method"],
        numel=int(size),
        quantity=spec.metric,
        grad="yes" if parameters.get("requires_grad") == "True" else "no",
        dtype=parameters.get("dtype", "float32"),
        layout=parameters.get("layout", "contiguous"),
        device=case.device,
        timed="latency" if spec.latency else "throughput",
    )


def is_charted(machine: Machine) -> bool:
    """Return whether a case of a machine has a place; else there is nothing to explore, and the machine has no explorer."""
    return any(place_of(machine, case) for case in machine.cases)


def link(machine: Machine, *cases: Case) -> str:
    """Return the address of the explorer that shows cases; they differ in their method only. chart.js reads its fragment."""
    address = addresses.of_explorer(machine.name)
    places = [place for case in cases if (place := place_of(machine, case))]
    if not places:
        return address
    first = places[0]
    axes = {name: value for name, value in first._asdict().items() if name not in ("quantity", "method")}
    values = {
        "group": first.group,
        "method": ",".join(place.method for place in places),
        **{name: str(value) for name, value in axes.items() if value != DEFAULTS[name]},
        **({"unit": first.quantity} if first.quantity != "time" else {}),
    }
    return f"{address}#{'&'.join(f'{name}={value}' for name, value in values.items())}"


def chart_data(machine: Machine, cases: Sequence[Case], judged: Judged) -> dict[str, Any]:
    """Return the history of cases of one machine as JSON-able data.

    Times are in nanoseconds, others are counts. Values start at the release with the index that stands before them. Each case has values as
    measured, by Python; `joints` are the scales that put them on one axis, and `steps` the changes on that axis. Releases that were
    measured alone, while others took turns, are `unpaired`.
    """
    all_series = machine.joined_series
    releases = release_versions(all_series)
    position = {release: index for index, release in enumerate(releases)}
    dates = {release.version: release.date.isoformat() for series in all_series for release in series.releases}
    first: dict[Axes, Case] = {}  # of two cases in one place the one of the suite by size
    for case in sorted(cases, key=lambda case: case.spec.rank > 0):
        if (place := place_of(machine, case)) and case in machine.history:
            first.setdefault(place, case)
    placed = {case: place for place, case in first.items()}
    methods: dict[str, dict[str, str]] = {}  # each with its group and code, on accelerators too where it differs
    for place in placed.values():
        code, on_device = machine.code(place.method), machine.code(place.method, "cuda")
        methods[place.method] = {"group": place.group, "code": code, **({"code_on_device": on_device} if on_device != code else {})}
    order = list(machine.methods)
    suites = list(dict.fromkeys(case.suite for case in placed))
    return {
        "machine": machine.name,
        "releases": releases,
        "dates": [dates[release] for release in releases],
        "pythons": [series.results[0].python for series in all_series],
        "devices": {device: machine.result.hardware(device) for device in dict.fromkeys(place.device for place in placed.values())},
        "methods": dict(sorted(methods.items(), key=lambda row: order.index(row[0]) if row[0] in order else len(order))),
        "suites": [
            [suite_specs.find(suite).label, addresses.of_case(machine.name, Case(suite, ())).rpartition("/")[0]] for suite in suites
        ],
        "cases": [_case(machine, case, place, all_series, position, judged, suites) for case, place in placed.items()],
        "folder": addresses.of_explorer(machine.name).removesuffix("index.html"),
        "comparison_folders": {
            series.results[0].python: addresses.of_comparison(series.newest, series.newest).rpartition("/")[0] for series in all_series
        },
        "comparisons": {  # the pairs of releases that have a page
            series.results[0].python: [
                [position[before.version], position[after.version]]
                for before, after in combinations(series.results, 2)
                if addresses.of_comparison(before, after) in judged
            ]
            for series in all_series
        },
    }


def json_text(data: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Markup:
    """Return data as compact JSON that may stand in a <script> element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(text)  # noqa: S704 - nothing in it closes the element


def _case(
    machine: Machine,
    case: Case,
    place: Axes,
    all_series: Sequence[Series],
    position: Mapping[str, int],
    judged: Judged,
    suites: Sequence[str],
) -> dict[str, Any]:
    history, axes = machine.history[case], place._asdict()
    pythons = {series.environment: series.newest.python for series in machine.series}
    joints = [  # release, older Python and factor, the newest first
        [position[history.releases[joint.index]], joint.older.python, float(f"{joint.factor:.6g}")]
        for joint in sorted(history.joints, key=lambda joint: joint.index, reverse=True)
    ]
    steps = [  # release, ratio, size, Python, and what else a sentence about it says
        [
            position[change.release],
            float(f"{change.step.ratio:.4g}"),
            unbroken(step_size(change.step, change.unit)),
            pythons[change.environment],
            *filter(None, [_said_of(change, history.releases)]),
        ]
        for change in machine.case_changes[case]
    ]
    unpaired = [position[release] for release, is_unpaired in zip(history.releases, history.unpaired) if is_unpaired]
    return {
        **{name: value for name, value in axes.items() if value != DEFAULTS[name] and name != "group"},
        "suite": suites.index(case.suite),
        "page": machine.pages[case].rpartition("/")[2].removesuffix(".html"),
        **({"at": machine.case_address(case)} if case in machine.timed_by_count else {}),  # a count on the page of its time
        "values": _by_python(all_series, case, position, judged),
        **({"joints": joints} if joints else {}),
        **({"steps": steps} if steps else {}),
        **({"unpaired": unpaired} if unpaired else {}),
    }


def _said_of(change: CaseChange, releases: Sequence[str]) -> dict[str, Any]:
    """Return what a sentence about a change says besides its size: the values of `sentences.step_text`, whose words explorer.js has."""
    step = change.step
    ends = sorted(abs(end - 1) for end in step.interval) if step.interval and change.unit == suite_specs.SECONDS else []
    said = {
        "within": [float(f"{100 * end:.1f}") for end in ends],
        "against": step.against,
        "only": step.only_on,
        "until": releases[step.until] if step.until is not None and change.unit == suite_specs.SECONDS else "",
        "around": step.by_levels,
    }
    return {name: value for name, value in said.items() if value}


def _by_python(all_series: Sequence[Series], case: Case, position: Mapping[str, int], judged: Judged) -> dict[str, list[Any]]:
    """Return by Python the first release's index and the values.

    Of times also half the width of each interval, and the smallest detectable change from the release before, in 1 / `UNIT` of the value.
    """
    columns: dict[str, list[Any]] = {}
    for series in all_series:
        values: list[float | None] = [None] * len(position)
        widths: list[int | None] = [None] * len(position)
        for release, result in zip(series.releases, series.results):
            if measured := result.measured(case):
                values[position[release.version]] = _compact(measured.value, case.spec.unit)
            if timing := result.timings.get(case):
                widths[position[release.version]] = round(UNIT * (timing.interval[1] / timing.seconds - 1))
        places = [index for index, value in enumerate(values) if value is not None]
        if places:
            rows: list[Sequence[float | None]] = [values]
            if case.spec.timed:
                detectable = _detectable(series, case, position, judged)
                rows += [widths, detectable] if any(detectable) else [widths]
            columns[series.results[0].python] = [places[0], *(row[places[0] : places[-1] + 1] for row in rows)]
    return columns


def _detectable(series: Series, case: Case, position: Mapping[str, int], judged: Judged) -> list[int | None]:
    """Return the smallest change of a case that its comparison with the release before would have shown, at every release."""
    sizes: list[int | None] = [None] * len(position)
    for before, after in pairwise(series.results):
        comparison = judged.get(addresses.of_comparison(before, after))
        change = comparison.changes.get(case) if comparison else None
        if change and change.detectable is not None:
            sizes[position[after.version]] = round(UNIT * change.detectable)
    return sizes


def _compact(value: float, unit: str) -> float:
    """Return a time in nanoseconds with as few digits as show the same duration; a count as it is."""
    if unit != suite_specs.SECONDS:
        return int(value) if value == int(value) else value
    for digits in range(FEWEST_DIGITS, MOST_DIGITS):
        rounded = float(f"{value * NANO:.{digits}g}")
        if duration(rounded / NANO) == duration(value):
            break
    return int(rounded) if rounded == int(rounded) else rounded
