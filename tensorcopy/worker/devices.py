"""Devices: availability, synchronization and names.

Importing this module touches no device: a forked process may use CUDA only if its parent has not.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tensorcopy.errors import TensorcopyError

ACCELERATORS = ("cuda", "mps", "xpu")  # "cuda" is also the name of ROCm devices
DEVICES = ("cpu", *ACCELERATORS)


@cache
def is_available(device: str) -> bool:
    """Return whether this torch can use `device`, one of `DEVICES`.

    torch must report it as available and add two numbers on it: an old torch reports a new GPU without having kernels for it, a hosted Mac
    reports an MPS device without memory, and MPS cannot be synchronized before torch 2.4.
    """
    import torch

    if device == "cpu":
        return True
    try:
        module = torch.backends.mps if device == "mps" else getattr(torch, device)
        if not module.is_available():
            return False
        torch.ones(1, device=device).add_(1)
        wait(device)
    except (AttributeError, AssertionError, NotImplementedError, RuntimeError):  # torch releases differ in what they raise
        return False
    return True


def available() -> list[str]:
    """Return those of `DEVICES` that this torch can use, the CPU first."""
    return [device for device in DEVICES if is_available(device)]


def require(device: str) -> None:
    """Raise TensorcopyError where this torch cannot use `device`."""
    names = available()
    if device not in names:
        raise TensorcopyError(
            f"there is no {device} here", got=device, allowed=", ".join(names), next="install a torch that is built for it, and its driver"
        )


def waiter(device: str) -> Callable[[], object]:
    """Return a function that waits until `device` has finished its queued work.

    The CPU has no queue.
    """
    import torch

    return float if device == "cpu" else getattr(torch, device).synchronize  # float() is the cheapest call that does nothing


def wait(device: str) -> None:
    """Wait until `device` has finished its queued work."""
    waiter(device)()


def model(device: str) -> str:
    """Return the product name of `device`, such as "NVIDIA H200"."""
    import torch

    if device == "cpu":
        return cpu_model()
    if device == "mps":
        return f"{cpu_model()} GPU"
    return str(getattr(torch, device).get_device_name(0))


def cpu_model() -> str:
    """Return the processor's name as the operating system reports it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass  # not Linux
    if platform.system() == "Darwin":
        completed = subprocess.run(["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, check=False)
        if completed.stdout.strip():
            return completed.stdout.strip()  # "Apple M3"; platform.processor() returns "arm"
    return platform.processor() or platform.machine()


def cores() -> int:
    """Return the number of processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
