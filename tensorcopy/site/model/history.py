"""The methods of a group at one size over the releases. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from packaging.version import Version

from tensorcopy.results.passes import Timing
from tensorcopy.site.model.costs import case_of, methods_of
from tensorcopy.site.model.result_series import Series


@dataclass(frozen=True)
class HistoryPoint:
    """A method's time with one release in one environment, such as "py3.11-cuda"."""

    release: str
    environment: str
    method: str
    timing: Timing


@dataclass(frozen=True)
class History:
    """The methods of a group at one size over the releases, in order of version.

    environments : the newest Python first; each is a series
    """

    group: str
    numel: int
    releases: tuple[str, ...]
    environments: tuple[str, ...]
    methods: tuple[str, ...]
    points: tuple[HistoryPoint, ...]

    def at(self, release: str, environment: str, method: str) -> Timing | None:
        """Return a method's time; None when it was not measured."""
        return self._timings.get((release, environment, method))

    def has(self, release: str, environment: str) -> bool:
        """Return whether any of the methods was measured with a release in an environment."""
        return any((release, environment, method) in self._timings for method in self.methods)

    @cached_property
    def _timings(self) -> dict[tuple[str, str, str], Timing]:
        return {(point.release, point.environment, point.method): point.timing for point in self.points}


def history(all_series: tuple[Series, ...], group: str, numel: int) -> History:
    """Return the history of a group on the CPU at one size, for one machine."""
    points = tuple(
        HistoryPoint(release.version, result.environment, method, timing)
        for series in all_series
        for release, result in zip(series.releases, series.results)
        for method in methods_of(result, group, "cpu")
        if (timing := result.timings.get(case_of(group, method, numel, "cpu")))
    )
    releases = {point.release for point in points}
    environments = {point.environment for point in points}
    return History(
        group=group,
        numel=numel,
        releases=tuple(version for version in release_versions(all_series) if version in releases),
        environments=tuple(series.environment for series in all_series if series.environment in environments),
        methods=tuple(dict.fromkeys(point.method for point in points)),
        points=points,
    )


def release_versions(all_series: Sequence[Series]) -> list[str]:
    """Return every release of any of the series, in order of version."""
    return sorted({release.version for series in all_series for release in series.releases}, key=Version)
