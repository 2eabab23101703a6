"""The effects of all launches of one machine, the times of a release that follow, and the differences of two. Pure.

In a launch, log(time) = launch + release + layout. The launch is what disturbs all sides together, and cancels; the layout is drawn anew
for every process. A least-squares fit over all launches gives each release's part; where every release is in every launch, the difference
of two releases is the mean of their differences within launches.

The unit of evidence is the launch: turns of one launch share the layout of its processes, so a launch counts once.

A difference of two sides is paired: the mean of those within the launches that both were in. It is joined, by the fit, where more than
twice as many launches lead from one side to the other by way of a third, such as the reference release. It is unpaired, from each side's
own times and with all the variation of the machine, where both were alone in all of their launches. Sides that met others, and never each
other in any way, have none.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import exp, pi
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from tensorcopy.results.cases import Case, Cases, beside
from tensorcopy.results.launches import UNIT, Launch, Place

LEVEL = 0.95  # of the interval of a time
ABSENT, ALONE = -1, 0  # of a column and a case: not measured, or without another column in each launch
PAIRED, JOINED, UNPAIRED = "in the same launches", "by way of other releases", "unpaired"  # how two sides are compared

Numbers = Any  # an array; numpy's types differ from release to release
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)  # a site has a hundred thousand of them
class Timing:
    """The time of one case with one release.

    seconds : a call's, at the machine's usual speed
    error : relative standard error of the release's distance from the mean of all sides; 0 or NaN where it is unknown
    launches : in how many it was measured
    freedom : degrees of freedom of the error; 0 where it is unknown
    spread : as `error`, of the release by itself: the difference of two releases varies by the squares of both together
    """

    seconds: float
    error: float = 0.0
    launches: int = 1
    freedom: float = 0.0
    spread: float = 0.0

    def factor(self, level: float = LEVEL) -> float:
        """Return the factor by which the ends of an interval are away from the time; 1 where its error is unknown."""
        return exp(_quantile(self.freedom, level) * self.error) if self.freedom and self.error > 0 else 1.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the time; both ends are the time itself where its error is unknown."""
        factor = self.factor()
        return self.seconds / factor, self.seconds * factor


@cache  # a site has a hundred thousand times, with a few degrees of freedom
def _quantile(freedom: float, level: float) -> float:
    """Return how many standard errors an interval by Student's t has on either side."""
    from scipy.special import stdtrit  # only where a time is shown with its error

    return float(stdtrit(freedom, (1 + level) / 2))


@dataclass(frozen=True, eq=False)
class Effects:
    """The log seconds of all launches of one machine.

    started : when each launch began, in order
    columns : the place of each release and environment; cases : that of each case
    logs : by launch, column and case; NaN where it was not measured
    looks : of each launch, how many looks share the chance of a false alarm; empty where there was one of all
    turns : by launch and case, a number: cases of one number took turns with each other; None where only the sides of each case did
    """

    started: tuple[str, ...]
    columns: Mapping[Place, int]
    cases: Mapping[Case, int]
    logs: Numbers
    looks: tuple[int, ...] = ()
    turns: Numbers | None = None

    def most_looks(self, *columns: int) -> int:
        """Return the most looks of any launch in which all of these columns were measured; 0 where there is none."""
        together = (~np.isnan(self.logs[:, columns])).any(axis=2).all(axis=1)
        return max((looks for looks, is_one in zip(self.looks or (1,) * len(together), together) if is_one), default=0)

    @cached_property
    def fitted(self) -> Fitted:
        """The fit to all cases."""
        shape = self.logs.shape[1:]
        seconds, errors, spreads, freedom = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape)
        residuals, groups = np.full(self.logs.shape, np.nan), np.full(shape, ABSENT)
        measured = ~np.isnan(self.logs)
        for group in alike(measured):
            mask = measured[:, :, group[0]]
            for number, columns in enumerate(met(mask), start=ALONE + 1):
                launches = mask[:, columns].any(axis=1)
                place: Numbers = np.ix_(columns, group)
                of_launches: Numbers = np.ix_(launches, columns, group)
                fitted = fit(self.logs[of_launches], mask[np.ix_(launches, columns)].astype(float))
                seconds[place] = np.exp(np.median(fitted.launches, axis=0) + fitted.columns)
                errors[place], spreads[place] = fitted.errors()
                freedom[place] = fitted.freedom
                groups[place] = number if len(columns) > 1 else ALONE
                residuals[of_launches] = np.where(measured[of_launches], fitted.residuals, np.nan)
        return Fitted(seconds, errors, spreads, freedom, residuals, groups.tolist())


