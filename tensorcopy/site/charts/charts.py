"""The site's plots: cases, groups, sizes and comparisons."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tensorcopy.analysis import change_points
from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.comparisons import version as release_of
from tensorcopy.report.numbers import count, duration
from tensorcopy.results import related, suite_specs
from tensorcopy.results.passes import Case
from tensorcopy.site.addresses import of_section
from tensorcopy.site.charts.axes import NameAxis, NumelAxis, OrdinalAxis, RatioAxis, ValueAxis
from tensorcopy.site.charts.plot_items import Band, Line, PlotPoint, Rule, Whisker
from tensorcopy.site.charts.svg_plot import HEIGHT, LEFT, RIGHT, Plot
from tensorcopy.site.model.cases.case_changes import CaseChange
from tensorcopy.site.model.costs import CostTable
from tensorcopy.site.model.history import History, release_versions
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.model.result_series import Series

STYLESHEET = Path(__file__).parents[1] / "static" / "tensorcopy.css"
COLOURS = 5
EDGES = LEFT + RIGHT
HEIGHT_BELOW = 190  # of a plot below another one
WIDE = 960  # about the width of the plot of every case of a comparison
MAX_TIMES_BASELINE = 4.0  # a baseline farther below would flatten the rest of the plot
ARTICLE_NUMEL = 2**14  # of the article's largest tensor
VISIBLE = 1.002  # the greatest value of a band over its least; that of a count is thinner than its line
ChangeLink = Callable[[CaseChange], str]  # from a change to the link to its evidence, "" for none


def of_case(machine: Machine, case: Case, change_link: ChangeLink, *, below: bool = False, above: bool = False) -> str:
    """Plot a case over the releases.

    The plot shows each series with the range of its passes, its levels and changes, and the memcpy baseline.

    below : another plot stands above this one, which is smaller
    above : this plot stands above another one, and leaves the names of the releases to it
    """
    versions = release_versions(machine.series)
    all_series = [series for series in machine.series if case in series.series_by_case]
    lines, bands, values = [], [], []
    for number, series in enumerate(all_series):
        colour = 1 + number % COLOURS
        band = _band(series, case, versions)
        if case.spec.timed:  # a count is its level
            lines.append(Line(_levels(machine, series, case, versions), colour, -1, "level"))
        lines.append(Line(_points(series, case, versions), colour, number, "" if number == 0 else "old"))
        values += [edge for point in band if point for edge in point[1:]]
        if any(point and point[2] > VISIBLE * point[1] for point in band):
            bands.append(Band(band, colour))
    if shows_baseline(machine, case):
        points = _baseline(machine, case, versions)
        lines.append(Line(points, 1, -1, "baseline"))
        values += [point.y for point in points if point]
    code, unit = machine.case_code(case), case.spec.unit
    return Plot(
        f"{code}, {'time' if unit == suite_specs.SECONDS else unit} per call over torch releases",
        NameAxis(tuple(versions), shown=not above),
        ValueAxis.around(values, unit=unit),
        lines,
        bands,
        _rules(machine, case, versions),
        _flags(machine.case_changes[case], versions, change_link),
        height=HEIGHT_BELOW if below else HEIGHT,
        kind="case",
    ).svg()


def shows_baseline(machine: Machine, case: Case) -> bool:
    """Return whether the memcpy baseline is near enough to be in a case's plot."""
    multiple = related.times_memcpy(machine.result, case)
    return multiple is not None and multiple <= MAX_TIMES_BASELINE


def of_group(history: History, codes: Mapping[str, str]) -> Plot:
    """Return the plot of a group's methods at one size over the releases.

    Lines of the first environment are solid, others dashed.
    """
    lines = []
    for number, environment in enumerate(history.environments):
        for index, method in enumerate(history.methods):
            points: list[PlotPoint | None] = []
            for position, release in enumerate(history.releases):
                timing = history.at(release, environment, method)
                tip = f"{codes[method]}, torch {release}, {environment}: {duration(timing.median)}" if timing else ""
                points.append(PlotPoint(position, timing.median, tip) if timing else None)
            lines.append(Line(points, 1 + index % COLOURS, index, "" if number == 0 else "old"))
    label = f"{history.group}: {count(history.numel)} float32, time per call over torch releases"
    return Plot(label, NameAxis(history.releases), ValueAxis.around([point.timing.median for point in history.points]), lines)


def of_sizes(table: CostTable, *, linear: bool) -> str:
    """Plot a group's methods and the memcpy baseline over sizes.

    The axes are logarithmic, or linear up to the article's size.
    """
    numels = [numel for numel in table.numels if not linear or numel <= ARTICLE_NUMEL] or list(table.numels)
    lines = []
    for index, row in enumerate(table.costs):
        points = [PlotPoint(numel, cost.timing.median) if cost.timing else None for numel, cost in zip(numels, row)]
        lines.append(Line(points, 1 + index % COLOURS, index))
    baselines = [PlotPoint(numel, timing.median) if timing else None for numel, timing in zip(numels, table.baselines)]
    lines.append(Line(baselines, 1, -1, "baseline"))
    values = [point.y for line in lines for point in line.points if point]
    scale = "linear" if linear else "logarithmic"
    return Plot(
        f"{table.group} on {table.device}: time per call over the number of elements, {scale} axes",
        NumelAxis(numels[0], numels[-1], linear),
        ValueAxis.around(values, linear=linear),
        lines,
    ).svg()


