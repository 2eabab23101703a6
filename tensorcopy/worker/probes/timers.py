"""`torch.utils.benchmark.Timer` for plot and advise, on one thread."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from timeit import default_timer
from types import ModuleType
from typing import Any

import torch

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import devices

try:
    from torch.utils.benchmark import Timer
except ModuleNotFoundError as missing:
    if missing.name not in ("distutils", "pkg_resources", "setuptools"):
        raise
    # up to 2.2 the Timer imports torch's C++ compiler module, which imports setuptools: it may be missing, and timing Python needs neither
    sys.modules["torch.utils.cpp_extension"] = ModuleType("torch.utils.cpp_extension")
    from torch.utils.benchmark import Timer

__all__ = ["MAX_NUMEL", "Timer", "calls_in", "check_numel", "make_timer", "measured_on"]

MAX_NUMEL = 2**30  # elements of a tensor that is timed


def make_timer(code: str, names: Mapping[str, Any], device: str) -> Timer:
    """Return a timer of `code`, an expression of `names`, whose clock waits for `device`.

    torch's own clock waits for CUDA only, and for other accelerators in recent releases: else it reads how fast they queue work.
    """
    if device == "cpu":
        return Timer(code, globals=dict(names), num_threads=1, timer=default_timer)
    wait = devices.waiter(device)

    def clock() -> float:
        wait()
        return default_timer()

    return Timer(code, globals=dict(names), num_threads=1, timer=clock)


def calls_in(timer: Timer, seconds: float) -> int:
    """Return how many calls take `seconds`, at least one. Warms up, too."""
    number = 1
    while (elapsed := min(timer.timeit(number).median, timer.timeit(number).median) * number) < seconds / 4:
        number *= 4
    return max(1, int(number * seconds / elapsed))


def check_numel(numel: int, next: str) -> None:
    """Raise TensorcopyError unless `numel` is between 1 and `MAX_NUMEL`."""
    if not 1 <= numel <= MAX_NUMEL:
        raise TensorcopyError(
            "the number of elements is out of range", got=str(numel), allowed=f"1 to 2**{MAX_NUMEL.bit_length() - 1}", next=next
        )


def measured_on(device: str) -> dict[str, str]:
    """Return the release of torch, the Python, the name of the device and the day."""
    return {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "on": devices.model(device),
        "day": datetime.now(timezone.utc).date().isoformat(),
    }
