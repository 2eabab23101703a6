"""Read the load and the settings of the host and of NVIDIA GPUs.

psutil reads the host, NVIDIA's management library the GPUs.

For MPS, XPU and ROCm only the host can be read. Reads only; starts nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pynvml

OBSERVATION = 2.0  # seconds over which the load of the processors is measured
BUSY = 0.2  # share of one processor above which a process is listed
MIG_INSTANCE = "CUDA_VISIBLE_DEVICES selects a MIG instance, which cannot be checked"

T = TypeVar("T")


@dataclass(frozen=True)
class Host:
    """The host's processors, memory and disk.

    cores : processors that this process may use
    busy : share of all processors that other processes use, 0 to 1
    busiest : names of processes that use more than `BUSY` of a processor
    memory, disk : free bytes
    governor : of the frequency; "" where it cannot be read
    boost : whether the frequency may rise above its base; None where that cannot be read
    battery : whether the machine runs on its battery
    """

    cores: int
    busy: float
    busiest: tuple[str, ...]
    memory: int
    disk: int
    governor: str
    boost: bool | None
    battery: bool


@dataclass(frozen=True)
class Gpu:
    """An NVIDIA GPU; bytes, megahertz and degrees Celsius.

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


def host(folder: Path) -> Host:
    """Measure the host for `OBSERVATION` seconds.

    folder : on the disk where environments will be installed
    """
    running = [process for process in psutil.process_iter(["name"]) if process.pid != os.getpid()]
    for process in running:
        _processor_share(process)  # the first reading starts the measurement
    busy = psutil.cpu_percent(interval=OBSERVATION) / 100
    shares: dict[str, float] = {}  # the largest share of the processes of a name
    for process in running:
        name = process.info["name"] or "?"
        shares[name] = max(_processor_share(process), shares.get(name, 0.0))
    while not folder.exists():
        folder = folder.parent
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    return Host(
        cores=len(psutil.Process().cpu_affinity()) if hasattr(psutil.Process, "cpu_affinity") else psutil.cpu_count() or 1,
        busy=busy,
        busiest=tuple(name for name, share in sorted(shares.items(), key=lambda item: -item[1]) if share >= BUSY),
        memory=psutil.virtual_memory().available,
        disk=psutil.disk_usage(str(folder)).free,
        governor=_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        boost=_boost(),
        battery=battery is not None and battery.power_plugged is False,  # None: unknown
    )


def gpus() -> tuple[list[Gpu], str]:
    """Return the visible NVIDIA GPUs, and the reason why there are none, or "".

    CUDA_VISIBLE_DEVICES hides GPUs from CUDA, though not from the driver. One that this process may not use, as in a
    container, is left out.
    """
    selection = os.environ.get("CUDA_VISIBLE_DEVICES")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return [], f"NVIDIA's management library: {error}"
    try:
        driver = pynvml.nvmlSystemGetDriverVersion()
        handles, denied = _handles()
        gpus = [_gpu(handle, driver) for handle in visible(handles, selection, _uuid)]
        if gpus or (denied and not handles):
            return gpus, denied if not gpus else ""
        if selection and selection.startswith("MIG-"):
            return [], MIG_INSTANCE
        return [], "CUDA_VISIBLE_DEVICES hides every GPU" if handles else "the driver lists no GPU"
    except pynvml.NVMLError as error:
        return [], f"NVIDIA's management library: {error}"
    finally:
        pynvml.nvmlShutdown()


def _handles() -> tuple[list[Any], str]:
    """Return the driver's GPUs, and why another one may not be used, or ""."""
    handles, denied = [], ""
    for index in range(pynvml.nvmlDeviceGetCount()):
        try:
            handles.append(pynvml.nvmlDeviceGetHandleByIndex(index))
        except pynvml.NVMLError_NoPermission as error:
            denied = f"NVIDIA's management library: {error}"
    return handles, denied


