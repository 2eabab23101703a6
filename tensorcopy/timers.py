"""`torch.utils.benchmark.Timer` as plot and advise use it: one thread, as many calls as take a sample's time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.utils.benchmark import Timer

from tensorcopy.errors import TensorcopyError

LARGEST = 2**30  # elements


def of(code: str, names: Mapping[str, Any]) -> Timer:
    """A timer of `code`, an expression of these names."""
    return Timer(code, globals=dict(names), num_threads=1)


def calls(timer: Timer, seconds: float) -> int:
    """How many calls take so long, at least one; by then everything is warm."""
    number = 1
    while (taken := min(timer.timeit(number).median, timer.timeit(number).median) * number) < seconds / 4:
        number *= 4
    return max(1, int(number * seconds / taken))


def allow(numel: int, next: str) -> None:
    """Raises TensorcopyError where no tensor that is timed has so many elements."""
    if not 1 <= numel <= LARGEST:
        raise TensorcopyError("no number of elements", got=str(numel), allowed=f"1 to 2**{LARGEST.bit_length() - 1}", next=next)
