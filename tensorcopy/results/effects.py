"""The effects of all launches of one machine, and the times that follow. Pure.

In a launch, log(time) = launch + release + layout. The launch is what disturbs all sides together, and cancels; the layout is drawn anew
for every process. A least-squares fit over all launches gives each release's part; where every release is in every launch, the difference
of two releases is the mean of their differences within launches.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import pi
from types import MappingProxyType
from typing import Any

import numpy as np

from tensorcopy.results.cases import Case, Cases, Timing
from tensorcopy.results.launches import UNIT, Launch, Place

Numbers = Any  # an array; numpy's types differ from release to release


@dataclass(frozen=True, eq=False)
class Effects:
    """The log seconds of all launches of one machine.

    launches : their ids, in order; started : their starts
    columns : the place of each release and environment; cases : that of each case
    logs : by launch, column and case; NaN where it was not measured
    looks : of each launch, how many looks share the chance of a false alarm; empty where there was one of all
    in_turns : whether the cases took turns with each other, and not only the sides of each
    """

    launches: tuple[str, ...]
    started: tuple[str, ...]
    columns: Mapping[Place, int]
    cases: Mapping[Case, int]
    logs: Numbers
    looks: tuple[int, ...] = ()
    in_turns: bool = False

    def is_unpaired(self, column: int, case: Case) -> bool:
        """Return whether a column was alone in every launch that measured a case with it: it is compared with no other in its launches."""
        return case in self.cases and bool(self._unpaired[column, self.cases[case]])

    @cached_property
    def _unpaired(self) -> Numbers:
        """By column and case, whether launches measured it, and each of them without another column."""
        measured = ~np.isnan(self.logs)
        together = measured & (measured.sum(axis=1) > 1)[:, None]
        return measured.any(axis=0) & ~together.any(axis=0)

    def most_looks(self, *columns: int) -> int:
        """Return the most looks of any launch in which all of these columns were measured; 0 where there is none."""
        together = (~np.isnan(self.logs[:, columns])).any(axis=2).all(axis=1)
        return max((looks for looks, is_one in zip(self.looks or (1,) * len(together), together) if is_one), default=0)

    def timings(self, column: int) -> dict[Case, Timing]:
        """Return the time of every case that a column was measured for."""
        fitted = self._fitted
        seconds, errors, spreads, freedom = (
            each[column].tolist() for each in (fitted.seconds, fitted.errors, fitted.spreads, fitted.freedom)
        )
        counts = (~np.isnan(self.logs[:, column])).sum(axis=0).tolist()
        return {
            # six digits: further ones would be rounded twice, and shown as another duration
            case: Timing(float(f"{seconds[number]:.6g}"), errors[number], counts[number], freedom[number], spreads[number])
            for case, number in self.cases.items()
            if counts[number]
        }

    def launch_times(self, column: int, case: Case) -> list[float]:
        """Return a column's time of a case in each launch, without the launch's part; alone, that part is in no other and stays."""
        fitted, number = self._fitted, self.cases[case]
        if self.is_unpaired(column, case):
            alone = np.exp(self.logs[:, column, number])
            return [float(time) for time in alone[~np.isnan(alone)]]
        own = fitted.residuals[:, column, number]
        times: list[float] = (fitted.seconds[column, number] * np.exp(own[~np.isnan(own)])).tolist()
        return times

    def spread_of_mean(self, column: int, cases: Sequence[Case]) -> float:
        """Return the standard error of the mean of some cases, as `Timing.spread`; 0 where launches cannot tell it."""
        numbers = [self.cases[case] for case in cases if case in self.cases]
        sides = (~np.isnan(self.logs[:, :, numbers])).sum(axis=1)
        # a mean of k sides was taken out of each, which leaves 1 - 1/k of the variance
        own = self._fitted.residuals[:, column, numbers] / np.sqrt(1 - 1 / np.maximum(sides, 2))
        deviations = [float(row[~np.isnan(row)].mean()) for row in own if not np.isnan(row).all()]
        return float(np.std(deviations, ddof=1)) / len(deviations) ** 0.5 if len(deviations) > 1 else 0.0

    @cached_property
    def _fitted(self) -> _Fitted:
        """The fit to all cases."""
        shape = self.logs.shape[1:]
        seconds, errors, spreads, freedom = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape)
        residuals = np.full(self.logs.shape, np.nan)
        measured = ~np.isnan(self.logs)
        for group in alike(measured):
            mask = measured[:, :, group[0]]
            for columns in met(mask):
                launches = mask[:, columns].any(axis=1)
                place: Numbers = np.ix_(columns, group)
                of_launches: Numbers = np.ix_(launches, columns, group)
                fitted = fit(self.logs[of_launches], mask[np.ix_(launches, columns)].astype(float))
                seconds[place] = np.exp(np.median(fitted.launches, axis=0) + fitted.columns)
                errors[place], spreads[place] = fitted.errors()
                freedom[place] = fitted.freedom
                residuals[of_launches] = np.where(measured[of_launches], fitted.residuals, np.nan)
        return _Fitted(seconds, errors, spreads, freedom, residuals)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """The fits to many cases.

    seconds, errors, spreads, freedom : by column and case, as in `Timing`; NaN and 0 where they are unknown
    residuals : by launch, column and case; NaN where it was not measured
    """

    seconds: Numbers
    errors: Numbers
    spreads: Numbers
    freedom: Numbers
    residuals: Numbers


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
    ids, started, looks = zip(*((each.id, each.started, each.looks) for each, _ in ordered)) if ordered else ((), (), ())
    return Effects(ids, started, columns, cases, _without_lone(logs), looks)


def _without_lone(logs: Numbers) -> Numbers:
    """Return log seconds without those of sides that were alone in a launch with a case, if they met others in another launch.

    Alone, a side says nothing about its part; it would only count as evidence.
    """
    measured = ~np.isnan(logs)
    together = measured & (measured.sum(axis=1) > 1)[:, None]
    lone = measured & ~together & together.any(axis=0)[None]
    return np.where(lone, np.nan, logs)
