"""The NVIDIA GPU that is measured: its clocks, limits and modes, and its driver.

torch names the device, NVIDIA's management library (NVML) reads it. A value that cannot be read is None.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CDLL, byref, c_char_p, c_uint, c_void_p, create_string_buffer
from time import monotonic
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
SM_CLOCK, MEMORY_CLOCK = 1, 2  # nvmlClockType_t
LOAD_SECONDS = 0.05  # an idle GPU lowers its clock, and raises it within some milliseconds of work
MILLIWATT = 1e-3  # of a watt


def collect() -> dict[str, Any]:
    """Return what decides the speed of the current CUDA device, as result.schema.json describes it under "gpu"."""
    import torch

    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    with _management() as library:
        handle = _handle(library, properties) if library else None
        return {
            "index": _unsigned(library, "nvmlDeviceGetIndex", handle),
            "capability": f"{properties.major}.{properties.minor}",
            "memory_gib": round(properties.total_memory / 2**30, 1),
            "clock_mhz": _clock_under_load(library, handle),
            "max_clock_mhz": _unsigned(library, "nvmlDeviceGetMaxClockInfo", handle, SM_CLOCK),
            "max_memory_clock_mhz": _unsigned(library, "nvmlDeviceGetMaxClockInfo", handle, MEMORY_CLOCK),
            "application_clock_mhz": _unsigned(library, "nvmlDeviceGetApplicationsClock", handle, SM_CLOCK),
            "power_limit_w": _watts(_unsigned(library, "nvmlDeviceGetEnforcedPowerLimit", handle)),
            "ecc": _is_on(library, "nvmlDeviceGetEccMode", handle),
            "mig": _is_on(library, "nvmlDeviceGetMigMode", handle),
        }


def _clock_under_load(library: Any, handle: Any) -> int | None:
    """Return the clock while the device copies, which depends on its heat and power, and decides the times."""
    import torch

    source, target = torch.ones(2, 2**16, device="cuda")
    end = monotonic() + LOAD_SECONDS
    while handle is not None and monotonic() < end:
        for _ in range(10):
            target.copy_(source)
        torch.cuda.synchronize()
    return _unsigned(library, "nvmlDeviceGetClockInfo", handle, SM_CLOCK)


def cache_mib() -> float | None:
    """Return the size of the current device's L2 cache; None where this torch does not report it."""
    import torch

    nbytes = getattr(torch.cuda.get_device_properties(torch.cuda.current_device()), "L2_cache_size", None)
    return None if nbytes is None else round(nbytes / 2**20, 1)


def driver() -> str:
    """Return the version of NVIDIA's driver; "" without one."""
    with _management() as library:
        text = create_string_buffer(96)
        if library is None or _call(library, "nvmlSystemGetDriverVersion", text, c_uint(len(text))) != 0:
            return ""
        return text.value.decode()


@contextmanager
def _management() -> Iterator[Any]:
    """Yield NVIDIA's management library, initialized; None where there is none."""
    try:
        library = CDLL(LIBRARY)
    except OSError:
        yield None
        return
    if _call(library, "nvmlInit_v2") != 0:
        yield None
        return
    try:
        yield library
    finally:
        _call(library, "nvmlShutdown")


def _handle(library: Any, properties: Any) -> Any:
    """Return NVML's handle of torch's device; None where there is none.

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


def _unsigned(library: Any, function: str, handle: Any, *arguments: int) -> int | None:
    """Return the number that an NVML function writes; None where it cannot be read."""
    value = c_uint()
    if handle is None or _call(library, function, handle, *map(c_uint, arguments), byref(value)) != 0:
        return None
    return value.value


def _is_on(library: Any, function: str, handle: Any) -> bool | None:
    """Return a mode, of which NVML writes the current and the pending value."""
    current, pending = c_uint(), c_uint()
    if handle is None or _call(library, function, handle, byref(current), byref(pending)) != 0:
        return None
    return bool(current.value)


def _watts(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else round(milliwatts * MILLIWATT, 1)


def _call(library: Any, function: str, *arguments: Any) -> int:
    """Call a function of NVML, and return its status: 0 is success, -1 a function that this driver does not have."""
    try:
        return int(getattr(library, function)(*arguments))
    except AttributeError:
        return -1
