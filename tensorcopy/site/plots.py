"""The plots of the pages: cases, methods, sizes, comparisons and sparklines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import log
from typing import Any, TypeVar

from markupsafe import Markup

from tensorcopy.campaign import VerdictRules
from tensorcopy.judge import change_points
from tensorcopy.judge.case_history import CHANGED, CaseHistory, Standing, direction, releases_of
from tensorcopy.judge.comparisons import Comparison, Question, between
from tensorcopy.numbers import count, duration, signed_percent, unbroken
from tensorcopy.report.sentences import SIGNS, against_text
from tensorcopy.report.words import translate
from tensorcopy.results import suite_specs
from tensorcopy.results.cases import Case
from tensorcopy.results.result import Result
from tensorcopy.results.suite_specs import NUMEL, N
from tensorcopy.site import history_chart
from tensorcopy.site.addresses import of_comparison, relative
from tensorcopy.site.changes import CaseChange
from tensorcopy.site.machine import CostTable, Machine, Series
from tensorcopy.site.page import circumstances
from tensorcopy.site.svg import (
    Band,
    Bars,
    ChangeGrid,
    Coordinates,
    Dots,
    GridCell,
    GridRow,
    Line,
    NameAxis,
    NumelAxis,
    Plot,
    PlotPoint,
    RatioAxis,
    Rule,
    ValueAxis,
    outline,
    stretches,
)

COLOURS = 5
HEADROOM = 1.12  # of the axis of bars, for the label of a line above them
MAX_TIMES_BASELINE = 4.0  # a baseline farther below would flatten the rest of the plot
ARTICLE_NUMEL = 2**14  # of the article's largest tensor
SPARK_STRIDE, SPARK_HEIGHT, SPARK_MARGIN = 6, 30, 3  # of the view box: from release to release, and the room above and below the line
SPARK_SPAN = log(1.6)  # of the vertical axis, so that noise does not look like a change
ChangeLink = Callable[[CaseChange], str]  # from a change to the link to its evidence, "" for none
Value = TypeVar("Value")


def of_case(machine: Machine, case: Case, change_link: ChangeLink) -> str:
    """Plot a case over the releases.

    The plot shows each series with its launches, the interval of each time, the smallest change that would have been seen, its levels and
    changes, and the memcpy baseline.
    """
    versions = machine.releases
    all_series = [series for series in machine.series if case in series.cases]
    lines, bands, dots, values = [], [], [], []
    for number, series in enumerate(all_series):
        colour = 1 + number % COLOURS
        measured = _by_version(series, lambda result: result.measured(case), versions)
        points = [PlotPoint(position, each.value) if each else None for position, each in enumerate(measured)]
        if case.spec.timed:  # a count is its level, and exact
            lines.append(Line(_levels(machine, series, case, versions), colour, -1, "level"))
            timings = _by_version(series, lambda result: result.timings.get(case), versions)
            band = [(position, *timing.interval) if timing else None for position, timing in enumerate(timings)]
            bands += [Band(_zone(series, case, versions, machine.rules), colour, "zone"), Band(band, colour)]
            dots.append(Dots(_launches(series, case, versions), colour))
            values += [edge for point in band if point for edge in point[1:]]
        lines.append(Line(points, colour, number, "" if number == 0 else "old"))
        values += [point.y for point in points if point]
    if shows_baseline(machine, case):
        timings = _by_version(machine.series[0], lambda result: result.baseline_timing(case), versions)
        points = [PlotPoint(position, timing.seconds) if timing else None for position, timing in enumerate(timings)]
        lines.append(Line(points, 1, -1, "baseline"))
        values += [point.y for point in points if point]
    code, unit = machine.case_code(case), case.spec.unit
    has_it = {result.version for result in machine.results if result.measured(case)}
    history = machine.history[case]
    unpaired = [Rule(versions.index(release), "unpaired", "gap") for release, is_one in zip(history.releases, history.unpaired) if is_one]
    return Plot(
        f"{code}, {'time' if unit == suite_specs.SECONDS else unit}{'' if case.tracked else ' per call'} over torch releases",
        NameAxis(tuple(versions)),
        ValueAxis.around(values, unit=unit, linear=bool(values) and min(values) <= 0),
        lines,
        bands,
        dots=dots,
        rules=_gaps([version in has_it for version in versions], "not measured") + unpaired if case.spec.timed else [],  # few are counted
        ticks=_ticks(machine.case_changes[case], versions, change_link),
        kind="case",
    ).svg()


def _zone(series: Series, case: Case, versions: Sequence[str], rules: VerdictRules) -> list[tuple[float, float, float] | None]:
    """Return the times within which a release would not have been told from the one before."""
    zone: list[tuple[float, float, float] | None] = [None] * len(versions)
    for release, (before, after) in zip(series.releases[1:], pairwise(series.results)):
        change, position = between(Question(before, after, rules)).changes.get(case), versions.index(release.version)
        if change and change.detectable is not None:
            time, size = after.timings[case].seconds, 1 + change.detectable
            zone[position] = (position, time / size, time * size)
    return zone


def _launches(series: Series, case: Case, versions: Sequence[str]) -> list[tuple[float, float]]:
    """Return the position and the time of every launch."""
    return [
        (versions.index(release.version), time)
        for release, result in zip(series.releases, series.results)
        for time in launch_times(result, case)
    ]


def launch_times(result: Result, case: Case) -> list[float]:
    """Return the time of a case in each launch of a result, without what disturbed all sides of the launch."""
    if result.column is None or case not in result.timings:
        return []
    return result.column.launch_times(case)


def of_components(
    label: str,
    versions: Sequence[str],
    parts: Mapping[str, Mapping[str, float]],
    colours: Mapping[str, int],
    pythons: Mapping[str, str],
    changes: Sequence[CaseChange],
    change_link: ChangeLink,
    unit: str,
) -> str:
    """Plot the instructions or the time of a case, a bar for each release, divided into components.

    parts : the amount of each component, by release; a release without them is a gap
    colours : the number of each component's colour, from top to bottom
    pythons : the older Python, by the first release that was measured on a newer one
    changes : of the case
    """
    height, bars = dict.fromkeys(versions, 0.0), []
    for component, colour in reversed(list(colours.items())):
        spans = []
        for position, version in enumerate(versions):
            if own := parts.get(version, {}).get(component):
                spans.append((position, height[version], height[version] + own))
                height[version] += own
        bars.append(Bars(spans, colour))
    rules = [Rule(versions.index(version) - 0.5, f"Python {python}", "before") for version, python in pythons.items()]
    return Plot(
        label,
        NameAxis(tuple(version if version in parts else "" for version in versions)),
        ValueAxis(0.0, HEADROOM * max(height.values()), linear=True, unit=unit),
        bars=bars,
        rules=rules
        + _gaps([version in parts for version in versions], "not counted" if unit == suite_specs.INSTRUCTIONS else "not profiled"),
        ticks=_ticks(changes, versions, change_link),
        kind="parts",
    ).svg()


def shows_baseline(machine: Machine, case: Case) -> bool:
    """Return whether the memcpy baseline is near enough to be in a case's plot."""
    multiple = machine.result.times_memcpy(case)
    return multiple is not None and multiple <= MAX_TIMES_BASELINE


