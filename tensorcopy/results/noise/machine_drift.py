"""Estimate how slow the machine was in each pass, and divide that out. Pure.

A machine that is quiet by its control may still move memory some hundredths slower than an hour ago. Each pass also times memcpy baselines,
which no torch can change. The cases of a pass share its drift, each to its own exponent, as in `speed` for the control. The usual
baseline times are those of all results that are compared: if each result had its own, their difference in drift would look like torch's.
The exponent is fitted within each result, so that no release's speed enters it; `side_drift` decides how much of the difference between
two results is taken off. On an accelerator a baseline is torch's own copy and shows
no drift apart from torch's: cases there are compared as measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import exp
from statistics import median

from tensorcopy.results.load import Case, Result
from tensorcopy.results.passes import PassSamples, Timing

BASELINES = ("floors.ByBytes.", "floors.Strided.")  # numpy's
FEWEST_BASELINES = 8  # per pass: the standard error of the median of eight is 0.41 times the deviation of one
FEWEST_PASSES = 24  # beyond the first of each result, needed to fit how a case follows the drift


@dataclass(frozen=True)
class DriftModel:
    """The machine drift of each pass, and how each case follows it.

    An empty model leaves times as measured.

    drifts : by pass, the logarithm of how many times as long as usual the memcpy baselines took
    exponents : by case, the exponent, 0 to 1, to which its time follows that factor
    common : by pass, the logarithm of how many times as long as usual every case with an exponent took (`side_drift`)
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
        """The drift by pass, as in `DriftModel`."""
        baselines = {case for result in self.results for case in result.timings if case.suite.startswith(BASELINES)}
        return _drifts(_times(self.results, baseline) for baseline in baselines)

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
    ours, theirs = ((result.path.parent, result.python, result.provenance.get("numpy")) for result in (first, second))
    return ours == theirs


def same_kind(first: Result, second: Result) -> bool:
    """Return whether two results share Python, build, numpy and processor.

    Their machines may have different names.
    """
    equal = all(first.provenance.get(name) == second.provenance.get(name) for name in ("cpu", "numpy"))
    return equal and (first.python, first.build) == (second.python, second.build)


def fit_drift(results: Iterable[Result], cases: Iterable[Case]) -> DriftModel:
    """Return the drift of every pass, and how `cases` follow it.

    results : all of one machine or kind
    """
    return fit(results).model(cases)


def _times(results: Iterable[Result], baseline: Case) -> dict[str, float]:
    """Return a baseline's time in each pass, in log seconds."""
    timings = [result.timings[baseline] for result in results if baseline in result.timings]
    return {pass_samples.name: time for timing in timings for pass_samples, time in zip(timing.usable, timing.logs) if pass_samples.name}


def _drifts(baselines: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return each pass's drift: the median excess of its baselines over their usual."""
    excesses: dict[str, list[float]] = {}
    for times in baselines:
        usual = median(times.values()) if times else 0.0
        for name, time in times.items():
            excesses.setdefault(name, []).append(time - usual)
    return {name: median(values) for name, values in excesses.items() if len(values) >= FEWEST_BASELINES}


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
    pairs = [(time / drift, abs(drift)) for deviations in results for time, drift in deviations if drift]
    return min(1.0, max(0.0, _weighted_median(pairs)))


def _weighted_median(pairs: Iterable[tuple[float, float]]) -> float:
    """Return the value below which half of the weight lies; 0 for no pairs."""
    ordered = sorted(pairs)
    remaining = sum(weight for _, weight in ordered) / 2
    for value, weight in ordered:
        remaining -= weight
        if remaining <= 0:
            return value
    return 0.0
