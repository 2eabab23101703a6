"""NVIDIA GPUs, read through NVIDIA's management library (NVML): clocks, limits, modes, load and processes.

`properties` describes the device that torch measures, for the provenance; `visible_gpus` those that CUDA sees, for `tensorcopy machine`.
The library comes with the driver. It is called through ctypes, because a release's environment has no package for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import CDLL, Structure, byref, c_char_p, c_int, c_uint, c_ulonglong, c_void_p, create_string_buffer
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

from tensorcopy.worker.files import kernel_text

LIBRARY = "nvml.dll" if os.name == "nt" else "libnvidia-ml.so.1"
NO_LIBRARY = "NVIDIA's management library"  # begins the reason why it cannot be used
MIG_INSTANCE = "CUDA_VISIBLE_DEVICES selects a MIG instance, which cannot be checked"
MISSING = -1  # the status of a function that this driver's library does not have
MAX_TEXT = 96  # bytes of a name, an identifier or a version
MAX_PROCESSES = 256
LOAD_SECONDS = 0.05  # an idle GPU lowers its clock, and raises it within some milliseconds of work

# of nvml.h: kinds of clocks, a sensor, and the bits of reasons for a lower clock
SM_CLOCK, MEMORY_CLOCK, GPU_SENSOR = 1, 2, 0
SLOWDOWN_REASONS = {0x4: "power cap", 0x8: "hardware slowdown", 0x20: "heat", 0x40: "heat", 0x80: "power brake"}

T = TypeVar("T")


class _Process(Structure):
    """nvmlProcessInfo_t."""

    _fields_ = (("pid", c_uint), ("nbytes", c_ulonglong), ("gpu_instance", c_uint), ("compute_instance", c_uint))


@dataclass(frozen=True)
class Gpu:
    """An NVIDIA GPU; bytes, megahertz and degrees Celsius.

    driver : version of its driver, such as "580.65.06"
    memory : free bytes
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
    memory: int
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


@dataclass(frozen=True)
class _Device:
    """A device of the library. A reading is None where it cannot be read, and where there is no device."""

    library: Any
    handle: c_void_p | None

    def call(self, function: str, *arguments: Any) -> int:
        return MISSING if self.handle is None else _call(self.library, function, self.handle, *arguments)

    def numbers(self, function: str, *arguments: int, kinds: Sequence[Any] = (c_uint,)) -> list[int] | None:
        """Return the numbers that a function writes, by default one unsigned integer."""
        values = [kind() for kind in kinds]
        status = self.call(function, *map(c_uint, arguments), *map(byref, values))
        return [value.value for value in values] if status == 0 else None

    def number(self, function: str, *arguments: int, kind: Any = c_uint) -> int | None:
        values = self.numbers(function, *arguments, kinds=(kind,))
        return values[0] if values else None

    def is_on(self, function: str) -> bool | None:
        """Return a mode, of which the library writes the current and the pending value."""
        values = self.numbers(function, kinds=(c_uint, c_uint))
        return bool(values[0]) if values else None

    def array(self, function: str, kind: Any) -> Any:
        """Return an array, or a struct of numbers of one kind."""
        values = kind()
        return values if self.call(function, byref(values)) == 0 else None

    def text(self, function: str) -> str:
        buffer = create_string_buffer(MAX_TEXT)
        return buffer.value.decode() if self.call(function, buffer, c_uint(MAX_TEXT)) == 0 else ""


def properties() -> dict[str, Any]:
    """Return what decides the speed of the current CUDA device; None for the unknown.

    They are "gpu" and "gpu_cache_mib", the size of its L2 cache. Its clock is read while it copies: it depends on heat and power.
    """
    import torch

    of_torch = torch.cuda.get_device_properties(torch.cuda.current_device())
    cache = getattr(of_torch, "L2_cache_size", None)
    with _management() as (library, _):
        device = _Device(library, _handle(library, of_torch) if library else None)
        milliwatts = device.number("nvmlDeviceGetEnforcedPowerLimit")
        source, target = torch.ones(2, 2**16, device="cuda")
        end = monotonic() + LOAD_SECONDS
        while device.handle is not None and monotonic() < end:
            for _ in range(10):
                target.copy_(source)
            torch.cuda.synchronize()
        gpu = {
            "index": device.number("nvmlDeviceGetIndex"),
            "capability": f"{of_torch.major}.{of_torch.minor}",
            "memory_gib": round(of_torch.total_memory / 2**30, 1),
            "clock_mhz": device.number("nvmlDeviceGetClockInfo", SM_CLOCK),
            "max_clock_mhz": device.number("nvmlDeviceGetMaxClockInfo", SM_CLOCK),
            "max_memory_clock_mhz": device.number("nvmlDeviceGetMaxClockInfo", MEMORY_CLOCK),
            "application_clock_mhz": device.number("nvmlDeviceGetApplicationsClock", SM_CLOCK),
            "power_limit_w": None if milliwatts is None else round(milliwatts / 1000, 1),
            "ecc": device.is_on("nvmlDeviceGetEccMode"),
            "mig": device.is_on("nvmlDeviceGetMigMode"),
        }
    return {"gpu": gpu, "gpu_cache_mib": None if cache is None else round(cache / 2**20, 1)}


def driver() -> str:
    """Return the version of NVIDIA's driver; "" without one."""
    with _management() as (library, _):
        return _driver(library) if library else ""


