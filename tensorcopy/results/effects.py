"""The times of all launches of one history, fitted together, and the differences of two of its columns. Pure.

In a launch, log(time) = launch + side + layout. The launch is what disturbs all sides together, and cancels; the layout is drawn anew for
every process, and turns of one launch share it, so a launch counts once. `fit_of` is the least-squares fit of that sum.

A difference of two sides is paired: the fit to the launches that both were in, which is the mean of the differences within them. It is
joined, by the fit to all launches, where more than twice as many lead from one side to the other by way of a third. Sides that never met,
not even by way of others, have none.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import exp, pi
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from tensorcopy.results.cases import Case, Cases
from tensorcopy.results.launches import UNIT, Launch, Place

LEVEL = 0.95  # of the interval of a time
ABSENT, ALONE = -1, 0  # of a column and a case: not measured, or without another column in each launch
PAIRED, JOINED = "in the same launches", "by way of other releases"  # how two sides are compared

Numbers = Any  # an array; numpy's types differ from release to release


class Timing(Struct, frozen=True):  # a site has a hundred thousand of them: a struct is made faster than a dataclass
    """The time of one case with one release."""

    seconds: float  # a call's, at the machine's usual speed
    error: float = 0.0  # relative standard error of the distance from the mean of all sides; 0 or NaN where it is unknown
    launches: int = 1
    freedom: float = 0.0  # degrees of freedom of the error

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the time; the time itself where its error is unknown."""
        factor = exp(_quantile(self.freedom) * self.error) if self.freedom and self.error > 0 else 1.0
        return self.seconds / factor, self.seconds * factor


@cache  # a site has a hundred thousand times, with a few degrees of freedom
def _quantile(freedom: float) -> float:
    from scipy.special import stdtrit  # only where a time is shown with its error

    return float(stdtrit(freedom, (1 + LEVEL) / 2))


class Difference(Struct, frozen=True):
    """The measured difference of one case."""

    size: float  # log(time after / time before)
    variance: float  # of one launch's difference
    count: float  # launches; of sides that did not meet, the number that gives their difference the same variance
    freedom: float
    launches: tuple[int, int]  # of either side
    way: str = PAIRED


class Fitted(NamedTuple):
    """What the fit tells of every column and case; NaN and 0 where it is unknown."""

    seconds: Numbers
    errors: Numbers
    freedom: Numbers
    residuals: Numbers  # by launch, column and case
    groups: list[list[int]]  # the number of the columns that met, `ALONE` or `ABSENT`; a list, of which items are read singly


@dataclass(frozen=True, eq=False)
class Effects:
    """The log seconds of all launches of one history."""

    started: tuple[str, ...]  # when each launch began, in order
    columns: Mapping[Place, int]  # the place of each release and environment
    cases: Mapping[Case, int]
    logs: Numbers  # by launch, column and case; NaN where it was not measured
    turns: Numbers | None = None  # by launch and case: cases of one number took turns with each other

    @cached_property
    def fitted(self) -> Fitted:
        """The fit to all cases."""
        shape = self.logs.shape[1:]
        seconds, errors = np.full(shape, np.nan), np.full(shape, np.nan)
        freedom, residuals, groups = np.zeros(shape), np.full(self.logs.shape, np.nan), np.full(shape, ABSENT)
        for cases in alike(self.logs):
            for number, columns in enumerate(met(~np.isnan(self.logs[:, :, cases[0]])), start=ALONE + 1):
                of_fit, at = fit_of(self.logs, columns, cases), np.ix_(columns, cases)
                seconds[at] = np.exp(np.median(of_fit.launches, axis=0) + of_fit.columns)
                errors[at] = of_fit.errors()
                freedom[at], groups[at] = of_fit.freedom, number if len(columns) > 1 else ALONE
                residuals[of_fit.place] = np.where(np.isnan(self.logs[of_fit.place]), np.nan, of_fit.residuals)
        return Fitted(seconds, errors, freedom, residuals, groups.tolist())


