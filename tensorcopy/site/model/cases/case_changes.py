"""The changes of one case: what headline, chart, table, CSV and index show. Pure.

They are the steps of the history over all Pythons (`Machine.history`). A newer Python decides from its first release on. A step that only
an older one shows after that is added, if the newer Python is flat there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt

from tensorcopy.analysis import confirmation
from tensorcopy.analysis.change_points import Step
from tensorcopy.analysis.confirmation import SHARE, Status
from tensorcopy.analysis.series import CaseSeries
from tensorcopy.report.case_history import step_text
from tensorcopy.report.numbers import signed_percent
from tensorcopy.results.confirmations import Confirmation, Key
from tensorcopy.results.suite_specs import SECONDS

ERRORS = 2.0  # standard errors within which a ratio is uncertain
STATUS_TEXT = {
    Status.CONFIRMED_BY_COUNT: "confirmed by an exact count",
    Status.CONFIRMED: "confirmed by a repeat measurement",
    Status.REJECTED: "not confirmed",
    Status.UNCONFIRMED: "not yet confirmed",
}


@dataclass(frozen=True)
class CaseChange:
    """A change of a case.

    release : the first with the new level
    environment : of the Python whose values show it
    only : that Python, if another one measured the release and is flat there; else ""
    words : its direction and size, as `step_text` returns them
    """

    step: Step
    release: str
    environment: str
    only: str
    unit: str
    status: Status
    words: str

    @property
    def verdict(self) -> str:
        """The direction of a time: "slower" or "faster"; of a count "more" or "fewer"."""
        return ("slower", "faster")[self.step.ratio < 1] if self.unit == SECONDS else ("more", "fewer")[self.step.ratio < 1]

    @property
    def size(self) -> str:
        """The size with its sign: "−17.3 %"."""
        return signed_percent(self.step.ratio)

    @property
    def status_text(self) -> str:
        """How the change is known; of a count "", which is exact."""
        return STATUS_TEXT[self.status] if self.unit == SECONDS else ""

    @property
    def where(self) -> str:
        """The Python that alone shows it: "on Python 3.9 only"; else ""."""
        return f"on Python {self.only} only" if self.only else ""

    @property
    def notes(self) -> str:
        """Where it is seen and how it is known, separated by a comma."""
        return ", ".join(filter(None, (self.where, self.status_text)))

    @property
    def text(self) -> str:
        """The change in words: "faster by 17.3 % (confirmed by an exact count)"."""
        return f"{self.words} ({self.notes})" if self.notes else self.words


def of_case(joined: CaseSeries, by_python: Sequence[CaseSeries], confirmations: Mapping[Key, Confirmation]) -> tuple[CaseChange, ...]:
    """Return the changes of a case in order of release.

    joined : its history over all Pythons, without rejected steps
    by_python : its history on each Python
    """
    changes = [_change(joined, step, by_python, confirmations) for step in joined.steps]
    for own in by_python:
        changes += [_change(own, step, by_python, confirmations) for step in own.steps if _is_additional(joined, own, step, by_python)]
    order = {release: index for index, release in enumerate(joined.releases)}
    return tuple(sorted((change for change in changes if change.status is not Status.REJECTED), key=lambda change: order[change.release]))


def _change(case_series: CaseSeries, step: Step, by_python: Sequence[CaseSeries], confirmations: Mapping[Key, Confirmation]) -> CaseChange:
    after = case_series.sides(step)[1]
    own = next(series for series in by_python if series.results[0].series_key == after.series_key)
    release = case_series.releases[step.index]
    return CaseChange(
        step=step,
        release=release,
        environment=after.environment,
        only=after.python if _is_only(own, release, step.ratio, by_python) else "",
        unit=case_series.unit,
        status=confirmation.status_in(case_series, step, confirmations),
        words=step_text(step, case_series.releases, case_series.unit),
    )


def _is_additional(joined: CaseSeries, own: CaseSeries, step: Step, by_python: Sequence[CaseSeries]) -> bool:
    """Return whether a step of one Python belongs to the case although another Python decides there."""
    release = own.releases[step.index]
    if release not in joined.releases or step.index == 0:
        return False
    decides = joined.results[joined.releases.index(release)].series_key == own.results[0].series_key
    at_joint = any(joint.older.sha == own.results[step.index].sha for joint in joined.joints)  # the joined history judged it
    return not decides and not at_joint and _is_only(own, release, step.ratio, by_python)


def _is_only(own: CaseSeries, release: str, ratio: float, by_python: Sequence[CaseSeries]) -> bool:
    """Return whether a change of one Python at a release is missing on every other that measured it, and one did."""
    others = [flat for other in by_python if other is not own and (flat := _is_flat(own, other, release, ratio)) is not None]
    return bool(others) and all(others)


def _is_flat(own: CaseSeries, other: CaseSeries, release: str, ratio: float) -> bool | None:
    """Return whether another Python shows less than `SHARE` of a change; None where it cannot be known.

    Both are compared from the last release before that both measured.
    """
    ours, theirs = (
        {version: index for index, version in enumerate(series.releases) if series.values[index] is not None} for series in (own, other)
    )
    before = [version for version in ours if version in theirs and ours[version] < ours.get(release, 0)]
    if release not in ours or release not in theirs or not before:
        return None
    least = SHARE * abs(log(ratio))
    direction = 1 if ratio > 1 else -1
    (change, _), (other_change, error) = (
        _log_ratio(series, places[before[-1]], places[release]) for series, places in ((own, ours), (other, theirs))
    )
    return direction * other_change + ERRORS * error < least if direction * change >= least else None


def _log_ratio(series: CaseSeries, before: int, after: int) -> tuple[float, float]:
    """Return the logarithm of the ratio of two measured releases, and its standard error."""
    values = [series.values[index] or 1.0 for index in (before, after)]
    return log(values[1] / values[0]), sqrt(series.spreads[before] ** 2 + series.spreads[after] ** 2)