@dataclass(frozen=True, eq=False)
class Column:
    """One side of the launches of its machine: a release in an environment.

    number : its place in the effects
    """

    effects: Effects
    number: int

    @property
    def logs(self) -> Numbers:
        """Its log seconds by launch and case; NaN where it was not measured."""
        return self.effects.logs[:, self.number]

    def logs_of(self, case: Case) -> Numbers:
        """Return its log seconds of a case by launch."""
        return self.effects.logs[:, self.number, self.effects.cases[case]]

    @cached_property
    def launches(self) -> dict[Case, int]:
        """In how many launches each case was measured, of those that were."""
        counts = (~np.isnan(self.logs)).sum(axis=0).tolist()
        return {case: counts[number] for case, number in self.effects.cases.items() if counts[number]}

    def timings(self) -> dict[Case, Timing]:
        """Return the time of every case that it was measured for."""
        fitted, numbers = self.effects.fitted, self.effects.cases
        seconds, errors, spreads, freedom = (
            each[self.number].tolist() for each in (fitted.seconds, fitted.errors, fitted.spreads, fitted.freedom)
        )
        timings = {}
        for case, launches in self.launches.items():
            number = numbers[case]
            # six digits: further ones would be rounded twice, and shown as another duration
            rounded = float(f"{seconds[number]:.6g}")
            timings[case] = Timing(rounded, errors[number], launches, freedom[number], spreads[number])
        return timings

    def started(self, cases: Collection[Case]) -> list[str]:
        """Return when each launch with a time of any of some cases began."""
        numbers = [number for case, number in self.effects.cases.items() if case in cases]
        measured = (~np.isnan(self.logs[:, numbers])).any(axis=1)
        return [started for started, is_one in zip(self.effects.started, measured) if is_one]

    def is_unpaired(self, case: Case) -> bool:
        """Return whether it was alone in every launch that measured a case with it: it is compared with no other in its launches."""
        return case in self.effects.cases and self.effects.fitted.groups[self.number][self.effects.cases[case]] == ALONE

    def has_met(self, other: Column, case: Case) -> bool:
        """Return whether it met another column in launches with a case, or by way of others that met, or both were alone in all of theirs.

        True of columns of two machines, and of a case that is not timed.
        """
        number = self.effects.cases.get(case)
        if number is None or self.effects is not other.effects:
            return True
        groups = self.effects.fitted.groups
        return groups[self.number][number] == groups[other.number][number]

    def between_cases(self, before: Case, after: Case) -> Difference | None:
        """Return the difference of two cases with it, by those within launches; None where no launch has both.

        Alone, a side's cases are paired in the launches in which they took turns with each other.
        """
        differences = self.logs_of(after) - self.logs_of(before)
        together = ~np.isnan(differences)
        if not together.any():
            return None
        if not self.is_unpaired(after):
            return of_launches(differences[together])
        if self.effects.turns is not None:
            first, second = (self.effects.turns[:, self.effects.cases[case]] for case in (before, after))
            in_turns = together & (first == second)
            if in_turns.any():
                return of_launches(differences[in_turns])
        return replace(of_launches(differences[together]), way=UNPAIRED)

    def launch_logs(self, case: Case) -> Numbers:
        """Return its log seconds of a case by launch, without the launch's part; alone, that part is in no other and stays."""
        if self.is_unpaired(case):
            return self.logs_of(case)
        fitted, number = self.effects.fitted, self.effects.cases[case]
        return np.log(fitted.seconds[self.number, number]) + fitted.residuals[:, self.number, number]

    def launch_times(self, case: Case) -> list[float]:
        """Return its time of a case in each launch that measured it, as `launch_logs`."""
        logs = self.launch_logs(case)
        times: list[float] = np.exp(logs[~np.isnan(logs)]).tolist()
        return times


def gathered(
    launches: Sequence[tuple[Launch, Cases]], left_out: Mapping[tuple[str, Place], Collection[Case]] = MappingProxyType({})
) -> Effects:
    """Return the effects of the launches of one machine, in order of their starts.

    launches : each with its cases
    left_out : the cases of a side that do not count, by the launch's id and the side
    """
    ordered = sorted(launches, key=lambda each: each[0].id)
    columns: dict[Place, int] = {}
    cases: dict[Case, int] = {}
    for launch, by_suite in ordered:
        for side in launch.sides:
            columns.setdefault(side.place, len(columns))
        for name, of_suite in by_suite.items():
            for index in launch.suites[name].rows:
                cases.setdefault(of_suite[int(index)], len(cases))
    logs = np.full((len(ordered), len(columns), len(cases)), np.nan)
    for number, (launch, by_suite) in enumerate(ordered):
        places = np.array([columns[side.place] for side in launch.sides])
        for name, of_suite in by_suite.items():
            rows = launch.suites[name].rows
            if rows:
                effects = np.array([row.effects for row in rows.values()], dtype=float) / UNIT  # None becomes NaN
                means = np.log([row.seconds for row in rows.values()])
                logs[number, places[:, None], [cases[of_suite[int(index)]] for index in rows]] = (effects + means[:, None]).T
        for side in launch.sides if left_out else ():
            logs[number, columns[side.place], [cases[case] for case in left_out.get((launch.id, side.place), ())]] = np.nan
    started, looks = zip(*((each.started, each.looks) for each, _ in ordered)) if ordered else ((), ())
    return Effects(started, columns, cases, _without_lone(logs), looks, _turns(ordered, cases))


