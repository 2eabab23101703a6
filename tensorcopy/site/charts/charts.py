"""What is drawn: a case over the releases, methods over the releases, methods over sizes. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from tensorcopy.analysis import change_points
from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.two_sample import Verdict
from tensorcopy.report.units import count, duration
from tensorcopy.results import baseline
from tensorcopy.results.load import Case, Result
from tensorcopy.site.charts.svg_plot import Band, Line, Names, Numels, Places, Plot, Point, Ratios, Rule, Seconds, Whiskers
from tensorcopy.site.filters import percent
from tensorcopy.site.model.costs import CostTable
from tensorcopy.site.model.history import History, in_order
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.model.result_series import Series

STYLESHEET = Path(__file__).parents[1] / "tensorcopy.css"
COLOURS = 5
MOST_ABOVE_FLOOR = 4.0
ARTICLE = 2**14  # elements of the article's largest tensor
Linked = Callable[[Result, Result], str]  # from a result and the one before it to a link to their comparison, "" without one


def of_case(machine: Machine, case: Case, linked: Linked) -> str:
    """A case over the releases: each series' line with the range of its passes, its levels and steps, and the floor."""
    names = in_order(machine.series)
    place = {name: index for index, name in enumerate(names)}
    mine = [one for one in machine.series if case in one.series_by_case]
    lines, bands, rules, shown = [], [], [], []
    for number, one in enumerate(mine):
        colour = 1 + number % COLOURS
        points, band = _points(one, case, names, linked), _band(one, case, names)
        case_series = one.series_by_case[case]
        levels = dict(zip(case_series.releases, change_points.levels(case_series.values, case_series.steps)))
        lines.append(Line(points, colour, number, "" if number == 0 else "old"))
        lines.append(Line([_level(levels.get(name), place[name]) for name in names], colour, -1, "level"))
        bands.append(Band(band, colour))
        shown += [edge for spot in band if spot for edge in spot[1:]]
        if number == 0:
            rules = [
                Rule(place[case_series.releases[step.index]] - 0.5, f"{'slower' if step.ratio > 1 else 'faster'} {percent(step.ratio)}")
                for step in case_series.steps
            ]
        rules += [Rule(place[name] - 0.5, "machine, not torch", "machine") for name in one.machine_changes]
    measured = {name for one in mine for name, result in zip(_versions(one), one.results) if case in result.timings}
    rules += [Rule(place[name], "not measured", "gap") for name in names if name not in measured]
    if reaches_floor(machine, case):
        floor = _floor(machine, case, names)
        lines.append(Line(floor, 1, -1, "floor"))
        shown += [point.y for point in floor if point]
    return Plot(
        f"{_named(machine, case)} over torch releases", Names(tuple(names)), Seconds.around(shown), lines, bands, tuple(rules)
    ).svg()


def reaches_floor(machine: Machine, case: Case) -> bool:
    """Whether a case's floor is near enough to be in its picture without making the rest of it flat."""
    multiple = baseline.multiple(machine.result, case)
    return multiple is not None and multiple <= MOST_ABOVE_FLOOR


def of_group(shown: History, names: Mapping[str, str]) -> str:
    """A group's methods at one size over the releases: the first environment's lines solid, others' dashed. `names` are the codes."""
    lines = []
    for number, environment in enumerate(shown.environments):
        for index, method in enumerate(shown.methods):
            points: list[Point | None] = []
            for place, release in enumerate(shown.releases):
                timing = shown.at(release, environment, method)
                tip = f"{names[method]}, torch {release}, {environment}: {duration(timing.median)}" if timing else ""
                points.append(Point(place, timing.median, tip) if timing else None)
            lines.append(Line(points, 1 + index % COLOURS, index, "" if number == 0 else "old"))
    label = f"{shown.group}: {count(shown.numel)} float32, time per call over torch releases"
    return Plot(label, Names(shown.releases), Seconds.around([p.timing.median for p in shown.points]), lines).svg()