def visible_gpus() -> tuple[list[Gpu], str]:
    """Return the NVIDIA GPUs that CUDA sees, and the reason why there are none, or "".

    CUDA_VISIBLE_DEVICES hides GPUs from CUDA, though not from the driver. One that this process may not use, as in a
    container, is left out.
    """
    selection = os.environ.get("CUDA_VISIBLE_DEVICES")
    with _management() as (library, missing):
        if library is None:
            return [], f"{NO_LIBRARY}: {missing}"
        count = c_uint()
        denied = _error_of(library, _call(library, "nvmlDeviceGetCount_v2", byref(count)))
        devices = []
        for index in range(count.value):
            handle = c_void_p()
            status = _call(library, "nvmlDeviceGetHandleByIndex_v2", c_uint(index), byref(handle))
            if status == 0:
                devices.append(_Device(library, handle))
            denied = _error_of(library, status) or denied
        gpus = [_read(device, _driver(library)) for device in selected(devices, selection, lambda device: device.text("nvmlDeviceGetUUID"))]
    if gpus:
        return gpus, ""
    if denied and not devices:
        return [], f"{NO_LIBRARY}: {denied}"
    if selection and selection.startswith("MIG-"):
        return [], MIG_INSTANCE
    return [], "CUDA_VISIBLE_DEVICES hides every GPU" if devices else "the driver lists no GPU"


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


def _read(device: _Device, driver: str) -> Gpu:
    """Return the readings of a GPU; where one cannot be read, what disturbs nothing."""
    memory = device.array("nvmlDeviceGetMemoryInfo", c_ulonglong * 3)  # total, free and used
    load = device.array("nvmlDeviceGetUtilizationRates", c_uint * 2)  # percent of the time, of the processors and of the memory
    capability = device.numbers("nvmlDeviceGetCudaComputeCapability", kinds=(c_int, c_int))
    reasons = device.number("nvmlDeviceGetCurrentClocksEventReasons", kind=c_ulonglong) or 0
    count, running = c_uint(MAX_PROCESSES), (_Process * MAX_PROCESSES)()
    hidden = _error_of(device.library, device.call("nvmlDeviceGetComputeRunningProcesses_v3", byref(count), running))
    pids = [] if hidden else [process.pid for process in running[: count.value] if process.pid != os.getpid()]
    return Gpu(
        name=device.text("nvmlDeviceGetName"),
        driver=driver,
        memory=memory[1] if memory else 0,
        busy=load[0] / 100 if load else 0.0,
        processes=tuple(kernel_text(f"/proc/{pid}/comm") or f"process {pid}" for pid in pids),  # the name may be hidden in a container
        clock=device.number("nvmlDeviceGetClockInfo", SM_CLOCK) or 0,
        max_clock=device.number("nvmlDeviceGetMaxClockInfo", SM_CLOCK) or 0,
        temperature=device.number("nvmlDeviceGetTemperature", GPU_SENSOR) or 0,
        persistent=device.number("nvmlDeviceGetPersistenceMode") != 0,
        slowed_by=tuple(sorted({words for bit, words in SLOWDOWN_REASONS.items() if reasons & bit})),
        divided=bool(device.is_on("nvmlDeviceGetMigMode")),
        index=device.number("nvmlDeviceGetIndex") or 0,
        capability=(capability[0], capability[1]) if capability else None,
        hidden=hidden,
    )


@contextmanager
def _management() -> Iterator[tuple[Any, str]]:
    """Yield NVIDIA's management library, initialized, and ""; None and the reason where it cannot be used."""
    try:
        library = CDLL(LIBRARY)
        library.nvmlErrorString.restype = c_char_p
    except (OSError, AttributeError):
        yield None, "it is not installed"
        return
    reason = _error_of(library, _call(library, "nvmlInit_v2"))
    if reason:
        yield None, reason
        return
    try:
        yield library, ""
    finally:
        _call(library, "nvmlShutdown")


def _handle(library: Any, properties: Any) -> c_void_p | None:
    """Return the library's handle of torch's device; None where there is none.

    NVML numbers all devices, CUDA those of CUDA_VISIBLE_DEVICES. A newer torch reports a device's address or its identifier; for an older
    one, the first visible device is taken.
    """
    handle = c_void_p()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    if hasattr(properties, "pci_bus_id"):
        address = f"{properties.pci_domain_id:08x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0"
        status = _call(library, "nvmlDeviceGetHandleByPciBusId_v2", c_char_p(address.encode()), byref(handle))
    elif hasattr(properties, "uuid") or not visible.isdecimal():
        identifier = f"GPU-{properties.uuid}" if hasattr(properties, "uuid") else visible
        status = _call(library, "nvmlDeviceGetHandleByUUID", c_char_p(identifier.encode()), byref(handle))
    else:
        status = _call(library, "nvmlDeviceGetHandleByIndex_v2", c_uint(int(visible)), byref(handle))
    return handle if status == 0 else None


def _driver(library: Any) -> str:
    text = create_string_buffer(MAX_TEXT)
    return text.value.decode() if _call(library, "nvmlSystemGetDriverVersion", text, c_uint(MAX_TEXT)) == 0 else ""


def _call(library: Any, function: str, *arguments: Any) -> int:
    """Call a function of the library, and return its status: 0 is success."""
    try:
        return int(getattr(library, function)(*arguments))
    except AttributeError:
        return MISSING


def _error_of(library: Any, status: int) -> str:
    """Return what a status of the library means; "" for success."""
    if status in (0, MISSING):
        return "this driver does not report it" if status else ""
    return str(library.nvmlErrorString(status).decode())
