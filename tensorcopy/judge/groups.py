"""Cases together: the changes of groups of cases at each release, and the open cases of each method.

A group is a suite's methods on one device, on small or on large tensors: a change of torch often moves many of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from tensorcopy.judge import meaning
from tensorcopy.judge.case_history import CaseHistory, Standing, Step, releases_of
from tensorcopy.judge.meaning import OpenSince
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


class OpenCase(NamedTuple):
    """A case whose newest release is slower than an earlier one."""

    standing: Standing
    since: OpenSince
    step: Step | None  # its last slowdown that stays, of one that is back that slowdown; None where it crept

    @property
    def case(self) -> Case:
        """The case."""
        return self.standing.history.case

    @property
    def release(self) -> str:
        """The release with which it became slower; "" where it crept."""
        return self.standing.history.releases[self.step.index] if self.step else ""


class OpenMethod(NamedTuple):
    """The open cases of one method or suite on a device that became slower at the same time; the largest cost first."""

    since: OpenSince
    cases: tuple[OpenCase, ...]

    @property
    def is_news(self) -> bool:
        """Whether a case is neither accepted nor back to an earlier level."""
        return self.since is not OpenSince.BACK and not all(each.standing.accepted for each in self.cases)

    @property
    def worst(self) -> Standing:
        """The case with the largest cost."""
        return self.cases[0].standing

    @property
    def slowed_most(self) -> OpenCase:
        """The case with the largest single slowdown; where all crept, the one with the largest cost."""
        return max(self.cases, key=lambda each: each.step.ratio if each.step else 0.0)


def open_cases(standings: Mapping[Case, Standing], by_case: Mapping[Case, CaseHistory]) -> dict[Case, OpenCase]:
    """Return the open cases among some; by_case : the histories of all, of which those of instructions tell what is back."""
    found = {}
    for case, each in standings.items():
        if each.is_open:
            counts = meaning.instructions(by_case, case)
            found[case] = OpenCase(each, meaning.open_since(each, counts), meaning.slowdown(each, counts) or each.since)
    return found


def open_methods(cases: Iterable[OpenCase]) -> list[OpenMethod]:
    """Return open cases of a device by method: the newest first, and then those with the largest cost."""
    found: dict[tuple[OpenSince, str], list[OpenCase]] = {}
    for each in cases:
        found.setdefault((each.since, subject(each.case)), []).append(each)
    methods = [OpenMethod(since, tuple(sorted(of, key=lambda each: -each.standing.ratio))) for (since, _), of in found.items()]
    return sorted(methods, key=lambda each: ([*OpenSince].index(each.since), -each.worst.ratio))


def subject(case: Case) -> str:
    """Return what a case is of: its method, or else its suite; a parameter "method" of a third-party suite can be anything."""
    return dict(case.parameters).get("method", "") if case.spec.shipped and "method" in dict(case.parameters) else case.spec.label
