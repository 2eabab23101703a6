"""Recompute what is printed of the shipped results from their launch files alone: by other means than the program, and with none of it.

    uv run python -m tests.recompute SITE   # where `asv publish` has written the site

Least squares by a design matrix with a column for each launch and each side, limma's moderated t by its published equations, and Holm's
step-down. `differences` yields a line for every printed number that is another one.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from io import StringIO
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, special, stats

from tensorcopy import cli, files

ROOT = Path(__file__).resolve().parent.parent
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


@dataclass(frozen=True)
class Fit:
    """Least squares of sides that met: a row of the design and of the values for each launch and side, a column for each case."""

    columns: list[int]
    launches: list[int]
    rows: list[tuple[int, int]]
    design: Array
    inverse: Array
    values: Array


class Machine:
    """The times of one machine: log seconds by case, launch and side."""

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

    @property
    def shown(self) -> list[Place]:
        """The sides in the history: of the build without a suffix where there is one."""
        return [place for place in self.places if place[1].count("-") == 1] or self.places

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

    def compared(self, before: Place, after: Place) -> dict[Case, Judged]:
        """Return the verdict of every case between two sides that is compared; those of a device are judged together."""
        return self.chained(((before, after),))

    @cache
    def chained(self, pairs: tuple[tuple[Place, Place], ...]) -> dict[Case, Judged]:
        """Return the same over a chain of pairs, each of one Python."""
        links = [self.between(*pair) for pair in pairs]
        total = {}
        for case in links[0]:
            of_case = [link.get(case) for link in links]
            if is_compared(case[0]) and all(of_case):
                total[case] = _sum([each for each in of_case if each])
        judged: dict[Case, Judged] = {}
        for device in {kind(case)[0] for case in total}:
            judged |= judge({case: each for case, each in total.items() if kind(case)[0] == device})
        return judged


def _sum(parts: Sequence[Difference]) -> Difference:
    """Return the sum of independent differences (Welch, 1947)."""
    if len(parts) == 1:
        return parts[0]
    squares = [part.variance / part.count for part in parts]
    count = 1 / sum(1 / part.count for part in parts)
    freedom = sum(squares) ** 2 / sum(square**2 / part.freedom for square, part in zip(squares, parts))
    launches = min(part.launches[0] for part in parts), min(part.launches[1] for part in parts)
    return Difference(sum(part.size for part in parts), sum(squares) * count, count, freedom, launches, "joined")


@lru_cache
def suites() -> dict[str, Any]:
    """Return the table of the suites."""
    return files.read_toml(ROOT / "benchmarks" / "suites.toml")


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
        verdict = "unknown"
        if adjusted[case] <= ALPHA and abs(each.size) >= MARGIN:
            verdict = "slower" if each.size > 0 else "faster"
        elif abs(each.size) + half <= MARGIN:
            verdict = "unchanged"
        low, ratio, high = (float(np.exp(each.size + end)) for end in (-half, 0, half))
        judged[case] = Judged(verdict, ratio, (low, high), adjusted[case])
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


# The history of a machine: a newer Python decides from its first release on


@lru_cache
def releases() -> dict[str, str]:
    """Return the version of each SHA, in order."""
    rows = files.read_toml(ROOT / "tensorcopy" / "releases.toml")["release"]
    return {row["sha"]: row["version"] for row in sorted(rows, key=lambda row: [int(part) for part in row["version"].split(".")])}


@dataclass(frozen=True)
class Series:
    """A case over the releases: its side at each, the values on the newest Python's scale, and the side of the older one at the joint."""

    places: tuple[Place, ...]
    values: tuple[float, ...]
    joint: int | None = None
    older: Place | None = None
    others: tuple[Place, ...] = ()

    def changes(self) -> Iterator[tuple[str, tuple[Place, Place]]]:
        """Yield each pair of neighbours, and by what a change between them is told: those of an older Python come last."""
        yield from (("comparison", self.sides(index)) for index in range(1, len(self.places)))
        known = [place[0] for place in self.places]
        for before, after in pairwise(self.others):
            if after[0] in known[(self.joint or 0) + 1 :]:
                yield "older Python", (before, after)

    def sides(self, index: int) -> tuple[Place, Place]:
        """Return the side before one and that side, of one Python."""
        return self.places[index - 1], self.older if index == self.joint and self.older else self.places[index]

    def chain(self, before: int, after: int) -> tuple[tuple[Place, Place], ...]:
        """Return the pairs between two releases."""
        if self.joint is not None and self.older and before < self.joint <= after:
            first = (self.places[before], self.older)
            return (first,) if after == self.joint else (first, (self.places[self.joint], self.places[after]))
        return ((self.places[before], self.places[after]),)


