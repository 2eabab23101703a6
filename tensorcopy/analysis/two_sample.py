"""Compare two sets of samples of one case and return a verdict.

The unit of evidence is the pass: samples of one pass share a process, its memory layout and the state of the machine, so a pass counts
once, with the median of its samples, on a logarithmic scale. The ratio is the Hodges-Lehmann estimate, the median of all ratios of a pass
after to a pass before (Hodges and Lehmann, 1963). Its distribution under no change is bootstrapped over passes (residual bootstrap, Efron
and Tibshirani, 1993, §9.4): both sides are drawn, with random signs, from the deviations of this case's passes, which
`results.noise.spread` pools from both sides and from other results. The draws are widened where these two sides vary more than the pool,
and by Student's factor for the degrees of freedom, since a few passes estimate their own spread badly. Holm's step-down keeps the chance
of even one false alarm among all the cases judged together at `ALPHA` (Holm, 1979).

The statistics are written here and not taken from SciPy: it has neither Holm's method nor a Hodges-Lehmann test with a pooled null
distribution, its normal quantile is `statistics.NormalDist`'s, and importing `scipy.stats` takes longer than judging two releases.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, exp, inf, log
from statistics import NormalDist, median
from typing import Any, TypeVar

import numpy as np

from tensorcopy.analysis.verdict import Change, Difference, Reason, Samples, Verdict
from tensorcopy.results.noise.spread import pooled_spread

MARGIN = 0.03  # the smallest change to report
ALPHA = 0.05  # chance of a false alarm among all cases together, and one minus the level of an interval
FEWEST = 3  # passes on each side: their median tolerates one bad pass
DRAWS = 2_000  # for an interval
CLOSER = 0.02  # a p below it is computed again with more draws: DRAWS give it to a sixth, and Holm needs smaller ones
AT_ALPHA = 2.5  # draws beyond Holm's smallest p; fewer would still be valid, but less powerful
TIMES_AS_MANY = 3  # draw at most this many times as many passes for one side as for the other: more narrow an interval by < 1/7
TAIL = 5 * CLOSER  # the share of the draws that is kept
MOST_DRAWS = 100_000
MOST_PASSES = 50  # more than this many more are not worth suggesting

Case = TypeVar("Case", bound=Hashable)
Numbers = Any  # an array of floats; numpy's types differ from release to release


def judge(
    pairs: Mapping[Case, tuple[Samples, Samples]], *, margin: float = MARGIN, noise: Mapping[Case, Sequence[Sequence[float]]] | None = None
) -> dict[Case, Change]:
    """Return the change of every case from its first side to its second.

    A case that cannot be tested is inconclusive.

    margin : the smallest change to report, as a share of the time
    noise : by case, groups of log seconds: the passes of other results of the same machine, a group for each result
    """
    changes: dict[Case, Change] = {}
    shifts: dict[Case, _Shift] = {}
    for case, (before, after) in pairs.items():
        untestable = _untestable(before, after)
        if untestable:
            changes[case] = untestable
        else:
            shifts[case] = _estimate(before.logs, after.logs, (noise or {}).get(case, ()), len(pairs))
    adjusted = dict(zip(shifts, holm([shift.p for shift in shifts.values()])))
    for case, shift in shifts.items():
        changes[case] = _verdict(shift, adjusted[case], margin, len(shifts))
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
    passes : quiet passes before and after
    before, after : seconds
    """

    size: float
    half: float
    p: float
    passes: tuple[int, int]
    before: float
    after: float


def _untestable(before: Samples, after: Samples) -> Change | None:
    """Return the inconclusive change of two sides that cannot be tested.

    None if they can.
    """
    times = [median(median(samples) for samples in side.passes if samples) if any(side.passes) else None for side in (before, after)]
    ratio = times[1] / times[0] if times[0] and times[1] else None
    passes = sum(map(bool, before.passes)), sum(map(bool, after.passes))
    change = Change(Verdict.INCONCLUSIVE, Reason.TOO_FEW_PASSES, ratio=ratio, before=times[0], after=times[1], passes=passes)
    for side, not_a_time, no_samples in (
        (before, Reason.NOT_A_TIME_BEFORE, Reason.NO_SAMPLES_BEFORE),
        (after, Reason.NOT_A_TIME_AFTER, Reason.NO_SAMPLES_AFTER),
    ):
        if not all(0 < sample < inf for samples in side.passes for sample in samples):
            return replace(change, reason=not_a_time)
        if not any(side.passes):
            return replace(change, reason=no_samples, failure=side.failure)
    differences = _differences(before.provenance, after.provenance)
    if differences:
        return replace(change, reason=Reason.PROVENANCE_DIFFERS, differences=differences)
    if min(passes) < FEWEST:
        return replace(change, more_passes=FEWEST - min(passes))
    return None


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Difference, ...]:
    """Return the fields that both sides have with different values.

    A field that one side lacks does not count.
    """
    return tuple(Difference(name, before[name], after[name]) for name in before if name in after and before[name] != after[name])


