"""When the machine was quiet, told by a control: an act that no torch can change, measured beside every sample. Pure, for both halves.

A machine that is shared has neighbours who slow every act down for seconds, by half or by double. The control tells when: its readings
gather at a least value while the core is quiet, and lie far above it while it is not.
"""

from __future__ import annotations

from collections.abc import Iterable

QUIET = 1.25  # times the usual least reading: a sample beside such a one is as one beside the least, to 0.3 % in the median
FEWEST = 20  # readings from which a limit is known


def limit(readings: Iterable[float]) -> float:
    """The greatest reading that still counts as quiet, of readings of one machine and Python; infinite where they are too few.

    A quarter above their lowest hundredth: the least of all may be a freak.
    """
    ordered = sorted(readings)
    return ordered[len(ordered) // 100] * QUIET if len(ordered) >= FEWEST else float("inf")