SLOWDOWN_REASONS = {
    "nvmlClocksEventReasonSwPowerCap": "power cap",
    "nvmlClocksEventReasonHwSlowdown": "hardware slowdown",
    "nvmlClocksEventReasonSwThermalSlowdown": "heat",
    "nvmlClocksEventReasonHwThermalSlowdown": "heat",
    "nvmlClocksEventReasonHwPowerBrakeSlowdown": "power brake",
}  # by the library's names


def visible(gpus: Sequence[T], selection: str | None, uuid_of: Callable[[T], str]) -> list[T]:
    """Return the GPUs that CUDA sees.

    gpus : in the driver's order
    selection : CUDA_VISIBLE_DEVICES, with numbers or beginnings of identifiers; CUDA ignores what follows a wrong one. None where unset
    """
    if selection is None:
        return list(gpus)
    selected: list[T] = []
    for name in map(str.strip, selection.split(",")):
        number = int(name) if name.isdecimal() else None
        matches = [gpu for index, gpu in enumerate(gpus) if index == number or (number is None and name and uuid_of(gpu).startswith(name))]
        if len(matches) != 1:
            break
        selected += matches
    return selected


def _uuid(device: Any) -> str:
    return str(_value_or(lambda: pynvml.nvmlDeviceGetUUID(device), ""))


def _processes(device: Any) -> tuple[tuple[str, ...], str]:
    """Return the names of other processes that hold memory of a GPU, and the reason why they cannot be listed, or ""."""
    try:
        rows = pynvml.nvmlDeviceGetComputeRunningProcesses(device)
    except pynvml.NVMLError as error:
        return (), str(error)
    return tuple(_process_name(row.pid) for row in rows if row.pid != os.getpid()), ""


def _gpu(device: Any, driver: str) -> Gpu:
    processes, hidden = _processes(device)
    reasons = _value_or(lambda: pynvml.nvmlDeviceGetCurrentClocksEventReasons(device), 0)
    return Gpu(
        name=pynvml.nvmlDeviceGetName(device),
        driver=driver,
        memory=pynvml.nvmlDeviceGetMemoryInfo(device).free,
        busy=_value_or(lambda: pynvml.nvmlDeviceGetUtilizationRates(device).gpu / 100, 0.0),
        processes=processes,
        clock=_value_or(lambda: pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_SM), 0),
        max_clock=_value_or(lambda: pynvml.nvmlDeviceGetMaxClockInfo(device, pynvml.NVML_CLOCK_SM), 0),
        temperature=_value_or(lambda: pynvml.nvmlDeviceGetTemperature(device, pynvml.NVML_TEMPERATURE_GPU), 0),
        persistent=bool(_value_or(lambda: pynvml.nvmlDeviceGetPersistenceMode(device), 1)),
        slowed_by=tuple(sorted({words for name, words in SLOWDOWN_REASONS.items() if reasons & getattr(pynvml, name)})),
        divided=bool(_value_or(lambda: pynvml.nvmlDeviceGetMigMode(device)[0], 0)),
        index=_value_or(lambda: pynvml.nvmlDeviceGetIndex(device), 0),
        capability=_value_or(lambda: tuple(pynvml.nvmlDeviceGetCudaComputeCapability(device)), None),
        hidden=hidden,
    )


def _value_or(read: Callable[[], T], default: T) -> T:
    """Read a value; return `default` where the GPU does not provide it."""
    try:
        return read()
    except pynvml.NVMLError:
        return default


def _process_name(pid: int) -> str:
    try:
        return str(psutil.Process(pid).name())
    except psutil.Error:
        return f"process {pid}"  # in another container


def _processor_share(process: psutil.Process) -> float:
    """Return the share of a processor that a process has used since the last call."""
    try:
        return float(process.cpu_percent()) / 100
    except psutil.Error:
        return 0.0  # it has ended


def _boost() -> bool | None:
    """Return whether boost is on; None where that cannot be read."""
    boost, no_turbo = _text("/sys/devices/system/cpu/cpufreq/boost"), _text("/sys/devices/system/cpu/intel_pstate/no_turbo")
    if not (boost or no_turbo):
        return None
    return boost == "1" or no_turbo == "0"


def _text(path: str) -> str:
    """Return a file's text, or "" where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""