def _turns(launches: Sequence[tuple[Launch, Cases]], cases: Mapping[Case, int]) -> Numbers:
    """Return which cases took turns with each other, as `Effects.turns`."""
    turns, groups = np.tile(np.arange(len(cases)), (len(launches), 1)), dict[Hashable, int]()
    for of_launch, (launch, by_suite) in zip(turns, launches):
        for name, of_suite in by_suite.items() if len(launch.sides) == 1 else ():
            for index, row in launch.suites[name].rows.items():
                if row.in_turns:
                    case = of_suite[int(index)]
                    of_launch[cases[case]] = groups.setdefault(beside(case.suite, dict(case.parameters)), cases[case])
    return turns


def _without_lone(logs: Numbers) -> Numbers:
    """Return log seconds without those of sides that were alone in a launch with a case, if they met others in another launch.

    Alone, a side says nothing about its part; it would only count as evidence.
    """
    measured = ~np.isnan(logs)
    together = measured & (measured.sum(axis=1) > 1)[:, None]
    lone = measured & ~together & together.any(axis=0)[None]
    return np.where(lone, np.nan, logs)


@dataclass(frozen=True, eq=False)
class Fitted:
    """The fits to many cases.

    seconds, errors, spreads, freedom : by column and case, as in `Timing`; NaN and 0 where they are unknown
    residuals : by launch, column and case; NaN where it was not measured
    groups : by column and case, the number of the columns that met, `ALONE` or `ABSENT`; a list, of which many items are read singly
    """

    seconds: Numbers
    errors: Numbers
    spreads: Numbers
    freedom: Numbers
    residuals: Numbers
    groups: list[list[int]]


def alike(measured: Numbers) -> list[list[int]]:
    """Return the cases in groups that were measured in the same places; measured : by launch, column and case."""
    groups: dict[bytes, list[int]] = {}
    for case in range(measured.shape[2]):
        groups.setdefault(measured[:, :, case].tobytes(), []).append(case)
    return list(groups.values())


def met(mask: Numbers) -> list[Numbers]:
    """Return the columns that met in launches, or by way of others that met, together."""
    groups: list[Numbers] = []
    for of_launch in mask:
        joined = of_launch.copy()
        apart = []
        for group in groups:
            if (group & joined).any():
                joined |= group
            else:
                apart.append(group)
        groups = [*apart, joined]
    return [np.flatnonzero(group) for group in groups if group.any()]


@dataclass(frozen=True, eq=False)
class Fit:
    """A least-squares fit of log(time) = launch + column to columns that met, of one case or of several.

    launches : by launch and case; columns : by column and case, their mean is 0
    residuals : by launch, column and case; 0 where nothing was measured
    inverse : by two columns: the covariance of `columns` for a residual variance of 1
    weights : by launch and column, 1 where it was measured
    """

    launches: Numbers
    columns: Numbers
    residuals: Numbers
    inverse: Numbers
    weights: Numbers

    @property
    def freedom(self) -> float:
        """The degrees of freedom of the errors."""
        launches, columns = self.weights.shape
        return float(launches - 1 if columns == 1 else self.weights.sum() - launches - columns + 1)

    def errors(self) -> tuple[Numbers, Numbers]:
        """Return the standard error of each column in each case, and as if columns varied by themselves; NaN where nothing can tell it.

        What all columns share, the error of their mean, is in none of their differences. The second has it too.
        """
        launches, columns = self.weights.shape
        if not self.freedom:
            return np.nan, np.nan
        if columns == 1:  # a side that never met another varies as the launches do, of which it has the median
            of_median = pi / (2 * launches + (pi - 2 if launches % 2 else 2.6))  # variance, of normal values; nearly pi / 2n for many
            lone = self.launches.std(axis=0, ddof=1) * of_median**0.5
            return lone, lone
        errors = np.sqrt(np.diag(self.inverse)[:, None] * (self.residuals**2).sum(axis=(0, 1)) / self.freedom)
        return errors, errors / (1 - 1 / columns) ** 0.5

    def variances_of(self, column: int) -> tuple[Numbers, float]:
        """Return the residual variance of one column in each case, and the degrees of freedom that the fit leaves it."""
        rows = self.weights[:, column] > 0
        shares = self.weights[rows] / self.weights[rows].sum(axis=1, keepdims=True)
        apart = np.eye(len(self.inverse))[column] - shares
        fitted = shares[:, column] + np.einsum("lc,cd,ld->l", apart, self.inverse, apart)
        freedom = float((1 - fitted).sum())
        squares = (self.residuals[rows, column] ** 2).sum(axis=0)
        return (squares / freedom if freedom > 1e-9 else np.zeros_like(squares)), freedom


