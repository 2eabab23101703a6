"""`torch.utils.benchmark.Timer` as plot and advise use it: one thread, as many calls as take a sample's time."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from tensorcopy.errors import TensorcopyError

try:
    from torch.utils.benchmark import Timer
except ModuleNotFoundError as missing:
    if missing.name not in ("distutils", "pkg_resources", "setuptools"):
        raise
    # up to 2.2 the Timer imports what compiles C++, and that setuptools, which need not be there; for Python it uses neither
    sys.modules["torch.utils.cpp_extension"] = ModuleType("torch.utils.cpp_extension")
    from torch.utils.benchmark import Timer

LARGEST = 2**30  # elements

__all__ = ["LARGEST", "Timer", "allow", "calls", "of"]


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