def of_sizes(table: CostTable, names: Mapping[str, str], *, linear: bool) -> str:
    """A group's methods over the number of elements, and their floor: both axes logarithmic, or both linear up to the article's size."""
    numels = [numel for numel in table.numels if not linear or numel <= ARTICLE] or list(table.numels)
    lines = [
        Line(
            [
                Point(numel, cost.timing.median, f"{names[method]}, {count(numel)}: {duration(cost.timing.median)}")
                if cost.timing
                else None
                for numel, cost in zip(numels, row)
            ],
            1 + index % COLOURS,
            index,
        )
        for index, (method, row) in enumerate(zip(table.methods, table.costs))
    ]
    floor = [Point(numel, timing.median) if timing else None for numel, timing in zip(numels, table.floors)]
    lines.append(Line(floor, 1, -1, "floor"))
    values = [point.y for line in lines for point in line.points if point]
    scale = "linear" if linear else "logarithmic"
    return Plot(
        f"{table.group} on {table.device}: time per call over the number of elements, {scale} axes",
        Numels(numels[0], numels[-1], linear),
        Seconds.around(values, linear=linear),
        lines,
    ).svg()


def of_changes(found: Comparison, widest: float) -> str:
    """Every case's ratio with its interval, from the most faster to the most slower."""
    known = sorted((change for change in found.changes.values() if change.interval and change.ratio), key=lambda change: change.ratio or 1)
    whiskers = [
        Whiskers(
            [
                (place, change.interval[0], change.ratio or 1, change.interval[1])
                for place, change in enumerate(known)
                if change.verdict is verdict and change.interval
            ],
            verdict.value,
        )
        for verdict in Verdict
    ]
    label = f"{len(known)} cases: the change of each with its interval, from {found.named[0]} to {found.named[1]}"
    return Plot(label, Places(max(1, len(known))), Ratios(widest), whiskers=[some for some in whiskers if some.points]).svg()


def standalone(svg: str, kind: str = "plots") -> str:
    """An SVG as a file of its own: it brings along what the stylesheet says of its kind, "plots" or "drawings", light and dark."""
    sheet = STYLESHEET.read_text(encoding="utf-8")
    tokens = re.findall(r"^  (--[a-z0-9-]+): light-dark\((.+?), (.+?)\);$", sheet, re.MULTILINE)
    light, dark = ("".join(f"{name}:{pair[which]};" for name, *pair in tokens) for which in (0, 1))
    rules = sheet.split(f"/* {kind}", 1)[1].split("*/", 1)[1].split(f"/* end of {kind} */")[0]
    style = f":root{{{light}}}@media (prefers-color-scheme: dark){{:root{{{dark}}}}}{rules}"
    return svg.replace(">", f"><style>{style}</style>", 1)


def _versions(one: Series) -> list[str]:
    return [release.version for release in one.releases]


def _points(one: Series, case: Case, names: list[str], linked: Linked) -> list[Point | None]:
    there = {release.version: index for index, release in enumerate(one.releases)}
    points: list[Point | None] = []
    for place, name in enumerate(names):
        index = there.get(name)
        timing = one.results[index].timings.get(case) if index is not None else None
        if index is None or timing is None:
            points.append(None)
            continue
        tip = f"torch {name}, {one.environment}: {duration(timing.median)}, passes {duration(timing.low)} to {duration(timing.high)}"
        points.append(Point(place, timing.median, tip, linked(one.results[index - 1], one.results[index]) if index else ""))
    return points


def _band(one: Series, case: Case, names: list[str]) -> list[tuple[float, float, float] | None]:
    timings = {release.version: result.timings.get(case) for release, result in zip(one.releases, one.results)}
    return [(place, timing.low, timing.high) if (timing := timings.get(name)) else None for place, name in enumerate(names)]


def _floor(machine: Machine, case: Case, names: list[str]) -> list[Point | None]:
    """The floor as the first series measured it beside each release."""
    first = machine.series[0]
    found = {release.version: baseline.timing(result, case) for release, result in zip(first.releases, first.results)}
    return [Point(place, timing.median) if (timing := found.get(name)) else None for place, name in enumerate(names)]


def _level(value: float | None, place: int) -> Point | None:
    return None if value is None else Point(place, value)


def _named(machine: Machine, case: Case) -> str:
    return machine.code(dict(case.parameters).get("method", case.suite), case.device)
