"""What one call spends its instructions on, over the releases whose functions were counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tensorcopy.analysis.comparisons import version
from tensorcopy.analysis.profiles import difference
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.results.load import Result
from tensorcopy.results.profiles import profile_file
from tensorcopy.results.profiles.profile_file import Profile


@dataclass(frozen=True)
class Spent:
    """What a call of one release spends.

    by_group : exclusive instructions by what the functions belong to, the most expensive group first
    empty_call : the instructions of an empty Python call; None where they were not counted
    """

    result: Result
    profile: Profile
    by_group: Mapping[str, float]
    empty_call: float | None

    @property
    def release(self) -> str:
        """The release's version."""
        return version(self.result)

    @property
    def unnamed(self) -> float:
        """The instructions of functions that are too cheap for the profile."""
        return self.profile.instructions - sum(self.by_group.values())


def over_releases(results: Iterable[Result], name: str) -> list[Spent]:
    """Return what a profiled case spends with each release, in order; of several Pythons the newest.

    Releases without a profile, or with a damaged one, are left out.
    """
    return list(_spent(_profiled(results), name))


def is_profiled(results: Iterable[Result], name: str) -> bool:
    """Return whether `over_releases` has any release. It reads a single profile where the first one has the case."""
    return next(_spent(_profiled(results), name), None) is not None


def _profiled(results: Iterable[Result]) -> list[Result]:
    """Return the results beside which there is a file of profiles, in order of releases."""
    order = {row.sha: index for index, row in enumerate(release_table.load())}
    by_sha: dict[str, Result] = {}
    for result in sorted(results, key=lambda result: release_table.minor(result.python)):
        if result.sha in order and profile_file.path_of(result.path).exists():
            by_sha[result.sha] = result
    return sorted(by_sha.values(), key=lambda result: order[result.sha])


def _spent(results: Sequence[Result], name: str) -> Iterator[Spent]:
    for result in results:
        try:
            profiles = profile_file.profiles_of(result)
        except TensorcopyError:
            continue  # `tensorcopy why` reports it
        profile = profiles.of(name) if profiles else None
        if profiles and profile:
            yield Spent(result, profile, difference.cost_by_group(profile), profiles.empty_call)
