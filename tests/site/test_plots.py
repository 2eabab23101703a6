"""Plots draw values at the right place, with their texts."""

import re
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from xml.etree import ElementTree

import pytest

from tensorcopy.campaign import NO_RULES
from tensorcopy.judge import comparisons
from tensorcopy.judge.case_history import CaseHistory
from tensorcopy.judge.change_points import Step
from tensorcopy.judge.comparisons import Question
from tensorcopy.results.cases import Case
from tensorcopy.site import plots
from tensorcopy.site.machine import series_of_results
from tensorcopy.site.plots import SPARK_HEIGHT, SPARK_MARGIN, spark_span, sparkline
from tensorcopy.site.svg import (
    ChangeGrid,
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
)
from tests import launch_files

RELEASES = ("2.1.0", "2.2.0", "2.3.0", "2.4.0")
SVG = "{http://www.w3.org/2000/svg}"


def drawn(**fields) -> ElementTree.Element:
    plot = Plot(**{"label": "a plot", "x": NameAxis(("1.0", "2.0", "3.0")), "y": ValueAxis(1e-6, 1e-4), **fields})
    return ElementTree.fromstring(plot.svg())


def test_a_mark_and_a_tick_have_titles_and_a_tick_is_a_link():
    """A pointer and a screen reader get the escaped text."""
    tick = Rule(0.5, "+12 % <b>", "slower", "a.html?x=1&y=2")
    root = drawn(lines=[Line([PlotPoint(0, 1e-5, 'torch "1.0" <b>')])], ticks=[tick])
    (link,) = root.iter(f"{SVG}a")
    assert (link.get("href"), link.find(f"{SVG}title").text) == ("a.html?x=1&y=2", "+12 % <b>")
    assert [title.text for title in root.iter(f"{SVG}title")] == ["+12 % <b>", 'torch "1.0" <b>']


def test_a_tick_lies_between_the_axis_and_its_names():
    """Changes up in the row next to the axis, changes down in the one below, of any quantity; without a label, one path for each kind."""
    kinds = ("slower", "faster", "more", "fewer", "higher", "lower")
    plot = Plot("", NameAxis(tuple("abcdef")), ValueAxis(1e-6, 1e-4), ticks=[Rule(place, "", kind) for place, kind in enumerate(kinds)])
    root = ElementTree.fromstring(plot.svg())
    paths = {path.get("class"): path.get("d") for path in next(group for group in root.iter(f"{SVG}g") if group.get("class") == "ticks")}
    assert list(paths) == [*kinds]
    tops = {kind: float(re.match(r"M\d+ ([\d.]+)l3 -?6h-6z$", path)[1]) for kind, path in paths.items()}
    assert plot.bottom < tops["slower"] == tops["more"] == tops["higher"] < tops["faster"] == tops["fewer"] == tops["lower"]
    assert tops["faster"] <= replace(plot, ticks=()).bottom, "the names stay where they are"
    again = replace(plot, ticks=[Rule(0, "", "slower"), Rule(2, "", "slower")]).svg()
    assert len(re.findall(r'<path class="slower" d="M[^"]*zM[^"]*z"/>', again)) == 1


def test_a_higher_value_is_drawn_higher():
    """Each release is to the right of the one before."""
    plot = Plot("", NameAxis(("a", "b")), ValueAxis(1e-6, 1e-4), [])
    (left, low), (right, high) = plot.at(0, 1e-6), plot.at(1, 1e-4)
    assert left < right
    assert low > high


def values_of_axes() -> Iterator[list[float]]:
    """Yield single values, equal ones, the widest span, and spans of any width between 1 ns and 1,000 s."""
    yield from ([1e-9], [1e3], [1e-9, 1e3], [3e-6, 3e-6], [1e3, 999.9999])
    random = Random(0)
    for _ in range(200):
        low = random.uniform(-9, 3)
        high = random.uniform(low, 3)
        yield [10 ** random.uniform(low, high) for _ in range(random.randint(1, 30))]


@pytest.mark.parametrize("linear", [False, True])
def test_an_axis_holds_its_values_and_has_ticks(linear):
    """Ticks are few, within the axis and distinct."""
    for values in values_of_axes():
        axis = ValueAxis.around(values, linear=linear)
        assert all(-1e-9 <= axis.share(value) <= 1 + 1e-9 for value in values), values
        ticks = axis.ticks()
        assert 1 <= len(ticks) <= 16, values
        assert len({text for _, text in ticks}) == len(ticks), values
        assert all(axis.low <= value <= axis.high for value, _ in ticks), values


def test_noise_does_not_fill_the_plot():
    """A logarithmic axis spans at least a quarter, so two per cent look small."""
    axis = ValueAxis.around([1.0e-6, 1.02e-6])
    assert axis.high / axis.low > 1.25
    assert axis.share(1.02e-6) - axis.share(1.0e-6) < 0.1


