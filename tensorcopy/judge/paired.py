"""Judge the measured differences of two sides, case by case: slower, faster, unchanged or unknown.

A few launches estimate a variance badly, and there are hundreds of cases. So the test is a moderated t (Smyth, 2004, "Linear models and
empirical Bayes methods", doi:10.2202/1544-6115.1027): the variances of cases of one kind estimate a prior, and each case's own is drawn
towards it. Holm's step-down keeps the chance of even one false alarm among all the cases judged together at `ALPHA` (Holm, 1979).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import ceil, exp, inf, isfinite, log
from typing import TypeVar

import numpy as np

from tensorcopy.results.conditions import FieldDifference
from tensorcopy.results.effects import PAIRED, UNPAIRED, Difference, Numbers
from tensorcopy.results.suite_specs import SECONDS, is_tracked

MARGIN = 0.03  # relative, the smallest change of a time to report
LEAST_COUNT = 0.01  # relative, the smallest change of a count; repeated counts of instructions differ by less
SEEN = 0.9  # share of repetitions in which the smallest slowdown seen is called one
NINE_OF_TEN = 1.2816  # standard errors by which so many estimates lie less too low
ALPHA = 0.05  # chance of a false alarm among all cases together, and one minus the level of an interval
FEWEST = 3  # launches on each side
FEWEST_CASES = 4  # whose variances estimate a prior
MOST_LAUNCHES = 100  # more than this many more are not worth suggesting
BISECTIONS = 30  # of the interval that holds the smallest slowdown seen
LEAST_SPREAD = 1e-4  # log ratio, of a difference within a launch: effects are stored in these units

CaseKey = TypeVar("CaseKey", bound=Hashable)


class Verdict(str, Enum):
    """The verdict on a time, one of the first four, on an exact count or on a tracked value; none decides another.

    A tracked value is higher, lower, equal or unknown; its benchmark does not declare which is better.
    """

    SLOWER = "slower"
    FASTER = "faster"
    UNCHANGED = "unchanged"
    UNKNOWN = "unknown"
    MORE = "more"
    FEWER = "fewer"
    HIGHER = "higher"
    LOWER = "lower"
    EQUAL = "equal"


class Reason(str, Enum):
    """The reason for a verdict; the values are keys of documents."""

    CHANGED = "changed"  # significant, and at least as large as the margin
    WITHIN_MARGIN = "within_margin"  # the whole interval is
    INTERVAL_TOO_WIDE = "interval_too_wide"
    FAILED_BEFORE = "failed_before"
    FAILED_AFTER = "failed_after"  # perhaps before, too
    NOT_MEASURED_BEFORE = "not_measured_before"  # it is skipped there
    NOT_MEASURED_AFTER = "not_measured_after"
    ONLY_BEFORE = "only_before"  # no launch has it after: it was removed, renamed, or not selected
    ONLY_AFTER = "only_after"
    OTHER_VERSION = "other_version"  # of the benchmark, on one side
    PROVENANCE_DIFFERS = "provenance_differs"
    TOO_FEW_LAUNCHES = "too_few_launches"
    NEVER_MET = "never_met"  # in a launch, not even by way of others
    COUNT_CHANGED = "count_changed"  # of a case that is counted or tracked, not timed
    COUNT_UNCHANGED = "count_unchanged"


FAILED = (Reason.FAILED_BEFORE, Reason.FAILED_AFTER)
ONE_SIDED = (Reason.ONLY_BEFORE, Reason.ONLY_AFTER)
APART = (*FAILED, *ONE_SIDED, Reason.OTHER_VERSION)  # of cases that have a word of their own, and are not undecided


def has_changed(before: float, after: float, least: float = LEAST_COUNT) -> bool:
    """Return whether an exact count has changed.

    least : the smallest change that counts, as a share of the smaller count
    """
    low, high = sorted((before, after))
    return high > low and high >= low * (1 + least)


@dataclass(frozen=True, slots=True)
class CountPair:
    """An exact count of a case on both sides, such as its instructions, or a value that it tracks.

    unit : of the counts
    repeatability : the relative difference of repeated counts of either side; None where it was counted once
    least : the smallest relative change that counts as one
    interval : of a tracked value's difference; None where all launches of a side agree, and of a count
    known : whether launches can tell a difference, see `tracked`
    """

    unit: str
    before: float
    after: float
    repeatability: float | None = None
    least: float = 0.0
    interval: tuple[float, float] | None = None
    known: bool = True

    @property
    def likely(self) -> Verdict | None:
        """Higher or lower, of an unknown value whose own interval excludes 0; None elsewhere."""
        low, high = self.interval or (0.0, 0.0)
        if self.known or low <= 0 <= high:
            return None
        return Verdict.HIGHER if low > 0 else Verdict.LOWER

    @property
    def ratio(self) -> float:
        """The count after over the count before; 1 for two zeros."""
        if self.before:
            return self.after / self.before
        return inf if self.after else 1.0

    @property
    def verdict(self) -> Verdict:
        """Of a count more or fewer where the difference is at least `least`, else equal; of a tracked value higher, lower or equal."""
        if is_tracked(self.unit):
            if not self.known:
                return Verdict.UNKNOWN
            if self.after == self.before:
                return Verdict.EQUAL
            return Verdict.HIGHER if self.after > self.before else Verdict.LOWER
        if not has_changed(self.before, self.after, self.least):
            return Verdict.EQUAL
        return Verdict.MORE if self.ratio > 1 else Verdict.FEWER

    @property
    def changed(self) -> bool:
        """Whether it is more or fewer, higher or lower."""
        return self.verdict not in (Verdict.EQUAL, Verdict.UNKNOWN)


@dataclass(frozen=True, slots=True)  # a site has a hundred thousand of them
class Change:
    """The verdict on one case, with its reason and the numbers behind it.

    `report.comparison` has the texts.

    ratio : time after / time before; None, like the interval and p, if it could not be computed
    interval : of the ratio, for this case alone; level : of it, or of a tracked value's difference, 1 - alpha, see `judge`
    p : probability of such a ratio if nothing changed, adjusted for all cases that were judged together
    before, after : seconds
    launches : before and after
    more_launches : about how many more would decide an unknown case; None if not applicable, or if they are too many to take
    differences : for PROVENANCE_DIFFERS
    failure : for a side that was not measured, what the case raised there, or why it was skipped; "" if neither is known
    count : the exact count beside the time, which does not decide it; of a case that is only counted or tracked, that itself
    unit : of before and after
    way : how the sides were compared, see `Difference`
    error : standard error of the log of the ratio; None where nothing was computed
    threshold : log of the smallest ratio that is called slower among all cases
    margin : the smallest change that counts in this case
    acknowledged : why a slowdown is known and stays, as tensorcopy.toml says; "" where it does not
    """

    verdict: Verdict
    reason: Reason
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    before: float | None = None
    after: float | None = None
    launches: tuple[int, int] = (0, 0)
    more_launches: int | None = None
    differences: tuple[FieldDifference, ...] = ()
    failure: str = ""
    count: CountPair | None = None
    unit: str = SECONDS
    way: str = PAIRED
    error: float | None = None
    threshold: float = 0.0
    margin: float = MARGIN
    acknowledged: str = ""
    level: float = 1 - ALPHA

    @property
    def timed(self) -> bool:
        """Whether it is of a time."""
        return self.unit == SECONDS

    @property
    def has_interval(self) -> bool:
        """Whether it has an interval, at `level`: of the ratio, or of a tracked value's difference."""
        return bool(self.interval or (self.count and self.count.interval))

    @property
    def likely(self) -> Verdict | None:
        """What an unknown case likely is: its own interval lies beyond the margin, but it is not significant among all; None elsewhere."""
        if not self.timed:
            return self.count.likely if self.count else None
        low, high = self.interval or (1.0, 1.0)
        if self.verdict is not Verdict.UNKNOWN or (low <= 1 + self.margin and high >= 1 / (1 + self.margin)):
            return None
        return Verdict.SLOWER if low > 1 else Verdict.FASTER

    @property
    def detectable(self) -> float | None:
        """The smallest slowdown of this case that would be called one 9 times in 10."""
        return None if self.error is None else exp(self.threshold + NINE_OF_TEN * self.error) - 1

    @property
    def factor(self) -> float | None:
        """The size of the change divided by the smallest detectable one of its case; a speedup counts as its inverse, a slowdown."""
        return (max(self.size, 1 / self.size) - 1) / self.detectable if self.ratio and self.detectable else None

    @property
    def compared(self) -> bool:
        """Whether both sides were compared; a verdict of unknown is then undecided: more launches may decide it."""
        return self.verdict is not Verdict.UNKNOWN or self.reason is Reason.INTERVAL_TOO_WIDE

    @property
    def size(self) -> float:
        """The ratio that the verdict is about; 1 if unknown."""
        return 1.0 if self.ratio is None else self.ratio


