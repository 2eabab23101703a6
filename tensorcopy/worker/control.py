"""The limit below which a control reading counts as quiet.

The control is a fixed piece of pure Python, timed beside every sample; no torch release can change it. On a shared machine, other processes
slow everything down for seconds at a time, by 50 % or 100 %. Control readings cluster at a minimum while the core is quiet, and are far
above it otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable

QUIET = 1.25  # times the usual minimum: samples whose control reads less agree with those at the minimum, to 0.3 % in the median
FEWEST = 20  # readings needed for a limit


def limit(readings: Iterable[float]) -> float:
    """Return the largest control reading that counts as quiet.

    readings : of one machine and Python; the limit is infinite where there are fewer than `FEWEST`

    The limit is 25 % above the first percentile: the minimum may be an outlier.
    """
    ordered = sorted(readings)
    return ordered[len(ordered) // 100] * QUIET if len(ordered) >= FEWEST else float("inf")
