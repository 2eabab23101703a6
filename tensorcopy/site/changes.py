"""The changes of one case, and those whose functions were counted. Pure.

The changes of a case are what headline, chart, table, CSV and index show. They are the steps of the history over all Pythons
(`Machine.history`). A newer Python decides from its first release on. A step that only an older one shows after that is added, if the newer
Python is flat there.

A change whose functions were counted on both sides has a page. Neighbouring releases of a series are compared. A method has a page for its
smallest tensor, where the dispatcher dominates. It has another for one that requires grad, and for one where the kernel dominates, if these
changed in another way. Other sizes, layouts and dtypes of the method lead to these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import log, sqrt
from typing import Any

from tensorcopy.analysis import functions as analysis
from tensorcopy.analysis.change_points import Step
from tensorcopy.analysis.comparisons import labels
from tensorcopy.analysis.functions import Difference
from tensorcopy.analysis.series import CaseSeries, directions
from tensorcopy.errors import TensorcopyError
from tensorcopy.report.sentences import step_size, step_text
from tensorcopy.results import functions
from tensorcopy.results.cases import Case
from tensorcopy.results.functions import Profiles
from tensorcopy.results.reader import Result
from tensorcopy.site import addresses

ERRORS = 2.0  # standard errors within which a ratio is uncertain
SHARE = 1 / 2  # of a change, on a logarithmic scale: with less of it another Python is flat


@dataclass(frozen=True)
class CaseChange:
    """A change of a case.

    release : the first with the new level
    environment : of the Python whose values show it
    only : that Python, if another one measured the release and is flat there; else ""
    words : its direction, size and interval, as `step_text` returns them
    """

    step: Step
    release: str
    environment: str
    only: str
    unit: str
    words: str

    @property
    def verdict(self) -> str:
        """The direction of a time: "slower" or "faster"; of a count "more" or "fewer", of a tracked value "higher" or "lower"."""
        return directions(self.unit)[not self.step.rises].value

    @property
    def size(self) -> str:
        """The size with its sign: "−17.3 %", "+0.05 GB/s"."""
        return step_size(self.step, self.unit)

    @property
    def where(self) -> str:
        """The Python that alone shows it: "on Python 3.9 only"; else ""."""
        return f"on Python {self.only} only" if self.only else ""

    @property
    def text(self) -> str:
        """The change in words: "faster by 17.3 % (15.6 to 18.9 %), on Python 3.9 only"."""
        return ", ".join(filter(None, (self.words, self.where)))


def changes_of_case(joined: CaseSeries, by_python: Sequence[CaseSeries]) -> tuple[CaseChange, ...]:
    """Return the changes of a case in order of release.

    joined : its history over all Pythons
    by_python : its history on each Python
    """
    changes = [_change(joined, step, by_python) for step in joined.steps]
    for own in by_python:
        changes += [_change(own, step, by_python) for step in own.steps if _is_additional(joined, own, step, by_python)]
    order = {release: index for index, release in enumerate(joined.releases)}
    return tuple(sorted(changes, key=lambda change: order[change.release]))


def _change(case_series: CaseSeries, step: Step, by_python: Sequence[CaseSeries]) -> CaseChange:
    _, after = case_series.sides(step.index)
    own = next(series for series in by_python if series.results[0].series_key == after.series_key)
    release = case_series.releases[step.index]
    return CaseChange(
        step=step,
        release=release,
        environment=after.environment,
        only=after.python if not own.case.tracked and _is_only(own, release, step.ratio, by_python) else "",
        unit=case_series.unit,
        words=step_text(step, case_series.releases, case_series.unit),
    )


def _is_additional(joined: CaseSeries, own: CaseSeries, step: Step, by_python: Sequence[CaseSeries]) -> bool:
    """Return whether a step of one Python belongs to the case although another Python decides there."""
    release = own.releases[step.index]
    if release not in joined.releases or step.index == 0 or own.case.tracked:
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


LARGE = 2**17  # elements from which on the kernel dominates
PLAIN = "float32 contiguous"

ProfileKey = tuple[tuple[Any, ...], str]  # the place of the later result, and the name of a profiled case


@dataclass(frozen=True)
class CountedChange:
    """A case between two neighbouring releases, with its functions.

    name : of the profiled case
    """

    before: Result
    after: Result
    name: str

    @cached_property
    def difference(self) -> Difference:
        """The functions of both sides; reading them takes long."""
        before, after = (profiles_of(result) for result in (self.before, self.after))
        assert before is not None  # the case was counted on both sides
        assert after is not None
        return analysis.between(before, after, self.name)

    @property
    def address(self) -> str:
        """The address of its page."""
        return addresses.of_cause(self.before, self.after, self.name)


def counted_changes(all_series: Iterable[tuple[Result, ...]]) -> dict[ProfileKey, CountedChange]:
    """Return the changes of the instructions between neighbouring results, by result and case.

    Results without a profile, or with a damaged one, have none.
    """
    changes = {}
    for results in all_series:
        for before, after in pairwise(results):
            first, second = profiles_of(before), profiles_of(after)
            for name in _changed_cases(first, second) if first and second else ():
                changes[after.place, name] = CountedChange(before, after, name)
    return changes


@dataclass(frozen=True)
class CauseLink:
    """A link to the functions behind a change.

    of : how the page's case differs from the one with the link: "numel=1, without grad"
    """

    change: CountedChange
    of: str

    @property
    def address(self) -> str:
        """The address of the page."""
        return self.change.address

    @property
    def labels(self) -> tuple[str, str]:
        """The two releases: "torch 2.9.1" and "torch 2.10.0"."""
        return labels(self.change.before, self.change.after)


def cause_link(changes: dict[ProfileKey, CountedChange], result: Result, case: Case) -> CauseLink | None:
    """Return the link to the page about a case's change at a result, or about the most similar case of its method; None for none."""
    name = functions.name_of(case)
    if not name:
        return None
    method, numel, *kind = name.split()
    grad = name.endswith(" grad")
    of_method = [listed for place, listed in changes if listed.startswith(f"{method} ") and place == result.place]
    if not of_method:
        return None

    def distance(listed: str) -> tuple[bool, bool, bool]:
        """Return how a page's case differs from this one, the most important first."""
        return listed != name, (int(listed.split()[1]) >= LARGE) != (int(numel) >= LARGE), listed.endswith(" grad") != grad

    nearest = min(of_method, key=distance)
    _, nearest_numel, *nearest_kind = nearest.split()
    differences = [f"numel={nearest_numel}"] if numel != nearest_numel else []
    if kind[:2] != nearest_kind[:2]:
        differences.append(", ".join(nearest_kind[:2]))
    if kind[2:] != nearest_kind[2:]:
        differences.append("requires grad" if nearest_kind[2:] else "without grad")
    return CauseLink(changes[result.place, nearest], ", ".join(differences))


def _changed_cases(first: Profiles, second: Profiles) -> Iterator[str]:
    """Yield the cases that have pages: of each method the smallest, with and without grad, and the first large one, if these changed."""
    shown: dict[tuple[str, str, bool], str] = {}
    for name in sorted(set(first.cases) & set(second.cases), key=lambda name: (int(name.split()[1]), name)):
        method, numel, *rest = name.split()
        large = int(numel) >= LARGE
        if " ".join(rest[:2]) == PLAIN and not (large and rest[2:]):
            shown.setdefault((method, " ".join(rest[2:]), large), name)
    explained: dict[str, float] = {}  # by method, the difference of the first case that has a page
    for (method, _, _), name in shown.items():
        counts = (first.instructions(name), second.instructions(name))
        expected = counts[0] + explained.get(method, 0.0)
        if not analysis.is_changed(*counts) or not analysis.is_changed(expected, counts[1]):
            continue
        explained.setdefault(method, counts[1] - counts[0])
        yield name


def profiles_of(result: Result) -> Profiles | None:
    """Return the functions of a result; None where they were not counted, or cannot be read."""
    try:
        return functions.profiles_of(result)
    except TensorcopyError:
        return None  # `tensorcopy why` reports it