def smallest_seen(changes: Iterable[Change]) -> float | None:
    """Return the smallest slowdown that would be called one 9 times in 10, if one of these cases had it; None where nothing was computed.

    Each case is taken as equally likely to have it, so a few badly measured cases raise it above the median's. Cases that are called slower
    or faster are left out: nothing was overlooked in them, and a decided case gets no further launches.
    """
    from scipy.special import ndtr

    computed = [(each.error, each.threshold) for each in changes if each.error is not None and each.reason is not Reason.CHANGED]
    if not computed:
        return None
    errors, thresholds = np.array(computed).T
    low, high = float(thresholds.min()), float((thresholds + NINE_OF_TEN * errors).max())
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if ndtr((middle - thresholds) / errors).mean() >= SEEN else (middle, high)
    return float(np.expm1(high))


def moderated(variances: Numbers, freedom: Numbers) -> tuple[Numbers, float, float]:
    """Return each variance drawn towards the prior of all, the prior's degrees of freedom and its variance (Smyth, 2004, section 6.2).

    freedom : of each variance; those without any get the prior's variance
    """
    from scipy.special import digamma, polygamma  # only where something is judged

    variances, freedom = np.maximum(np.asarray(variances, dtype=float), LEAST_SPREAD**2), np.asarray(freedom, dtype=float)
    known = freedom > 0
    if known.sum() < FEWEST_CASES:
        return variances, 0.0, 0.0
    half = freedom[known] / 2
    logs = np.log(variances[known]) - digamma(half) + np.log(half)
    excess = float(logs.var(ddof=1) - polygamma(1, half).mean())
    if excess > 0:
        prior_freedom = 2 * _trigamma_inverse(excess)
        prior = exp(float(logs.mean()) + float(digamma(prior_freedom / 2)) - log(prior_freedom / 2))
        drawn = (prior_freedom * prior + freedom * variances) / (prior_freedom + freedom)
    else:  # the variances differ no more than equal ones would: limma takes the pooled one
        prior_freedom, prior = inf, float(variances[known].mean())
        drawn = np.full(len(variances), prior)
    return np.where(known, drawn, prior), prior_freedom, prior