@lru_cache
def machine_in(folder: Path) -> Machine:
    """Return the machine whose launches are in a folder, fitted once."""
    return Machine(folder)


def python_of(place: Place) -> tuple[int, int]:
    """Return the Python of a side."""
    major, minor = place[1].partition("-")[0][2:].split(".")
    return int(major), int(minor)


def python_text(place: Place) -> str:
    """Return the Python of a side, such as "3.11"."""
    return place[1].partition("-")[0][2:]


@lru_cache
def histories(machine: Machine) -> dict[Case, Series]:
    """Return the joined history of every timed case."""
    order = list(releases())
    shown = machine.shown
    pythons = sorted({python_of(place) for place in shown}, reverse=True)
    series = {}
    for case in machine.logs:
        if not is_compared(case[0]):
            continue
        axes = [
            sorted(
                (place for place in shown if python_of(place) == python and (place, case) in machine.times and place[0] in order),
                key=lambda place: order.index(place[0]),
            )
            for python in pythons
        ]
        axes = [axis for axis in axes if axis]
        if not axes:
            continue
        newer, *others = axes
        values = [machine.times[place, case] for place in newer]
        joined = Series(tuple(newer), tuple(values), others=tuple(others[0]) if others else ())
        for older in others:
            shas = [place[0] for place in older]
            if newer[0][0] in shas and shas.index(newer[0][0]):
                at = shas.index(newer[0][0])
                factor = values[0] / machine.times[older[at], case]
                before = tuple(machine.times[place, case] * factor for place in older[:at])
                joined = Series((*older[:at], *newer), (*before, *values), at, older[at], joined.others)
        series[case] = joined
    return series


# What the program prints


def command(*words: str) -> str:
    """Return the output of a command of tensorcopy, which runs in this process: the results are read once for all commands."""
    with redirect_stdout(StringIO()) as output:
        code = cli.main(words)
    if code not in (0, 1):
        raise RuntimeError(f"{' '.join(words)}: exit code {code}")
    return output.getvalue()


def case_of(row: Mapping[str, Any]) -> Case:
    """Return the case of a row of the JSON."""
    return row["suite"], tuple(row["parameters"].items())


def name_of(case: Case) -> str:
    """Return the name of a case as it is printed."""
    return " ".join([case[0].rpartition(".")[0], *(value if name == "method" else f"{name}={value}" for name, value in case[1])])


def side_of(machine: Machine, place: Place) -> str:
    """Return a side as `tensorcopy compare` takes it."""
    sha, environment, _ = place
    python, _, build = environment.partition("-")
    return f"{releases()[sha]}@{python[2:]}@{machine.name}@{build}"


Checked = Counter[str]


def same(ours: float | None, printed: float | None, relative: float = 1e-5) -> bool:
    """Return whether a printed number is ours, but for rounding."""
    if ours is None or printed is None:
        return ours is printed
    return abs(ours - printed) <= relative * abs(ours) + 1e-300


