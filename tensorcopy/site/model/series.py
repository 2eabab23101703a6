"""Results in order: series of results, the pairs to compare, and changes of the machine. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from tensorcopy.analysis import comparisons
from tensorcopy.analysis import series as case_series
from tensorcopy.analysis.comparisons import SAME_TIMER, Comparison
from tensorcopy.analysis.series import CaseSeries
from tensorcopy.releases import release_table
from tensorcopy.releases.release_table import Release
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result
from tensorcopy.results.series_key import SeriesKey, by_series

TORCH_CHOICES = ("cpu_capability", "threads")  # fields of SAME_MACHINE that torch itself decides

Pair = tuple["Series", Result, Result]  # the series whose noise applies, before, after


@dataclass(frozen=True)
class Series:
    """The results of one machine, Python and build in order of release; at least one.

    releases : of each result
    """

    results: tuple[Result, ...]
    releases: tuple[Release, ...]

    @property
    def key(self) -> SeriesKey:
        """Machine, Python and build."""
        return self.results[-1].series_key

    @property
    def machine(self) -> str:
        """The machine's name."""
        return self.results[-1].machine

    @property
    def environment(self) -> str:
        """Python and build: "py3.11-cuda"."""
        return self.results[-1].environment

    @property
    def newest(self) -> Result:
        """The newest result."""
        return self.results[-1]

    @cached_property
    def series_by_case(self) -> dict[Case, CaseSeries]:
        """Each case's times over the releases."""
        return case_series.over(self.results)

    def compared(self, before: Result, after: Result) -> Comparison:
        """Return the comparison of two results, with the noise of this series.

        `before` belongs to the series.
        """
        return comparisons.between(before, after, self.results)

    @cached_property
    def machine_changes(self) -> dict[str, list[str]]:
        """The differences of the machine from the release before, by release.

        Releases without a difference are omitted.
        """
        return {
            comparisons.version(after): differences
            for before, after in pairwise(self.results)
            if (differences := machine_differences(before, after))
        }


def machine_differences(before: Result, after: Result) -> list[str]:
    """Return the differences of machine and timer between two results.

    Each is a text: "hugepages: madvise → always".
    """
    (ours, theirs) = (
        {**comparisons.machine_fields(result, with_gpu=True), **{name: _field(result, name) for name in SAME_TIMER}}
        for result in (before, after)
    )
    compared = [name for name in ours if name not in TORCH_CHOICES and ours[name] and theirs.get(name)]
    return [f"{name}: {ours[name]} → {theirs[name]}" for name in compared if ours[name] != theirs[name]]


def series_of_results(results: Sequence[Result]) -> list[Series]:
    """Return every series, the machine that measured last first, then by newest release and Python; those of interpreters are its last.

    Results of an unknown SHA are omitted.
    """
    releases = release_table.load()
    groups = by_series(result for result in results if result.timings)
    all_series = [Series(tuple(group), tuple(releases[releases.position(result.sha)] for result in group)) for group in groups.values()]
    last_started: dict[str, str] = {}
    for key, group in groups.items():
        started = max(str(result.provenance["started"]) for result in group)
        last_started[key.machine] = max(started, last_started.get(key.machine, ""))
    all_series.sort(
        key=lambda series: (
            *(not series.key.is_of_interpreter, releases.position(series.newest.sha)),
            *(release_table.minor(series.key.python), series.key.build),
        ),
        reverse=True,
    )
    all_series.sort(key=lambda series: (last_started[series.machine], series.machine), reverse=True)
    return all_series


def compared_pairs(all_series: Sequence[Series]) -> list[Pair]:
    """Return the pairs of results that have a comparison page, the earlier first.

    In each series every release with the one before it and with the newest, and the last release of each minor version with that of the
    minor version before; the same release in two environments of a machine, and on two machines. Each result is in a fixed number of
    pairs as the later side or beside the newest, so the pages grow in proportion to the results. The explorer compares any others.
    """
    selected = {}
    for series, before, after in (*_neighbours(all_series), *_across(all_series)):
        selected[before.path, after.path] = (series, before, after)
    return list(selected.values())


def _neighbours(all_series: Sequence[Series]) -> Iterator[Pair]:
    for series in all_series:
        last_of_minor = {release_table.minor(release.version): result for release, result in zip(series.releases, series.results)}
        yield from ((series, before, after) for before, after in pairwise(series.results))
        yield from ((series, before, series.newest) for before in series.results[:-2])
        yield from ((series, before, after) for before, after in pairwise(last_of_minor.values()))


def _across(all_series: Sequence[Series]) -> Iterator[Pair]:
    """Pair releases that two environments of a machine, or two machines, share.

    An environment is paired with the next older one, the next of its build and the next of its Python, for all releases that both have;
    two neighbouring machines for the newest release that both have.
    """
    by_machine: dict[str, list[Series]] = {}
    for series in all_series:
        by_machine.setdefault(series.machine, []).append(series)
    for machine_series in by_machine.values():
        by_release: dict[str, list[tuple[Series, Result]]] = {}
        for series in machine_series:
            for result in series.results:
                by_release.setdefault(result.sha, []).append((series, result))
        for measured in by_release.values():
            yield from _environments(measured)
    for first, second in pairwise(machine_series[0] for machine_series in by_machine.values()):
        yield from ((first, before, after) for before, after in _shared(first, second)[-1:])


def _environments(measured: Sequence[tuple[Series, Result]]) -> Iterator[Pair]:
    """Pair the results of one release on one machine, the newest Python first."""
    for index, (_, after) in enumerate(measured):
        older = measured[index + 1 :]
        same_build = [pair for pair in older if pair[1].series_key.build == after.series_key.build]
        same_python = [pair for pair in older if pair[1].python == after.python]
        yield from ((series, before, after) for series, before in (*older[:1], *same_build[:1], *same_python[:1]))


def _shared(first: Series, second: Series) -> list[tuple[Result, Result]]:
    """Return the results of both series for each release that both have."""
    by_sha = {result.sha: result for result in second.results}
    return [(result, by_sha[result.sha]) for result in first.results if result.sha in by_sha]


def _field(result: Result, name: str) -> str:
    value = result.provenance.get(name)
    return "" if value in (None, "") else str(value)


def release_versions(all_series: Sequence[Series]) -> list[str]:
    """Return every release of any of the series, in order of version."""
    return [release.version for release in sorted({release for series in all_series for release in series.releases})]