def of_methods(machine: Machine, cases: Sequence[Case], releases: Sequence[str], own: Machine | None = None, language: str = "en") -> Plot:
    """Return the plot of cases of methods over the releases, the Pythons joined, with a mark at each change and at the newest value.

    Its first lines are those of the cases, in order.

    own : another machine, whose values are marked beside these; its releases that are not on the axis are omitted
    """
    lines, marks = [], []
    for index, case in enumerate(cases):
        colour = 1 + index % COLOURS
        lines.append(Line(_joined_points(machine, case, releases), colour, -1))
        marks.append(Line(_change_points(machine, case, releases, language), colour, index, "change"))
        if own and case in own.history:
            marks.append(Line(_joined_points(own, case, releases), colour, index, "own"))
    values = [point.y for line in (*lines, *marks) for point in line.points if point]
    codes = translate("and", language).join(machine.code(case["method"], case.device) for case in cases)
    label = translate("plot_releases", language, codes=codes, case=circumstances(cases[0], language))
    changed = {
        (releases.index(history.releases[step.index]), direction(history.unit, rises=step.rises).value)
        for history in map(machine.history.__getitem__, cases)
        for step in history.steps
        if history.releases[step.index] in releases
    }
    ticks = [Rule(place, "", verdict) for place, verdict in sorted(changed)]
    return Plot(label, NameAxis(tuple(releases)), ValueAxis.around(values), [*lines, *marks], ticks=ticks)


def pictures(machine: Machine) -> list[dict[str, Any]]:
    """Return the plots of the methods over the releases: each with its title, the codes of its lines, and its explorer's address."""
    titles = {"copy": "Copies", "conversion": "Conversions"}
    rows = []
    for cases in machine.pictured:
        group, releases = machine.group(cases[0]), releases_of(machine.history[case] for case in cases)
        row = {
            "title": f"{titles.get(group, group)}: {circumstances(cases[0])}",
            "codes": [machine.case_code(case) for case in cases],
            "explorer": history_chart.link(machine, *cases),
            "svg": Markup(of_methods(machine, cases, releases).svg()),  # noqa: S704 - our own SVG
        }
        rows.append(row)
    return rows


