"""Devices: availability, synchronization and names.

Importing this module touches no device: a forked process may use CUDA only if its parent has not.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

from tensorcopy.errors import TensorcopyError, line_of
from tensorcopy.files import kernel_text

ACCELERATORS = ("cuda", "mps", "xpu")  # "cuda" is also the name of ROCm devices
DEVICES = ("cpu", *ACCELERATORS)
# kinds of torch wheel but "cpu": what torch.version has in one of them, and how uv's names of its package indexes begin
WHEELS = {"cuda": ("cuda", "cu"), "rocm": ("hip", "rocm"), "xpu": ("xpu", "xpu")}
# in what torch raises without a device, or without code for it
NOTHING_THERE = ("Found no NVIDIA driver", "No CUDA GPUs", "No HIP GPUs", "no NVIDIA GPU", "No XPU devices", "not compiled with")
OLD_DRIVER = "driver on your system is too old"
NO_MEMORY = "MPS allocated: 0 bytes"  # in what torch raises on a hosted Mac, whose MPS device has no memory


class Usability(str, Enum):
    """Whether this torch can use a device."""

    USABLE = "usable"
    ABSENT = "absent"  # it is not there
    UNSUPPORTED = "unsupported"  # this build of torch has no kernels for it, or a CUDA that is too new for the driver
    FAILING = "failing"  # it is there and raises


@dataclass(frozen=True)
class State:
    """The usability of a device in this process."""

    usability: Usability
    reason: str = ""  # the first line of what torch raises, or another reason why the device cannot be used; "" where it can


@cache
def state(device: str) -> State:
    """Return whether this torch can use `device`, one of `DEVICES`, and why not.

    torch must report it, be built for it, and add two numbers on it: an old torch reports a new GPU without having kernels for it, a hosted
    Mac reports an MPS device without memory, and MPS cannot be synchronized before torch 2.4.
    """
    import torch

    if device == "cpu":
        return State(Usability.USABLE)
    module = getattr(torch, device, None)
    backend = torch.backends.mps if device == "mps" and hasattr(torch.backends, "mps") else module
    if module is None or backend is None or not hasattr(module, "synchronize"):
        return State(Usability.ABSENT, f"torch {torch.__version__} has no {device} that can be waited for")
    if device != "mps" and getattr(module, "_is_in_bad_fork", bool)():
        return State(Usability.FAILING, f"{device} was used before this process was forked")
    if not backend.is_available():
        return _unavailable(device)
    try:
        if device == "cuda" and (missing := _missing_kernels()):
            return State(Usability.UNSUPPORTED, missing)
        torch.ones(1, device=device).add_(1)
        wait(device)
    except Exception as error:  # torch releases differ in what they raise; a delayed call of CUDA is a plain Exception
        return State(Usability.ABSENT if NO_MEMORY in str(error) else Usability.FAILING, line_of(error))
    return State(Usability.USABLE)


def _unavailable(device: str) -> State:
    """Return why torch reports that `device` is not available."""
    import torch

    try:
        getattr(getattr(torch, device), "init", int)()
    except Exception as error:  # as in `state`
        reason = line_of(error)
        if OLD_DRIVER in reason:
            sentence = reason.partition(": ")[2].split(". ")[0]
            return State(Usability.UNSUPPORTED, f"the driver is too old for torch {torch.__version__}: {sentence}")
        return State(Usability.ABSENT if any(text in reason for text in NOTHING_THERE) else Usability.FAILING, reason)
    return State(Usability.ABSENT, f"torch {torch.__version__} finds no {device} device")


def _missing_kernels() -> str:
    """Return why this build of torch has no kernels for the current GPU; "" where it has, and for ROCm."""
    import torch

    architectures = torch.cuda.get_arch_list() if torch.version.cuda else []
    capability = torch.cuda.get_device_capability()
    if not architectures or has_kernels(architectures, capability):
        return ""
    name = torch.cuda.get_device_name()
    return f"torch {torch.__version__} has no kernels for {name} (sm_{capability[0]}{capability[1]}), only for {', '.join(architectures)}"


def has_kernels(architectures: Iterable[str], capability: tuple[int, int]) -> bool:
    """Return whether code for these architectures runs on a GPU of this compute capability.

    architectures : as torch.cuda.get_arch_list returns them. "sm_80" is machine code, which runs on 8.0 and later minor versions; "sm_90a"
        runs on 9.0 alone, "sm_100f" on its family, the later minor versions; "compute_80" is compiled by the driver for 8.0 and
        everything newer, "compute_90a" and "compute_100f" for what the machine code of that name runs on.
    """
    for architecture in architectures:
        kind, _, number = architecture.partition("_")
        of = int(number.rstrip("af")[:-1]), int(number.rstrip("af")[-1])
        everywhere = kind == "compute" and number.isdecimal()
        newer = of <= capability and (everywhere or of[0] == capability[0])
        if of == capability or (newer and not number.endswith("a")):
            return True
    return False


def is_available(device: str) -> bool:
    """Return whether this torch can use `device`, one of `DEVICES`."""
    return state(device).usability is Usability.USABLE


def available() -> list[str]:
    """Return those of `DEVICES` that this torch can use, the CPU first.

    Raises TensorcopyError for a device that is there and fails: it is never taken for an absent one.
    """
    for device in ACCELERATORS:
        if state(device).usability is Usability.FAILING:
            require(device)
    return [device for device in DEVICES if is_available(device)]


def unsupported() -> dict[str, str]:
    """Return the accelerators that are there and that this build of torch cannot use, with the reason."""
    return {device: state(device).reason for device in ACCELERATORS if state(device).usability is Usability.UNSUPPORTED}


def require(device: str) -> None:
    """Raise TensorcopyError where this torch cannot use `device`."""
    if device in DEVICES and is_available(device):
        return  # without a look at the others
    usable = ", ".join(each for each in DEVICES if is_available(each))
    if device not in DEVICES:
        raise TensorcopyError(f"{device} cannot be used on this machine", got=device, allowed=usable, next="name one of them")
    usability, reason = state(device).usability, state(device).reason
    hidden = ", or hide it: CUDA_VISIBLE_DEVICES= measures without it" if device == "cuda" else ""
    what, remedy = {
        Usability.ABSENT: (
            f"{device} cannot be used on this machine",
            "install a torch or plugin that is built for it, and its driver",
        ),
        Usability.UNSUPPORTED: (f"this torch cannot use {device}", "name another release, or install a newer driver"),
        Usability.FAILING: (f"{device} is there and fails", f"free or repair it{hidden}"),
    }[usability]
    raise TensorcopyError(what, got=reason, allowed=usable, next=remedy)


def waiter(device: str) -> Callable[[], object]:
    """Return the cheapest function that waits until `device` has finished its queued work.

    On CUDA and XPU it is bound to this thread's current stream, and skips torch's Python wrappers: `torch.cuda.synchronize` takes 5 to 7 µs
    of Python, depending on the release, which a latency would contain. The CPU has no queue.
    """
    import torch

    if device == "cpu":
        return float  # the cheapest call that does nothing
    module = getattr(torch, device)
    if device == "mps":
        return module.synchronize  # type: ignore[no-any-return]
    stream = module.current_stream()
    return super(module.Stream, stream).synchronize  # type: ignore[no-any-return]


def wait(device: str) -> None:
    """Wait until `device` has finished its queued work."""
    waiter(device)()


def empty_cache(device: str) -> None:
    """Free the memory of a device that torch's allocator keeps for later tensors."""
    import torch

    getattr(getattr(torch, device, None), "empty_cache", float)()  # the CPU has none


def model(device: str) -> str:
    """Return the product name of `device`, such as "NVIDIA H200"."""
    import torch

    if device == "cpu":
        return cpu_model()
    if device == "mps":
        return f"{cpu_model()} GPU"
    return str(getattr(torch, device).get_device_name(0))


def memory(device: str) -> int | None:
    """Return the bytes that an accelerator can hold; None for the CPU, and where this torch does not report them."""
    import torch

    if device in ("cuda", "xpu"):
        return int(getattr(torch, device).get_device_properties(0).total_memory)
    report = getattr(torch.mps, "recommended_max_memory", None) if device == "mps" else None
    return None if report is None else int(report())


def cpu_model() -> str:
    """Return the processor's name as the operating system reports it."""
    for line in kernel_text("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
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


def main(arguments: Sequence[str], report_progress: object = None) -> dict[str, Any]:
    """Raise TensorcopyError where the device that is the first argument cannot be used.

    `python -m tensorcopy.worker.processes tensorcopy.worker.devices cuda` runs it in another interpreter.
    """
    require(arguments[0])
    return {"device": arguments[0]}
