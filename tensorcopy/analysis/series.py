"""A case's course over the releases, as `tensorcopy history` prints it: times, levels, steps, and what moved together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from statistics import median

from tensorcopy.analysis import change_points, comparisons
from tensorcopy.analysis.change_points import Step
from tensorcopy.releases import release_table
from tensorcopy.results import passes, select
from tensorcopy.results.load import Case, Result

MEDIANS = 1.253  # standard error of a median of normal values over that of their mean, the root of pi/2
DISPATCHER = 2**14  # elements, up to which it decides what a copy costs


@dataclass(frozen=True)
class CaseSeries:
    """One case over the releases of the table, on one machine and Python.

    values : seconds; None where a release was not measured
    spreads : each value's own standard error, relative
    """

    case: Case
    on: str
    releases: tuple[str, ...]
    values: tuple[float | None, ...]
    spreads: tuple[float, ...]
    steps: tuple[Step, ...]


def series_by_case(found: Sequence[Result], machine: str = "", python: str = "") -> dict[Case, CaseSeries]:
    """Every case's course, on the machine and Python that measured last, or on those that are named. Raises TensorcopyError."""
    newest = select.newest(found, machine=machine, python=python)
    mine = {one.sha: one for one in found if (one.machine, one.python, one.build) == (newest.machine, newest.python, newest.build)}
    return over([mine[row.sha] for row in release_table.load() if row.sha in mine])


def over(series: Sequence[Result]) -> dict[Case, CaseSeries]:
    """Every case's course over the results of one machine, Python and build, in order of release; the newest result's cases first."""
    newest = series[-1]
    there = dict.fromkeys(case for one in reversed(series) for case in one.timings)
    cases = [case for case in there if not case.suite.startswith(comparisons.NOT_TORCHS)]
    on = f"{newest.provenance['cpu']} ({newest.machine}), Python {newest.python}, {newest.build} build"
    return {case: _course(case, on, tuple(map(comparisons.version, series)), series, _usual(series, case)) for case in cases}


def _course(case: Case, on: str, names: tuple[str, ...], series: Sequence[Result], usual: float) -> CaseSeries:
    timings = [one.timings.get(case) for one in series]
    values = tuple(timing.median if timing else None for timing in timings)
    numbers = [len(passes.counted(timing.by_pass)) if timing and timing.by_pass else 1 for timing in timings]
    spreads = tuple(MEDIANS * usual / sqrt(number) for number in numbers)
    return CaseSeries(case, on, names, values, spreads, tuple(change_points.steps(values, spreads)))


def _usual(series: Sequence[Result], case: Case) -> float:
    """How far a pass of this case usually strays, relative: of all releases together, since four passes know it badly."""
    strays = []
    for one in series:
        logs = one.timings[case].logs if case in one.timings else ()
        middle = median(logs) if logs else 0.0
        strays += [abs(value - middle) * sqrt(len(logs) / (len(logs) - 1)) for value in logs] if len(logs) > 1 else []
    return median(strays) / 0.6745 if strays else 0.0  # of a median deviation, as a standard deviation


@dataclass(frozen=True)
class ReleaseChange:
    """What went the same way at one release: cases on one device, where the dispatcher decides or where the memory does.

    device, small : where the cases' tensors lie, and whether they have up to 2¹⁴ elements; of : how many such cases there are
    most : the case that moved most, and its step
    """

    release: str
    device: str
    small: bool
    verdict: str
    cases: tuple[Case, ...]
    of: int
    ratio: float
    most: tuple[Case, Step]


def changes_by_release(found: Mapping[Case, CaseSeries]) -> list[ReleaseChange]:
    """What moved together at each release, in order."""
    kinds: dict[tuple[str, bool], list[Case]] = {}
    for case in found:
        small = int(dict(case.parameters).get("numel", "0")) <= DISPATCHER
        kinds.setdefault((case.device, small), []).append(case)
    names = next(iter(found.values())).releases if found else ()
    told = []
    for index, name in enumerate(names):
        for kind, cases in kinds.items():
            for group in change_points.grouped({case: found[case].steps for case in cases}, index):
                steps = {case: step for case in group.cases for step in found[case].steps if step.index == index}
                most = max(steps, key=lambda case: abs(log(steps[case].ratio)))
                told.append(ReleaseChange(name, *kind, group.verdict, group.cases, len(cases), group.ratio, (most, steps[most])))
    return told
