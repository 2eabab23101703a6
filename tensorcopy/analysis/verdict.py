"""The verdict on a case, the reason for it, and the numbers behind it.

Texts are made from these in `report.comparison.wording`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import inf, log
from statistics import median
from typing import NamedTuple


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
    NOT_CONFIRMED = "not_confirmed"  # changed at first, but not in every repeat measurement
    COUNT_CHANGED = "count_changed"  # an exact count did, and the clock shows no opposite change
    COUNT_UNCHANGED = "count_unchanged"  # an exact count did not change, and the interval of the time includes 0 %


class Failure(str, Enum):
    """The reason why a side has no samples."""

    NOT_MEASURED = "not_measured"  # or skipped, or failed
    NEVER_QUIET = "never_quiet"  # the machine was busy in every pass


class Difference(NamedTuple):
    """A field of the provenance that differs between the sides."""

    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class CountChange:
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

    `report.comparison.wording` has the texts.

    ratio : time after / time before; None, like the interval and p, if it could not be computed
    interval : of the ratio, at level 1 - two_sample.ALPHA for this case alone
    p : probability of such a ratio if nothing changed, adjusted for all cases that were judged together
    p_is_bound : whether p is only an upper bound: no draw of the test was as large
    before, after : seconds
    passes : quiet passes before and after
    more_passes : about how many more would decide an inconclusive case; None if not applicable, or if they are too many to take
    differences : for PROVENANCE_DIFFERS
    failure : for NO_SAMPLES_BEFORE and NO_SAMPLES_AFTER; None if unknown
    confirmed : in how many repeat measurements the change was seen, and how many there were; None if there were none
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
    differences: tuple[Difference, ...] = ()
    failure: Failure | None = None
    confirmed: tuple[int, int] | None = None
    count: CountChange | None = None
    unit: str = "seconds"
    p_is_bound: bool = False

    @property
    def size(self) -> float:
        """The ratio that the verdict is about: of the count where it decides, else of the time; 1 if unknown."""
        return self.count.ratio if self.count and self.reason is Reason.COUNT_CHANGED else self.ratio or 1.0
