"""Two sets of samples: slower, faster, unchanged or inconclusive, with the reason. Pure.

Passes are what is independent: the samples of one share a process, a place in memory and the machine's mood, so each pass counts once, by
the median of its samples, on a logarithmic scale. The ratio is the Hodges-Lehmann shift: the median of every pass's time on one side over
every pass's on the other (Hodges and Lehmann, 1963). How far it strays by itself is bootstrapped over passes: as many passes as there
were are drawn for either side from what passes of this case are known to stray, on both sides and wherever else `noise` has seen it
(residual bootstrap, Efron and Tibshirani, 1993, §9.4), in either direction alike; where these two sides stray farther than all together,
the draws are as much wider, and sides of many passes are asked alone. The draws are widened by Student's factor for the degrees of freedom
behind them too, since a few passes know their own spread badly. Holm's step-down keeps the chance of even one false alarm among all the
cases judged together at `ALPHA` (Holm, 1979).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from math import ceil, exp, inf, log
from statistics import NormalDist, median
from typing import Any, TypeVar

import numpy as np

MARGIN = 0.03  # the smallest change worth telling
ALPHA = 0.05  # chance of a false alarm among all cases together, and one minus the level of an interval
FEWEST = 3  # passes on a side, of which a median holds when one goes wrong
DRAWS = 2_000  # for an interval
CLOSER = 0.02  # which so many draws know to a sixth; Holm asks for less wherever there are some cases
AT_ALPHA = 2.5  # draws beyond the p that Holm asks of the first of all cases: fewer are as valid, and find less
TIMES_AS_MANY = 3  # passes of one side as of the other are drawn: more would narrow an interval by less than a seventh
KNOWS_ITSELF = 16  # degrees of freedom of two sides from which they tell whether theirs is the others' noise
ALONE = 60  # from which they tell their own noise: its spread to a tenth, and Student's factor is within 2 % of 1
TAIL = 5 * CLOSER  # the part of the draws that is kept
MOST_DRAWS = 100_000
MANY = 50  # more passes than anybody takes: then it is said that they would not help

Case = TypeVar("Case", bound=Hashable)
Numbers = Any  # an array of floats; numpy's types differ from release to release


class Verdict(str, Enum):
    SLOWER = "slower"
    FASTER = "faster"
    UNCHANGED = "unchanged"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Samples:
    """One side of a comparison, of one case.

    passes : each pass's samples in seconds; a pass without any does not count
    provenance : what the other side must have alike, by name
    failure : why there are no samples; "" where that is not known
    """

    passes: tuple[tuple[float, ...], ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    failure: str = ""

    @property
    def logs(self) -> list[float]:
        """Each pass's time, in log seconds, in ascending order: their order in time is nobody's evidence."""
        return sorted(log(median(samples)) for samples in self.passes if samples)


@dataclass(frozen=True)
class Change:
    """A judged difference.

    ratio : after over before; None where there is none to be had, and so the next two
    interval : of the ratio, at 1 - ALPHA for this case alone
    p : chance of such a ratio where nothing changed, adjusted for all cases that were judged together
    reason : the verdict's, as the rest of a sentence that begins with it
    confirmed : by how many measurements of their own it was, and of how many; None where nobody measured again
    """

    verdict: Verdict
    reason: str
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    before: float | None = None  # seconds
    after: float | None = None
    confirmed: tuple[int, int] | None = None

    @property
    def sentence(self) -> str:
        """The verdict and its reason: "slower by 18.4 %, between 15.9 and 20.8 %"."""
        link = " " if self.verdict in (Verdict.SLOWER, Verdict.FASTER) else ": "
        held = f"; held in {self.confirmed[0]} of {self.confirmed[1]}" if self.confirmed else ""
        return f"{self.verdict.value}{link}{self.reason}{held}"


def judge(
    pairs: Mapping[Case, tuple[Samples, Samples]], *, margin: float = MARGIN, noise: Mapping[Case, Sequence[Sequence[float]]] | None = None
) -> dict[Case, Change]:
    """The change of every case from its first side to its second. A test that cannot be computed is never a change.

    margin : the smallest change worth telling, as a share of the time
    noise : by case, groups of log seconds: passes of one result each that is neither side, on the same machine
    """
    found = {}
    measured: dict[Case, _Measured] = {}
    for case, (before, after) in pairs.items():
        why_not = _why_not(before, after)
        if why_not:
            found[case] = _inconclusive(before, after, why_not)
        else:
            measured[case] = _measure(before.logs, after.logs, (noise or {}).get(case, ()), len(pairs))
    adjusted = dict(zip(measured, holm([one.p for one in measured.values()])))
    for case, one in measured.items():
        found[case] = _verdict(one, adjusted[case], margin, len(measured))
    return {case: found[case] for case in pairs}


def holm(ps: Sequence[float]) -> list[float]:
    """Each p adjusted for all of them together (Holm, 1979)."""
    adjusted, least = [1.0] * len(ps), 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        least = max(least, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = least
    return adjusted


@dataclass(frozen=True)
class _Measured:
    """On a logarithmic scale: the shift, half the width of its interval, its p, the passes of the side with fewer, the times."""

    shift: float
    half: float
    p: float
    passes: int
    before: float
    after: float


def _why_not(before: Samples, after: Samples) -> str:
    """Why two sides cannot be compared; "" where they can."""
    for side, where in ((before, "before"), (after, "after")):
        if not all(0 < sample < inf for samples in side.passes for sample in samples):
            return f"a sample {where} is no time"
        if not side.logs:
            return f"no result {where}" + (f": {side.failure}" if side.failure else "")
    differing = [
        f"{name}: {before.provenance[name]} / {after.provenance[name]}" for name in before.provenance if _differs(name, before, after)
    ]
    if differing:
        return "what was measured on differs, " + ", ".join(differing)
    counts = len(before.logs), len(after.logs)
    if min(counts) < FEWEST:
        return f"too few quiet passes, {counts[0]} before and {counts[1]} after: about {_passes(FEWEST - min(counts))} would tell"
    return ""


def _differs(name: str, before: Samples, after: Samples) -> bool:
    """What either side does not tell is not known to differ."""
    return name in after.provenance and before.provenance[name] != after.provenance[name]


def _inconclusive(before: Samples, after: Samples, reason: str) -> Change:
    times = [median(median(samples) for samples in side.passes if samples) if any(side.passes) else None for side in (before, after)]
    ratio = times[1] / times[0] if times[0] and times[1] else None
    return Change(Verdict.INCONCLUSIVE, reason, ratio=ratio, before=times[0], after=times[1])


def _measure(before: list[float], after: list[float], noise: Sequence[Sequence[float]], cases: int) -> _Measured:
    shift = _shift(np.array([before]), np.array([after]))[0]
    own, knowing = _strays([before, after])
    pool, degrees = (own, knowing) if knowing >= ALONE else _strays([before, after, *noise])
    wider = _wider(own, knowing, pool)
    few, many = sorted((len(before), len(after)))
    many = min(many, TIMES_AS_MANY * few)
    null = _null(pool, degrees, few, many, DRAWS)
    p = null.chance(shift / wider)
    if p < CLOSER:  # worth a closer look: as fine as Holm will divide it
        p = _null(pool, degrees, few, many, min(MOST_DRAWS, max(DRAWS, int(AT_ALPHA * cases / ALPHA)))).chance(shift / wider)
    return _Measured(float(shift), null.half * wider, p, few, exp(median(before)), exp(median(after)))


@dataclass(frozen=True)
class _Null:
    """How far a ratio strays where nothing changed, on a logarithmic scale.

    half : as far as it strays with probability `ALPHA`
    tail : of `draws` draws those that stray farthest, in ascending order
    """

    half: float
    tail: Numbers
    draws: int

    def chance(self, shift: float) -> float:
        """Of straying at least so far; never 0, since what was not drawn may still be (Phipson and Smyth, 2010).

        Where it is greater than the tail's part, that part is told.
        """
        return float((1 + len(self.tail) - np.searchsorted(self.tail, abs(shift))) / (1 + self.draws))


def _shift(before: Numbers, after: Numbers) -> Numbers:
    """Of each row, the median of all differences between a time after and one before."""
    differences = (after[:, :, None] - before[:, None, :]).reshape(len(before), -1)
    middle = differences.shape[1] // 2
    if differences.shape[1] % 2:
        return np.partition(differences, middle, axis=1)[:, middle]
    return np.partition(differences, (middle - 1, middle), axis=1)[:, middle - 1 : middle + 1].mean(axis=1)


def _strays(groups: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], int]:
    """How far passes stray from their group's middle, and the degrees of freedom behind that. A group of one says nothing."""
    strays, degrees = [], 0
    for group in groups:
        if len(group) > 1:
            middle = median(group)
            strays += [abs(value - middle) * (len(group) / (len(group) - 1)) ** 0.5 for value in group]
            degrees += len(group) - 1
    return tuple(sorted(strays)), degrees