def fit(logs: Numbers, weights: Numbers) -> Fit:
    """Return the fit to log seconds by launch, column and case; weights : 1 where a launch has a column, else 0."""
    used, of_column, of_launch = weights[:, :, None] > 0, weights.sum(axis=0), weights.sum(axis=1)
    values = np.where(used, logs, 0.0)
    means = values.sum(axis=1) / of_launch[:, None]
    sums = np.where(used, values - means[:, None], 0.0).sum(axis=0)
    inverse = np.linalg.pinv(np.diag(of_column) - weights.T @ (weights / of_launch[:, None]))
    columns = inverse @ sums
    launches = means - (weights @ columns) / of_launch[:, None]
    return Fit(launches, columns, np.where(used, values - launches[:, None] - columns, 0.0), inverse, weights)


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


def between(before: Column | None, after: Column | None) -> dict[Case, Difference | None]:
    """Return the difference of every case that both sides have; None of those that never met."""
    if before is None or after is None:
        return {}
    if before.effects is after.effects:
        by_number = within(before.effects.logs, before.number, after.number)
        return {case: by_number[number] for case, number in before.effects.cases.items() if number in by_number}
    return {case: unpaired(before.logs_of(case), after.logs_of(case)) for case in before.launches if case in after.launches}


def of_means(before: Column | None, after: Column | None, groups: Mapping[Key, Sequence[Case]]) -> dict[Key, Difference]:
    """Return the difference of the geometric mean of each group of cases, each with the same weight.

    Two sides of different machines have none, nor have groups whose sides never met.
    """
    if before is None or after is None or before.effects is not after.effects or not groups:
        return {}
    effects, measured = before.effects, {}
    logs, in_launches = effects.logs, after.logs - before.logs
    known = ~np.isnan(logs[:, [before.number, after.number]])
    for group, cases in groups.items():
        numbers = [effects.cases[case] for case in cases]
        difference = _mean_within(in_launches[:, numbers])
        if difference is None or 2 * difference.launches[0] < known[:, :, numbers].sum(axis=0).min():  # other launches may tell more
            difference = within(logs[:, :, numbers].mean(axis=2, keepdims=True), before.number, after.number).get(0) or difference
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
    groups = met(measured)
    group, other_group = (next(group for group in groups if column in group) for column in (before, after))
    if after not in group:
        if len(group) == len(other_group) == 1:
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


def looks(before: Column | None, after: Column | None) -> int:
    """Return how many looks at the launches that compare two sides share the chance of a false alarm.

    It is the most of any launch that both are in. Where they never met, it is that of any launch of either: those of a side were chosen by
    how it differed from another.
    """
    if before is None or after is None:
        return 1
    together = before.effects.most_looks(before.number, after.number) if before.effects is after.effects else 0
    return together or max(1, before.effects.most_looks(before.number), after.effects.most_looks(after.number))


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
    way = UNPAIRED if any(each.way == UNPAIRED for each in differences) else JOINED
    return Difference(sum(each.size for each in differences), error * count, count, freedom, launches, way)


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


def points(before: Column | None, after: Column | None, case: Case) -> list[Point]:
    """Return what each launch says of a timed case, as `between` uses it, in order of their starts; nothing where it has no difference."""
    if before is None or after is None or not (case in before.launches and case in after.launches):
        return []
    if before.effects is after.effects:
        of_case = before.effects.logs[:, :, [before.effects.cases[case]]]
        difference = within(of_case, before.number, after.number)[0]
        if difference is None:
            return []
        if difference.way == PAIRED:
            sizes = after.logs_of(case) - before.logs_of(case)
            return [Point(start, "", float(size)) for start, size in zip(before.effects.started, sizes) if not np.isnan(size)]
        own_before, own_after = before.launch_logs(case), after.launch_logs(case)
    else:
        own_before, own_after = before.logs_of(case), after.logs_of(case)
    level = float(np.nanmean(own_before))
    by_start = [
        *((start, "A", float(size)) for start, size in zip(before.effects.started, own_before)),
        *((start, "B", float(size)) for start, size in zip(after.effects.started, own_after)),
    ]
    return [Point(start, side, size - level) for start, side, size in sorted(by_start) if not np.isnan(size)]
