"""A group's methods at one size over the releases. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from packaging.version import Version

from tensorcopy.results.passes import Timing
from tensorcopy.site.model.costs import case_of, methods_of
from tensorcopy.site.model.result_series import Series


@dataclass(frozen=True)
class Point:
    """A method's cost in one release in one environment, such as "py3.11-cuda", at one size."""

    release: str
    environment: str
    method: str
    timing: Timing


@dataclass(frozen=True)
class History:
    """A group's methods at one size over the releases, in order of version."""

    group: str
    numel: int
    releases: tuple[str, ...]
    environments: tuple[str, ...]  # each a series of its own, the newest Python first
    methods: tuple[str, ...]
    points: tuple[Point, ...]

    def at(self, release: str, environment: str, method: str) -> Timing | None:
        return self._timings.get((release, environment, method))

    def has(self, release: str, environment: str) -> bool:
        """Whether any of the methods was measured there."""
        return any((release, environment, method) in self._timings for method in self.methods)

    @cached_property
    def _timings(self) -> dict[tuple[str, str, str], Timing]:
        return {(point.release, point.environment, point.method): point.timing for point in self.points}


def history(mine: tuple[Series, ...], group: str, numel: int) -> History:
    points = tuple(
        Point(release.version, result.environment, method, timing)
        for one in mine
        for release, result in zip(one.releases, one.results)
        for method in methods_of(result, group, "cpu")
        if (timing := result.timings.get(case_of(group, method, numel, "cpu")))
    )
    there = {point.release for point in points}
    return History(
        group=group,
        numel=numel,
        releases=tuple(name for name in in_order(mine) if name in there),
        environments=tuple(one.environment for one in mine if any(point.environment == one.environment for point in points)),
        methods=tuple(dict.fromkeys(point.method for point in points)),
        points=points,
    )


def in_order(mine: Sequence[Series]) -> list[str]:
    """Every release that any of the series has, in order of version."""
    return sorted({release.version for one in mine for release in one.releases}, key=Version)