def _wider(own: Sequence[float], degrees: int, pool: Sequence[float]) -> float:
    """How many times as far these two sides stray as all that are known: what was measured in a quieter hour must not speak for them.

    Never less than 1, and 1 where they are too few to say.
    """
    return max(1.0, median(own) / median(pool)) if degrees >= KNOWS_ITSELF and median(pool) > 0 else 1.0


@lru_cache(maxsize=4096)
def _null(pool: tuple[float, ...], degrees: int, few: int, many: int, draws: int) -> _Null:
    """What `draws` draws from the pool give; the same for the same arguments. Any two releases of a series have the same pool."""
    random = np.random.default_rng(20)  # any seed; the same one, so that the same samples get the same verdict
    either_way = np.array([*pool, *(-one for one in pool)], dtype=np.float32)
    drawn = either_way[random.integers(0, len(either_way), (draws, few + many), dtype=np.int32)]
    drawn *= np.sqrt(degrees / random.chisquare(degrees, draws)).astype(np.float32)[:, None]
    strayed = np.sort(np.abs(_shift(drawn[:, :few], drawn[:, few:])))
    tail = strayed if draws <= DRAWS else strayed[-int(TAIL * draws) :]
    return _Null(float(np.quantile(strayed, 1 - ALPHA)), tail, draws)


