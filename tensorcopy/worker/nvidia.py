"""NVIDIA GPUs, read through NVIDIA's management library (NVML): clocks, limits, modes, load and processes.

`properties` describes the device that torch measures, for the provenance; `visible_gpus` those that CUDA sees, which select releases.
The library comes with the driver; pynvml calls it.
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

from tensorcopy.files import kernel_text

BINDINGS = "TENSORCOPY_PYNVML"  # the environment variable with the file of pynvml, for an environment of a release, which has none
NO_LIBRARY = "NVIDIA's management library"  # begins the reason why it cannot be used
MIG_INSTANCE = "CUDA_VISIBLE_DEVICES selects a MIG instance, which cannot be checked"
LOAD_SECONDS = 0.05  # an idle GPU lowers its clock, and raises it within some milliseconds of work

# of nvml.h: kinds of clocks, a sensor, and the bits of reasons for a lower clock
SM_CLOCK, MEMORY_CLOCK, GPU_SENSOR = 1, 2, 0
SLOWDOWN_REASONS = {0x4: "power cap", 0x8: "hardware slowdown", 0x20: "heat", 0x40: "heat", 0x80: "power brake"}

T = TypeVar("T")


@dataclass(frozen=True)
class Gpu:
    """An NVIDIA GPU; bytes, megahertz and degrees Celsius.

    driver : version of its driver, such as "580.65.06"
    free : bytes of its memory
    busy : share of the last second in which it computed, 0 to 1
    processes : names of other processes that hold memory of it
    clock, max_clock : current and highest frequency
    persistent : whether the driver stays loaded while the GPU is idle
    slowed_by : reasons for a reduced clock
    divided : whether it is divided into MIG instances
    index : the driver's number of it
    capability : compute capability; None where the driver does not report it
    hidden : why its processes cannot be listed; "" where they can
    """

    name: str
    driver: str
    free: int
    busy: float
    processes: tuple[str, ...]
    clock: int
    max_clock: int
    temperature: int
    persistent: bool
    slowed_by: tuple[str, ...]
    divided: bool
    index: int = 0
    capability: tuple[int, int] | None = None
    hidden: str = ""


def properties() -> dict[str, Any]:
    """Return what decides the speed of the current CUDA device; None for the unknown.

    They are "gpu" and "gpu_cache_mib", the size of its L2 cache. Its clock is read while it copies: it depends on heat and power.
    """
    import torch

    of_torch = torch.cuda.get_device_properties(torch.cuda.current_device())
    cache = getattr(of_torch, "L2_cache_size", None)
    with _management() as (library, _):
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
    with _management() as (library, _):
        return str(library.nvmlSystemGetDriverVersion()) if library else ""


def visible_gpus() -> tuple[list[Gpu], str]:
    """Return the NVIDIA GPUs that CUDA sees, and the reason why there are none, or "".

    CUDA_VISIBLE_DEVICES hides GPUs from CUDA, though not from the driver. One that this process may not use, as in a
    container, is left out.
    """
    selection = os.environ.get("CUDA_VISIBLE_DEVICES")
    with _management() as (library, missing):
        if library is None:
            return [], f"{NO_LIBRARY}: {missing}"
        handles, denied = [], ""
        for index in range(library.nvmlDeviceGetCount()):
            try:
                handles.append(library.nvmlDeviceGetHandleByIndex(index))
            except library.NVMLError as error:
                denied = str(error)
        gpus = [_gpu(library, handle) for handle in selected(handles, selection, library.nvmlDeviceGetUUID)]
    if gpus:
        return gpus, ""
    if denied and not handles:
        return [], f"{NO_LIBRARY}: {denied}"
    if selection and selection.startswith("MIG-"):
        return [], MIG_INSTANCE
    return [], "CUDA_VISIBLE_DEVICES hides every GPU" if handles else "the driver lists no GPU"


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


def _gpu(library: Any, handle: Any) -> Gpu:
    """Return the readings of a GPU; where one cannot be read, what disturbs nothing."""
    read = partial(_read, library, handle)
    memory, load = read("MemoryInfo"), read("UtilizationRates")
    reasons = read("CurrentClocksEventReasons") or 0
    try:
        running, hidden = library.nvmlDeviceGetComputeRunningProcesses_v3(handle), ""
    except library.NVMLError as error:
        running, hidden = [], str(error)
    pids = [process.pid for process in running if process.pid != os.getpid()]
    return Gpu(
        name=read("Name") or "",
        driver=library.nvmlSystemGetDriverVersion(),
        free=memory.free if memory else 0,
        busy=load.gpu / 100 if load else 0.0,
        processes=tuple(kernel_text(f"/proc/{pid}/comm") or f"process {pid}" for pid in pids),  # the name may be hidden in a container
        clock=read("ClockInfo", SM_CLOCK) or 0,
        max_clock=read("MaxClockInfo", SM_CLOCK) or 0,
        temperature=read("Temperature", GPU_SENSOR) or 0,
        persistent=read("PersistenceMode") != 0,
        slowed_by=tuple(sorted({words for bit, words in SLOWDOWN_REASONS.items() if reasons & bit})),
        divided=bool(_is_on(read("MigMode"))),
        index=read("Index") or 0,
        capability=read("CudaComputeCapability"),
        hidden=hidden,
    )


@contextmanager
def _management() -> Iterator[tuple[Any, str]]:
    """Yield pynvml, with the library initialized, and ""; None and the reason where it cannot be used."""
    library = _bindings()
    try:
        library.nvmlInit()
    except library.NVMLError_LibraryNotFound:
        yield None, "it is not installed"
    except library.NVMLError as error:
        yield None, str(error)
    else:
        try:
            yield library, ""
        finally:
            with suppress(library.NVMLError):
                library.nvmlShutdown()


def _bindings() -> Any:
    """Import pynvml: the installed one, or the program's, which is one file and needs Python only."""
    with suppress(ModuleNotFoundError):
        return importlib.import_module("pynvml")
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
