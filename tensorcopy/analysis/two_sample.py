"""Compare two sets of samples of one case and return a verdict.

The unit of evidence is the pass: samples of one pass share a process, its memory layout and the state of the machine, so a pass counts
once, with the median of its samples, on a logarithmic scale. The ratio is the Hodges-Lehmann estimate, the median of all ratios of a pass
after to a pass before (Hodges and Lehmann, 1963). Its distribution under no change is bootstrapped over passes (residual bootstrap, Efron
and Tibshirani, 1993, §9.4): both sides are drawn, with random signs, from the deviations of this case's passes, which
`results.noise.spread` pools from both sides and from other results. Each side's draws have that side's own spread, and are widened by
Student's factor for the degrees of freedom (Welch, 1947), since a few passes estimate their own spread badly. Holm's step-down keeps the
chance of even one false alarm among all the cases judged together at `ALPHA` (Holm, 1979).

The statistics are written here and not taken from SciPy: it has neither Holm's method nor a Hodges-Lehmann test with a pooled null
distribution, its normal quantile is `statistics.NormalDist`'s, and importing `scipy.stats` takes longer than judging two releases.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, inf, log
from statistics import NormalDist, median
from typing import TypeVar

import numpy as np

from tensorcopy.analysis import bootstrap
from tensorcopy.analysis.verdict import Change, Difference, Reason, Samples, Verdict
from tensorcopy.results.noise import spread
from tensorcopy.results.noise.spread import Spread

MARGIN = 0.03  # the smallest change to report
ALPHA = 0.05  # chance of a false alarm among all cases together, and one minus the level of an interval
FEWEST = 3  # passes on each side: their median tolerates one bad pass
DRAWS = bootstrap.FEW_DRAWS  # for an interval
CLOSER = 0.02  # a p below it is computed again with more draws: DRAWS give it to a sixth, and Holm needs smaller ones
AT_ALPHA = 2.5  # draws beyond Holm's smallest p; fewer would still be valid, but less powerful
MOST_DRAWS = 100_000
MOST_PASSES = 50  # more than this many more are not worth suggesting

Case = TypeVar("Case", bound=Hashable)


def judge(
    pairs: Mapping[Case, tuple[Samples, Samples]], *, margin: float = MARGIN, noise: Mapping[Case, Sequence[Sequence[float]]] | None = None
) -> dict[Case, Change]:
    """Return the change of every case from its first side to its second.

    A case that cannot be tested is inconclusive.

    margin : the smallest change to report, as a share of the time
    noise : by case, groups of log seconds: the passes of other results of the same machine, a group for each result
    """
    changes = {case: change for case, sides in pairs.items() if (change := _untestable(*sides))}
    logs = {case: (before.logs, after.logs) for case, (before, after) in pairs.items() if case not in changes}
    shifts = _estimates(logs, noise or {}, len(pairs))
    adjusted = dict(zip(shifts, holm([shift.p for shift in shifts.values()])))
    bound = max((adjusted[case] for case, shift in shifts.items() if shift.p_is_bound), default=0.0)  # Holm's p never decreases
    for case, shift in shifts.items():
        changes[case] = _verdict(shift, adjusted[case], adjusted[case] <= bound < 1, margin, len(shifts))
    return {case: changes[case] for case in pairs}


def holm(ps: Sequence[float]) -> list[float]:
    """Return each p adjusted for all of them together (Holm, 1979)."""
    adjusted, largest = [1.0] * len(ps), 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = largest
    return adjusted


@dataclass(frozen=True)
class _Shift:
    """The estimated change of one case: `size` ± `half` on a logarithmic scale.

    p : before adjustment
    p_is_bound : whether no draw was as large, so that p may be smaller
    passes : quiet passes before and after
    before, after : seconds
    """

    size: float
    half: float
    p: float
    p_is_bound: bool
    passes: tuple[int, int]
    before: float
    after: float


def _untestable(before: Samples, after: Samples) -> Change | None:
    """Return the inconclusive change of two sides that cannot be tested.

    None if they can.
    """
    passes = sum(map(bool, before.passes)), sum(map(bool, after.passes))
    if min(passes) >= FEWEST and before.are_times and after.are_times and not _differences(before.provenance, after.provenance):
        return None
    times = [median(median(samples) for samples in side.passes if samples) if any(side.passes) else None for side in (before, after)]
    ratio = times[1] / times[0] if times[0] and times[1] else None
    change = Change(Verdict.INCONCLUSIVE, Reason.TOO_FEW_PASSES, ratio=ratio, before=times[0], after=times[1], passes=passes)
    for side, not_a_time, no_samples in (
        (before, Reason.NOT_A_TIME_BEFORE, Reason.NO_SAMPLES_BEFORE),
        (after, Reason.NOT_A_TIME_AFTER, Reason.NO_SAMPLES_AFTER),
    ):
        if not side.are_times:
            return replace(change, reason=not_a_time)
        if not any(side.passes):
            return replace(change, reason=no_samples, failure=side.failure)
    differences = _differences(before.provenance, after.provenance)
    if differences:
        return replace(change, reason=Reason.PROVENANCE_DIFFERS, differences=differences)
    return replace(change, more_passes=FEWEST - min(passes))


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Difference, ...]:
    """Return the fields that both sides have with different values.

    A field that one side lacks does not count.
    """
    return tuple(Difference(name, before[name], after[name]) for name in before if name in after and before[name] != after[name])


def _estimates(
    logs: Mapping[Case, tuple[list[float], list[float]]], noise: Mapping[Case, Sequence[Sequence[float]]], cases: int
) -> dict[Case, _Shift]:
    """Return the estimated change of every case.

    cases : how many are judged together
    """
    deviations = {case: spread.deviations(sides, noise.get(case, ())) for case, sides in logs.items()}
    busy = spread.busy_hour(deviations.values())
    sizes = _sizes(logs)
    return {case: _estimate(*logs[case], sizes[case], spread.moderated_spread(deviations[case], busy), cases) for case in logs}


def _sizes(logs: Mapping[Case, tuple[list[float], list[float]]]) -> dict[Case, float]:
    """Return the Hodges-Lehmann estimate of every case; those with as many passes are computed together."""
    by_passes: dict[tuple[int, int], list[Case]] = {}
    for case, (before, after) in logs.items():
        by_passes.setdefault((len(before), len(after)), []).append(case)
    sizes: dict[Case, float] = {}
    for cases in by_passes.values():
        before, after = (np.array([logs[case][side] for case in cases]) for side in (0, 1))
        sizes.update(zip(cases, map(float, bootstrap.hodges_lehmann(before, after))))
    return sizes


def _estimate(before: list[float], after: list[float], shift: float, passes_vary: Spread, cases: int) -> _Shift:
    passes = len(before), len(after)
    plan, unit = bootstrap.plan(passes_vary, passes)
    null = plan.null(DRAWS)
    in_units = shift / unit if unit else inf * shift if shift else 0.0  # passes that are all equal have no spread
    p, p_is_bound = null.p(in_units)
    if p < CLOSER:  # as fine as Holm will divide it
        p, p_is_bound = plan.null(min(MOST_DRAWS, max(DRAWS, int(AT_ALPHA * cases / ALPHA)))).p(in_units)
    return _Shift(shift, null.half(ALPHA) * unit, p, p_is_bound, passes, exp(median(before)), exp(median(after)))


def _verdict(shift: _Shift, p: float, p_is_bound: bool, margin: float, cases: int) -> Change:
    ratio, interval = exp(shift.size), (exp(shift.size - shift.half), exp(shift.size + shift.half))
    smallest, more_passes = log(1 + margin), None
    if p <= ALPHA and abs(shift.size) >= smallest:
        verdict, reason = Verdict.SLOWER if shift.size > 0 else Verdict.FASTER, Reason.CHANGED
    elif abs(shift.size) + shift.half <= smallest:
        verdict, reason = Verdict.UNCHANGED, Reason.WITHIN_MARGIN
    else:
        verdict, reason, more_passes = Verdict.INCONCLUSIVE, Reason.INTERVAL_TOO_WIDE, _more_passes(shift, smallest, cases)
    numbers = ratio, interval, p, shift.before, shift.after, shift.passes
    return Change(verdict, reason, *numbers, more_passes=more_passes, p_is_bound=p_is_bound)


def _more_passes(shift: _Shift, smallest: float, cases: int) -> int | None:
    """Estimate how many more passes would decide; None for more than MOST_PASSES.

    An interval shrinks with the square root of their number.
    """
    # the half width at which Holm's p is ALPHA, from normal tails: there are too few draws that far out
    significant = abs(shift.size) * _normal(ALPHA) / _normal(ALPHA / cases)
    target = smallest - abs(shift.size) if abs(shift.size) < smallest else significant
    more = ceil(min(shift.passes) * ((shift.half / target) ** 2 - 1)) if target > 0 else inf
    return max(1, int(more)) if more <= MOST_PASSES else None


def _normal(p: float) -> float:
    """Return the two-sided quantile of the normal distribution for probability `p`."""
    return -NormalDist().inv_cdf(p / 2)
