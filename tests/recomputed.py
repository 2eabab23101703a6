"""Compute again what must be said of launch files, by other means than the program and with none of its code.

Least squares by a design matrix with a column for each launch and each side, limma's moderated t by its published equations, and Holm's
step-down.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import tomllib
from scipy import optimize, special, stats

ROOT = Path(__file__).resolve().parents[1]
MARGIN, ALPHA = np.log(1.03), 0.05
FEWEST, FEWEST_CASES = 3, 4  # launches, and variances that tell a prior
LEAST_SPREAD = 1e-4
LIMITS = (2**14, 2**17, 2**20)
Case = tuple[str, tuple[tuple[str, str], ...]]
Place = tuple[str, str, str]
Array = Any


@dataclass(frozen=True)
class Difference:
    """The measured difference of a case: a log ratio, the variance of one launch's with its degrees of freedom, and how many there are."""

    size: float
    variance: float
    count: float
    freedom: float
    launches: tuple[int, int]
    way: str


@dataclass(frozen=True)
class Judged:
    """The verdict on a case; without an interval where there are too few launches."""

    verdict: str
    ratio: float
    interval: tuple[float, float] | None = None
    p: float | None = None
    error: float | None = None
    threshold: float = 0.0  # log of the smallest ratio that would be called slower
    way: str = ""


@dataclass(frozen=True)
class Fit:
    """Least squares of sides that met: a row of the design and of the values for each launch and side, a column for each case."""

    columns: list[int]
    launches: list[int]
    rows: list[tuple[int, int]]
    design: Array
    inverse: Array
    values: Array