def gathered(launches: Sequence[tuple[Launch, Cases]], places: Iterable[Place]) -> Effects:
    """Return the effects of the launches of times of one history, in order, each with its cases; places : of all sides of the history."""
    rows = [
        [(of_suite[int(index)], row) for name, of_suite in by_suite.items() for index, row in launch.suites[name].rows.items()]
        for launch, by_suite in launches
    ]
    columns = {place: number for number, place in enumerate(places)}
    cases = {case: number for number, case in enumerate(dict.fromkeys(case for of_launch in rows for case, _ in of_launch))}
    logs, turns = np.full((len(launches), len(columns), len(cases)), np.nan), np.tile(np.arange(len(cases)), (len(launches), 1))
    methods: dict[Hashable, int] = {}  # the number of the first of those that take turns with each other
    for number, ((launch, _), of_launch) in enumerate(zip(launches, rows)):
        if of_launch:
            at: Any = np.ix_([columns[side.place] for side in launch.sides], [cases[case] for case, _ in of_launch])
            effects = np.array([row.effects for _, row in of_launch], dtype=float) / UNIT  # None becomes NaN
            logs[number][at] = effects.T + np.log([row.seconds for _, row in of_launch])
        for case in (case for case, row in of_launch if row.in_turns):
            turns[number, cases[case]] = methods.setdefault(case.besides, cases[case])
    # alone in a launch, a side that met others in another says nothing about its part: it would only count as evidence
    measured = ~np.isnan(logs)
    together = measured & (measured.sum(axis=1) > 1)[:, None]
    logs[measured & ~together & together.any(axis=0)] = np.nan
    return Effects(tuple(each.started for each, _ in launches), columns, cases, logs, turns)


def alike(logs: Numbers) -> list[list[int]]:
    """Return the cases in groups that were measured in the same places; logs : by launch, column and case."""
    groups: dict[bytes, list[int]] = {}
    for case, measured in enumerate(np.moveaxis(~np.isnan(logs), 2, 0)):
        groups.setdefault(measured.tobytes(), []).append(case)
    return list(groups.values())


def met(measured: Numbers) -> list[Numbers]:
    """Return the columns that met in launches, or by way of others that met, together; measured : by launch and column."""
    linked = measured.T @ measured
    for _ in range(len(linked).bit_length()):  # the links of links
        linked = linked @ linked
    return [np.flatnonzero(row) for number, row in enumerate(linked) if row.any() and row.argmax() == number]