def _verdict(one: _Measured, p: float, margin: float, cases: int) -> Change:
    ratio, interval = exp(one.shift), (exp(one.shift - one.half), exp(one.shift + one.half))
    told = log(1 + margin)
    change = Change(Verdict.INCONCLUSIVE, "", ratio, interval, p, one.before, one.after)
    if p <= ALPHA and abs(one.shift) >= told:
        verdict = Verdict.SLOWER if one.shift > 0 else Verdict.FASTER
        return replace(change, verdict=verdict, reason=worded(verdict, ratio, interval))
    if abs(one.shift) + one.half <= told:
        return replace(change, verdict=Verdict.UNCHANGED, reason=worded(Verdict.UNCHANGED, ratio, interval))
    return replace(change, reason=f"{worded(Verdict.INCONCLUSIVE, ratio, interval)}; {_more(one, told, cases)}")


def worded(verdict: Verdict, ratio: float, interval: tuple[float, float]) -> str:
    """A verdict's reason as far as its numbers tell it: "by 18.4 %, between 15.9 and 20.8 %"."""
    low, high = interval
    if verdict in (Verdict.SLOWER, Verdict.FASTER):
        return f"by {_share(log(ratio))}, {_between(low, high)}"
    if verdict is Verdict.UNCHANGED:
        return f"no change larger than {_share(max(abs(log(low)), abs(log(high))))}"
    return _between(low, high) + (" slower" if low > 1 else " faster" if high < 1 else "")


def _more(one: _Measured, told: float, cases: int) -> str:
    """What would decide: passes bring an interval together as the root of their number."""
    # the width at which Holm's p is ALPHA, from normal tails: the drawn ones cannot be had that far out
    clear = abs(one.shift) * _normal(ALPHA) / _normal(ALPHA / cases)
    aim = told - abs(one.shift) if abs(one.shift) < told else clear
    more = ceil(one.passes * ((one.half / aim) ** 2 - 1)) if aim > 0 else inf
    return f"about {_passes(max(1, int(more)))} would tell" if more <= MANY else f"{MANY} more passes would not tell"


def _passes(more: int) -> str:
    return f"{more} more pass{'es' if more > 1 else ''}"


def _normal(p: float) -> float:
    """How many standard deviations a normal variable strays with probability `p`, to either side."""
    return -NormalDist().inv_cdf(p / 2)


def _share(shift: float) -> str:
    """A shift as a share of the time before, whichever way it goes; never more than all of it."""
    return f"{100 * abs(exp(shift) - 1):.1f} %"


def _between(low: float, high: float) -> str:
    """An interval of a ratio: "between 15.9 and 20.8 %", "between 1.2 % faster and 4.5 % slower"."""
    if low > 1 or high < 1:
        near, far = sorted(100 * abs(ratio - 1) for ratio in (low, high))
        return f"between {near:.1f} and {far:.1f} %"
    return f"between {100 * (1 - low):.1f} % faster and {100 * (high - 1):.1f} % slower"
