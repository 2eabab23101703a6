"""Cases together: the changes of groups of cases at each release, and the open cases of each method.

A group is a suite's methods on one device, on small or on large tensors: a change of torch often moves many of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import NamedTuple

from tensorcopy.judge.case_history import CaseHistory, OpenSince, Standing, Step, releases_of
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
    """Return the changes of many cases of a history in order of release, of a group the slower cases first."""
    groups: dict[CaseGroup, list[CaseHistory]] = {}
    for case, history in by_case.items():
        numel = dict(case.parameters).get(NUMEL, "0" if case.spec.shipped else "")
        small = int(numel) <= DISPATCHER if numel else None
        groups.setdefault(CaseGroup(case.spec.module, case.device, small, history.unit, case.kind), []).append(history)
    changed: dict[tuple[str, CaseGroup, bool, str], dict[Case, Step]] = {}
    for group, histories in groups.items():
        steps = ((history, step) for history in histories for step in history.steps)
        for history, step in sorted(steps, key=lambda each: (not each[1].rises, bool(each[1].against), -each[1].size)):
            key = history.releases[step.index], group, step.rises, step.against
            changed.setdefault(key, {})[history.case] = step
    found = []
    for (release, group, rises, against), of_cases in changed.items():
        verdict, ratio = Verdict(group.kind.rises if rises else group.kind.falls), median(step.ratio for step in of_cases.values())
        found.append(ReleaseChange(release, group, verdict, tuple(of_cases), len(groups[group]), ratio, of_cases, against))
    order = releases_of(by_case.values())
    return sorted(found, key=lambda change: order.index(change.release))


class OpenMethod(NamedTuple):
    """The open cases of one method or suite on a device that became slower at the same time; the largest cost first."""

    since: OpenSince
    cases: tuple[Standing, ...]

    @property
    def is_news(self) -> bool:
        """Whether a case is neither accepted nor back to an earlier level."""
        return self.since is not OpenSince.BACK and not all(each.accepted for each in self.cases)

    @property
    def worst(self) -> Standing:
        """The case with the largest cost."""
        return self.cases[0]

    @property
    def slowed_most(self) -> Standing:
        """The case with the largest single slowdown; where all crept, the one with the largest cost."""
        return max(self.cases, key=lambda each: each.step.ratio if each.step else 0.0)


def open_methods(standings: Iterable[Standing]) -> list[OpenMethod]:
    """Return the open ones among the cases of a device by method: the newest first, and then those with the largest cost."""
    found: dict[tuple[OpenSince, str], list[Standing]] = {}
    for each in standings:
        if each.since:
            found.setdefault((each.since, subject(each.case)), []).append(each)
    methods = [OpenMethod(since, tuple(sorted(of, key=lambda each: -each.ratio))) for (since, _), of in found.items()]
    return sorted(methods, key=lambda each: ([*OpenSince].index(each.since), -each.worst.ratio))


def gained(cases: Iterable[Standing]) -> tuple[str, str]:
    """Return the release whose gain some cases lost and the one at whose level they are back; "" where these are several."""
    ends = [(each.history, each.history.before(each.step.index)) for each in cases if each.step]
    gains, levels = {of.releases[index] for of, index in ends}, {of.releases[of.before(index)] for of, index in ends}
    return gains.pop() if len(gains) == 1 else "", levels.pop() if len(levels) == 1 else ""


@cache
def subject(case: Case) -> str:
    """Return what a case is of: its method, or else its suite; a parameter "method" of a third-party suite can be anything."""
    return dict(case.parameters).get("method", case.spec.label) if case.spec.shipped else case.spec.label