def _trigamma_inverse(value: float) -> float:
    """Return the x whose trigamma is `value`, by Newton's method (Smyth, 2004, appendix)."""
    from scipy.special import polygamma

    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, x))
        x += step
        if -step / x < 1e-8:
            break
    return x


def judge(
    differences: Mapping[CaseKey, Difference],
    *,
    margin: Callable[[CaseKey], float] = lambda _: MARGIN,
    kind: Callable[[CaseKey], Hashable] = lambda _: "",
    alpha: float = ALPHA,
) -> dict[CaseKey, Change]:
    """Return the change of every case; all are judged together.

    margin : the smallest change of a case to report, as a share of the time
    kind : of a case; the variances of one kind have one prior
    alpha : chance of a false alarm, smaller where this is one of several looks
    """
    from scipy.special import stdtr, stdtrit

    changes: dict[CaseKey, Change] = {}
    testable = {case: each for case, each in differences.items() if min(each.launches) >= FEWEST}
    for case, each in differences.items():
        if case not in testable:
            more = FEWEST - min(each.launches)
            changes[case] = Change(
                Verdict.UNKNOWN,
                Reason.TOO_FEW_LAUNCHES,
                ratio=exp(each.size),
                launches=each.launches,
                more_launches=more,
                way=each.way,
            )
    if testable:
        variances, total = _moderated_by_kind(testable, kind)
        errors = np.sqrt(variances / np.array([each.count for each in testable.values()]))
        sizes = np.array([each.size for each in testable.values()])
        ps = holm([float(p) for p in 2 * stdtr(total, -np.abs(sizes) / errors)])
        halves = stdtrit(total, 1 - alpha / 2) * errors
        thresholds = stdtrit(total, 1 - alpha / 2 / len(testable)) * errors
        for number, (case, each) in enumerate(testable.items()):
            error, half, threshold = float(errors[number]), float(halves[number]), float(thresholds[number])
            changes[case] = _verdict(each, p=ps[number], error=error, half=half, threshold=threshold, margin=margin(case), alpha=alpha)
    return {case: changes[case] for case in differences}


def _moderated_by_kind(differences: Mapping[CaseKey, Difference], kind: Callable[[CaseKey], Hashable]) -> tuple[Numbers, Numbers]:
    """Return the variance of each difference and its degrees of freedom, drawn towards the prior of its kind and way."""
    kinds: dict[Hashable, list[int]] = {}
    for number, (case, each) in enumerate(differences.items()):
        kinds.setdefault((kind(case), each.way), []).append(number)
    variances = np.array([each.variance for each in differences.values()])
    freedom = np.array([float(each.freedom) for each in differences.values()])
    total = freedom.copy()
    for places in kinds.values():
        variances[places], prior_freedom, _ = moderated(variances[places], freedom[places])
        total[places] = np.minimum(freedom[places] + prior_freedom, float(freedom[places].sum()))
    return variances, np.maximum(total, 1.0)