def of_sizes(table: CostTable, *, linear: bool, label: str = "") -> str:
    """Plot a group's methods and the memcpy baseline over sizes.

    The axes are logarithmic, or linear up to the article's size.

    label : in the language of the page; by default in English
    """
    numels = [numel for numel in table.numels if not linear or numel <= ARTICLE_NUMEL] or list(table.numels)
    lines = []
    for index, row in enumerate(table.costs):
        points = [PlotPoint(numel, cost.timing.seconds) for numel, cost in zip(numels, row) if cost.timing]  # operations have own sizes
        lines.append(Line(points, 1 + index % COLOURS, index))
    baselines = [PlotPoint(numel, timing.seconds) for numel, timing in zip(numels, table.baselines) if timing]
    lines.append(Line(baselines, 1, -1, "baseline"))
    values = [point.y for line in lines for point in line.points if point]
    what, over = (table.group, "n") if table.by == N else (f"{table.group} on {table.device}", "the number of elements")
    return Plot(
        label or f"{what}: time per call over {over}, {'linear' if linear else 'logarithmic'} axes",
        NumelAxis(numels[0], numels[-1], linear),
        ValueAxis.around(values, linear=linear),
        lines,
    ).svg()


def by_method(
    comparison: Comparison,
    machine: Machine,
    sections: Mapping[str, Sequence[Case]],
    device: str,
    by: str,
    limit: float,
    *,
    has_links: bool,
) -> str:
    """Draw the change of each method by size on a device, with its interval; "" where none was measured by size.

    sections : cases by heading
    by : the parameter of the size
    limit : the end of the axis, as a share
    has_links : whether a change leads to its case, and not only a method to its first one

    Of a method's other cases stands how many are slower and faster. A suite without methods has a row where a case changed.
    """
    compared = {
        name: [case for case in cases if case.device == device and comparison.changes[case].interval] for name, cases in sections.items()
    }
    numels = sorted({int(case[by]) for cases in compared.values() for case in cases if size_parameter(case) == by})
    if not numels:
        return ""
    page = of_comparison(comparison.before, comparison.after)

    def address(case: Case) -> str:
        return relative(page, machine.case_address(case))

    def cell(case: Case) -> GridCell:
        change = comparison.changes[case]
        low, high = change.interval or (1.0, 1.0)
        size = whole_percent(change.size) if change.verdict in CHANGED else ""
        return GridCell(low, change.size, high, change.verdict.value, size, address(case) if size and has_links else "")

    drawn: dict[str, list[GridRow]] = {}
    for name, cases in compared.items():
        by_code: dict[str, list[Case]] = {}
        for case in cases:
            by_code.setdefault(machine.case_code(case), []).append(case)
        for code, members in by_code.items():
            sized = {int(case[by]): case for case in members if size_parameter(case) == by}
            others = Counter(comparison.changes[case].verdict for case in members if case not in sized.values())
            changed = [(verdict.value, f"{SIGNS[verdict]}\u202f{others[verdict]}") for verdict in CHANGED if others[verdict]]
            if sized or changed:
                cells = [cell(sized[numel]) if numel in sized else None for numel in numels]
                row = GridRow(code, address(next(iter(sized.values()), members[0])), cells, changed)
                drawn.setdefault(name, []).append(row)
    label = f"Change of the time of each method by {by}, from {comparison.labels[0]} to {comparison.labels[1]} on {device}"
    columns = [count(numel) if by == NUMEL else f"n={numel}" for numel in numels]
    return ChangeGrid(label, columns, "other cases", drawn, RatioAxis(limit)).svg()


@lru_cache(maxsize=4096)  # each comparison asks for the same cases
def size_parameter(case: Case) -> str:
    """Return the parameter of the size of a case that its suite times by size: `NUMEL` or `N`; "" for others."""
    methods, device = case.spec.methods, case.device
    return next((by for by in (NUMEL, N) if methods and case.suite == suite_specs.timed_by_size(methods, device, by=by)), "")


