"""Exclude a pass of a case that met page faults which its other passes did not. Pure.

An allocator may keep the memory of a large tensor or give it back to the system after every call, as the layout of the process has it.
In the second state every call touches new pages, and the system clears each: the case takes many times as long, in that pass only.
Faults that all passes have, such as of a tensor too large to keep, belong to the case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

TIMES_AS_LONG = 2.0  # passes of one case differ by hundredths; with the faults of every call by 2 to 18 times
TIMES_AS_MANY = 4.0  # page faults per call, and as many more: passes in one state differ by some, and a few faults cost little
FEWEST_OTHERS = 3  # their median tolerates one bad pass
LEFT = 3  # passes that must remain, as many as a comparison needs; and more than half of all: else the faults are the case's own


@dataclass(frozen=True)
class FaultedPass:
    """One case in one pass.

    time : in seconds
    faults : page faults per call, the mean of its samples; None where they were not recorded
    """

    time: float
    faults: float | None


def recorded(records: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the interruptions of each pass that recorded them, by its id and suite."""
    by_pass = {
        record["id"]: {suite: row["interruptions"] for suite, row in record["suites"].items() if "interruptions" in row}
        for record in records
    }
    return {name: suites for name, suites in by_pass.items() if suites}  # a pass in which no case was interrupted has none recorded


def per_call(interruptions: Mapping[str, Any], suite: str, index: int) -> float:
    """Return the page faults per call of a case in a pass, from its `recorded`.

    A case that is not in it had none.
    """
    samples = interruptions.get(suite, {}).get(str(index))
    return fmean(sample[0] for sample in samples) if samples else 0.0


def reasons(passes: Sequence[FaultedPass]) -> list[str]:
    """Return why each pass of a case is excluded; "" where it is not.

    Passes without recorded faults are neither excluded nor compared with.
    """
    known = [(number, each.time, each.faults) for number, each in enumerate(passes) if each.faults is not None]
    excluded = {}
    for number, time, faults in known:
        others = [(other_time, other_faults) for other, other_time, other_faults in known if other != number]
        if faults and len(others) >= FEWEST_OTHERS:
            usual, usual_faults = (median(values) for values in zip(*others))
            if time >= TIMES_AS_LONG * usual and faults >= TIMES_AS_MANY * (1 + usual_faults):
                excluded[number] = (
                    f"its calls took {time / usual:.1f} times as long as in the other passes, with {faults:.0f} page faults "
                    f"each instead of {usual_faults:.0f}"
                )
    if len(known) - len(excluded) < max(LEFT, len(known) // 2 + 1):
        excluded = {}
    return [excluded.get(number, "") for number in range(len(passes))]
