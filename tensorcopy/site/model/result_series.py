"""Results in order: the series of each machine, which pairs are compared, what happened between one release and the next. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

from tensorcopy.analysis import comparisons, series
from tensorcopy.analysis.comparisons import SAME_MACHINE, SAME_TIMER, Comparison
from tensorcopy.analysis.series import CaseSeries, ReleaseChange
from tensorcopy.releases.release_table import Release
from tensorcopy.results.load import Case, Result

MOST_PAIRS = 2_000  # pages that compare two results: a page is some 50 kB
TORCHS = ("cpu_capability", "threads")  # of what must be alike, what torch itself chose


@dataclass(frozen=True)
class Series:
    """The results of one machine, Python and build, in order of release: every case's series. There is at least one.

    releases : of each result
    """

    results: tuple[Result, ...]
    releases: tuple[Release, ...]

    @property
    def machine(self) -> str:
        return self.results[-1].machine

    @property
    def environment(self) -> str:
        return self.results[-1].environment

    @property
    def newest(self) -> Result:
        return self.results[-1]

    @property
    def before(self) -> Result | None:
        """The newest but one."""
        return self.results[-2] if len(self.results) > 1 else None

    @cached_property
    def series_by_case(self) -> dict[Case, CaseSeries]:
        return series.over(self.results)

    @cached_property
    def changes_by_release(self) -> list[ReleaseChange]:
        """What moved together at each release, the newest first."""
        return series.changes_by_release(self.series_by_case)[::-1]

    @cached_property
    def latest(self) -> Comparison | None:
        """The newest release against the one before it."""
        return self.compared(self.before, self.newest) if self.before else None

    def compared(self, one: Result, other: Result) -> Comparison:
        """Two results, of which the first is of this series, judged with what all of the series tells of noise."""
        return comparisons.between(one, other, self.results)

    @cached_property
    def machine_changes(self) -> dict[str, list[str]]:
        """By release, what of the machine is not as it was at the release before; none where all is."""
        return {
            comparisons.version(other): changed for one, other in pairwise(self.results) if (changed := machine_differences(one, other))
        }


def machine_differences(one: Result, other: Result) -> list[str]:
    """What of the machine, or of what measured there, is not the same for two results of it."""
    names = [name for name in (*SAME_MACHINE, *SAME_TIMER) if name not in TORCHS]
    changed = [name for name in names if _said(one, name) and _said(other, name) and _said(one, name) != _said(other, name)]
    return [f"{name}: {_said(one, name)} → {_said(other, name)}" for name in changed]


def of_results(found: Sequence[Result], releases: Sequence[Release]) -> list[Series]:
    """Every series: the machine that measured last first, and there the newest Python. Results of an unknown SHA are left out."""
    known = {release.sha: (index, release) for index, release in enumerate(releases)}
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for result in found:
        if result.sha in known and result.timings:
            groups.setdefault((result.machine, result.environment, result.build), []).append(result)
    ordered = [sorted(group, key=lambda one: known[one.sha][0]) for group in groups.values()]
    series = [Series(tuple(group), tuple(known[one.sha][1] for one in group)) for group in ordered]
    last = {
        one.machine: max(str(result.provenance["started"]) for other in series if other.machine == one.machine for result in other.results)
        for one in series
    }
    series.sort(key=lambda one: (_newest(one, known), one.environment), reverse=True)
    series.sort(key=lambda one: (last[one.machine], one.machine), reverse=True)
    return series


def pairs(series: Sequence[Series]) -> list[tuple[Series, Result, Result]]:
    """Which results have a page that compares them, the earlier or lesser first.

    Of every series each release with the one before it and with the newest; the same release on two environments of a machine, and on two
    machines; then all other pairs of a series, of one series after the other, while there are fewer than `MOST_PAIRS` in all.
    """
    found = {}
    for one, before, after in (*_neighbours(series), *_across(series)):
        found[before.path, after.path] = (one, before, after)
    for one in series:
        for before, after in combinations(one.results, 2):
            if len(found) < MOST_PAIRS:
                found.setdefault((before.path, after.path), (one, before, after))
    return list(found.values())


def _neighbours(series: Sequence[Series]) -> Iterator[tuple[Series, Result, Result]]:
    for one in series:
        yield from ((one, before, after) for before, after in pairwise(one.results))
        yield from ((one, before, one.newest) for before in one.results[:-2])


def _across(series: Sequence[Series]) -> Iterator[tuple[Series, Result, Result]]:
    """Of one machine all that two environments share; of two machines that follow on each other the newest that they share."""
    machines: dict[str, list[Series]] = {}
    for one in series:
        machines.setdefault(one.machine, []).append(one)
    for mine in machines.values():
        for one, other in combinations(mine, 2):
            yield from ((other, theirs, its) for its, theirs in _shared(one, other))
    for one, other in pairwise(mine[0] for mine in machines.values()):
        yield from ((one, its, theirs) for its, theirs in _shared(one, other)[-1:])


def _shared(one: Series, other: Series) -> list[tuple[Result, Result]]:
    theirs = {result.sha: result for result in other.results}
    return [(result, theirs[result.sha]) for result in one.results if result.sha in theirs]


def _newest(series: Series, known: dict[str, tuple[int, Release]]) -> tuple[int, list[int]]:
    """By the newest release, then by the numbers in the environment's name: py3.9 before py3.11."""
    return known[series.newest.sha][0], [int(digits) for digits in re.findall(r"\d+", series.environment)]


def _said(result: Result, name: str) -> str:
    value = result.provenance.get(name)
    return "" if value in (None, "") else str(value)
