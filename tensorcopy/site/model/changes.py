"""The changes at each release of a series, with their evidence. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tensorcopy.analysis.series import ReleaseChange
from tensorcopy.report.case_history import change_text
from tensorcopy.results.load import Case
from tensorcopy.site import addresses
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.result_series import Series


@dataclass(frozen=True)
class SeriesChange:
    """Cases of one kind that changed in the same direction at one release of a series.

    date : the release's, "2026-01-21"
    comparison_address : the comparison with the release before
    machine_changes : differences of the machine between the two releases
    confirmed : a later release, or the comparison of the newest two, shows the change too
    """

    series: Series
    change: ReleaseChange
    date: str
    comparison_address: str
    machine_changes: tuple[str, ...]
    confirmed: bool

    @property
    def release(self) -> str:
        """The release's version."""
        return self.change.release

    @property
    def environment(self) -> str:
        """The series' environment."""
        return self.series.environment

    @property
    def slower(self) -> bool:
        """Whether the cases became slower."""
        return self.change.verdict == "slower"

    @property
    def text(self) -> str:
        """The change as a sentence."""
        return change_text(self.change)

    @property
    def largest_case(self) -> Case:
        """The case with the largest change."""
        return self.change.most[0]

    @property
    def largest_ratio(self) -> float:
        """That case's ratio."""
        return self.change.most[1].ratio

    @property
    def largest_address(self) -> str:
        """That case's history."""
        return addresses.of_case(self.series.machine, self.largest_case)


def series_changes(content: Content, series: Series) -> list[SeriesChange]:
    """Return the changes of a series, the newest release first."""
    return [_series_change(content, series, change) for change in series.changes_by_release]


def changes_on_machine(content: Content, all_series: Sequence[Series]) -> list[SeriesChange]:
    """Return the changes of all series of a machine, the newest first."""
    changes = [change for series in all_series for change in series_changes(content, series)]
    return sorted(changes, key=lambda change: change.date, reverse=True)


def _series_change(content: Content, series: Series, change: ReleaseChange) -> SeriesChange:
    index = next(index for index, release in enumerate(series.releases) if release.version == change.release)
    return SeriesChange(
        series=series,
        change=change,
        date=series.releases[index].date.isoformat(),
        comparison_address=content.comparison_address(series.results[index - 1], series.results[index]) or addresses.HISTORIES,
        machine_changes=tuple(series.machine_changes.get(change.release, ())),
        confirmed=index < len(series.releases) - 1 or _confirmed_by_comparison(series, change),
    )


def _confirmed_by_comparison(series: Series, change: ReleaseChange) -> bool:
    """Return whether the comparison of the newest two releases shows the change.

    The same verdict for any of the cases is enough.
    """
    return series.latest is not None and any(
        series.latest.changes[case].verdict.value == change.verdict for case in change.cases if case in series.latest.changes
    )