class History:
    """The times of one history: log seconds by case, launch and side."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        documents = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
        self.documents = sorted(documents, key=lambda each: each["id"])
        forms = {name: (suite["version"], suite["unit"]) for each in self.documents for name, suite in each["suites"].items()}
        timed = [each for each in self.documents if each["kind"] == "times"]
        self.places: list[Place] = [*dict.fromkeys(place for each in timed for place in self._places(each))]
        self.logs: dict[Case, Array] = {}
        for number, each in enumerate(timed):
            columns = [self.places.index(place) for place in self._places(each)]
            for name, suite in each["suites"].items():
                if (suite["version"], suite["unit"]) != forms[name]:
                    continue
                cases = list(product(*[[value.strip("'") for value in values] for values in suite["params"]]))
                for index, row in suite.get("rows", {}).items():
                    case = name, tuple(zip(suite["param_names"], cases[int(index)]))
                    logs = self.logs.setdefault(case, np.full((len(timed), len(self.places)), np.nan))
                    for column, effect in zip(columns, row["effects"]):
                        if effect is not None:
                            logs[number, column] = np.log(row["seconds"]) + effect / 1e4
        for logs in self.logs.values():  # alone in a launch, a side that met others elsewhere says nothing of its difference
            measured = ~np.isnan(logs)
            in_company = measured & (measured.sum(axis=1, keepdims=True) > 1)
            logs[measured & ~in_company & in_company.any(axis=0)] = np.nan

    @staticmethod
    def _places(document: Mapping[str, Any]) -> list[Place]:
        return [(side["sha"], side["environment"], side.get("revision", "")) for side in document["sides"]]

    @cached_property
    def patterns(self) -> dict[bytes, tuple[Case, ...]]:
        """The cases that were measured in the same places."""
        patterns: dict[bytes, list[Case]] = defaultdict(list)
        for case, logs in self.logs.items():
            patterns[(~np.isnan(logs)).tobytes()].append(case)
        return {pattern: tuple(cases) for pattern, cases in patterns.items()}

    @cached_property
    def times(self) -> dict[tuple[Place, Case], float]:
        """The seconds of each case on each side: its part in the fit, in the median launch."""
        times = {}
        for cases in self.patterns.values():
            for fit in self._fits(cases):
                solution = fit.inverse @ fit.values
                sides, own = solution[len(fit.launches) :], solution[: len(fit.launches)]
                middle = sides.mean(axis=0)
                seconds = np.exp(sides - middle + np.median(own + middle, axis=0))
                for number, column in enumerate(fit.columns):
                    for place, case in enumerate(cases):
                        times[self.places[column], case] = float(seconds[number, place])
        return times

    @cache
    def _fits(self, cases: tuple[Case, ...]) -> list[Fit]:
        """Return the fit of each group of sides that met, of cases measured in the same places."""
        measured = ~np.isnan(self.logs[cases[0]])
        groups: list[set[int]] = []
        for row in measured:
            together = set(np.flatnonzero(row).tolist())
            for group in [group for group in groups if group & together]:
                together |= group
                groups.remove(group)
            groups += [together] if together else []
        fits = []
        for group in groups:
            columns = sorted(group)
            launches = [int(number) for number in np.flatnonzero(measured[:, columns].any(axis=1))]
            rows = [(launch, column) for launch in launches for column in columns if measured[launch, column]]
            design = np.zeros((len(rows), len(launches) + len(columns)))
            for number, (launch, column) in enumerate(rows):
                design[number, launches.index(launch)] = design[number, len(launches) + columns.index(column)] = 1.0
            values = np.array([self.logs[case][tuple(zip(*rows))] for case in cases]).T
            fits.append(Fit(columns, launches, rows, design, np.linalg.pinv(design), values))
        return fits

    @cache
    def between(self, before: Place, after: Place) -> dict[Case, Difference | None]:
        """Return the difference of each case that both sides have; None of sides that never met."""
        first, second = self.places.index(before), self.places.index(after)
        found: dict[Case, Difference | None] = {}
        for cases in self.patterns.values():
            measured = ~np.isnan(self.logs[cases[0]])
            if not (measured[:, first].any() and measured[:, second].any()):
                continue
            together = measured[:, first] & measured[:, second]
            joined = {} if (measured[:, first] == measured[:, second]).all() else self._joined(cases, first, second)
            for case in cases:
                by_way, number = joined.get(case), int(together.sum())
                if number and not (by_way and by_way.count > 2 * number):  # what both were in, unless the others tell more than it
                    own = self.logs[case][together, second] - self.logs[case][together, first]
                    variance = float(np.var(own, ddof=1)) if number > 1 else 0.0
                    found[case] = Difference(float(own.mean()), variance, number, number - 1, (number, number), "paired")
                else:
                    found[case] = by_way
        return found

    def _joined(self, cases: tuple[Case, ...], first: int, second: int) -> dict[Case, Difference | None]:
        """Return the differences of two sides that were not always in the same launches, by the fit to all that met them."""
        fit = next(fit for fit in self._fits(cases) if first in fit.columns)
        if second not in fit.columns:
            return dict.fromkeys(cases, None)
        contrast = np.zeros(fit.design.shape[1])
        at_first, at_second = (len(fit.launches) + fit.columns.index(column) for column in (first, second))
        contrast[at_second], contrast[at_first] = 1.0, -1.0
        weights = contrast @ fit.inverse
        count = 2 / float(weights @ weights)
        own = {column: [number for number, (_, of) in enumerate(fit.rows) if of == column] for column in (first, second)}
        freedom = {column: sum(1 - float(fit.design[number] @ fit.inverse[:, number]) for number in own[column]) for column in own}
        both = len(own[first]), len(own[second])
        sizes, residuals = weights @ fit.values, fit.values - fit.design @ (fit.inverse @ fit.values)
        variances = sum((residuals[numbers] ** 2).sum(axis=0) / freedom[column] for column, numbers in own.items())
        return {
            case: Difference(float(size), float(variance), count, sum(freedom.values()), both, "joined")
            for case, size, variance in zip(cases, sizes, variances)
        }

    @cache
    def compared(self, before: Place, after: Place) -> dict[Case, Judged]:
        """Return the verdict of every case that is compared; those of one device are judged together."""
        by_device: dict[str, dict[Case, Difference]] = defaultdict(dict)
        for case, difference in self.between(before, after).items():
            if difference and is_compared(case[0]):
                by_device[kind(case)[0]][case] = difference
        return {case: each for of_device in by_device.values() for case, each in judge(of_device).items()}


@lru_cache
def suites() -> dict[str, Any]:
    """Return the table of the suites."""
    return tomllib.loads((ROOT / "benchmarks" / "suites.toml").read_text(encoding="utf-8"))


@lru_cache
def releases() -> dict[str, str]:
    """Return the version of each SHA, in order."""
    rows = tomllib.loads((ROOT / "tensorcopy" / "releases.toml").read_text(encoding="utf-8"))["release"]
    return {row["sha"]: row["version"] for row in sorted(rows, key=lambda row: [int(part) for part in row["version"].split(".")])}


def is_compared(suite: str) -> bool:
    """Return whether torch can change the times of a suite, and not only its newest release is timed."""
    module, name, function = suite.split(".")
    row = {**suites()[module], **suites()[module].get(name, {}).get(function, {})}
    return row.get("torch", True) and not row.get("newest", False)


def kind(case: Case) -> tuple[str, int]:
    """Return the device of a case, and its class of sizes."""
    parameters = dict(case[1])
    numel = parameters.get("numel", "")
    size = sum(int(numel) > limit for limit in LIMITS) if numel else -1
    return parameters.get("device", "cpu"), size


def name_of(case: Case) -> str:
    """Return the name of a case as it is printed."""
    return " ".join([case[0].rpartition(".")[0], *(value if name == "method" else f"{name}={value}" for name, value in case[1])])


def judge(differences: Mapping[Case, Difference]) -> dict[Case, Judged]:
    """Return the verdicts, by moderated t (Smyth, 2004) and Holm (1979)."""
    judged = {case: Judged("unknown", float(np.exp(each.size))) for case, each in differences.items() if min(each.launches) < FEWEST}
    tested = {case: each for case, each in differences.items() if case not in judged}
    groups: dict[Hashable, list[Case]] = defaultdict(list)
    for case, each in tested.items():
        groups[kind(case), each.way].append(case)
    errors, freedoms = {}, {}
    for cases in groups.values():
        variances = np.maximum([tested[case].variance for case in cases], LEAST_SPREAD**2)
        freedom = np.array([tested[case].freedom for case in cases])
        prior_freedom, prior = _prior(variances[freedom > 0], freedom[freedom > 0])
        for case, variance, free in zip(cases, variances, freedom):
            if np.isinf(prior_freedom):
                drawn = prior
            else:
                drawn = (prior_freedom * prior + free * variance) / (prior_freedom + free) if prior_freedom + free else variance
            errors[case] = float(np.sqrt(drawn / tested[case].count))
            freedoms[case] = max(1.0, min(free + prior_freedom, float(freedom.sum())))
    ps = {case: float(2 * stats.t.sf(abs(each.size) / errors[case], freedoms[case])) for case, each in tested.items()}
    adjusted, largest = {}, 0.0
    for rank, case in enumerate(sorted(ps, key=lambda case: ps[case])):
        largest = max(largest, min(1.0, ps[case] * (len(ps) - rank)))
        adjusted[case] = largest
    for case, each in tested.items():
        half = float(stats.t.ppf(1 - ALPHA / 2, freedoms[case])) * errors[case]
        threshold = max(MARGIN, float(stats.t.ppf(1 - ALPHA / 2 / len(tested), freedoms[case])) * errors[case])
        verdict = "unknown"
        if adjusted[case] <= ALPHA and abs(each.size) >= MARGIN:
            verdict = "slower" if each.size > 0 else "faster"
        elif abs(each.size) + half <= MARGIN:
            verdict = "unchanged"
        low, ratio, high = (float(np.exp(each.size + end)) for end in (-half, 0, half))
        judged[case] = Judged(verdict, ratio, (low, high), adjusted[case], errors[case], threshold, each.way)
    return {case: judged[case] for case in differences}


def _prior(variances: Array, freedom: Array) -> tuple[float, float]:
    """Return the prior's degrees of freedom and variance, by the moments of log variances (Smyth, 2004, equations of section 6.2)."""
    if len(variances) < FEWEST_CASES:
        return 0.0, 0.0
    e = np.log(variances) - special.digamma(freedom / 2) + np.log(freedom / 2)
    excess = float(np.var(e, ddof=1) - special.polygamma(1, freedom / 2).mean())
    if excess <= 0:
        return np.inf, float(variances.mean())
    half = float(optimize.brentq(lambda x: special.polygamma(1, x) - excess, 1e-8, 1e12, xtol=1e-300, rtol=1e-14))
    return 2 * half, float(np.exp(e.mean() + special.digamma(half) - np.log(half)))


def smallest_seen(judged: Collection[Judged]) -> float | None:
    """Return the slowdown that would be called one 9 times in 10 in one of these cases, of those that have not changed."""
    still = [(each.threshold, each.error) for each in judged if each.error and each.verdict not in ("slower", "faster")]
    if not still:
        return None
    limits, errors = np.array(still).T
    return float(np.expm1(optimize.brentq(lambda size: stats.norm.cdf((size - limits) / errors).mean() - 0.9, 0, 5)))
