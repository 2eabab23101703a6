"""The changes at each release, by group of cases: a suite's methods on one device, on small or on large tensors.

A change of torch often moves many cases by less than each of them can show. The geometric mean of a group's cases varies less than any
of them, so a group also has a series and changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, median

from tensorcopy.analysis import change_points
from tensorcopy.analysis.change_points import Step
from tensorcopy.analysis.series import DISPATCHER, MEDIANS, CaseSeries, releases_of
from tensorcopy.results.noise import scaled_deviations
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result
from tensorcopy.results.suite_specs import SECONDS

FEWEST_CASES = 4  # of a group that is judged as a whole
ENOUGH_CASES = 0.5  # share of a group's cases that a pass needs to count for the group
ATTRIBUTED = 0.5  # share of a group's change, on a logarithmic scale, that must remain without the cases that changed by themselves


@dataclass(frozen=True)
class CaseGroup:
    """A group of cases.

    module : of the suites, such as "copies"
    small : whether the tensors have up to 2¹⁴ elements; None for third-party benchmarks without a numel
    unit : in which the cases are measured
    """

    module: str
    device: str
    small: bool | None
    unit: str = SECONDS


@dataclass(frozen=True)
class GroupSeries:
    """A group over the releases: the geometric mean of its cases.

    cases : those that were measured with every release
    """

    group: CaseGroup
    cases: tuple[Case, ...]
    values: tuple[float | None, ...]
    spreads: tuple[float, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class ReleaseChange:
    """The cases of a group that changed in the same direction at one release.

    verdict : slower or faster
    cases : that changed by themselves, the largest change first
    of : the number of cases in the group
    ratio : of the group as a whole where that changed, else the median of the cases
    as_group : the group's own step; None where only single cases changed
    steps : of each case
    """

    release: str
    group: CaseGroup
    verdict: str
    cases: tuple[Case, ...]
    of: int
    ratio: float
    as_group: Step | None
    steps: Mapping[Case, Step]

    @property
    def most(self) -> tuple[Case, Step] | None:
        """The case that changed most, and its step; None where no case changed by itself."""
        return (self.cases[0], self.steps[self.cases[0]]) if self.cases else None


def changes_by_release(by_case: Mapping[Case, CaseSeries]) -> list[ReleaseChange]:
    """Return the changes of many cases of one axis, in order of release."""
    groups = grouped(by_case)
    by_group = {group: group_series(group, [by_case[case] for case in cases]) for group, cases in groups.items()}
    releases = releases_of(by_case.values())
    changes: list[ReleaseChange] = []
    for release in releases:
        for group, cases in groups.items():
            changes += _changes_at(release, group, [by_case[case] for case in cases], by_group[group])
    return changes


def grouped(by_case: Mapping[Case, CaseSeries]) -> dict[CaseGroup, list[Case]]:
    """Return the cases of each group, in the order of the cases."""
    groups: dict[CaseGroup, list[Case]] = {}
    for case, case_series in by_case.items():
        numel = dict(case.parameters).get("numel", "0" if case.spec.shipped else "")
        small = int(numel) <= DISPATCHER if numel else None
        groups.setdefault(CaseGroup(case.spec.module, case.device, small, case_series.unit), []).append(case)
    return groups


def group_series(group: CaseGroup, all_series: Sequence[CaseSeries]) -> GroupSeries | None:
    """Return a group's series over the axis that most of its cases have; None for too few cases."""
    longest = max(all_series, key=lambda case_series: len(case_series.releases))
    complete = [case_series for case_series in all_series if case_series.releases == longest.releases and None not in case_series.values]
    if len(complete) < FEWEST_CASES or group.unit != SECONDS:
        return None
    values = tuple(exp(fmean(log(series.values[index] or 1.0) for series in complete)) for index in range(len(longest.releases)))
    cases = tuple(series.case for series in complete)
    means = [_pass_means(result, cases) for result in longest.results]
    deviations, _ = scaled_deviations(means)
    deviation = median(deviations) / change_points.NORMAL_MAD if deviations else 0.0
    spreads = tuple(MEDIANS * deviation / sqrt(max(1, len(passes))) for passes in means)
    return GroupSeries(group, cases, values, spreads, tuple(change_points.steps(values, spreads)))


def _pass_means(result: Result, cases: Sequence[Case]) -> list[float]:
    """Return by how much each pass deviates from the result's medians, in the mean of the cases.

    In logarithms. A pass that few of the cases can use is omitted.
    """
    by_pass: dict[str, list[float]] = {}
    for case in cases:
        timing = result.timings.get(case)  # None where another environment of this Python measured it
        if timing and timing.logs:
            middle = median(timing.logs)
            for pass_samples, time in zip(timing.usable, timing.logs):
                by_pass.setdefault(pass_samples.name, []).append(time - middle)
    return [fmean(values) for values in by_pass.values() if len(values) >= ENOUGH_CASES * len(cases)]


def _changes_at(release: str, group: CaseGroup, all_series: Sequence[CaseSeries], whole: GroupSeries | None) -> Iterator[ReleaseChange]:
    """Yield the slower cases of a group at a release, and the faster ones."""
    steps = {
        case_series.case: step for case_series in all_series for step in case_series.steps if case_series.releases[step.index] == release
    }
    longest = max(all_series, key=lambda case_series: len(case_series.releases))
    as_group = next((step for step in whole.steps if longest.releases[step.index] == release), None) if whole else None
    for verdict, sign in (("slower", 1), ("faster", -1)):
        cases = sorted((case for case, step in steps.items() if sign * log(step.ratio) > 0), key=lambda case: -abs(log(steps[case].ratio)))
        own = as_group if as_group and whole and sign * log(as_group.ratio) > 0 and _is_shared(whole, as_group, cases, all_series) else None
        if cases or own:
            ratio = own.ratio if own else median(steps[case].ratio for case in cases)
            yield ReleaseChange(release, group, verdict, tuple(cases), len(all_series), ratio, own, {case: steps[case] for case in cases})


def _is_shared(whole: GroupSeries, step: Step, changed: Sequence[Case], all_series: Sequence[CaseSeries]) -> bool:
    """Return whether the rest of the group moved with it, not only the cases that changed by themselves."""
    rest = [series for series in all_series if series.case in whole.cases and series.case not in changed]
    if not rest:
        return True
    before = max(index for index in range(step.index) if whole.values[index] is not None)
    moved = fmean(log((series.values[step.index] or 1.0) / (series.values[before] or 1.0)) for series in rest)
    return moved / log(step.ratio) >= ATTRIBUTED
