"""What a machine is doing right now: the host by psutil, NVIDIA's GPUs by their management library. Reads only; starts nothing.

For MPS, XPU and ROCm there is nothing to ask beyond the host: `gpus` says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pynvml

WATCHED = 2.0  # seconds during which the processors are watched
BUSY = 0.2  # of a processor, from which a process is named

T = TypeVar("T")


@dataclass(frozen=True)
class Host:
    """The machine itself.

    cores : processors that this process may run on
    busy : share of all processors that was used while nothing of ours ran, 0 to 1
    busiest : names of the processes that used a noteworthy part of a processor
    memory, disk : bytes that are free; the disk is the one of the folder that was asked about
    governor : of the frequency; "" where it cannot be read
    boost : whether the frequency may rise above its base; None where that cannot be read
    battery : whether it runs on one
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

    busy : share of the last second in which it computed, 0 to 1
    others : processes that hold memory of it
    slowed : why it runs slower than it could, in NVIDIA's words
    """

    name: str
    driver: str
    memory: int
    busy: float
    others: tuple[str, ...]
    clock: int
    most_clock: int
    temperature: int
    persistent: bool
    slowed: tuple[str, ...]
    divided: bool


def host(folder: Path) -> Host:
    """Watch the host for `WATCHED` seconds. folder : on the disk where environments go."""
    running = [process for process in psutil.process_iter(["name"]) if process.pid != os.getpid()]
    for process in running:
        _share(process)  # the first reading begins the watch
    busy = psutil.cpu_percent(interval=WATCHED) / 100
    shares = {process.info["name"] or "?": _share(process) for process in running}
    while not folder.exists():
        folder = folder.parent
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    return Host(
        cores=len(psutil.Process().cpu_affinity()) if hasattr(psutil.Process, "cpu_affinity") else psutil.cpu_count() or 1,
        busy=busy,
        busiest=tuple(name for name, share in sorted(shares.items(), key=lambda one: -one[1]) if share >= BUSY),
        memory=psutil.virtual_memory().available,
        disk=psutil.disk_usage(str(folder)).free,
        governor=_said("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        boost=_boost(),
        battery=battery is not None and not battery.power_plugged,
    )


def gpus() -> tuple[list[Gpu], str]:
    """NVIDIA's GPUs, and why there are none; "" where there are."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return [], f"NVIDIA's management library: {error}"
    try:
        driver = pynvml.nvmlSystemGetDriverVersion()
        found = [_gpu(pynvml.nvmlDeviceGetHandleByIndex(index), driver) for index in range(pynvml.nvmlDeviceGetCount())]
        return found, "" if found else "the driver shows no GPU"
    except pynvml.NVMLError as error:
        return [], f"NVIDIA's management library: {error}"
    finally:
        pynvml.nvmlShutdown()


SLOWED = {
    "nvmlClocksEventReasonSwPowerCap": "power cap",
    "nvmlClocksEventReasonHwSlowdown": "hardware slowdown",
    "nvmlClocksEventReasonSwThermalSlowdown": "heat",
    "nvmlClocksEventReasonHwThermalSlowdown": "heat",
    "nvmlClocksEventReasonHwPowerBrakeSlowdown": "power brake",
}  # the library's names of what makes times longer


def _gpu(device: Any, driver: str) -> Gpu:
    reasons = _asked(lambda: pynvml.nvmlDeviceGetCurrentClocksEventReasons(device), 0)
    return Gpu(
        name=pynvml.nvmlDeviceGetName(device),
        driver=driver,
        memory=pynvml.nvmlDeviceGetMemoryInfo(device).free,
        busy=_asked(lambda: pynvml.nvmlDeviceGetUtilizationRates(device).gpu / 100, 0.0),
        others=tuple(_named(one.pid) for one in pynvml.nvmlDeviceGetComputeRunningProcesses(device) if one.pid != os.getpid()),
        clock=_asked(lambda: pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_SM), 0),
        most_clock=_asked(lambda: pynvml.nvmlDeviceGetMaxClockInfo(device, pynvml.NVML_CLOCK_SM), 0),
        temperature=_asked(lambda: pynvml.nvmlDeviceGetTemperature(device, pynvml.NVML_TEMPERATURE_GPU), 0),
        persistent=bool(_asked(lambda: pynvml.nvmlDeviceGetPersistenceMode(device), 1)),
        slowed=tuple(sorted({words for name, words in SLOWED.items() if reasons & getattr(pynvml, name)})),
        divided=bool(_asked(lambda: pynvml.nvmlDeviceGetMigMode(device)[0], 0)),
    )


def _asked(question: Callable[[], T], otherwise: T) -> T:
    """The answer; not every GPU and not every user is given one."""
    try:
        return question()
    except pynvml.NVMLError:
        return otherwise


def _named(pid: int) -> str:
    try:
        return str(psutil.Process(pid).name())
    except psutil.Error:
        return f"process {pid}"  # another container's


def _share(process: psutil.Process) -> float:
    """Of one processor, since the last reading."""
    try:
        return float(process.cpu_percent()) / 100
    except psutil.Error:
        return 0.0  # it has ended


def _boost() -> bool | None:
    boost, no_turbo = _said("/sys/devices/system/cpu/cpufreq/boost"), _said("/sys/devices/system/cpu/intel_pstate/no_turbo")
    if not (boost or no_turbo):
        return None
    return boost == "1" or no_turbo == "0"


def _said(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""