def _verdict(each: Difference, *, p: float, error: float, half: float, threshold: float, margin: float, alpha: float) -> Change:
    """Return the verdict on a difference.

    p : adjusted for all cases
    error : its standard error; half : half of its interval
    threshold : the size that would be significant among all cases
    """
    smallest = log(1 + margin)
    more = None
    if p <= alpha and abs(each.size) >= smallest:
        verdict, reason = Verdict.SLOWER if each.size > 0 else Verdict.FASTER, Reason.CHANGED
    elif abs(each.size) + half <= smallest:
        verdict, reason = Verdict.UNCHANGED, Reason.WITHIN_MARGIN
    else:
        verdict, reason = Verdict.UNKNOWN, Reason.INTERVAL_TOO_WIDE
        # an interval shrinks with the square root of the number of launches
        shrink = half / (smallest - abs(each.size)) if abs(each.size) < smallest else threshold / abs(each.size)
        needed = ceil(min(each.launches) * (shrink**2 - 1)) if isfinite(shrink) else MOST_LAUNCHES + 1
        more = max(1, needed) if needed <= MOST_LAUNCHES else None
    return Change(
        verdict,
        reason,
        ratio=exp(each.size),
        interval=(exp(each.size - half), exp(each.size + half)),
        p=p,
        launches=each.launches,
        more_launches=more,
        way=each.way,
        error=error,
        threshold=max(threshold, smallest),
        margin=margin,
        level=1 - alpha,
    )


def tracked(values: Mapping[CaseKey, tuple[str, Sequence[float], Sequence[float]]], *, alpha: float = ALPHA) -> dict[CaseKey, Change]:
    """Return the change of every tracked value; all are judged together.

    values : by case, the unit, and the value of each launch before and after
    alpha : as for `judge`

    Where the launches of each side agree, the difference is exact, if there are two. Otherwise it is that of the means, with an interval by
    Student's t; the launch of a side that has only one varies as those of the other side do.
    """
    pairs: dict[CaseKey, CountPair] = {}
    ps: dict[CaseKey, float] = {}
    for case, (unit, before, after) in values.items():
        if all(len(set(side)) == 1 for side in (before, after)):
            pairs[case] = CountPair(unit, before[0], after[0], known=before[0] == after[0] or min(len(before), len(after)) > 1)
            continue
        first, second = float(np.mean(before)), float(np.mean(after))
        half, ps[case] = _mean_difference(before, after, alpha)
        pairs[case] = CountPair(unit, first, second, interval=(second - first - half, second - first + half))
    for case, p in zip(ps, holm([*ps.values()])):
        pairs[case], ps[case] = replace(pairs[case], known=p <= alpha), p
    changes = {}
    for case, pair in pairs.items():
        launches = len(values[case][1]), len(values[case][2])
        if pair.known:
            reason = Reason.COUNT_CHANGED if pair.changed else Reason.COUNT_UNCHANGED
        else:
            reason = Reason.INTERVAL_TOO_WIDE if pair.interval else Reason.TOO_FEW_LAUNCHES
        changes[case] = Change(
            pair.verdict,
            reason,
            pair.ratio if pair.before > 0 else None,
            p=ps.get(case),
            before=pair.before,
            after=pair.after,
            launches=launches,
            more_launches=None if pair.known or pair.interval else 2 - min(launches),
            count=pair,
            unit=pair.unit,
            way=UNPAIRED,
            level=1 - alpha,
        )
    return changes


def _mean_difference(before: Sequence[float], after: Sequence[float], alpha: float) -> tuple[float, float]:
    """Return half of the interval of the difference of two means, and the probability of such a difference if nothing changed.

    By Student's t with the pooled variance and by Welch's with that of each side, the wider interval and the larger p. Of two launches
    against twelve, Welch's alone gives 11 % false alarms instead of 5 %, and the pooled variance alone 36 % if those of the two vary three
    times as much. With as many launches on both sides it is Welch's.
    """
    from scipy.special import stdtr, stdtrit

    n, m = len(before), len(after)
    first, second = (float(np.var(side)) * len(side) for side in (before, after))  # sums of squares
    errors = [((first + second) / (n + m - 2) * (1 / n + 1 / m), n + m - 2.0)]  # the square of each, and its degrees of freedom
    if min(n, m) > 1:
        of_before, of_after = first / (n - 1) / n, second / (m - 1) / m
        square = of_before + of_after
        errors.append((square, square**2 / (of_before**2 / (n - 1) + of_after**2 / (m - 1))))
    difference = abs(float(np.mean(after)) - float(np.mean(before)))
    halves = [float(stdtrit(freedom, 1 - alpha / 2)) * square**0.5 for square, freedom in errors]
    return max(halves), max(float(2 * stdtr(freedom, -difference / square**0.5)) for square, freedom in errors)


def holm(ps: Sequence[float]) -> list[float]:
    """Return each p adjusted for all of them together (Holm, 1979)."""
    adjusted, largest = [1.0] * len(ps), 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = largest
    return adjusted
