"""The machine's mood in a pass: how much longer than usual its floors took, which no torch can change. Pure.

A machine that is quiet by its control may still move memory some hundredths slower than an hour ago. The cases of a pass share that with
its floors, each to a power of its own, as `pace` has it for the control. What is usual is so for all results that are compared:
were each judged by its own, their difference in mood would look like torch's. The power is learnt within each result, so that no release's
speed enters it. On an accelerator a floor is torch's own copy, so that nobody tells its mood: its cases are judged as measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from statistics import median

from tensorcopy.results.load import Case, Result
from tensorcopy.results.passes import PassSamples, Timing

FLOORS = ("floors.ByBytes.", "floors.Strided.")  # numpy's
FEWEST = 8  # quiet floors from which a pass's mood is known: their median is then within a third of how far one strays
ENOUGH = 24  # passes, beyond the first of each result, from which it is known how a case follows the mood


@dataclass(frozen=True)
class DriftModel:
    """Passes as they would have been in the usual mood; one that knows nothing leaves them as they were.

    drifts : by pass, the logarithm of how many times as long as usual the floors took
    powers : by case, to which power of that its time goes, 0 to 1
    """

    drifts: Mapping[str, float] = field(default_factory=dict)
    powers: Mapping[Case, float] = field(default_factory=dict)

    def pass_drift(self, case: Case, pass_samples: PassSamples) -> float | None:
        """How much longer a case took in that pass than in the usual mood, as a logarithm; None where nobody knows."""
        found = self.drifts.get(pass_samples.name)
        return None if found is None or case not in self.powers else self.powers[case] * found

    def passes(self, case: Case, timing: Timing) -> tuple[tuple[float, ...], ...]:
        """The quiet samples of each pass that says something of torch, in seconds."""
        drifts = [exp(self.pass_drift(case, pass_samples) or 0.0) for pass_samples in timing.judged]
        return tuple(tuple(sample / pass_drift for sample in pass_samples.quiet) for pass_samples, pass_drift in zip(timing.judged, drifts))

    def logs(self, case: Case, timing: Timing) -> tuple[float, ...]:
        """The time of each of these passes, in log seconds."""
        return tuple(time - (self.pass_drift(case, pass_samples) or 0.0) for time, pass_samples in zip(timing.logs, timing.judged))

    def noise(self, results: Sequence[Result], cases: Iterable[Case]) -> dict[Case, list[tuple[float, ...]]]:
        """By case, the passes of each result in log seconds, as `two_sample.judge` takes them."""
        return {case: [self.logs(case, result.timings[case]) for result in results if case in result.timings] for case in cases}


AS_MEASURED = DriftModel()


def same_machine(one: Result, other: Result) -> bool:
    """Whether the floors of two results tell of one machine, by one numpy: then what is usual is so for both."""
    return (one.path.parent, one.python, one.provenance.get("numpy")) == (other.path.parent, other.python, other.provenance.get("numpy"))


def same_kind(one: Result, other: Result) -> bool:
    """Whether they were measured with one Python, build and numpy on machines of one kind, whatever their names."""
    alike = all(one.provenance.get(name) == other.provenance.get(name) for name in ("cpu", "numpy"))
    return alike and (one.python, one.build) == (other.python, other.build)


def fit_drift(results: Sequence[Result], cases: Iterable[Case]) -> DriftModel:
    """What the passes of some results, all of one machine or kind, tell of these cases."""
    drifts = _drifts(_times(results, floor) for floor in {case for one in results for case in one.timings if case.suite.startswith(FLOORS)})
    told = [case for case in cases if case.device == "cpu"]
    powers = {case: _power([_strays(result.timings[case], drifts) for result in results if case in result.timings]) for case in told}
    return DriftModel(drifts, {case: power for case, power in powers.items() if power is not None})


def _times(results: Iterable[Result], floor: Case) -> dict[str, float]:
    """By pass, in log seconds."""
    timings = [result.timings[floor] for result in results if floor in result.timings]
    return {pass_samples.name: time for timing in timings for pass_samples, time in zip(timing.judged, timing.logs) if pass_samples.name}


def _drifts(floors: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """By pass: the median of what its floors took beyond what each usually takes."""
    beyond: dict[str, list[float]] = {}
    for some in floors:
        usual = median(some.values()) if some else 0.0
        for name, time in some.items():
            beyond.setdefault(name, []).append(time - usual)
    return {name: median(values) for name, values in beyond.items() if len(values) >= FEWEST}


def _strays(timing: Timing, drifts: Mapping[str, float]) -> list[tuple[float, float]]:
    """Of each pass whose mood is known, how far time and mood are from the result's own, as logarithms."""
    known = [(time, drifts[pass_samples.name]) for pass_samples, time in zip(timing.judged, timing.logs) if pass_samples.name in drifts]
    if len(known) < 2:
        return []
    middle, usual = (median(values) for values in zip(*known))
    return [(time - middle, pass_drift - usual) for time, pass_drift in known]


def _power(results: Sequence[Sequence[tuple[float, float]]]) -> float | None:
    """Which power of the mood leaves the least absolute strays, 0 to 1; None where too few passes can tell.

    That is the median of time over mood, each weighed by the mood (least absolute deviations through the origin).
    """
    if sum(len(strays) - 1 for strays in results if strays) < ENOUGH:
        return None
    return min(
        1.0,
        max(0.0, _weighed_median((time / pass_drift, abs(pass_drift)) for strays in results for time, pass_drift in strays if pass_drift)),
    )


def _weighed_median(pairs: Iterable[tuple[float, float]]) -> float:
    """The value below which half of the weight lies; 0 of none."""
    ordered = sorted(pairs)
    left = sum(weight for _, weight in ordered) / 2
    for value, weight in ordered:
        left -= weight
        if left <= 0:
            return value
    return 0.0
