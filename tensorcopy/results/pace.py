"""What a case takes at the machine's quiet pace, from samples taken at any. Pure.

On a machine whose neighbours slow it down for minutes, waiting for quiet is not enough. But the control tells the pace of every sample, and
each case follows that pace to a power of its own: an act of the interpreter fully, one that waits for memory hardly. The power is learnt
from the machine's own results, for each case over all releases together, within each release: no release's speed can enter it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log
from statistics import median

FEWEST = 3  # samples on either side from which a release can tell
FEWEST_RELEASES = 3
QUIET_SPREAD = 1.18  # the limit over the usual quiet control: the limit lies a quarter above the least, the usual 6 %

Pairs = Sequence[tuple[float, float]]  # of a sample and the control beside it, both in seconds


def power(releases: Iterable[Pairs], limit: float) -> float | None:
    """How a case follows the control: its time goes as the control to this power, 0 to 1; None where too few releases can tell.

    The median over releases of log(busy / quiet sample) over log(busy / quiet control), of medians.
    releases : each release's samples with their control; limit : the greatest control that counts as quiet
    """
    found = []
    for pairs in releases:
        quiet = [pair for pair in pairs if pair[1] <= limit]
        busy = [pair for pair in pairs if pair[1] > limit]
        if len(quiet) >= FEWEST and len(busy) >= FEWEST:
            slower = log(median(pair[0] for pair in busy) / median(pair[0] for pair in quiet))
            found.append(slower / log(median(pair[1] for pair in busy) / median(pair[1] for pair in quiet)))
    return min(1.0, max(0.0, median(found))) if len(found) >= FEWEST_RELEASES else None


def quieted(sample: float, control: float, limit: float, power: float) -> float:
    """What a sample would have been at the quiet pace; a quiet one is what it is. Seconds."""
    return sample if control <= limit else sample * (limit / QUIET_SPREAD / control) ** power
