"""Compare two sets of samples of one case and return a verdict.

The unit of evidence is the pass: samples of one pass share a process, its memory layout and the state of the machine, so a pass counts
once, with the median of its samples, on a logarithmic scale. The ratio is the Hodges-Lehmann estimate, the median of all ratios of a pass
after to a pass before (Hodges and Lehmann, 1963). Its distribution under no change is bootstrapped over passes (residual bootstrap, Efron
and Tibshirani, 1993, §9.4): both sides are drawn, with random signs, from the deviations of this case's passes, which
`results.noise` pools from both sides and from other results. Each side's draws have that side's own spread, and are widened by
Student's factor for the degrees of freedom (Welch, 1947), since a few passes estimate their own spread badly. Holm's step-down keeps the
chance of even one false alarm among all the cases judged together at `ALPHA` (Holm, 1979).

The statistics are written here and not taken from SciPy: it has neither Holm's method nor a Hodges-Lehmann test with a pooled null
distribution, its normal quantile is `statistics.NormalDist`'s, and importing `scipy.stats` takes longer than judging two releases.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from math import ceil, exp, inf, log, sqrt
from statistics import NormalDist, median
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tensorcopy.results.noise import Spread, busy_hour, deviations, moderated_spread

MARGIN = 0.03  # the smallest change to report
ALPHA = 0.05  # chance of a false alarm among all cases together, and one minus the level of an interval
FEWEST = 3  # passes on each side: their median tolerates one bad pass
CLOSER = 0.02  # a p below it is computed again with more draws: FEW_DRAWS give it to a sixth, and Holm needs smaller ones
AT_ALPHA = 2.5  # draws beyond Holm's smallest p; fewer would still be valid, but less powerful
MOST_DRAWS = 100_000
MOST_PASSES = 50  # more than this many more are not worth suggesting

MOST_DRAWN_PASSES = 40  # of a side, as many as a release has by default: in units of its standard error, more have the same distribution
TIMES_AS_MANY = 3  # draw at most this many times as many passes for one side as for the other: the few decide the shape
FEW_DRAWS = 2_000  # of which all are kept
TAIL = 0.04  # of many draws, those are kept that are as large as this share of few: a p is computed with them only if it is half as small
MOST_KEPT = 250_000  # random numbers of a plan that are kept for other plans, 0.5 MB: as many draws of eight passes a side as a p needs
STEP = 0.1  # between log ratios of two sides' errors that are drawn: the total is exact, so half a step moves an interval by < 1 %
MOST_STEPS = 30  # a side that varies twenty times less adds nothing

Numbers = Any  # an array of floats; numpy's types differ from release to release
Case = TypeVar("Case", bound=Hashable)


class Verdict(str, Enum):
    SLOWER = "slower"
    FASTER = "faster"
    UNCHANGED = "unchanged"
    INCONCLUSIVE = "inconclusive"


class Reason(str, Enum):
    """The reason for a verdict; the values are keys of comparison.json."""

    CHANGED = "changed"  # significant, and at least as large as the margin
    WITHIN_MARGIN = "within_margin"  # the whole interval is
    INTERVAL_TOO_WIDE = "interval_too_wide"
    NO_SAMPLES_BEFORE = "no_samples_before"
    NO_SAMPLES_AFTER = "no_samples_after"
    NOT_A_TIME_BEFORE = "not_a_time_before"  # zero, negative, infinite or NaN
    NOT_A_TIME_AFTER = "not_a_time_after"
    PROVENANCE_DIFFERS = "provenance_differs"
    TOO_FEW_PASSES = "too_few_passes"
    NOT_CONFIRMED = "not_confirmed"  # changed at first, but not when measured again
    COUNT_CHANGED = "count_changed"  # an exact count did, and the clock shows no opposite change
    COUNT_UNCHANGED = "count_unchanged"  # an exact count did not change, and the interval of the time includes 0 %


class Failure(str, Enum):
    """The reason why a side has no samples."""

    NOT_MEASURED = "not_measured"  # or skipped, or failed
    NEVER_QUIET = "never_quiet"  # the machine was busy in every pass


class FieldDifference(NamedTuple):
    """A field of the provenance that differs between the sides."""

    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class CountPair:
    """An exact count of a case on both sides, such as its instructions.

    unit : of the counts
    repeatability : the relative difference of repeated counts of this case
    least : the smallest relative change that counts as one
    """

    unit: str
    before: float
    after: float
    repeatability: float
    least: float

    @property
    def ratio(self) -> float:
        """The count after over the count before; 1 for two zeros."""
        return self.after / self.before if self.before else (inf if self.after else 1.0)

    @property
    def direction(self) -> Verdict:
        """The verdict that a change of the count means."""
        return Verdict.SLOWER if self.ratio > 1 else Verdict.FASTER

    @property
    def changed(self) -> bool:
        """Whether the difference is at least `least`, in either direction."""
        return max(self.ratio, 1 / self.ratio if self.ratio else inf) >= 1 + self.least

    @property
    def equal(self) -> bool:
        """Whether the difference is no larger than between repeated counts."""
        return max(self.ratio, 1 / self.ratio if self.ratio else inf) <= 1 + self.repeatability


@dataclass(frozen=True)
class Samples:
    """One side of a comparison, of one case.

    passes : each pass's samples in seconds; a pass without samples does not count
    provenance : fields that must be equal on both sides for the times to be comparable
    failure : why there are no samples; None if that is unknown
    """

    passes: tuple[tuple[float, ...], ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    failure: Failure | None = None

    @property
    def are_times(self) -> bool:
        """Whether every sample is a positive, finite number; NaN is none."""
        return all(0 < sample < inf for samples in self.passes for sample in samples)

    @property
    def logs(self) -> list[float]:
        """The time of each pass in log seconds, ascending: their order is no evidence."""
        return sorted(log(median(samples)) for samples in self.passes if samples)


@dataclass(frozen=True, slots=True)  # a site has a hundred thousand of them
class Change:
    """The verdict on one case, with its reason and the numbers behind it.

    `report.sentences` has the texts.

    ratio : time after / time before; None, like the interval and p, if it could not be computed
    interval : of the ratio, at level 1 - two_sample.ALPHA for this case alone
    p : probability of such a ratio if nothing changed, adjusted for all cases that were judged together
    p_is_bound : whether p is only an upper bound: no draw of the test was as large
    before, after : seconds
    passes : quiet passes before and after
    more_passes : about how many more would decide an inconclusive case; None if not applicable, or if they are too many to take
    differences : for PROVENANCE_DIFFERS
    failure : for NO_SAMPLES_BEFORE and NO_SAMPLES_AFTER; None if unknown
    count : the exact count beside the time; of a case that is only counted, the count itself
    unit : of before and after
    """

    verdict: Verdict
    reason: Reason
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    before: float | None = None
    after: float | None = None
    passes: tuple[int, int] = (0, 0)
    more_passes: int | None = None
    differences: tuple[FieldDifference, ...] = ()
    failure: Failure | None = None
    count: CountPair | None = None
    unit: str = "seconds"
    p_is_bound: bool = False

    @property
    def size(self) -> float:
        """The ratio that the verdict is about: of the count where it decides, else of the time; 1 if unknown."""
        return self.count.ratio if self.count and self.reason is Reason.COUNT_CHANGED else self.ratio or 1.0


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
    spread = {case: deviations(sides, (noise or {}).get(case, ())) for case, sides in logs.items()}
    busy = busy_hour(spread.values())
    sizes = _sizes(logs)
    shifts = {case: _estimate(*sides, sizes[case], moderated_spread(spread[case], busy), len(pairs)) for case, sides in logs.items()}
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


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[FieldDifference, ...]:
    """Return the fields that both sides have with different values.

    A field that one side lacks does not count.
    """
    return tuple(FieldDifference(name, before[name], after[name]) for name in before if name in after and before[name] != after[name])


def _sizes(logs: Mapping[Case, tuple[list[float], list[float]]]) -> dict[Case, float]:
    """Return the Hodges-Lehmann estimate of every case; those with as many passes are computed together."""
    by_passes: dict[tuple[int, int], list[Case]] = {}
    for case, (before, after) in logs.items():
        by_passes.setdefault((len(before), len(after)), []).append(case)
    sizes: dict[Case, float] = {}
    for cases in by_passes.values():
        before, after = (np.array([logs[case][side] for case in cases]) for side in (0, 1))
        sizes.update(zip(cases, map(float, hodges_lehmann(before, after))))
    return sizes


def _estimate(before: list[float], after: list[float], shift: float, passes_vary: Spread, cases: int) -> _Shift:
    passes = len(before), len(after)
    plan, unit = _plan(passes_vary, passes)
    null = _null(plan, FEW_DRAWS)
    in_units = shift / unit if unit else inf * shift if shift else 0.0  # passes that are all equal have no spread
    p, p_is_bound = null.p(in_units)
    if p < CLOSER:  # as fine as Holm will divide it
        p, p_is_bound = _null(plan, min(MOST_DRAWS, max(FEW_DRAWS, int(AT_ALPHA * cases / ALPHA)))).p(in_units)
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

    def normal(p: float) -> float:
        """Return the two-sided quantile of the normal distribution for probability `p`."""
        return -NormalDist().inv_cdf(p / 2)

    # the half width at which Holm's p is ALPHA, from normal tails: there are too few draws that far out
    significant = abs(shift.size) * normal(ALPHA) / normal(ALPHA / cases)
    target = smallest - abs(shift.size) if abs(shift.size) < smallest else significant
    more = ceil(min(shift.passes) * ((shift.half / target) ** 2 - 1)) if target > 0 else inf
    return max(1, int(more)) if more <= MOST_PASSES else None


@dataclass(frozen=True)
class NullDistribution:
    """The distribution of the absolute log ratio if nothing changed, in units.

    tail : the largest of `draws` draws, ascending
    """

    tail: Numbers
    draws: int
    _halves: dict[float, float] = field(default_factory=dict)

    def half(self, alpha: float) -> float:
        """Return its quantile at 1 - `alpha`, for a distribution of few draws."""
        if alpha not in self._halves:  # numpy takes as long for it as for a tenth of the draws
            self._halves[alpha] = float(np.quantile(self.tail, 1 - alpha))
        return self._halves[alpha]

    def p(self, shift: float) -> tuple[float, bool]:
        """Return the probability of at least this shift, and whether it is a bound.

        Never 0 (Phipson and Smyth, 2010), and at most the tail's share. A bound where no draw is as large: p may be smaller.
        """
        larger = int(len(self.tail) - np.searchsorted(self.tail, abs(shift)))
        return (1 + larger) / (1 + self.draws), larger == 0


@dataclass(frozen=True)
class Plan:
    """What to draw for one case.

    Cases and pairs of a series with equal plans share their draws.

    pool : of `Spread`
    degrees : of freedom, for Student's factor
    passes, scales : of each side, the one with fewer passes first, else the one that varies more; the larger scale is 1
    """

    pool: tuple[float, ...]
    degrees: int
    passes: tuple[int, int]
    scales: tuple[float, float]


def _plan(vary: Spread, passes: tuple[int, int]) -> tuple[Plan, float]:
    """Return what to draw, and the unit of the draws in log seconds."""
    sides = sorted(zip(passes, vary.sides, vary.degrees), key=lambda side: (side[0], -side[1]))
    few = min(sides[0][0], MOST_DRAWN_PASSES)
    many = min(sides[1][0], MOST_DRAWN_PASSES, TIMES_AS_MANY * few)
    variances = sides[0][1] ** 2 / sides[0][0], sides[1][1] ** 2 / sides[1][0]
    ratio = sqrt(variances[1] * many / (variances[0] * few)) if all(variances) else 1.0
    steps = max(-MOST_STEPS, min(MOST_STEPS, round(log(ratio) / STEP)))
    scales = exp(min(0.0, -steps * STEP)), exp(min(0.0, steps * STEP))
    unit = sqrt(sum(variances) / (scales[0] ** 2 / few + scales[1] ** 2 / many))
    # of a sum of two variances (Welch, 1947), and not more than behind both, since each side may use the other's passes
    divisor = sum(variance**2 / count for variance, (_, _, count) in zip(variances, sides))
    degrees = min(sum(variances) ** 2 / divisor if divisor else inf, sum(passes) - 2 + vary.shared)
    degrees = max(1, int(round(degrees, 6)))  # rounded, so that float noise does not make 30 degrees 29
    return Plan(vary.pool, degrees, (few, many), scales), unit


def hodges_lehmann(before: Numbers, after: Numbers) -> Numbers:
    """Return for each row the median of all differences between after and before."""
    differences = (after[:, None, :] - before[:, :, None]).reshape(len(before), -1)  # the longer side last: numpy's inner loop
    differences.sort(axis=1)  # vectorised in numpy, and so five times as fast as a partition by two middles
    middle = differences.shape[1] // 2
    if differences.shape[1] % 2:
        return differences[:, middle]
    return differences[:, middle - 1 : middle + 1].mean(axis=1)


@lru_cache(maxsize=2048)  # 8 kB each
def _null(plan: Plan, draws: int) -> NullDistribution:
    """Return the null distribution; cached, since a series has few plans."""
    first, second = _sides(plan, draws)
    if draws <= FEW_DRAWS:
        return NullDistribution(np.sort(np.abs(hodges_lehmann(first.T, second.T))), draws)
    least = _null(plan, FEW_DRAWS).tail[-int(TAIL * FEW_DRAWS)]
    far = _may_reach(least, first, second)
    shifts = np.sort(np.abs(hodges_lehmann(first[:, far].T, second[:, far].T)))
    return NullDistribution(shifts[np.searchsorted(shifts, least) :], draws)


def _sides(plan: Plan, draws: int) -> tuple[Numbers, Numbers]:
    """Return what is drawn for each side: a row for each pass, a column for each draw."""
    few, many = plan.passes
    pool = np.array(plan.pool, dtype=np.float32)
    both_signs = np.concatenate([pool, -pool])
    draw = _few_draws if draws <= FEW_DRAWS else _many_draws if draws * (few + many) <= MOST_KEPT else _draw
    indices, students_factors = draw(len(both_signs), few + many, plan.degrees, draws)
    drawn = both_signs.take(indices)
    drawn *= students_factors
    first, second = (np.float32(scale) for scale in plan.scales)
    return drawn[:few] * first, drawn[few:] * second


def _draw(values: int, passes: int, degrees: int, draws: int) -> tuple[Numbers, Numbers]:
    """Return which of the values are drawn for each pass, and Student's factor of each draw."""
    random = np.random.default_rng(20)  # a fixed seed, so that the same samples get the same verdict
    indices = random.integers(0, values, (draws, passes), dtype=np.int32)
    factors = np.sqrt(degrees / random.chisquare(degrees, draws)).astype(np.float32)
    smallest = np.uint16 if values <= 2**16 else np.int32  # cached draws then take half the memory
    return np.ascontiguousarray(indices.T, dtype=smallest), factors


# plans differ more in their pools than in these numbers
_few_draws = lru_cache(maxsize=64)(_draw)
_many_draws = lru_cache(maxsize=16)(_draw)


def _may_reach(least: float, first: Numbers, second: Numbers) -> Numbers:
    """Return for each draw whether its absolute Hodges-Lehmann estimate may be `least`.

    At least half of its differences are then as large, in one direction: to count them is ten times as fast as to sort them.
    """
    up, down = np.zeros((2, first.shape[1]), dtype=np.uint16)
    for before in first:
        for after in second:
            difference = after - before
            up += difference >= least
            down += difference <= -least
    return np.maximum(up, down) >= len(first) * len(second) // 2