def sparkline(history: CaseHistory, releases: Sequence[str], since: int | None = None, verdict: str = "", span: float = SPARK_SPAN) -> str:
    """Return the sparkline of a case that was measured at least once: an SVG with a logarithmic axis around the values.

    releases : of the horizontal axis; all sparklines of a table have the same
    since : the index from which the line is drawn strongly, in the colour of `verdict`; None for the last change and its direction
    span : of the vertical axis at least, as a logarithm; a table whose lines are compared has one for all
    """
    if since is None:
        last = history.steps[-1] if history.steps else None
        since = last.index if last else 0
        verdict = direction(history.unit, rises=last.rises).value if last and history.case.spec.timed else ""
    places = {release: SPARK_STRIDE * index for index, release in enumerate(releases)}
    logs = [None if value is None else log(value) for value in history.values]
    measured = [value for value in logs if value is not None]
    low, high = min(measured), max(measured)
    middle, scale = (low + high) / 2, (SPARK_HEIGHT - 2 * SPARK_MARGIN) / max(high - low, span)
    points = [
        None if value is None else (places[release], round(SPARK_HEIGHT / 2 - scale * (value - middle)))
        for release, value in zip(history.releases, logs)
    ]

    def path(points: Sequence[Coordinates | None]) -> str:
        """Join points, with a gap at each None; a point between two gaps is a dash. A level is one line, not one for each release."""
        return "".join(outline(_corners(stretch)) + ("" if stretch[1:] else "h1") for stretch in stretches(points))

    before = f'<path d="{path(points[: since + 1])}"/>' if since else ""
    names, box = f"spark {verdict}".rstrip(), f"0 0 {SPARK_STRIDE * max(1, len(releases) - 1)} {SPARK_HEIGHT}"
    now = f'<path class="now" d="{path(points[since:])}"/>'
    return f'<svg class="{names}" viewBox="{box}" preserveAspectRatio="none">{before}{now}</svg>'


def _corners(points: Sequence[Coordinates]) -> list[Coordinates]:
    """Return points without those between two of the same height."""
    inner = [point for before, point, after in zip(points, points[1:], points[2:]) if not before[1] == point[1] == after[1]]
    return [*points[:1], *inner, *points[1:][-1:]]


def spark_span(histories: Iterable[CaseHistory]) -> float:
    """Return the span of a vertical axis on which each of some history fits."""
    logs = [[log(value) for value in history.values if value is not None] for history in histories]
    return max([SPARK_SPAN, *(max(values) - min(values) for values in logs if values)])


def whole_percent(ratio: float) -> str:
    """Format a ratio as a change in whole per cent: "−20 %", "+860 %"."""
    return unbroken(signed_percent(ratio, 0))


def _by_version(series: Series, value: Callable[[Result], Value | None], versions: Sequence[str]) -> list[Value | None]:
    """Return a value of the series' result of each version; None for a version that it lacks."""
    values = {release.version: value(result) for release, result in zip(series.releases, series.results)}
    return [values.get(version) for version in versions]


def _levels(machine: Machine, series: Series, case: Case, versions: Sequence[str]) -> list[PlotPoint | None]:
    """Return the level between two detected changes at each release of a series, as measured on its Python."""
    history = machine.history[case]
    levels: dict[str, float] = {}
    for index, level in enumerate(change_points.levels(history.values, history.steps)):
        if level is not None and history.results[index].series_key == series.key:
            levels[history.releases[index]] = level / history.scale(index)
    values = [levels.get(version) for version in versions]
    return [None if value is None else PlotPoint(position, value) for position, value in enumerate(values)]


def _ticks(changes: Sequence[CaseChange], versions: Sequence[str], change_link: ChangeLink) -> list[Rule]:
    """Return a tick for each change of a case."""
    return [
        Rule(versions.index(change.release), f"torch {change.release}: {change.size}", change.verdict, change_link(change))
        for change in changes
    ]


def _gaps(present: Sequence[bool], label: str) -> list[Rule]:
    """Return a label in the middle of each gap, at positions without a value."""
    gaps = stretches([None if here else position for position, here in enumerate(present)])
    return [Rule((gap[0] + gap[-1]) / 2, label, "gap") for gap in gaps]


def _joined_points(machine: Machine, case: Case, releases: Sequence[str]) -> list[PlotPoint | None]:
    history = machine.history[case]
    values = dict(zip(history.releases, history.values))
    return [None if (value := values.get(release)) is None else PlotPoint(place, value) for place, release in enumerate(releases)]


def _change_points(machine: Machine, case: Case, releases: Sequence[str], language: str) -> list[PlotPoint | None]:
    """Return the value at each change of level, and the newest one; None at every other release."""
    history, code = machine.history[case], machine.code(case["method"], case.device)
    newest = max((index for index, value in enumerate(history.values) if value is not None), default=0)
    points: list[PlotPoint | None] = [None] * len(releases)
    for index, step in {newest: None, **{step.index: step for step in history.steps}}.items():
        release, value = history.releases[index], history.values[index]
        if release in releases and value is not None:
            change = f"{whole_percent(step.ratio)}{against_text(step, language)}" if step else ""
            name = "plot_change" if step else "plot_newest"
            tip = translate(name, language, code=code, change=change, release=release, time=duration(value))
            points[releases.index(release)] = PlotPoint(releases.index(release), value, tip)
    return points


def since_best(standing: Standing, releases: Sequence[str]) -> str:
    """Return the sparkline of an open case, strong since its best release."""
    return sparkline(standing.history, releases, standing.best or 0, "slower")
