"""Judge the measured differences of two sides, case by case: slower, faster, unchanged or unknown.

A few launches estimate a variance badly, and there are hundreds of cases. So the test is a moderated t (Smyth, 2004, "Linear models and
empirical Bayes methods", doi:10.2202/1544-6115.1027): the variances of cases of one kind estimate a prior, and each case's own is drawn
towards it. Holm's step-down keeps the chance of even one false alarm among all the cases judged together at `ALPHA` (Holm, 1979).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from enum import Enum
from math import ceil, exp, inf, log

import numpy as np
from msgspec import Struct

from tensorcopy.results.cases import Case
from tensorcopy.results.effects import LEVEL, PAIRED, Difference, Numbers
from tensorcopy.results.kinds import COUNT, TIME, TOLERANCES, TRACKED, Kind, spread
from tensorcopy.results.suite_specs import SECONDS

MARGIN = 0.03  # relative, the smallest change of a time to report
SEEN = 0.9  # share of repetitions in which the smallest slowdown seen is called one
NINE_OF_TEN = 1.2816  # standard errors by which so many estimates lie less too low
ALPHA = 0.05  # chance of a false alarm among all cases together, and one minus the level of an interval
FEWEST = 3  # launches on each side
FEWEST_CASES = 4  # whose variances estimate a prior
MOST_LAUNCHES = 100  # more than this many more are not worth suggesting
LEAST_SPREAD = 1e-4  # log ratio, of a difference within a launch: effects are stored in these units


class Verdict(str, Enum):
    """The verdict on a time, one of the first four, on an exact count, or on a tracked value, of which none knows which is better."""

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
    TOO_FEW_LAUNCHES = "too_few_launches"
    NEVER_MET = "never_met"  # in a launch, not even by way of others
    COUNT_CHANGED = "count_changed"  # of a case that is counted or tracked, not timed
    COUNT_UNCHANGED = "count_unchanged"


# of cases that have a word of their own, and are not undecided
APART = (Reason.FAILED_BEFORE, Reason.FAILED_AFTER, Reason.ONLY_BEFORE, Reason.ONLY_AFTER, Reason.OTHER_VERSION)


def has_changed(before: float, after: float, tolerance: float) -> bool:
    """Return whether an exact count has changed by more than a tolerance, a share of the smaller count."""
    low, high = sorted((before, after))
    return high > low and high >= low * (1 + tolerance)


class Change(Struct, frozen=True):  # a site has a hundred thousand of them: a struct is made ten times as fast as a dataclass
    """The verdict on one case, with its reason and the numbers behind it; `report.comparison` has the texts."""

    verdict: Verdict
    reason: Reason
    ratio: float | None = None  # time after / time before; None, like the interval and p, if it could not be computed
    interval: tuple[float, float] | None = None  # of the ratio, for this case alone
    p: float | None = None  # probability of such a ratio if nothing changed, adjusted for all cases that were judged together
    before: float | None = None  # in `unit`
    after: float | None = None
    launches: tuple[int, int] = (0, 0)  # before and after
    more_launches: int | None = None  # that would decide an unknown case; None if not applicable, or too many to take
    failure: str = ""  # what the case raised on a side that was not measured, or why it was skipped; "" if neither is known
    count: Change | None = None  # of a time, the exact count beside it
    difference: tuple[float, float] | None = None  # of a tracked value, the interval of its difference; None where launches agree
    repeatability: float | None = None  # of an exact count, the relative difference of repeated ones; None where it was counted once
    unit: str = SECONDS
    kind: Kind = TIME
    way: str = PAIRED  # how the sides were compared, see `Difference`
    error: float | None = None  # standard error of the log of the ratio; None where nothing was computed
    threshold: float = 0.0  # log of the smallest ratio that is called slower among all cases
    margin: float = MARGIN
    accepted: str = ""  # why a slowdown is known and stays, as tensorcopy.toml says

    @property
    def timed(self) -> bool:
        """Whether it is of a time."""
        return self.kind is TIME

    @property
    def changed(self) -> bool:
        """Whether the value is another one: slower or faster, more or fewer, higher or lower."""
        return self.verdict.value in (self.kind.rises, self.kind.falls)

    @property
    def counted(self) -> Change | None:
        """The change of a count or tracked value, where both sides have it: its own, or that beside a time."""
        return self.count if self.timed else None if self.before is None or self.after is None else self

    @property
    def likely(self) -> Verdict | None:
        """What an unknown case likely is: its own interval lies beyond the margin, but it is not significant among all; None elsewhere."""
        ends = self.interval or self.difference
        if self.verdict is not Verdict.UNKNOWN or ends is None:
            return None
        least, most = (1 / (1 + self.margin), 1 + self.margin) if self.interval else (0.0, 0.0)
        return Verdict(self.kind.rises) if ends[0] > most else Verdict(self.kind.falls) if ends[1] < least else None

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
    for _ in range(30):  # bisections
        middle = (low + high) / 2
        low, high = (low, middle) if ndtr((middle - thresholds) / errors).mean() >= SEEN else (middle, high)
    return float(np.expm1(high))


def moderated(variances: Numbers, freedom: Numbers) -> tuple[Numbers, float, float]:
    """Return each variance drawn towards the prior of all, the prior's degrees of freedom and its variance (Smyth, 2004, section 6.2).

    freedom : of each variance; those without any get the prior's variance
    """
    from scipy.special import digamma, zeta  # only where something is judged

    variances, freedom = np.maximum(np.asarray(variances, dtype=float), LEAST_SPREAD**2), np.asarray(freedom, dtype=float)
    known = freedom > 0
    if known.sum() < FEWEST_CASES:
        return variances, 0.0, 0.0
    half = freedom[known] / 2
    logs = np.log(variances[known]) - digamma(half) + np.log(half)
    excess = float(logs.var(ddof=1) - zeta(2, half).mean())  # trigamma(x) is zeta(2, x)
    if excess <= 0:  # the variances differ no more than equal ones would: limma takes the pooled one
        prior = float(variances[known].mean())
        return np.full(len(variances), prior), inf, prior
    half_prior = 0.5 + 1 / excess
    for _ in range(50):  # Newton's method for the inverse of trigamma, to the last digit
        trigamma, last = float(zeta(2, half_prior)), half_prior
        half_prior += trigamma * (1 - trigamma / excess) / (-2 * float(zeta(3, half_prior)))
        if half_prior == last:
            break
    prior = exp(float(logs.mean()) + float(digamma(half_prior)) - log(half_prior))
    drawn = (2 * half_prior * prior + freedom * variances) / (2 * half_prior + freedom)
    return np.where(known, drawn, prior), 2 * half_prior, prior


def judge(
    differences: Mapping[Case, Difference],
    *,
    margin: float = MARGIN,
    kind: Callable[[Case], Hashable] = lambda _: "",
) -> dict[Case, Change]:
    """Return the change of every case; all are judged together.

    margin : the smallest change to report, as a share of the time
    kind : of a case; the variances of one kind, and of one way of comparing, have one prior
    """
    from scipy.special import stdtr, stdtrit

    testable, changes, kinds = dict[Case, Difference](), dict[Case, Change](), dict[Hashable, list[int]]()
    for case, each in differences.items():
        if (fewest := min(each.launches)) >= FEWEST:
            kinds.setdefault((kind(case), each.way), []).append(len(testable))
            testable[case] = each
        else:
            few = Verdict.UNKNOWN, Reason.TOO_FEW_LAUNCHES, exp(each.size)
            changes[case] = Change(*few, launches=each.launches, more_launches=FEWEST - fewest, way=each.way)
    if not testable:
        return changes
    sizes, variances, counts, freedom = np.array([(e.size, e.variance, e.count, e.freedom) for e in testable.values()], dtype=float).T
    total = freedom.copy()
    for places in kinds.values():
        variances[places], prior_freedom, _ = moderated(variances[places], freedom[places])
        total[places] = np.minimum(freedom[places] + prior_freedom, freedom[places].sum())
    total, errors = np.maximum(total, 1.0), np.sqrt(variances / counts)
    ps = holm(2 * stdtr(total, -np.abs(sizes) / errors))
    halves, thresholds = (stdtrit(total, 1 - chance / 2) * errors for chance in (ALPHA, ALPHA / len(testable)))
    computed = zip(testable.items(), ps, errors.tolist(), halves.tolist(), thresholds.tolist())
    for (case, each), p, error, half, threshold in computed:  # p, half of an interval, and the size that would be significant among all
        smallest, size, more = log(1 + margin), abs(each.size), None
        if p <= ALPHA and size >= smallest:
            verdict, reason = Verdict.SLOWER if each.size > 0 else Verdict.FASTER, Reason.CHANGED
        elif size + half <= smallest:
            verdict, reason = Verdict.UNCHANGED, Reason.WITHIN_MARGIN
        else:
            verdict, reason = Verdict.UNKNOWN, Reason.INTERVAL_TOO_WIDE
            # an interval shrinks with the square root of the number of launches
            shrink = half / (smallest - size) if size < smallest else threshold / size
            needed = ceil(min(each.launches) * (shrink**2 - 1))
            more = needed if needed <= MOST_LAUNCHES else None
        changes[case] = Change(
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
        )
    return {case: changes[case] for case in differences}


def exact(unit: str, *repeats: Sequence[float], margin: float | None = None, kind: Kind = COUNT) -> Change:
    """Return the change of an exact count.

    repeats : the counts of all launches before, and after
    margin : what is tolerated in place of what its unit is, see `kinds.TOLERANCES`
    """
    before, after = map(kind.combine, repeats)
    repeatability = max((spread(values) for values in repeats if len(values) > 1), default=None)
    changed = has_changed(before, after, TOLERANCES.get(unit, 0.0) if margin is None else margin)
    verdict = Verdict(kind.verdict(before, after) if changed else kind.stays)
    reason = Reason.COUNT_CHANGED if changed else Reason.COUNT_UNCHANGED
    ratio = after / before if before else inf if after else 1.0
    return Change(verdict, reason, ratio, before=before, after=after, repeatability=repeatability, unit=unit, kind=kind)


def of_values(values: Mapping[Case, tuple[str, Sequence[float], Sequence[float]]], kind: Kind = TRACKED) -> dict[Case, Change]:
    """Return the change of every tracked value; all are judged together.

    values : by case, the unit, and the value of each launch before and after

    Where the launches of each side agree, the difference is exact, if there are two. Otherwise it is that of the means, with an interval by
    Student's t; the launch of a side that has only one varies as those of the other side do.
    """
    vary = {case: each for case, each in values.items() if len({*each[1]}) > 1 or len({*each[2]}) > 1}
    tests = {case: _mean_difference(before, after) for case, (_, before, after) in vary.items()}
    ps = dict(zip(tests, holm([p for _, p in tests.values()])))
    changes = {}
    for case, (unit, *sides) in values.items():
        (before, after), fewest = (kind.combine(side) for side in sides), min(map(len, sides))
        half, difference = tests[case][0] if case in tests else None, after - before
        known = ps[case] <= ALPHA if case in ps else not difference or fewest > 1
        undecided = Reason.TOO_FEW_LAUNCHES if half is None else Reason.INTERVAL_TOO_WIDE
        changes[case] = Change(
            Verdict(kind.verdict(before, after)) if known else Verdict.UNKNOWN,
            undecided if not known else Reason.COUNT_CHANGED if difference else Reason.COUNT_UNCHANGED,
            after / before if before > 0 else None,
            p=ps.get(case),
            before=before,
            after=after,
            launches=(len(sides[0]), len(sides[1])),
            more_launches=None if known or half is not None else 2 - fewest,
            difference=None if half is None else (difference - half, difference + half),
            unit=unit,
            kind=kind,
        )
    return changes


def _mean_difference(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    """Return half of the interval of the difference of two means, and the probability of such a difference if nothing changed.

    By Student's t with the pooled variance and by Welch's, the wider interval and the larger p. Of two launches against twelve, Welch's
    alone gives 11 % false alarms instead of 5 %, and the pooled variance alone 36 % if those of the two vary three times as much.
    """
    from scipy.stats import ttest_ind  # takes a second, and few campaigns track values

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # scipy's, of values that differ in their last digits
        tests = [ttest_ind(after, before, equal_var=pooled) for pooled in (True, False) if pooled or min(len(before), len(after)) > 1]
    halves = [float(np.ptp(test.confidence_interval(LEVEL))) / 2 for test in tests]
    return max(halves), max(float(test.pvalue) for test in tests)


def holm(ps: Sequence[float]) -> list[float]:
    """Return each p adjusted for all of them together (Holm, 1979)."""
    order = np.argsort(ps, kind="stable")
    adjusted = np.empty(len(ps))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(np.asarray(ps)[order] * np.arange(len(ps), 0, -1)))
    return adjusted.tolist()  # type: ignore[no-any-return]