def of_changes(comparison: Comparison, sections: Mapping[str, Sequence[Case]], limit: float) -> str:
    """Plot the ratio of each case with its interval, section by section.

    sections : cases with an interval, in the order of the plot
    limit : the end of the axis, as a share
    """
    whiskers: list[Whisker] = []
    starts: list[Rule] = []
    for name, cases in sections.items():
        starts += [Rule(len(whiskers) - 0.5, name, "section", href=f"#{of_section(name)}")] if cases else []
        for case in cases:
            change = comparison.changes[case]
            low, high = change.interval or (1.0, 1.0)
            whiskers.append(Whisker(len(whiskers), low, change.ratio or 1.0, high, change.verdict.value))
    label = f"{len(whiskers)} cases: the change of each with its interval, from {comparison.labels[0]} to {comparison.labels[1]}"
    positions = max(1, len(whiskers))
    width = EDGES + positions * max(1, round((WIDE - EDGES) / positions))  # positions at whole numbers
    return Plot(label, OrdinalAxis(positions), RatioAxis(limit), flags=starts, whiskers=whiskers, width=width, kind="changes").svg()


def standalone(svg: str, kind: str = "plots") -> str:
    """Return an SVG with the stylesheet's rules for its kind, light and dark.

    kind : "plots" or "drawings"
    """
    sheet = STYLESHEET.read_text(encoding="utf-8")
    tokens = re.findall(r"^  (--[a-z0-9-]+): light-dark\((.+?), (.+?)\);$", sheet, re.MULTILINE)
    light, dark = ("".join(f"{name}:{pair[index]};" for name, *pair in tokens) for index in (0, 1))
    rules = sheet.split(f"/* {kind}", 1)[1].split("*/", 1)[1].split(f"/* end of {kind} */")[0]
    style = f":root{{{light}}}@media (prefers-color-scheme: dark){{:root{{{dark}}}}}{rules}"
    return svg.replace(">", f"><style>{style}</style>", 1)


def _points(series: Series, case: Case, versions: Sequence[str]) -> list[PlotPoint | None]:
    timings = {release.version: related.measured(result, case) for release, result in zip(series.releases, series.results)}
    return [PlotPoint(position, timing.median) if (timing := timings.get(version)) else None for position, version in enumerate(versions)]


def _levels(machine: Machine, series: Series, case: Case, versions: Sequence[str]) -> list[PlotPoint | None]:
    """Return the level between two detected changes at each release of a series, as measured on its Python."""
    case_series = machine.history[case]
    levels: dict[str, float] = {}
    for index, level in enumerate(change_points.levels(case_series.values, case_series.steps)):
        if level is not None and case_series.results[index].series_key == series.key:
            levels[case_series.releases[index]] = level / case_series.scale(index)
    values = [levels.get(version) for version in versions]
    return [None if value is None else PlotPoint(position, value) for position, value in enumerate(values)]


def _band(series: Series, case: Case, versions: Sequence[str]) -> list[tuple[float, float, float] | None]:
    timings = {release.version: related.measured(result, case) for release, result in zip(series.releases, series.results)}
    return [(position, timing.low, timing.high) if (timing := timings.get(version)) else None for position, version in enumerate(versions)]


def _baseline(machine: Machine, case: Case, versions: Sequence[str]) -> list[PlotPoint | None]:
    """Return the memcpy baseline that the first series measured with each release."""
    first = machine.series[0]
    timings = {release.version: related.baseline_timing(result, case) for release, result in zip(first.releases, first.results)}
    return [PlotPoint(position, timing.median) if (timing := timings.get(version)) else None for position, version in enumerate(versions)]


def _flags(changes: Sequence[CaseChange], versions: Sequence[str], change_link: ChangeLink) -> list[Rule]:
    """Return a flag for each change of a case."""
    return [
        Rule(
            versions.index(change.release) - 0.5,
            f"{change.size}{f' ({change.only})' if change.only else ''}",
            change.verdict,
            f"torch {change.release}: {change.text}" if change.status_text else "",
            change_link(change),
        )
        for change in changes
    ]


def _rules(machine: Machine, case: Case, versions: Sequence[str]) -> list[Rule]:
    """Return the changes of the machine, and the gaps: of neighbouring gaps, the first has the label."""
    changed = {version for series in machine.series if case in series.series_by_case for version in series.machine_changes}
    rules = [Rule(position - 0.5, "machine changed", "machine") for position, version in enumerate(versions) if version in changed]
    has_it = {release_of(result) for result in machine.results if related.measured(result, case)}
    gaps = [position for position, version in enumerate(versions) if version not in has_it]
    return rules + [Rule(position, "" if position - 1 in gaps else "not measured", "gap") for position in gaps]
