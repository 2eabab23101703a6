"""The article's timing pictures: its sizes, on the newest release and on torch 1.9. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from packaging.version import Version

from tensorcopy.analysis.advice import recommend
from tensorcopy.analysis.comparisons import version
from tensorcopy.analysis.two_sample import Verdict
from tensorcopy.report.numbers import count, duration
from tensorcopy.results.passes import Case, Timing
from tensorcopy.results.reader import Result
from tensorcopy.site.charts.axes import NumelAxis, ValueAxis
from tensorcopy.site.charts.plot_items import Line, PlotPoint
from tensorcopy.site.charts.svg_plot import Plot
from tensorcopy.site.filters import NARROW_SPACE, code_markup
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.translate import Translate

GRID = {"copy": "article.Copies.time_copy", "conversion": "article.Conversions.time_conversion"}
MAX_NUMEL = 2**14  # of the article's largest tensor
ARTICLE_TORCH = "1.9"
THREE = ("clone_detach", "empty_like_copy", "detach_clone")  # equally fast, according to the article
TWO = ("new_tensor", "tensor")  # and slower than these three
METHODS = {"copy": (*THREE, *TWO), "conversion": ("detach_numpy_copy", "clone_detach_numpy", "detach_clone_numpy")}


@dataclass(frozen=True)
class Sweep:
    """The times of a group's methods on one release, by method and size.

    own_grid : whether the article's own sizes were measured
    series : results of the same machine, Python and build, which show the noise
    """

    group: str
    result: Result
    own_grid: bool
    cases: Mapping[tuple[str, int], Case]
    series: tuple[Result, ...]

    @property
    def release(self) -> str:
        """The torch release."""
        return version(self.result)

    @property
    def methods(self) -> list[str]:
        """The methods in the order of the article."""
        return list(dict.fromkeys(method for method, _ in self.cases))

    @property
    def numels(self) -> list[int]:
        """The sizes in order."""
        return sorted({numel for _, numel in self.cases})

    def timing(self, method: str, numel: int) -> Timing | None:
        """Return a method's time at one size."""
        case = self.cases.get((method, numel))
        return self.result.timings.get(case) if case else None


@dataclass(frozen=True)
class Standing:
    """A method among the others of its group.

    fastest : at how many sizes it is the fastest or tied with it
    low, high : its time over that of the fastest, over all sizes
    """

    method: str
    fastest: int
    sizes: int
    low: float
    high: float

    @property
    def span(self) -> str:
        """The multiples as text: "× 1.31 – × 1.52"."""
        low, high = (f"×{NARROW_SPACE}{value:.2f}" for value in (self.low, self.high))
        return low if low == high else f"{low} – {high}"


def of_machine(machine: Machine, group: str) -> list[Sweep]:
    """Return the sweep of the newest release that has one, and that of torch 1.9 or else of the oldest release."""
    sweeps = [sweep for series in machine.series for result in series.results if (sweep := _sweep(result, group, series.results))]
    if not sweeps:
        return []
    sweeps.sort(key=lambda sweep: Version(sweep.release))
    own = [sweep for sweep in sweeps if sweep.own_grid]
    old = [sweep for sweep in sweeps if sweep.release.startswith(f"{ARTICLE_TORCH}.")]
    oldest = next((sweep for sweep in old if sweep.own_grid), (old or sweeps)[0])
    newest = (own or sweeps)[-1]
    return [newest] if newest.release == oldest.release else [newest, oldest]


def _sweep(result: Result, group: str, series: Sequence[Result]) -> Sweep | None:
    for suite in (GRID[group], recommend.suite_of(group, "cpu")):
        of_suite = [case for case in result.timings if case.suite == suite and case["method"] in METHODS[group]]
        cases = {(case["method"], int(case["numel"])): case for case in of_suite if int(case["numel"]) <= MAX_NUMEL}
        if cases:
            return Sweep(group, result, suite == GRID[group], cases, tuple(series))
    return None


def plot(sweep: Sweep, together: Sequence[Sweep], machine: Machine, label: str) -> Markup:
    """Draw a sweep on linear axes, as the article does; sweeps shown `together` have one scale."""
    lines = []
    for index, method in enumerate(sweep.methods):
        points = [
            PlotPoint(numel, timing.median, f"{machine.code(method)}, {count(numel)}: {duration(timing.median)}")
            if (timing := sweep.timing(method, numel))
            else None
            for numel in sweep.numels
        ]
        lines.append(Line(points, 1 + index, index))
    values = [timing.median for each in together for case in each.cases.values() if (timing := each.result.timings.get(case))]
    axis = ValueAxis.around(values, linear=True)
    return Markup(Plot(f"{label}, torch {sweep.release}", NumelAxis(1, MAX_NUMEL, linear=True), axis, lines).svg())  # noqa: S704 - our own SVG


def standing(sweep: Sweep) -> list[Standing]:
    """Return how each method stands among the others."""
    fastest = dict.fromkeys(sweep.methods, 0)
    multiples: dict[str, list[float]] = {method: [] for method in sweep.methods}
    for numel in sweep.numels:
        cases = [case for (_, size), case in sweep.cases.items() if size == numel]
        changes = recommend.against_fastest(sweep.result, cases, sweep.series)
        least = min(sweep.result.timings[case].median for case in changes)
        for case, change in changes.items():
            fastest[case["method"]] += change is None or change.verdict is not Verdict.SLOWER
            multiples[case["method"]].append(sweep.result.timings[case].median / least)
    return [Standing(method, fastest[method], len(values), min(values), max(values)) for method, values in multiples.items() if values]


def fastest(sweep: Sweep, standings: Sequence[Standing], machine: Machine, translate: Translate) -> Markup:
    """Return which methods are the fastest or tied with it at the most sizes."""
    most = max(row.fastest for row in standings)
    codes = [code_markup(machine.code(row.method)) for row in standings if row.fastest == most]
    return translate("article_fastest", torch=sweep.release, codes=translate("and").join(codes), part=most, total=len(sweep.numels))


def conclusion(sweep: Sweep, translate: Translate) -> Markup:
    """Return whether three copies are still as fast as each other, and faster than the other two."""
    times = {
        numel: {method: timing.median for method in sweep.methods if (timing := sweep.timing(method, numel))} for numel in sweep.numels
    }
    complete = {numel: row for numel, row in times.items() if {*THREE, *TWO} <= row.keys()}
    if not complete:
        return Markup("")
    apart = sum(min(row[method] for method in TWO) > max(row[method] for method in THREE) for row in complete.values())
    spread = max(max(row[method] for method in THREE) / min(row[method] for method in THREE) for row in complete.values())
    return translate("article_three", torch=sweep.release, apart=apart, sizes=len(complete), spread=f"×{NARROW_SPACE}{spread:.2f}")