def test_sizes_are_powers_of_two():
    """A logarithmic axis shows exponents, a linear one binary units from 0, whatever the smallest size."""
    assert [text for _, text in NumelAxis(1, 2**4).ticks()] == ["2⁰", "2¹", "2²", "2³", "2⁴"]
    for smallest in (1, 2**12, 2**14):
        axis = NumelAxis(smallest, 2**14, linear=True)
        assert {text: axis.share(numel) for numel, text in axis.ticks()} == {"0": 0, "4 Ki": 0.25, "8 Ki": 0.5, "12 Ki": 0.75, "16 Ki": 1}


def drawn_grid(cells: list[GridCell]) -> ElementTree.Element:
    grid = ChangeGrid("a grid", [""] * len(cells), "others", {"Copies": [GridRow("x.clone()", "a.html", cells)]}, RatioAxis(0.1))
    return ElementTree.fromstring(grid.svg())


def test_intervals_of_a_comparison_are_drawn_around_no_change():
    """A ratio of 1 is in the middle."""
    assert RatioAxis(0.1).share(1.0) == 0.5
    cells = [GridCell(0.95, 0.97, 1.0, "faster"), GridCell(1.0, 1.05, 1.08, "slower"), GridCell(0.95, 0.98, 1.0, "faster")]
    root = drawn_grid(cells)
    counts = {
        group.get("class"): [path.get("d").lower().count("m") for path in group]
        for group in root.iter(f"{SVG}g")
        if "whisker" in group.get("class")
    }
    assert counts == {"whisker faster": [2, 2], "whisker slower": [1, 1]}  # lines and dots of each verdict


@pytest.mark.parametrize(
    ("low", "high", "arrows"), [(0.95, 1.05, 0), (0.5, 1.05, 1), (0.95, 2.0, 1), (0.5, 2.0, 2), (0.3, 0.4, 1), (2.0, 3.0, 1)]
)
def test_an_interval_that_ends_outside_has_an_arrow(low, high, arrows):
    """At each edge that cuts it, and nowhere else."""
    root = drawn_grid([GridCell(low, (low + high) / 2, high, "slower")])
    (line, _) = next(group for group in root.iter(f"{SVG}g") if "whisker" in group.get("class"))
    assert line.get("d").count("m") == arrows


def spark_history(*values: float | None, steps: tuple[Step, ...] = ()) -> CaseHistory:
    case = Case("copies.BySize.time_copy", (("method", "a"), ("numel", "16")))
    return CaseHistory(case, "", "seconds", RELEASES[: len(values)], (), values, (0.0,) * len(values), steps)


def points(path: str) -> list[tuple[int, int]]:
    """Return the corners of a path of absolute starts and relative lines."""
    x = y = 0
    corners = []
    for command, first, second in re.findall(r"([Mlh])(-?\d+) ?(-?\d+)?", path):
        x, y = (int(first), int(second)) if command == "M" else (x + int(first), y + int(second or 0))
        corners.append((x, y))
    return corners


def paths(svg: str) -> list[list[tuple[int, int]]]:
    return [points(path) for path in re.findall(r' d="([^"]*)"', svg)]


TOP, BOTTOM = SPARK_MARGIN, SPARK_HEIGHT - SPARK_MARGIN


def test_a_sparkline_has_the_colour_of_its_last_change_or_of_what_it_costs():
    """From there on: the part before is another line, which ends where this one begins."""
    history = spark_history(4e-6, 4e-6, 2e-6, 2e-6, steps=(Step(2, 4e-6, 2e-6, 0.0),))
    before, after = paths(sparkline(history, RELEASES))
    assert before == [(0, TOP), (6, TOP), (12, BOTTOM)]
    assert after == [(12, BOTTOM), (18, BOTTOM)]
    assert 'class="spark faster"' in sparkline(history, RELEASES)
    assert [len(path) for path in paths(sparkline(history, RELEASES, 1, "slower"))] == [2, 3]
    assert 'class="spark slower"' in sparkline(history, RELEASES, 1, "slower")


def test_sparklines_of_a_table_have_one_scale():
    """An equal change is equally high in each; the largest history fills the height."""
    small, large = spark_history(1e-6, 2e-6), spark_history(1e-3, 4e-3)
    span = spark_span([small, large])
    heights = [[y for path in paths(sparkline(history, RELEASES, 0, "", span)) for _, y in path] for history in (small, large)]
    assert heights[1] == [BOTTOM, TOP]
    assert heights[0][0] - heights[0][1] == (BOTTOM - TOP) / 2


def test_the_zone_of_a_release_is_what_it_would_not_have_been_told_from(tmp_path):
    """On both sides of its time, as far as the smallest slowdown that is seen."""
    case, releases = launch_files.case("copies.BySize.time_copy tensor 16"), ("2.4.1", "2.8.0")
    launch_files.write(tmp_path, {"copies.BySize.time_copy tensor 16": dict.fromkeys(releases, 1.0)})
    results = launch_files.load(tmp_path, *releases)
    (series,) = series_of_results(results)
    detectable = comparisons.between(Question(*results)).changes[case].detectable
    first, (position, low, high) = plots._zone(series, case, releases, NO_RULES)
    time = results[1].timings[case].seconds
    assert (first, position) == (None, 1)
    assert (low, high) == pytest.approx((time / (1 + detectable), time * (1 + detectable)))
