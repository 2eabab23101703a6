"""The devices a tensor can lie on: is it there, wait for it, what is it called.

Nothing here touches a device before it is asked to: a forked process may use CUDA only while its parent has not.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tensorcopy.errors import TensorcopyError

ACCELERATORS = ("cuda", "mps", "xpu")  # "cuda" is ROCm's name too
DEVICES = ("cpu", *ACCELERATORS)


@cache
def is_available(device: str) -> bool:
    """Whether this torch can really use `device`, one of `DEVICES`: it says so, and adds two numbers there.

    An old torch sees a new GPU and has no kernels for it; a hosted Mac shows an MPS device that has no memory; MPS before 2.4 cannot be
    waited for. Such a device is not there.
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
    except (AttributeError, AssertionError, NotImplementedError, RuntimeError):  # in whichever way this torch says no
        return False
    return True


def available() -> list[str]:
    """Those of `DEVICES` that this torch can use, the CPU first."""
    return [device for device in DEVICES if is_available(device)]


def demand(device: str) -> None:
    """Raises TensorcopyError where this torch cannot use `device`."""
    there = available()
    if device not in there:
        raise TensorcopyError(
            f"there is no {device} here", got=device, allowed=", ".join(there), next="a torch that is built for it, and its driver"
        )


def waiter(device: str) -> Callable[[], object]:
    """A call that returns once `device` has finished its queued work. The CPU has no queue."""
    import torch

    return float if device == "cpu" else getattr(torch, device).synchronize  # float() does nothing, at once


def wait(device: str) -> None:
    """Return once `device` has finished its queued work."""
    waiter(device)()


def model(device: str) -> str:
    """The maker's name of `device`, such as "NVIDIA H200"; "" where nobody tells."""
    import torch

    if device == "cpu":
        return cpu_model()
    if device == "mps":
        return f"{cpu_model()} GPU"
    return str(getattr(torch, device).get_device_name(0))


def cpu_model() -> str:
    """The processor's name as the operating system gives it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass  # not Linux
    if platform.system() == "Darwin":
        done = subprocess.run(["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, check=False)
        if done.stdout.strip():
            return done.stdout.strip()  # "Apple M3"; processor() says "arm"
    return platform.processor() or platform.machine()


def cores() -> int:
    """How many processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
