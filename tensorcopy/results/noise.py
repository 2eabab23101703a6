"""Estimate noise: the machine's drift in each pass, what two sides share of it, and how much passes vary. Pure.

docs/measurement.md describes the steps between a sample and a verdict. First: how slow the machine was in each pass, and that divided out.

A machine that is quiet by its control may still move memory some hundredths slower than an hour ago. Each pass also times memcpy baselines,
which no torch can change. The cases of a pass share its drift, each to its own exponent, as in `passes.control_exponent` for the control.
The usual baseline times are those of all results that are compared: if each result had its own, their difference in drift would look like
torch's. The exponent is fitted within each result, so that no release's speed enters it; `drift_between` decides how much of the difference
between two results is taken off. On an accelerator a baseline is torch's own copy and shows no drift apart from torch's: cases there are
compared as measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import exp, fsum, inf, sqrt
from statistics import median

from tensorcopy.results.passes import Case, PassSamples, Timing
from tensorcopy.results.reader import Result

FEWEST_BASELINES = 8  # per pass: the standard error of the median of eight is 0.41 times the deviation of one
FEWEST_PASSES = 24  # beyond the first of each result, needed to fit how a case follows the drift


@dataclass(frozen=True)
class DriftModel:
    """The machine drift of each pass, and how each case follows it.

    An empty model leaves times as measured.

    drifts : by pass, the logarithm of how many times as long as usual the memcpy baselines took
    exponents : by case, the exponent, 0 to 1, to which its time follows that factor
    common : by pass, the logarithm of how many times as long as usual every case with an exponent took (`drift_between`)
    """

    drifts: Mapping[str, float] = field(default_factory=dict)
    exponents: Mapping[Case, float] = field(default_factory=dict)
    common: Mapping[str, float] = field(default_factory=dict)

    def pass_drift(self, case: Case, pass_samples: PassSamples) -> float | None:
        """Return how much longer than usual a case took in a pass, as a logarithm.

        None where that is unknown.
        """
        drift = self.drifts.get(pass_samples.name)
        if drift is None or case not in self.exponents:
            return None
        return self.exponents[case] * drift + self.common.get(pass_samples.name, 0.0)

    def passes(self, case: Case, timing: Timing) -> tuple[tuple[float, ...], ...]:
        """Return the quiet samples of each usable pass, drift-corrected, in seconds."""
        factors = [exp(self.pass_drift(case, pass_samples) or 0.0) for pass_samples in timing.usable]
        return tuple(tuple(sample / factor for sample in pass_samples.quiet) for pass_samples, factor in zip(timing.usable, factors))

    def logs(self, case: Case, timing: Timing) -> tuple[float, ...]:
        """Return the time of each usable pass, drift-corrected, in log seconds."""
        return tuple(time - (self.pass_drift(case, pass_samples) or 0.0) for time, pass_samples in zip(timing.logs, timing.usable))

    def noise(self, results: Sequence[Result], cases: Iterable[Case]) -> dict[Case, list[tuple[float, ...]]]:
        """Return the passes of each result in log seconds, by case.

        As `two_sample.judge` takes them.
        """
        return {case: [self.logs(case, result.timings[case]) for result in results if case in result.timings] for case in cases}


AS_MEASURED = DriftModel()


@dataclass(frozen=True)
class DriftFit:
    """The drift of every pass of some results; each case's exponent is fitted once.

    A series is fitted once for all of its comparisons.

    results : all of one machine or kind
    """

    results: tuple[Result, ...]
    _exponents: dict[Case, float | None] = field(default_factory=dict, compare=False)
    _logs: dict[int, tuple[Timing, tuple[float, ...]]] = field(default_factory=dict, compare=False)  # by the timing's id

    @cached_property
    def drifts(self) -> dict[str, float]:
        """The drift by pass, as in `DriftModel`: the median excess of its baselines over their usual time."""
        excesses: dict[str, list[float]] = {}
        for baseline in {case for result in self.results for case in result.timings if case.spec.numpy and not case.spec.torch}:
            timings = [result.timings[baseline] for result in self.results if baseline in result.timings]
            times = {part.name: time for timing in timings for part, time in zip(timing.usable, timing.logs) if part.name}
            usual = median(times.values()) if times else 0.0
            for name, time in times.items():
                excesses.setdefault(name, []).append(time - usual)
        return {name: median(values) for name, values in excesses.items() if len(values) >= FEWEST_BASELINES}

    def exponent(self, case: Case) -> float | None:
        """Return the exponent to which a case follows the drift; None where unknown."""
        if case not in self._exponents:
            timings = [result.timings[case] for result in self.results if case in result.timings] if case.device == "cpu" else []
            self._exponents[case] = _exponent([_deviations(timing, self.drifts) for timing in timings])
        return self._exponents[case]

    def model(self, cases: Iterable[Case]) -> DriftModel:
        """Return the drift of every pass, and how `cases` follow it."""
        exponents = {case: self.exponent(case) for case in cases}
        return DriftModel(self.drifts, {case: exponent for case, exponent in exponents.items() if exponent is not None})

    def noise(self, results: Sequence[Result], cases: Iterable[Case]) -> dict[Case, list[tuple[float, ...]]]:
        """Return the same as `model(cases).noise(results, cases)`, from logs that are computed once."""
        timings = [result.timings for result in results]
        return {case: [self._logs_of(case, timed[case]) for timed in timings if case in timed] for case in cases}

    def _logs_of(self, case: Case, timing: Timing) -> tuple[float, ...]:
        if id(timing) not in self._logs:
            self._logs[id(timing)] = timing, self.model([case]).logs(case, timing)
        return self._logs[id(timing)][1]


def fit(results: Iterable[Result]) -> DriftFit:
    """Return the drift of every pass of results of one machine or kind.

    It does not depend on their order, and is kept for the last few sets of results.
    """
    return _fit(tuple(sorted(results, key=lambda result: result.path)))


@lru_cache(maxsize=8)  # sets of results: a machine has a few series at a time
def _fit(results: tuple[Result, ...]) -> DriftFit:
    return DriftFit(results)


def same_machine(first: Result, second: Result) -> bool:
    """Return whether two results share machine, Python and numpy.

    Their memcpy baselines are comparable then.
    """
    ours, theirs = (
        (result.path.parent, replace(result.series_key, build=""), result.provenance.get("numpy")) for result in (first, second)
    )
    return ours == theirs


def _deviations(timing: Timing, drifts: Mapping[str, float]) -> list[tuple[float, float]]:
    """Return how far time and drift of each pass are from the result's medians.

    As logarithms, for the passes of known drift.
    """
    pairs = [(time, drifts[pass_samples.name]) for pass_samples, time in zip(timing.usable, timing.logs) if pass_samples.name in drifts]
    if len(pairs) < 2:
        return []
    middle, usual = (median(values) for values in zip(*pairs))
    return [(time - middle, drift - usual) for time, drift in pairs]


def _exponent(results: Sequence[Sequence[tuple[float, float]]]) -> float | None:
    """Return the exponent, 0 to 1, with the smallest absolute deviations.

    None for too few passes.

    That is the median of time over drift, each weighted by the drift (least absolute deviations through the origin).
    """
    if sum(len(deviations) - 1 for deviations in results if deviations) < FEWEST_PASSES:
        return None
    ordered = sorted((time / drift, abs(drift)) for deviations in results for time, drift in deviations if drift)
    remaining = sum(weight for _, weight in ordered) / 2
    for exponent, weight in ordered:
        remaining -= weight
        if remaining <= 0:
            return min(1.0, max(0.0, exponent))
    return 0.0


# Take off as much drift between two results as their cases confirm.
#
# Within a result, `DriftFit` fits how each case follows the memcpy baselines: torch is the same in all of its passes. Between two
# results it is not, and baselines may differ where no case does, such as after an update of numpy's memcpy or on a host with another
# neighbour. So each result's drift is first taken from its own median, and the difference between the medians is taken off only as far as
# all cases together show it.

SHARES = 20  # of the shares that are tried: a twentieth of a drift of 5 % is far below the smallest change that is reported


def drift_between(drift: DriftModel, before: Result, after: Result) -> DriftModel:
    """Return the drift with only the confirmed part of the sides' difference.

    drift : fitted to both sides among others
    A case is corrected by (equal + following × exponent) times the difference of the baselines, where `equal` and `following` are the
    same for all cases, at least 0 and together at most 1: with the smallest absolute deviations of all cases' own shifts.
    """
    centres = [_centre(drift, result) for result in (before, after)]
    drifts, common = dict(drift.drifts), dict(drift.common)
    for result, centre in zip((before, after), centres):
        drifts.update({name: drift.drifts[name] - centre for name in _passes(drift, result)})
    within = replace(drift, drifts=drifts)
    if not all(_passes(drift, result) for result in (before, after)):
        return within
    difference = centres[1] - centres[0]
    shifts = []  # each case's exponent and its log ratio, corrected within the sides
    for case, exponent in within.exponents.items():
        if case in before.timings and case in after.timings:
            sides = [within.logs(case, result.timings[case]) for result in (before, after)]
            if all(sides):
                shifts.append((exponent, median(sides[1]) - median(sides[0])))
    equal, following = _shares(shifts, difference)
    for result, half in ((before, -difference / 2), (after, difference / 2)):  # half on each side: swapped sides invert the ratio
        for name in _passes(drift, result):
            drifts[name] += following * half
            common[name] = equal * half
    return replace(drift, drifts=drifts, common=common)


def _passes(drift: DriftModel, result: Result) -> list[str]:
    """Return the passes of a result whose drift is known."""
    return [name for name in _names(result) if name in drift.drifts]


@lru_cache(maxsize=64)  # results: more than a machine has
def _names(result: Result) -> tuple[str, ...]:
    """Return the passes of a result, in order."""
    return tuple(dict.fromkeys([pass_samples.name for timing in result.timings.values() for pass_samples in timing.by_pass]))


def _centre(drift: DriftModel, result: Result) -> float:
    drifts = [drift.drifts[name] for name in _passes(drift, result)]
    return median(drifts) if drifts else 0.0


def _shares(shifts: Sequence[tuple[float, float]], difference: float) -> tuple[float, float]:
    """Return `equal` and `following`, the shares that fit the cases' shifts best.

    Of equally good ones the smallest: what no case confirms is not taken off.
    """
    if not shifts:
        return 0.0, 0.0
    import numpy as np  # imported only where results are compared

    tried = sorted(((equal, following) for equal in range(SHARES + 1) for following in range(SHARES + 1 - equal)), key=sum)
    shares = np.array(tried) / SHARES
    exponents, shift = np.array(shifts).T
    expected = (shares[:, :1] + shares[:, 1:] * exponents) * difference
    best = shares[int(np.argmin(np.abs(shift - expected).sum(axis=1)))]
    return float(best[0]), float(best[1])


# Estimate how much the passes of one case vary where nothing changed.
#
# A few passes give a poor estimate of their own spread. The passes of a side count first. If they have fewer than `ENOUGH` degrees of
# freedom, the rest comes first from the other side, measured in the same hour, then from the other results of the same machine. This is a
# moderated variance (Smyth, 2004, doi:10.2202/1544-6115.1027) whose prior fades as passes are added. A side that contradicts the prior
# takes its weight away, and an hour in which all cases vary more widens the spread of the other results.

ENOUGH = 30  # degrees of freedom from which a side is used alone: Student's factor is then within 4 % of the normal one. With 60, A/A
# comparisons of 4 to 8 passes on results whose spreads differ by 30 % had a false alarm in one of 10 families of 193 cases, not of 13 to 19
CONTRADICTS = 6.0  # variance over the prior's from which the prior counts less: once in 350 by chance (F of 3 and 27: four passes)
LARGEST = 3.0  # a result that varies more than this many times as much as the median result counts as so many times
FEWEST_CASES = 20  # of which the mean ratio of spreads, each known to about a quarter, is known to some 6 %
DIGITS = 4  # of the pool: the float noise behind them would make every pair of releases another pool


@dataclass(frozen=True)
class Spread:
    """How much passes vary, for the bootstrap in `analysis.two_sample`.

    pool : scaled absolute deviations of passes from their group's median, over the spread of their group, ascending; their mean is 1
    sides : the mean absolute deviation of a pass on each side, in log seconds
    degrees : by side, the degrees of freedom behind it
    shared : degrees of freedom of the other results that both sides use
    """

    pool: tuple[float, ...]
    sides: tuple[float, float]
    degrees: tuple[float, float]
    shared: float


@dataclass(frozen=True)
class Group:
    """The passes of one case in one result: deviations, variance, degrees of freedom.

    deviations : scaled and absolute, ascending
    variance : the square of the mean deviation, which one odd pass moves less than the standard deviation
    """

    deviations: tuple[float, ...]
    variance: float
    degrees: int


@dataclass(frozen=True)
class Deviations:
    """The deviations of one case in both sides and in other results.

    usual : the variance of the other results; None without any
    """

    sides: tuple[Group, Group]
    others: tuple[Group, ...]
    usual: float | None

    @property
    def excess(self) -> float | None:
        """How many times as much the sides vary as the other results.

        At most `LARGEST`; None where that is unknown.
        """
        if not self.usual:
            return None
        own = fsum(side.degrees * side.variance for side in self.sides) / sum(side.degrees for side in self.sides)
        return min(LARGEST, sqrt(own / self.usual))


def deviations(sides: tuple[Sequence[float], Sequence[float]], others: Iterable[Sequence[float]]) -> Deviations:
    """Return the deviations of one case.

    sides, others : groups of log seconds, each the passes of one result; each side has at least two
    """
    around = tuple(_known_group(tuple(logs)) for logs in others if len(logs) > 1)
    usual = None
    if around:
        largest = LARGEST**2 * median([group.variance for group in around])
        usual = fsum([group.degrees * min(group.variance, largest) for group in around]) / sum([group.degrees for group in around])
    return Deviations((_group(sides[0]), _group(sides[1])), around, usual)


def busy_hour(cases: Iterable[Deviations]) -> float:
    """Return how many times as much all sides vary as the other results, at least 1.

    The mean over the cases: a busy hour disturbs them together. 1 for few cases: the spread of a few passes of one case says little.
    """
    excesses = [excess for case in cases if (excess := case.excess) is not None]
    return max(1.0, fsum(excesses) / len(excesses)) if len(excesses) >= FEWEST_CASES else 1.0


def moderated_spread(case: Deviations, busy: float = 1.0) -> Spread:
    """Return the spread of each side, filled up with the other side and results.

    busy : how many times as much the sides vary as the other results in all cases (`busy_hour`)
    """
    history = sum(group.degrees for group in case.others)
    usual = busy**2 * (case.usual or 0.0)
    first, second = case.sides
    sides = [_moderated(side, other, usual, history) for side, other in ((first, second), (second, first))]
    return Spread(
        _pool(case.sides if min(first.degrees, second.degrees) >= ENOUGH else (*case.sides, *case.others)),
        (sqrt(sides[0][0]), sqrt(sides[1][0])),
        (sides[0][1], sides[1][1]),
        max(shared for _, _, shared in sides),
    )


def scaled_deviations(groups: Sequence[Sequence[float]]) -> tuple[list[float], int]:
    """Return how far values are from their group's median, and degrees of freedom.

    The deviations are in the order of the values.

    A group of n values is scaled by √(n / (n - 1)), since its median is computed from them; a group of one value has no deviation.
    """
    scaled, degrees = [], 0
    for values in groups:
        if len(values) > 1:
            middle, scale = median(values), (len(values) / (len(values) - 1)) ** 0.5
            scaled += [abs(value - middle) * scale for value in values]
            degrees += len(values) - 1
    return scaled, degrees


def _moderated(side: Group, other: Group, usual: float, history: int) -> tuple[float, float, float]:
    """Return a side's variance, its degrees of freedom, and those that are other results', filled up with the other side and with these.

    usual, history : the other results' variance and its degrees of freedom, 0 without any
    """
    beside = min(other.degrees, max(0, ENOUGH - side.degrees))
    shared = min(history, max(0, ENOUGH - side.degrees - beside))
    if not beside + shared:
        return side.variance, side.degrees, 0
    nearby = min(other.variance, CONTRADICTS * usual if shared else inf)  # a side that varies more must not widen the other
    prior = (beside * nearby + shared * usual) / (beside + shared)
    return *_filled_up(side, float(beside + shared), prior), shared


def _filled_up(side: Group, weight: float, prior: float) -> tuple[float, float]:
    """Return a side's variance and degrees of freedom with those of the prior."""
    if side.variance > CONTRADICTS * prior:
        weight *= CONTRADICTS * prior / side.variance
    degrees = side.degrees + weight
    return (side.degrees * side.variance + weight * prior) / degrees, degrees