def _estimate(before: list[float], after: list[float], noise: Sequence[Sequence[float]], cases: int) -> _Shift:
    shift = _hodges_lehmann(np.array([before]), np.array([after]))[0]
    spread = pooled_spread([before, after], noise)
    few, many = sorted((len(before), len(after)))
    many = min(many, TIMES_AS_MANY * few)
    null = _null(spread.pool, spread.degrees, few, many, DRAWS)
    p = null.p(shift / spread.widening)
    if p < CLOSER:  # as fine as Holm will divide it
        draws = min(MOST_DRAWS, max(DRAWS, int(AT_ALPHA * cases / ALPHA)))
        p = _null(spread.pool, spread.degrees, few, many, draws).p(shift / spread.widening)
    return _Shift(float(shift), null.half * spread.widening, p, (len(before), len(after)), exp(median(before)), exp(median(after)))


@dataclass(frozen=True)
class _Null:
    """The distribution of the absolute log ratio if nothing changed.

    half : its quantile at 1 - `ALPHA`
    tail : the largest of `draws` draws, ascending
    """

    half: float
    tail: Numbers
    draws: int

    def p(self, shift: float) -> float:
        """Return the probability of at least this shift.

        Never 0 (Phipson and Smyth, 2010), and at most the tail's share.
        """
        return float((1 + len(self.tail) - np.searchsorted(self.tail, abs(shift))) / (1 + self.draws))


def _hodges_lehmann(before: Numbers, after: Numbers) -> Numbers:
    """Return for each row the median of all differences between after and before."""
    differences = (after[:, None, :] - before[:, :, None]).reshape(len(before), -1)  # the longer side last: numpy's inner loop
    differences.sort(axis=1)  # vectorised in numpy, and so five times as fast as a partition by two middles
    middle = differences.shape[1] // 2
    if differences.shape[1] % 2:
        return differences[:, middle]
    return differences[:, middle - 1 : middle + 1].mean(axis=1)


@lru_cache(maxsize=4096)
def _null(pool: tuple[float, ...], degrees: int, few: int, many: int, draws: int) -> _Null:
    """Return the null distribution from `draws` draws.

    Cached, since all pairs of releases of a series have the same pool.
    """
    random = np.random.default_rng(20)  # a fixed seed, so that the same samples get the same verdict
    both_signs = np.array([*pool, *(-value for value in pool)], dtype=np.float32)
    drawn = both_signs.take(random.integers(0, len(both_signs), (draws, few + many), dtype=np.int32))
    drawn *= np.sqrt(degrees / random.chisquare(degrees, draws)).astype(np.float32)[:, None]
    shifts = np.sort(np.abs(_hodges_lehmann(drawn[:, :few], drawn[:, few:])))
    tail = shifts if draws <= DRAWS else shifts[-int(TAIL * draws) :]
    return _Null(float(np.quantile(shifts, 1 - ALPHA)), tail, draws)


def _verdict(shift: _Shift, p: float, margin: float, cases: int) -> Change:
    ratio, interval = exp(shift.size), (exp(shift.size - shift.half), exp(shift.size + shift.half))
    smallest = log(1 + margin)
    change = Change(Verdict.UNCHANGED, Reason.WITHIN_MARGIN, ratio, interval, p, shift.before, shift.after, shift.passes)
    if p <= ALPHA and abs(shift.size) >= smallest:
        return replace(change, verdict=Verdict.SLOWER if shift.size > 0 else Verdict.FASTER, reason=Reason.CHANGED)
    if abs(shift.size) + shift.half <= smallest:
        return change
    more_passes = _more_passes(shift, smallest, cases)
    return replace(change, verdict=Verdict.INCONCLUSIVE, reason=Reason.INTERVAL_TOO_WIDE, more_passes=more_passes)


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