def of_comparisons(machine: Machine, checked: Checked) -> Iterator[str]:
    """Yield a line for each case whose verdict, size, interval or p between neighbouring releases is another one."""
    order = list(releases())
    for environment in sorted({place[1] for place in machine.places}):
        axis = sorted((place for place in machine.places if place[1] == environment), key=lambda place: order.index(place[0]))
        for before, after in pairwise(axis):
            sides = side_of(machine, before), side_of(machine, after)
            ours = machine.compared(before, after)
            rows = json.loads(command("compare", *sides, "--format", "json"))["rows"]
            printed = {case_of(row): row for row in rows if row["metric"] == "time" and row["ratio"] is not None}
            for case in ours.keys() ^ printed.keys():
                yield f"{' '.join(sides)} {name_of(case)}: only {'recomputed' if case in ours else 'printed'}"
            for case in ours.keys() & printed.keys():
                row, own = printed[case], ours[case]
                low, high = own.interval or (None, None)
                checked["verdicts"] += 1
                is_same = all(
                    same(number, row[name]) for name, number in (("ratio", own.ratio), ("low", low), ("high", high), ("p", own.p))
                )
                if own.verdict != row["verdict"] or not is_same:
                    yield f"{' '.join(sides)} {name_of(case)}: {own}, printed {row['verdict']} {row['ratio']}"


@dataclass(frozen=True)
class PrintedRow:
    """A row of the CSV of a machine: the verdict, and the change and its interval in percent."""

    verdict: str
    change: float | None
    interval: tuple[float, ...]


Rows = Mapping[tuple[str, str, str], PrintedRow]  # by Python, version and name of the case


def data_of(site: Path, machine: Machine) -> dict[tuple[str, str, str], PrintedRow]:
    """Return the rows of the CSV of a machine."""
    rows = {}
    for row in csv.DictReader(StringIO((site / "data" / f"{machine.name}.csv").read_text(encoding="utf-8"))):
        size = re.match(r"'?(.*?) %", row["change"])
        ends = tuple(_number(end) for end in row["interval"].strip("'").removesuffix(" %").split(" to ") if end)
        rows[row["python"], row["release"], row["case"]] = PrintedRow(row["verdict"], _number(size[1]) if size else None, ends)
    return rows


def _number(text: str) -> float:
    return float(text.replace("−", "-"))


def of_times(site: Path, machine: Machine, checked: Checked) -> Iterator[str]:
    """Yield a line for each time in the JSON of a machine that is another one."""
    shown = {(place, case): seconds for (place, case), seconds in machine.times.items() if place in machine.shown}
    times = {(python_text(place), releases()[place[0]], name_of(case)): seconds for (place, case), seconds in shown.items()}
    for path in (site / "data" / machine.name).rglob("*.json"):
        for name, printed in json.loads(path.read_text(encoding="utf-8")).items():
            for version, row in printed["releases"].items() if printed["unit"] == "seconds" else ():
                checked["times"] += 1
                if not same(times.get((row["python"], version, name)), row["value"]):
                    yield f"{version} {name}: {times.get((row['python'], version, name))}, printed {row['value']}"


def of_data(machine: Machine, rows: Rows, checked: Checked) -> Iterator[str]:
    """Yield a line for each change of the CSV that is another one.

    A change that `compare` calls slower or faster has its verdict; another one has a verdict only if it is beyond the margin, `compare`
    leaves it unknown, and its interval excludes 1: levels on both sides support it. Where a newer Python decides, what only an older one
    shows is told.
    """
    for case, series in histories(machine).items():
        for support, (before, after) in series.changes():
            judged = machine.compared(before, after).get(case)
            key = python_text(after), releases()[after[0]], name_of(case)
            row = rows.get(key, PrintedRow("", None, ()))
            if not judged:
                continue
            is_decided = judged.verdict in ("slower", "faster")
            if support == "older Python" and is_decided:  # unless the newer one has the same change
                newer = rows.get((python_text(series.places[-1]), key[1], key[2]))
                is_decided = newer is None or newer.verdict != judged.verdict
            own = [100 * (ratio - 1) for ratio in (judged.ratio, *(judged.interval or ()))]
            checked["changes"] += row.change is not None
            if row.change is not None and not all(abs(mine - theirs) <= 0.0501 for mine, theirs in zip(own, (row.change, *row.interval))):
                yield f"{key}: {judged}, printed {row}"
            if is_decided or row.verdict:
                checked[f"{'decided' if is_decided else 'other'} changes, by {support}"] += 1
                excludes = judged.interval and not judged.interval[0] <= 1 <= judged.interval[1]
                fits = excludes and judged.verdict != "unchanged" and abs(np.log(judged.ratio)) >= MARGIN
                if row.verdict != ("slower" if judged.ratio > 1 else "faster") or not fits or not row.interval:
                    yield f"{key}: {judged}, printed {row}"