@dataclass(frozen=True, eq=False)
class Fit:
    """A least-squares fit of log(time) = launch + column to columns that met, of cases that were measured in the same places."""

    place: Any  # of its numbers in the logs
    launches: Numbers  # by launch and case
    columns: Numbers  # by column and case; their mean is 0
    residuals: Numbers  # by launch, column and case; 0 where nothing was measured
    inverse: Numbers  # by two columns: the covariance of `columns` for a residual variance of 1
    weights: Numbers  # by launch and column, 1 where it was measured

    @property
    def freedom(self) -> float:
        """The degrees of freedom of the errors."""
        launches, columns = self.weights.shape
        return float(launches - 1 if columns == 1 else self.weights.sum() - launches - columns + 1)

    def errors(self) -> Numbers:
        """Return the standard error of each column in each case; NaN where nothing can tell it.

        What all columns share, the error of their mean, is in none of their differences.
        """
        launches, columns = self.weights.shape
        if not self.freedom:
            return np.nan
        if columns == 1:  # a side that never met another varies as the launches do, of which it has the median
            of_median = pi / (2 * launches + (pi - 2 if launches % 2 else 2.6))  # variance, of normal values; nearly pi / 2n for many
            return self.launches.std(axis=0, ddof=1) * of_median**0.5
        return np.sqrt(np.diag(self.inverse)[:, None] * (self.residuals**2).sum(axis=(0, 1)) / self.freedom)

    def _variances_of(self, column: int) -> tuple[Numbers, float]:
        """Return the residual variance of one column in each case, and the degrees of freedom that the fit leaves it."""
        rows = self.weights[:, column] > 0
        shares = self.weights[rows] / self.weights[rows].sum(axis=1, keepdims=True)
        apart = np.eye(len(self.inverse))[column] - shares
        freedom = float((1 - shares[:, column] - np.einsum("lc,cd,ld->l", apart, self.inverse, apart)).sum())
        squares = (self.residuals[rows, column] ** 2).sum(axis=0)
        return (squares / freedom if freedom > 1e-9 else np.zeros_like(squares)), freedom

    def differences(self, before: int, after: int) -> list[Difference]:
        """Return the difference of two columns in each case.

        Its variance is of these two alone: an outlier of one would look small among the residuals of all the others.
        """
        inverse, launches = self.inverse, self.weights.sum(axis=0)
        count = round(2 / float(inverse[before, before] + inverse[after, after] - 2 * inverse[before, after]), 9)
        (first, first_freedom), (second, second_freedom) = (self._variances_of(column) for column in (before, after))
        freedom, of_both = round(first_freedom + second_freedom, 9), (int(launches[before]), int(launches[after]))
        of_cases = zip((self.columns[after] - self.columns[before]).tolist(), (first + second).tolist())
        return [Difference(size, variance, count, freedom, of_both, JOINED) for size, variance in of_cases]


def fit_of(logs: Numbers, columns: Numbers, cases: Numbers) -> Fit:
    """Return the fit to some columns that met, of cases that are alike."""
    measured = ~np.isnan(logs[:, columns, cases[0]])
    of_fit = measured.any(axis=1)
    place: Any = np.ix_(of_fit, columns, cases)
    used, weights = measured[of_fit][:, :, None], measured[of_fit].astype(float)
    of_column, of_launch, values = weights.sum(axis=0), weights.sum(axis=1), np.where(used, logs[place], 0.0)
    means = values.sum(axis=1) / of_launch[:, None]
    sums = np.where(used, values - means[:, None], 0.0).sum(axis=0)
    inverse = np.linalg.pinv(np.diag(of_column) - weights.T @ (weights / of_launch[:, None]))
    effects = inverse @ sums
    launches = means - (weights @ effects) / of_launch[:, None]
    return Fit(place, launches, effects, np.where(used, values - launches[:, None] - effects, 0.0), inverse, weights)


def within(logs: Numbers, before: int, after: int) -> dict[int, Difference | None]:
    """Return the difference of two columns in every case that both have, by its number; None of sides that never met.

    logs : log seconds by launch, column and case, NaN where it was not measured
    """
    differences: dict[int, Difference | None] = {}
    both = np.flatnonzero((~np.isnan(logs[:, [before, after]])).any(axis=0).all(axis=0))
    for cases in (both[group] for group in alike(logs[:, :, both])):
        measured = ~np.isnan(logs[:, :, cases[0]])
        first, second = measured[:, before], measured[:, after]
        number, found = int((first & second).sum()), list[Difference | None]([None] * len(cases))
        if number:
            old, new = np.moveaxis(logs[np.ix_(first & second, [before, after], cases)], 1, 0)
            sizes, variances = (new - old).mean(axis=0), (new - old).var(axis=0, ddof=1) if number > 1 else np.zeros(len(cases))
            found = [Difference(*each, number, number - 1, (number, number)) for each in zip(sizes.tolist(), variances.tolist())]
        if (first != second).any():
            columns = next(columns for columns in met(measured) if before in columns).tolist()
            if after in columns:
                by_way = fit_of(logs, columns, cases).differences(columns.index(before), columns.index(after))
                # the fit uses all launches, but a simpler difference, of these two sides alone, is worth some of them
                found = [*by_way] if by_way[0].count > 2 * number else found
        differences |= zip(cases.tolist(), found)
    return differences
