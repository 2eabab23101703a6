"""Compare the recommended method with each other one: slower, faster, as fast, or not told apart. Pure.

Methods are compared within one release, by the differences of their times within launches, and with the recommended method, which is fixed
beforehand: the fastest of several equal methods is fast by chance, and would make others look slower. The interval is that of Student's t
for each pair alone. Variances of other rows are not borrowed, as between releases (`paired`): a pair would have another interval in each
table, and the differences of a table share the noise of the recommended method, so that they would look more alike than they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import exp, inf, log

import numpy as np

from tensorcopy.judge.paired import ALPHA, FEWEST, LEAST_SPREAD, MARGIN, SEEN, holm

AS_FAST_WITHIN = 1.1  # a ratio whose whole interval lies between this and its inverse tells methods apart in no way that matters
Seconds = Sequence[float | None]  # per call, of each launch; None or NaN where a launch lacks the method


class Word(str, Enum):
    """What the launches tell of a method against the recommended one; the values are what people read."""

    SLOWER = "slower"  # significantly among the methods of the table, and by the margin
    FASTER = "faster"  # the same; of a method with a caveat, or too little to matter
    AS_FAST = "as fast"  # neither, and the whole interval is within 10 %
    NOT_TOLD_APART = "not told apart"
    TOO_FEW_LAUNCHES = "too few launches"


@dataclass(frozen=True)
class Ratio:
    """The time of a method over that of the recommended one."""

    word: Word
    ratio: float  # of the geometric means of the launches that have both
    interval: tuple[float, float] | None  # of the ratio, 95 %, for this pair alone; None from too few launches
    seen: float | None  # the smallest ratio that would be called slower 9 times in 10; None from too few launches
    launches: int  # that have both methods


def ratios(launches: Mapping[str, Seconds], recommended: str) -> dict[str, Ratio]:
    """Return the ratio of each other method that a launch has together with the recommended one.

    launches : by method the seconds per call of each launch; the same place is the same launch

    Even one of equally fast methods is called slower or faster with a chance of `ALPHA` (Holm, 1979).
    """
    from scipy.special import stdtr, stdtrit

    logs = {name: np.log(np.array(seconds, dtype=float)) for name, seconds in launches.items()}  # None becomes NaN
    differences = {name: each - logs[recommended] for name, each in logs.items() if name != recommended} if recommended in logs else {}
    within = {name: each[~np.isnan(each)] for name, each in differences.items() if not np.isnan(each).all()}
    sizes = {name: float(each.mean()) for name, each in within.items()}
    judged = [name for name, each in within.items() if len(each) >= FEWEST]
    errors = {name: max(float(within[name].std(ddof=1)), LEAST_SPREAD) / len(within[name]) ** 0.5 for name in judged}
    ps = holm([float(2 * stdtr(len(within[name]) - 1, -abs(sizes[name]) / errors[name])) for name in judged])
    found = {name: Ratio(Word.TOO_FEW_LAUNCHES, exp(size), None, None, len(within[name])) for name, size in sizes.items()}
    for name, p in zip(judged, ps):
        size, error, freedom = sizes[name], errors[name], len(within[name]) - 1
        half = float(stdtrit(freedom, 1 - ALPHA / 2)) * error
        if p <= ALPHA and abs(size) >= log(1 + MARGIN):
            word = Word.SLOWER if size > 0 else Word.FASTER
        else:
            word = Word.AS_FAST if abs(size) + half <= log(AS_FAST_WITHIN) else Word.NOT_TOLD_APART
        seen = _seen(error, freedom, ALPHA / len(judged))
        found[name] = Ratio(word, exp(size), (exp(size - half), exp(size + half)), seen, len(within[name]))
    return found


def _seen(error: float, freedom: int, alpha: float) -> float:
    """Return the smallest ratio that a t-test calls slower in a share of `SEEN` of repetitions, by at least the margin.

    error : standard error of the log ratio, taken as the true one; freedom : its degrees of freedom, as those of the repetitions' own
    """
    from scipy.special import nctdtrinc, ndtri, stdtrit

    by_test = float(nctdtrinc(freedom, 1 - SEEN, stdtrit(freedom, 1 - alpha / 2))) * error
    by_margin = log(1 + MARGIN) + float(ndtri(SEEN)) * error
    return exp(max(by_test, by_margin)) if by_test < inf else inf
