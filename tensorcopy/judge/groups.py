"""Cases together: the changes of groups of cases at each release, and the open regressions of each method.

A group is a suite's methods on one device, on small or on large tensors: a change of torch often moves many of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from tensorcopy.judge.case_history import Age, CaseHistory, Standing, Step, releases_of
from tensorcopy.judge.paired import Verdict
from tensorcopy.results.cases import Case
from tensorcopy.results.kinds import TIME, Kind
from tensorcopy.results.suite_specs import NUMEL, SECONDS

DISPATCHER = 2**14  # elements up to which the dispatcher, not the memory, decides what a copy costs


@dataclass(frozen=True)
class CaseGroup:
    """A group of cases.

    small : whether the tensors have up to 2¹⁴ elements; None for third-party benchmarks without a numel
    """

    module: str  # of the suites, such as "copies"
    device: str
    small: bool | None
    unit: str = SECONDS  # in which the cases are measured
    kind: Kind = TIME


@dataclass(frozen=True)
class ReleaseChange:
    """The cases of a group that changed in the same direction at one release, from the same one."""

    release: str
    group: CaseGroup
    verdict: Verdict  # slower or faster; of a count more or fewer, of a tracked value higher or lower
    cases: tuple[Case, ...]  # that changed, the largest change first
    of: int  # the number of cases in the group
    ratio: float  # the median of the cases
    steps: Mapping[Case, Step]  # of each case
    against: str = ""  # the release that they changed from, where that is not the one before; "" elsewhere


def changes_by_release(by_case: Mapping[Case, CaseHistory]) -> list[ReleaseChange]:
    """Return the changes of many cases of a history, in order of release."""
    groups = {group: [by_case[case] for case in cases] for group, cases in grouped(by_case).items()}
    releases = releases_of(by_case.values())
    return [change for release in releases for group, each in groups.items() for change in _changes_at(release, group, each)]


def grouped(by_case: Mapping[Case, CaseHistory]) -> dict[CaseGroup, list[Case]]:
    """Return the cases of each group, in the order of the cases."""
    groups: dict[CaseGroup, list[Case]] = {}
    for case, history in by_case.items():
        parameters = dict(case.parameters)
        numel = parameters.get(NUMEL, "0" if case.spec.shipped else "")
        small = int(numel) <= DISPATCHER if numel else None
        groups.setdefault(CaseGroup(case.spec.module, case.device, small, history.unit, case.kind), []).append(case)
    return groups


def _changes_at(release: str, group: CaseGroup, histories: Sequence[CaseHistory]) -> Iterator[ReleaseChange]:
    """Yield the slower cases of a group at a release, and the faster ones."""
    at_release = [(history.case, step) for history in histories for step in history.steps if history.releases[step.index] == release]
    at_release.sort(key=lambda each: (bool(each[1].against), -each[1].size))
    for rises in (True, False):
        verdict = Verdict(group.kind.rises if rises else group.kind.falls)
        changed = [(case, step) for case, step in at_release if step.rises is rises]
        for against in dict.fromkeys(step.against for _, step in changed):
            cases = {case: step for case, step in changed if step.against == against}
            ratio = median(step.ratio for step in cases.values())
            yield ReleaseChange(release, group, verdict, tuple(cases), len(histories), ratio, cases, against)


@dataclass(frozen=True)
class OpenRegression:
    """The open cases of one method on one device, in order of `Standing.rank`."""

    standings: tuple[Standing, ...]

    @property
    def worst(self) -> Standing:
        """The case with the largest cost."""
        return max(self.standings, key=lambda each: each.ratio)

    @property
    def slowed_most(self) -> Standing:
        """The case with the largest slowdown of its age, and of equal ones the largest cost."""
        return max(self.standings, key=lambda each: (each.since.ratio if each.since else 1.0, each.ratio))

    @property
    def accepted(self) -> str:
        """Why all of its cases are known and stay; "" where one is not accepted."""
        reasons = dict.fromkeys(standing.accepted for standing in self.standings)
        return "; ".join(reasons) if all(reasons) else ""

    @property
    def number_accepted(self) -> int:
        """How many of its cases are known and stay."""
        return sum(bool(each.accepted) for each in self.standings)

    @cached_property
    def by_age(self) -> dict[Age, OpenRegression]:
        """Its cases of each age that has any, the newest first."""
        ages = {age: tuple(each for each in self.standings if each.age is age) for age in Age}
        return {age: OpenRegression(members) for age, members in ages.items() if members}

    @property
    def method(self) -> str:
        """The method's name, or the suite's where it has no methods."""
        case = self.worst.history.case
        return _method(case) or case.spec.label


def _method(case: Case) -> str:
    """Return the method of a case, "" where it has none: a parameter "method" of a third-party suite can be anything."""
    return dict(case.parameters).get("method", "") if case.spec.shipped else ""


def open_regressions(standings: Iterable[Standing]) -> list[OpenRegression]:
    """Return the open regressions by method, in order of `Standing.rank`."""
    by_method: dict[tuple[str, str], list[Standing]] = {}
    for each in standings:
        if each.is_open:
            case = each.history.case
            by_method.setdefault((_method(case) or case.suite, case.device), []).append(each)
    regressions = (OpenRegression(tuple(sorted(members, key=lambda each: each.rank))) for members in by_method.values())
    return sorted(regressions, key=lambda each: each.standings[0].rank)


def by_age(regressions: Iterable[OpenRegression]) -> dict[Age, list[OpenRegression]]:
    """Return the open cases of each age that has any by method: the newest first, and of each in order of `Standing.rank`."""
    parts = [each.by_age for each in regressions]
    ages = {age: [ages[age] for ages in parts if age in ages] for age in Age}
    return {age: sorted(of_age, key=lambda each: each.standings[0].rank) for age, of_age in ages.items() if of_age}