def _group(logs: Sequence[float]) -> Group:
    scaled, degrees = scaled_deviations([logs])
    return Group(tuple(sorted(scaled)), (fsum(scaled) / len(scaled)) ** 2, degrees)


_known_group = lru_cache(maxsize=2**14)(_group)  # of other results, which are the same for every pair of a series


def _pool(groups: tuple[Group, ...]) -> tuple[float, ...]:
    """Return the deviations of all groups over their group's spread.

    It is the same for every pair of a series, which `two_sample` computes once. A group of few passes is filled up as a side is: over its
    own spread alone, three passes would always look alike. The smallest deviation of each group is left out: it belongs to the pass that
    is the median, and a fifth of zeros would give five passes longer tails than they have.
    """
    degrees = sum(group.degrees for group in groups)
    largest = LARGEST**2 * median([group.variance for group in groups])
    usual = fsum([group.degrees * min(group.variance, largest) for group in groups]) / degrees
    pool: list[float] = []
    for group in groups:
        beside = min(degrees, max(0, ENOUGH - group.degrees))
        spread = sqrt(_filled_up(group, float(beside), beside * usual / beside)[0] if beside else group.variance)
        pool += [deviation / spread for deviation in group.deviations[1:]] if spread else [0.0] * (len(group.deviations) - 1)
    mean = fsum(pool) / len(pool)
    return tuple(sorted([round(deviation / mean, DIGITS) for deviation in pool] if mean else [0.0] * len(pool)))
