"""The control: a reading of it, and the limit below which one counts as quiet.

The control is a fixed piece of pure Python, timed beside every sample; no torch release can change it. On a shared machine, other processes
slow everything down for seconds at a time, by 50 % or 100 %. Control readings cluster at a minimum while the core is quiet, and are far
above it otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from time import perf_counter

QUIET = 1.25  # times the usual minimum: samples whose control reads less agree with those at the minimum, to 0.3 % in the median
FEWEST = 20  # readings needed for a limit
TOO_BUSY = 0.5  # share of quiet samples below which times of this machine are not compared without a warning
CALLS = 48  # of the sum in a reading: half a millisecond, short compared with a sample of 5 ms
_thousand = range(1000)


def limit(readings: Iterable[float]) -> float:
    """Return the largest control reading that counts as quiet.

    readings : of one machine and Python; the limit is infinite where there are fewer than `FEWEST`

    The limit is 25 % above the first percentile: the minimum may be an outlier.
    """
    ordered = sorted(readings)
    return ordered[len(ordered) // 100] * QUIET if len(ordered) >= FEWEST else float("inf")


def read() -> float:
    """Return the seconds that summing a thousand integers takes now."""
    start = perf_counter()
    for _ in repeat(None, CALLS):
        sum(_thousand)
    return (perf_counter() - start) / CALLS


def quiet_share(readings: Sequence[float]) -> float:
    """Return the share of readings that count as quiet; 1 without a limit."""
    most = limit(readings)
    return sum(reading <= most for reading in readings) / len(readings) if readings else 1.0