def of_open(machine: Machine, rows: Rows, checked: Checked) -> Iterator[str]:
    """Yield a line for each open regression that is another one: its case, its best release, its cost and its interval."""
    ours = {}
    newest = max((place[0] for place in machine.places), key=list(releases()).index)
    for case, series in histories(machine).items():
        steps = []
        for index in range(1, len(series.places)):
            _, after = series.sides(index)
            row = rows.get((python_text(after), releases()[after[0]], name_of(case)))
            steps += [index] if row and row.verdict else []
        logs, edges = np.log(series.values), [0, *steps, len(series.values)]
        levels = {end: float(np.median(logs[begin:end])) for begin, end in pairwise(edges)}
        current = levels[len(series.values)]
        lower = {end: level for end, level in levels.items() if end != len(series.values) and level < current}
        if not lower or series.places[-1][0] != newest:
            continue
        best = min(lower, key=lambda end: lower[end]) - 1
        cost = machine.chained(series.chain(best, len(series.places) - 1)).get(case)
        if cost and cost.verdict == "slower" and cost.interval:
            interval = " to ".join(map(_signed, cost.interval))
            ours[name_of(case)] = f"{_signed(cost.ratio)} % ({interval} %) against {releases()[series.places[best][0]]}"
    text = command("history", "--open", "--all", "--machine", machine.name)
    printed = dict(re.findall(r"^  (\S.*)\n    \S+ \S+ → \S+ \S+   (.*? against [\d.]+)", text, re.MULTILINE))
    checked["open regressions"] += len(ours)
    for name in ours.keys() | printed.keys():
        if ours.get(name) != printed.get(name):
            yield f"open: {name}: {ours.get(name)}, printed {printed.get(name)}"


def _signed(ratio: float) -> str:
    """Return a change in percent."""
    text = f"{100 * (ratio - 1):+.1f}"
    return text.replace("-", "−") if float(text) else text[1:]


def of_pages(site: Path, machine: Machine, checked: Checked) -> Iterator[str]:
    """Yield a line for each comparison on a page with other numbers of cases that are slower, faster or unchanged."""
    places = {(releases()[place[0]], python_text(place)): place for place in machine.shown}
    sections = re.compile(rf'<section id="(\w+)-{machine.name}-([\d.]+)">.*?<p class="tally">(.*?)</p>', re.DOTALL)
    for path in sorted((site / "compare").glob("*..*.html")):
        versions = path.stem.split("..")
        for device, python, text in sections.findall(path.read_text(encoding="utf-8")):
            words = re.findall(r"(\d+) (slower|back|faster|unchanged)", re.sub("<.*?>", "", text))
            printed = Counter({word: int(number) for number, word in words})
            printed["slower"] += printed.pop("back", 0)
            compared = machine.compared(*(places[version, python] for version in versions))
            ours = Counter(each.verdict for case, each in compared.items() if kind(case)[0] == device)
            checked["comparisons on pages"] += 1
            if any(ours[word] != printed[word] for word in ("slower", "faster", "unchanged")):
                yield f"{path.name} on {device}, Python {python}: {ours}, printed {printed}"


def differences(site: Path, results: Path = ROOT / "results") -> tuple[list[str], Checked]:
    """Return a line for each printed number that is another one, and how many were recomputed by kind."""
    checked: Checked = Counter()
    lines: list[str] = []
    machines = [machine_in(folder) for folder in sorted(results.iterdir()) if folder.is_dir()]
    for machine in machines:
        rows = data_of(site, machine)
        lines += [*of_comparisons(machine, checked), *of_times(site, machine, checked), *of_data(machine, rows, checked)]
        lines += [*of_open(machine, rows, checked), *of_pages(site, machine, checked)]
    return lines, checked


if __name__ == "__main__":
    found, numbers = differences(Path(sys.argv[1]))
    told = [*found, *(f"{number} {what}" for what, number in numbers.items()), f"{len(found)} differences"]
    sys.stdout.write("\n".join(told) + "\n")
    sys.exit(bool(found))
