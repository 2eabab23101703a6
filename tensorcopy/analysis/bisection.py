"""Search the builds between two releases for the one with which a call changed. The caller passes the functions that measure.

A build is on the side of the end that it is nearer to, as a ratio. So, of several changes in between, one is found that crosses the middle
between both ends. Exact counts come first; where they do not differ, times are measured in turns and tested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from statistics import median

from tensorcopy.analysis import exact_counts
from tensorcopy.analysis.two_sample import Samples, Verdict, judge

COUNT, TIME = "instructions", "seconds"  # what a search goes by

Count = Callable[[str], "float | None"]  # the instructions of a build; None for one that cannot be installed or does not run the call
Turns = Callable[[Sequence[str]], "Mapping[str, Sequence[float]] | None"]  # the seconds of each pass of builds measured in turns, by build


@dataclass(frozen=True)
class Interval:
    """Two builds between which a change lies.

    middle : the build to measure next; "" where no other is left between them
    """

    before: str
    after: str
    middle: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a search found.

    unit : `COUNT` or `TIME`
    builds : that were to be searched and can be measured, in order
    values : of the builds that were measured; of a time the median
    interval : between which builds the change lies; with a middle where the search stopped before the end
    skipped : builds that could not be measured
    """

    unit: str
    builds: tuple[str, ...]
    values: Mapping[str, float]
    interval: Interval
    skipped: tuple[str, ...] = field(default=())

    @property
    def whole(self) -> float:
        """The value of the last build over that of the first."""
        return self.values[self.builds[-1]] / self.values[self.builds[0]]

    @property
    def ratio(self) -> float:
        """The value after the interval over the value before it."""
        return self.values[self.interval.after] / self.values[self.interval.before]

    @property
    def share(self) -> float:
        """The part of the whole change that lies in the interval, on a logarithmic scale."""
        return log(self.ratio) / log(self.whole)


def interval(builds: Sequence[str], is_new: Mapping[str, bool]) -> Interval:
    """Return the builds between which the change lies, as far as it is known.

    builds : in order; the first is old, the last is new
    is_new : of each build that was measured, whether it is on the side of the last one
    """
    first, last = 0, len(builds) - 1
    while last - first > 1:
        middle = (first + last) // 2
        if builds[middle] not in is_new:
            return Interval(builds[first], builds[last], builds[middle])
        first, last = (first, middle) if is_new[builds[middle]] else (middle, last)
    return Interval(builds[first], builds[last])


def steps(builds: Sequence[str]) -> int:
    """Return how many builds are measured at most, besides both ends."""
    return max(0, len(builds) - 2).bit_length()


def by_count(builds: Sequence[str], count: Count) -> Outcome | None:
    """Return where the exact count changed; None where both ends have the same, or an end has none."""
    first, last = count(builds[0]), count(builds[-1])
    if not first or not last or max(last / first, first / last) < 1 + exact_counts.LEAST:
        return None
    left, skipped, values = list(builds), [], {builds[0]: first, builds[-1]: last}
    is_new: dict[str, bool] = {}
    while middle := interval(left, is_new).middle:
        value = count(middle)
        if not value:
            left.remove(middle)
            skipped.append(middle)
            continue
        values[middle], is_new[middle] = value, abs(log(value / last)) < abs(log(value / first))
    return Outcome(COUNT, tuple(left), values, interval(left, is_new), tuple(skipped))


def by_time(builds: Sequence[str], in_turns: Turns) -> Outcome | None:
    """Return where the time changed; None where the test shows no difference between both ends.

    A middle that differs significantly from neither end ends the search.
    """
    ends = in_turns([builds[0], builds[-1]])
    if ends is None or not _direction(ends[builds[0]], ends[builds[-1]]):
        return None
    left, skipped = list(builds), []
    is_new: dict[str, bool] = {}
    values = {build: median(passes) for build, passes in ends.items()}
    while middle := interval(left, is_new).middle:
        turns = in_turns([left[0], middle, left[-1]])
        if turns is None:
            left.remove(middle)
            skipped.append(middle)
            continue
        values[middle] = median(turns[middle])
        side = _side(*(turns[build] for build in (left[0], middle, left[-1])))
        if side is None:
            break
        is_new[middle] = side
    return Outcome(TIME, tuple(left), values, interval(left, is_new), tuple(skipped))


def _side(first: Sequence[float], middle: Sequence[float], last: Sequence[float]) -> bool | None:
    """Return whether a build is on the last one's side; None where it differs significantly from neither."""
    from_first, from_last = bool(_direction(first, middle)), bool(_direction(middle, last))
    if from_first is not from_last:
        return from_first
    if not from_first:
        return None
    return abs(log(median(middle) / median(last))) < abs(log(median(middle) / median(first)))


def _direction(before: Sequence[float], after: Sequence[float]) -> int:
    """Return 1 where passes became significantly slower, −1 where faster, else 0."""
    sides = tuple(Samples(tuple((seconds,) for seconds in passes)) for passes in (before, after))
    verdict = judge({"": (sides[0], sides[1])})[""].verdict
    return {Verdict.SLOWER: 1, Verdict.FASTER: -1}.get(verdict, 0)
