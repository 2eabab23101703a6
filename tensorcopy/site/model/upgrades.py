"""What an upgrade from one release to another changes, for every pair of releases of a machine. Pure.

A pair that has a comparison page takes its numbers from there. Other pairs are counted by the histories: a case is slower if the changes
between the two releases, together, make it slower by at least the margin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import log, log1p

from tensorcopy.analysis.series import CaseSeries, releases_of
from tensorcopy.analysis.two_sample import MARGIN, Change, Verdict
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import Machine

COPIES, CONVERSIONS = "copies", "conversions"  # the modules of suites that are counted, each apart


@dataclass(frozen=True)
class Tally:
    """How many cases of one kind became slower and faster, of how many."""

    slower: int
    faster: int
    cases: int


@dataclass(frozen=True)
class Upgrade:
    """An upgrade from one release to a newer one.

    address : of the comparison page that has judged it; "" where the histories are counted
    """

    before: str
    after: str
    copies: Tally
    conversions: Tally
    address: str


def releases(machine: Machine) -> tuple[str, ...]:
    """Return the releases of a machine's joined axis, the oldest first."""
    return tuple(releases_of(machine.history.values()))


def upgrades(content: Content, machine: Machine) -> list[Upgrade]:
    """Return every upgrade between two releases of a machine's joined axis, in order of both."""
    levels = [(case, _log_levels(series)) for case, series in machine.history.items() if case.spec.module in (COPIES, CONVERSIONS)]
    return [
        _judged(content, machine, before, after) or _counted(levels, before, after) for before, after in combinations(releases(machine), 2)
    ]


def _judged(content: Content, machine: Machine, before: str, after: str) -> Upgrade | None:
    """Return an upgrade that has a comparison page; None for others."""
    for series in machine.series:
        results: dict[str, Result] = {release.version: result for release, result in zip(series.releases, series.results)}
        address = content.comparison_address(results[before], results[after]) if before in results and after in results else ""
        if address:
            changes = content.comparisons[address].changes
            return Upgrade(before, after, _verdicts(changes, COPIES), _verdicts(changes, CONVERSIONS), address)
    return None


def _verdicts(changes: Mapping[Case, Change], module: str) -> Tally:
    verdicts = [change.verdict for case, change in changes.items() if case.spec.module == module]
    return Tally(verdicts.count(Verdict.SLOWER), verdicts.count(Verdict.FASTER), len(verdicts))


def _counted(levels: Iterable[tuple[Case, Mapping[str, float]]], before: str, after: str) -> Upgrade:
    """Return an upgrade by the histories of the cases that were measured with both releases."""
    changes = [(case, level[after] - level[before]) for case, level in levels if before in level and after in level]
    tallies = [_tally([change for case, change in changes if case.spec.module == module]) for module in (COPIES, CONVERSIONS)]
    return Upgrade(before, after, tallies[0], tallies[1], "")


def _tally(changes: list[float]) -> Tally:
    least = log1p(MARGIN) - 1e-9  # rounding must not decide
    return Tally(sum(change >= least for change in changes), sum(change <= -least for change in changes), len(changes))


def _log_levels(series: CaseSeries) -> dict[str, float]:
    """Return the level of a case at each measured release, in logarithms and against its first level."""
    return {
        release: sum(log(step.ratio) for step in series.steps if step.index <= index)
        for index, (release, value) in enumerate(zip(series.releases, series.values))
        if value is not None
    }
