"""NVIDIA GPUs, read through NVIDIA's management library (NVML), which comes with the driver; pynvml calls it.

`properties` describes the device that torch measures, for the provenance; `visible_gpus` those that CUDA sees, which select releases.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from time import monotonic
from typing import Any, TypeVar

BINDINGS = "TENSORCOPY_PYNVML"  # the environment variable with the file of pynvml, for an environment of a release, which has none
LOAD_SECONDS = 0.05  # an idle GPU lowers its clock, and raises it within some milliseconds of work
SM_CLOCK, MEMORY_CLOCK = 1, 2  # kinds of clocks, of nvml.h

T = TypeVar("T")


@dataclass(frozen=True)
class Gpu:
    """An NVIDIA GPU."""

    name: str
    driver: str  # version of its driver, such as "580.65.06"
    capability: tuple[int, int] | None = None  # compute capability; None where the driver does not report it


def properties() -> dict[str, Any]:
    """Return what decides the speed of the current CUDA device; None for the unknown.

    They are "gpu" and "gpu_cache_mib", the size of its L2 cache. Its clock is read while it copies: it depends on heat and power.
    """
    import torch

    of_torch = torch.cuda.get_device_properties(torch.cuda.current_device())
    cache = getattr(of_torch, "L2_cache_size", None)
    with _management() as library:
        read = partial(_read, library, _handle(library, of_torch) if library else None)
        milliwatts = read("EnforcedPowerLimit")
        source, target = torch.ones(2, 2**16, device="cuda")
        end = monotonic() + LOAD_SECONDS
        while library and monotonic() < end:
            for _ in range(10):
                target.copy_(source)
            torch.cuda.synchronize()
        gpu = {
            "index": read("Index"),
            "capability": f"{of_torch.major}.{of_torch.minor}",
            "memory_gib": round(of_torch.total_memory / 2**30, 1),
            "clock_mhz": read("ClockInfo", SM_CLOCK),
            "max_clock_mhz": read("MaxClockInfo", SM_CLOCK),
            "max_memory_clock_mhz": read("MaxClockInfo", MEMORY_CLOCK),
            "application_clock_mhz": read("ApplicationsClock", SM_CLOCK),
            "power_limit_w": None if milliwatts is None else round(milliwatts / 1000, 1),
            "ecc": _is_on(read("EccMode")),
            "mig": _is_on(read("MigMode")),
        }
    return {"gpu": gpu, "gpu_cache_mib": None if cache is None else round(cache / 2**20, 1)}


def driver_version(text: str) -> str:
    """Return the version of a driver in what the kernel or the library says of it: the whole text where it has none."""
    version = re.search(r"(?<![\w.])\d+\.\d+(\.\d+)?(?![\w.])", text)
    return version[0] if version else text


def driver() -> str:
    """Return the version of NVIDIA's driver; "" without one."""
    with _management() as library:
        return str(library.nvmlSystemGetDriverVersion()) if library else ""


def visible_gpus() -> list[Gpu]:
    """Return the NVIDIA GPUs that CUDA sees: CUDA_VISIBLE_DEVICES hides some from it, though not from the driver."""
    with _management() as library:
        if library is None:
            return []
        handles = []
        for index in range(library.nvmlDeviceGetCount()):
            with suppress(library.NVMLError):  # this process may not use it, as in a container
                handles.append(library.nvmlDeviceGetHandleByIndex(index))
        driver = str(library.nvmlSystemGetDriverVersion())
        seen = selected(handles, os.environ.get("CUDA_VISIBLE_DEVICES"), library.nvmlDeviceGetUUID)
        return [Gpu(_read(library, each, "Name") or "", driver, _read(library, each, "CudaComputeCapability")) for each in seen]


def selected(gpus: Sequence[T], selection: str | None, uuid_of: Callable[[T], str]) -> list[T]:
    """Return the GPUs that CUDA sees.

    gpus : in the driver's order
    selection : CUDA_VISIBLE_DEVICES, with numbers or beginnings of identifiers; CUDA ignores what follows a wrong one. None where unset
    """
    if selection is None:
        return list(gpus)
    chosen: list[T] = []
    for name in map(str.strip, selection.split(",")):
        number = int(name) if name.isdecimal() else None
        matches = [gpu for index, gpu in enumerate(gpus) if index == number or (number is None and name and uuid_of(gpu).startswith(name))]
        if len(matches) != 1:
            break
        chosen += matches
    return chosen


@contextmanager
def _management() -> Iterator[Any]:
    """Yield pynvml, with the library initialized; None where it cannot be used, or an interpreter has none."""
    library = _bindings()
    if library is None:
        yield None
        return
    try:
        library.nvmlInit()
    except library.NVMLError:
        yield None
        return
    try:
        yield library
    finally:
        with suppress(library.NVMLError):
            library.nvmlShutdown()


def _bindings() -> Any:
    """Import pynvml: the installed one, or the program's, which is one file and needs Python only; None without either."""
    with suppress(ModuleNotFoundError):
        return importlib.import_module("pynvml")
    if BINDINGS not in os.environ:
        return None
    spec = spec_from_file_location("pynvml", os.environ[BINDINGS])
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["pynvml"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _read(library: Any, handle: Any, name: str, *arguments: int) -> Any:
    """Return what `nvmlDeviceGet{name}` reads of a device; None where it cannot be read, and where there is no device."""
    if handle is not None:
        with suppress(library.NVMLError):
            return getattr(library, f"nvmlDeviceGet{name}")(handle, *arguments)
    return None


def _is_on(modes: Sequence[int] | None) -> bool | None:
    """Return a mode, of which the library reads the current and the pending value."""
    return bool(modes[0]) if modes else None


def _handle(library: Any, properties: Any) -> Any:
    """Return the library's handle of torch's device; None where there is none.

    NVML numbers all devices, CUDA those of CUDA_VISIBLE_DEVICES. A newer torch reports a device's address or its identifier; for an older
    one, the first visible device is taken.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    with suppress(library.NVMLError):
        if hasattr(properties, "pci_bus_id"):
            address = f"{properties.pci_domain_id:08x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0"
            return library.nvmlDeviceGetHandleByPciBusId(address)
        if hasattr(properties, "uuid") or not visible.isdecimal():
            return library.nvmlDeviceGetHandleByUUID(f"GPU-{properties.uuid}" if hasattr(properties, "uuid") else visible)
        return library.nvmlDeviceGetHandleByIndex(int(visible))
    return None
