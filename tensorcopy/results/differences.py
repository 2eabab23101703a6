"""The differences of two results, case by case, from the launches that have them. Pure.

The unit of evidence is the launch: turns of one launch share the layout of its processes, so a launch counts once. The difference is the
mean of the differences within the launches that both sides were in, whichever others each was in, and what disturbed the launches cancels.
Only where other launches tell more than these, by way of sides that met both, such as the reference release, it is that of the
least-squares fit to all launches (`effects`). Sides that never met in any way have no difference, unless neither of them has met any: then
it is that of their seconds, with all the variation of the machine.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from tensorcopy.results.cases import Case
from tensorcopy.results.effects import Numbers, alike, fit, met
from tensorcopy.results.result import Result

Key = TypeVar("Key", bound=Hashable)

PAIRED, JOINED, UNPAIRED = "in the same launches", "by way of other releases", "unpaired"


@dataclass(frozen=True, slots=True)
class Difference:
    """The measured difference of one case.

    size : log(time after / time before)
    variance : of one launch's difference, with `freedom` degrees of freedom
    count : launches; of two sides that did not meet, the number that gives their difference the same variance
    launches : of either side, that it is from
    way : `PAIRED`, `JOINED` or `UNPAIRED`
    """

    size: float
    variance: float
    count: float
    freedom: float
    launches: tuple[int, int]
    way: str = PAIRED


def between(before: Result, after: Result) -> dict[Case, Difference | None]:
    """Return the difference of every case that both results have; None of those that never met."""
    first, second = before.effects, after.effects
    if first is None or second is None or before.column is None or after.column is None:
        return {}
    if first is second:
        by_number = within(first.logs, before.column, after.column)
        return {case: by_number[number] for case, number in first.cases.items() if number in by_number}
    return {
        case: unpaired(first.logs[:, before.column, first.cases[case]], second.logs[:, after.column, second.cases[case]])
        for case in before.timings
        if case in after.timings
    }


def of_means(before: Result, after: Result, groups: Mapping[Key, Sequence[Case]]) -> dict[Key, Difference]:
    """Return the difference of the geometric mean of each group of cases, each with the same weight.

    Two results of different machines have none, nor have groups whose sides never met.
    """
    effects = before.effects
    if effects is None or effects is not after.effects or before.column is None or after.column is None or not groups:
        return {}
    logs, measured = effects.logs, {}
    known = ~np.isnan(logs[:, [before.column, after.column]])
    in_launches = logs[:, after.column] - logs[:, before.column]
    for group, cases in groups.items():
        numbers = [effects.cases[case] for case in cases]
        difference = _mean_within(in_launches[:, numbers])
        if difference is None or 2 * difference.launches[0] < known[:, :, numbers].sum(axis=0).min():  # other launches may tell more
            difference = within(logs[:, :, numbers].mean(axis=2, keepdims=True), before.column, after.column).get(0) or difference
        if difference:
            measured[group] = difference
    return measured


def _mean_within(logs: Numbers) -> Difference | None:
    """Return the mean of the differences of some cases, each from all of its launches; None where one has fewer than two.

    logs : the differences within launches, by launch and case, NaN where it was not measured

    What a launch adds to the mean is independent of what others add, so these squares are the variance; each residual is as much larger as
    the mean of its case has drawn it in (HC2; MacKinnon and White, 1985). Where all launches have all cases, this is the variance of their
    means. The degrees of freedom are those of Satterthwaite (1946) for launches that vary alike.
    """
    known = ~np.isnan(logs)
    counts = known.sum(axis=0)
    if counts.min() < 2:
        return None
    sizes = np.where(known, logs, 0.0).sum(axis=0) / counts
    weights = known / (counts * len(counts))  # of each difference in the mean
    residuals = np.where(known, logs - sizes, 0.0) / np.sqrt(1 - 1 / counts)
    of_launch = weights.sum(axis=1)
    used = of_launch > 0
    of_launch, weights = of_launch[used], weights[used]
    drawn_in = (weights / counts).sum(axis=1) / of_launch
    count = 1 / float((of_launch**2).sum())
    error = float(((weights * residuals[used]).sum(axis=1) ** 2).sum())
    freedom = 1 / (count**2 * float((of_launch**4 / (1 - drawn_in)).sum()))
    fewest = int(counts.min())
    return Difference(float(sizes.mean()), error * count, count, freedom, (fewest, fewest))


def within(logs: Numbers, before: int, after: int) -> dict[int, Difference | None]:
    """Return the difference of two columns in every case that both have, by its number; None of sides that never met.

    logs : log seconds by launch, column and case, NaN where it was not measured
    """
    first, second = (~np.isnan(logs[:, column]) for column in (before, after))
    together = first & second
    counts = together.sum(axis=0)
    from_before = np.where(together, logs[:, after] - logs[:, before], 0.0)
    sizes = from_before.sum(axis=0) / np.maximum(counts, 1)
    squares = np.where(together, from_before - sizes, 0.0) ** 2
    variances = squares.sum(axis=0) / np.maximum(counts - 1, 1)
    differences: dict[int, Difference | None] = {}
    for case in np.flatnonzero(counts).tolist():
        n = int(counts[case])
        differences[case] = Difference(float(sizes[case]), float(variances[case]), n, n - 1, (n, n))
    apart = np.flatnonzero(first.any(axis=0) & second.any(axis=0) & (first != second).any(axis=0))
    for group in alike(~np.isnan(logs[:, :, apart])):
        for case, by_way in zip(apart[group].tolist(), _by_way(logs[:, :, apart[group]], before, after)):
            # the fit uses all launches, but a simpler difference, of these two sides alone, is worth some of them
            if by_way is None or by_way.count > 2 * counts[case]:
                differences[case] = by_way
    return differences


def _by_way(logs: Numbers, before: int, after: int) -> list[Difference | None]:
    """Return the difference of two columns by the fit to all launches, in each case; None of sides that never met.

    logs : log seconds by launch, column and case, of cases that were measured in the same places
    """
    measured = ~np.isnan(logs[:, :, 0])
    cases = range(logs.shape[2])
    group = next(group for group in met(measured) if before in group)
    if after not in group:
        if _is_alone(measured, before) and _is_alone(measured, after):
            return [unpaired(logs[:, before, case], logs[:, after, case]) for case in cases]
        return [None for _ in cases]
    used = measured[:, group].any(axis=1)
    place = np.ix_(used, group)
    fitted = fit(logs[place], measured[place].astype(float))
    one, other = (int(np.flatnonzero(group == column)[0]) for column in (before, after))
    inverse = fitted.inverse
    count = 2 / float(inverse[one, one] + inverse[other, other] - 2 * inverse[one, other])
    sizes = (fitted.columns[other] - fitted.columns[one]).tolist()
    # of these two alone: an outlier of one side would look small among the residuals of all the others
    (first_variances, first_freedom), (second_variances, second_freedom) = (fitted.variances_of(column) for column in (one, other))
    variances, freedom = (first_variances + second_variances).tolist(), first_freedom + second_freedom
    launches = int(measured[:, before].sum()), int(measured[:, after].sum())
    return [Difference(sizes[case], variances[case], count, freedom, launches, JOINED) for case in cases]


def _is_alone(measured: Numbers, column: int) -> bool:
    """Return whether a column was the only one in each of its launches; measured : by launch and column."""
    own_launches = measured[measured[:, column]]
    return bool((own_launches.sum(axis=1) == 1).all())


def looks(before: Result, after: Result) -> int:
    """Return how many looks at the launches that compare two results share the chance of a false alarm.

    It is the most of any launch that both are in. Where they never met, it is that of any launch of either: those of a side were chosen by
    how it differed from another.
    """
    measured = [(each.effects, each.column) for each in (before, after) if each.effects is not None and each.column is not None]
    if len(measured) < 2:
        return 1
    (first, one), (second, other) = measured
    together = first.most_looks(one, other) if first is second else 0
    return together or max(1, first.most_looks(one), second.most_looks(other))


def of_launches(differences: Numbers) -> Difference:
    """Return the difference from those within launches."""
    n = len(differences)
    return Difference(float(np.mean(differences)), float(np.var(differences, ddof=1)) if n > 1 else 0.0, n, n - 1, (n, n))


def summed(differences: Sequence[Difference]) -> Difference:
    """Return the sum of independent differences, such as of two Pythons.

    Its degrees of freedom are those of Welch (1947).
    """
    errors = [(each.variance / each.count, each.freedom) for each in differences]
    error, count = sum(error for error, _ in errors), 1 / sum(1 / each.count for each in differences)
    freedom = error**2 / sum(error**2 / free for error, free in errors if free) if error else 0.0
    launches = min(each.launches[0] for each in differences), min(each.launches[1] for each in differences)
    return Difference(sum(each.size for each in differences), error * count, count, freedom, launches, JOINED)


def unpaired(before: Numbers, after: Numbers) -> Difference:
    """Return the difference of two sides by the log seconds of their launches (Welch, 1947)."""
    first, second = (values[~np.isnan(values)] for values in (np.asarray(before), np.asarray(after)))
    return replace(summed([of_launches(-first), of_launches(second)]), launches=(len(first), len(second)), way=UNPAIRED)


@dataclass(frozen=True)
class Point:
    """What one launch says of a case.

    started : when it began
    side : "A" for before, "B" for after; "" for the difference of both within it
    size : log(time after / time before); of one side, how far its time in this launch lies above the fitted time before
    """

    started: str
    side: str
    size: float


def points(before: Result, after: Result, case: Case) -> list[Point]:
    """Return what each launch says of a timed case, as `between` uses it, in order of their starts; nothing where a side lacks it."""
    first, second = before.effects, after.effects
    if first is None or second is None or before.column is None or after.column is None:
        return []
    if not (case in before.timings and case in after.timings):
        return []
    own_before, own_after = first.logs[:, before.column, first.cases[case]], second.logs[:, after.column, second.cases[case]]
    if first is second:
        of_case = first.logs[:, :, [first.cases[case]]]
        difference = within(of_case, before.column, after.column)[0]
        if difference and difference.way == PAIRED:
            sizes = own_after - own_before
            return [Point(start, "", float(size)) for start, size in zip(first.started, sizes) if not np.isnan(size)]
        parts = _launch_parts(of_case[:, :, 0], before.column)
        own_before, own_after = own_before - parts, own_after - parts
    level = float(np.nanmean(own_before))
    by_start = [
        *((start, "A", float(size)) for start, size in zip(first.started, own_before)),
        *((start, "B", float(size)) for start, size in zip(second.started, own_after)),
    ]
    return [Point(start, side, size - level) for start, side, size in sorted(by_start) if not np.isnan(size)]


def _launch_parts(logs: Numbers, column: int) -> Numbers:
    """Return the part of each launch in one case, by the fit to all sides that met a column; 0 where that tells nothing."""
    measured = ~np.isnan(logs)
    group = next(group for group in met(measured) if column in group)
    used = measured[:, group].any(axis=1)
    parts, place = np.zeros(len(logs)), np.ix_(used, group)
    if len(group) > 1:
        parts[used] = fit(logs[place][:, :, None], measured[place].astype(float)).launches[:, 0]
    return parts
