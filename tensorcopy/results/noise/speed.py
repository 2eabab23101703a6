"""Correct samples taken on a busy machine to its quiet speed. Pure.

On a machine whose neighbours slow it down for minutes, waiting for quiet is not enough. The control shows how slow the machine was beside
every sample, and the time of each case goes as the control to its own exponent: near 1 for a call that is mostly interpreter, near 0
for one that waits for memory. The exponent is fitted within each release of the machine's own results, so that no release's speed enters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log
from statistics import median

FEWEST_SAMPLES = 3  # quiet and disturbed ones each, for a release to count: their median tolerates one bad sample
FEWEST_RELEASES = 3  # their median tolerates one odd release
QUIET_SPREAD = 1.18  # the limit over the usual quiet control: the limit lies a quarter above the lowest, the usual one 6 %

Pairs = Sequence[tuple[float, float]]  # of a sample and the control beside it, both in seconds


def control_exponent(releases: Iterable[Pairs], limit: float) -> float | None:
    """Return the exponent e, 0 to 1, in time ∝ control ** e.

    None where fewer than three releases determine it.

    The median over releases of log(disturbed / quiet sample) over log(disturbed / quiet control), of medians.
    releases : each release's samples with their control; limit : the greatest control that counts as quiet
    """
    exponents = []
    for pairs in releases:
        quiet = [pair for pair in pairs if pair[1] <= limit]
        disturbed = [pair for pair in pairs if pair[1] > limit]
        if len(quiet) >= FEWEST_SAMPLES and len(disturbed) >= FEWEST_SAMPLES:
            slowdown = log(median(pair[0] for pair in disturbed) / median(pair[0] for pair in quiet))
            exponents.append(slowdown / log(median(pair[1] for pair in disturbed) / median(pair[1] for pair in quiet)))
    return min(1.0, max(0.0, median(exponents))) if len(exponents) >= FEWEST_RELEASES else None


def at_quiet_speed(sample: float, control: float, limit: float, exponent: float) -> float:
    """Return a sample corrected to the machine's quiet speed, in seconds.

    A quiet sample is returned unchanged.
    """
    return sample if control <= limit else sample * (limit / QUIET_SPREAD / control) ** exponent
