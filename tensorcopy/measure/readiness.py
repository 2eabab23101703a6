"""Whether a machine is fit for measuring: the load and the settings of its host and its NVIDIA GPUs, and what to change.

psutil reads the host, `worker.nvidia` the GPUs; for MPS, XPU and ROCm only the host can be read. A finding is refused where it would make
results wrong or the run fail. It is a warning where it makes times vary more, so that verdicts need more launches.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from math import exp, log
from pathlib import Path
from statistics import median
from time import perf_counter

import psutil

from tensorcopy.files import kernel_text
from tensorcopy.numbers import percent
from tensorcopy.releases import environments
from tensorcopy.worker.nvidia import MIG_INSTANCE, Gpu

OBSERVATION = 2.0  # seconds over which the load of the processors is measured
PROCESSORS = Path("/sys/devices/system/cpu")  # Linux's settings of them
BUSY = 0.2  # share of one processor above which a process is listed
GIB = 2**30
MEMORY, DEVICE_MEMORY = 2 * GIB, 4 * GIB  # torch, and the largest suite's tensors three times over; 1 GiB each for a device
DISK = max(environments.GIGABYTES.values()) * 10**9  # bytes: the largest environment with CUDA
GPU_MEMORY = 4 * GIB  # the largest suite's tensor four times over
LOAD_WARNING, LOAD_REFUSED = 0.1, 0.5  # share of all processors that other processes use
GPU_BUSY = 0.05
LOOP = 20_000  # additions of a loop: half a millisecond, so that most end before the scheduler lets another process run
WINDOW = 20  # loops whose fastest counts: interrupts and other processes only make some of them slower
LEAST_RATIO = 1.15  # of two levels: a clock that follows load and temperature moves by less within two seconds
LEAST_SHARE = 0.05  # of the time that each level takes
LEAST_DISTANCE = 4  # of two levels, in median deviations of the windows within them: a clock that drifts has none


@dataclass(frozen=True)
class Speeds:
    """The speeds of a processor while the same loop ran again and again.

    ratio : the time of the loop at the slow level over that at the fast one; 1 for a single level
    slow : the share of the time at the slow level
    """

    ratio: float = 1.0
    slow: float = 0.0


@dataclass(frozen=True)
class Host:
    """The host's processors, memory and disk.

    busy : share of all processors that other processes use, 0 to 1
    busiest : names of processes that use more than `BUSY` of a processor
    memory, disk : free bytes
    governor : of the frequency; "" where it cannot be read
    boost : whether the frequency may rise above its base; None where that cannot be read
    battery : whether the machine runs on its battery
    speeds : of a processor, see `speeds`
    """

    busy: float
    busiest: tuple[str, ...]
    memory: int
    disk: int
    governor: str
    boost: bool | None
    battery: bool
    speeds: Speeds = Speeds()


class Level(str, Enum):
    """The severity of a condition."""

    OK = "ok"
    WARNING = "warning"
    REFUSED = "refused"


@dataclass(frozen=True)
class Condition:
    """A property of the machine and its severity.

    advice : what to do about it; "" where it is OK
    """

    subject: str
    observed: str
    level: Level
    advice: str = ""


def host(folder: Path, *, seconds: float = OBSERVATION, processors: Path = PROCESSORS) -> Host:
    """Measure the load of the host for some seconds, and then the speeds of a processor for as long.

    folder : on the disk where environments will be installed
    processors : the folder of their settings
    """
    running = [process for process in psutil.process_iter(["name"]) if process.pid != os.getpid()]
    for process in running:
        _processor_share(process)  # the first reading starts the measurement
    busy = psutil.cpu_percent(interval=seconds) / 100
    shares = [(process.info["name"] or "?", _processor_share(process)) for process in running]
    while not folder.exists():
        folder = folder.parent
    boost, no_turbo = (kernel_text(processors / name) for name in ("cpufreq/boost", "intel_pstate/no_turbo"))
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    return Host(
        busy=busy,
        busiest=busiest(shares),
        memory=psutil.virtual_memory().available,
        disk=psutil.disk_usage(str(folder)).free,
        governor=kernel_text(processors / "cpu0/cpufreq/scaling_governor"),
        boost=None if not (boost or no_turbo) else boost == "1" or no_turbo == "0",
        battery=battery is not None and battery.power_plugged is False,  # None: unknown
        speeds=speeds(loop_times(seconds)),
    )


def busiest(shares: Sequence[tuple[str, float]]) -> tuple[str, ...]:
    """Return the names of processes that use more than `BUSY` of a processor, the busiest first; several may have one name."""
    return tuple(dict.fromkeys(name for name, share in sorted(shares, key=lambda item: -item[1]) if share >= BUSY))


def loop_times(seconds: float, clock: Callable[[], float] = perf_counter) -> list[float]:
    """Return the times that a loop of Python takes, again and again for some seconds."""
    times, end = [], clock() + seconds
    while (start := clock()) < end:
        total = 0
        for number in range(LOOP):
            total += number
        times.append(clock() - start)
    return times


def speeds(times: Sequence[float]) -> Speeds:
    """Return the speeds that the times of a loop show, in order: two levels, or one.

    The hardware thread of a virtual machine is slower for seconds at a time while the other one of its core is busy. The fastest loops of
    short windows are divided where the two parts vary least within themselves.
    """
    fastest = sorted(log(min(times[start : start + WINDOW])) for start in range(0, len(times) - WINDOW + 1, WINDOW))
    n = len(fastest)
    least = max(2, round(LEAST_SHARE * n))
    cuts = [(_deviation(fastest[:cut]) + _deviation(fastest[cut:]), cut) for cut in range(least, n - least + 1)]
    if not cuts:
        return Speeds()
    _, cut = min(cuts)
    fast, slow = fastest[:cut], fastest[cut:]
    distance = median(slow) - median(fast)
    within = median([abs(each - median(part)) for part in (fast, slow) for each in part])
    if distance < max(log(LEAST_RATIO), LEAST_DISTANCE * within):
        return Speeds()
    return Speeds(exp(distance), len(slow) / n)


def _deviation(values: Sequence[float]) -> float:
    """Return the sum of the distances from the median."""
    middle = median(values)
    return sum(abs(value - middle) for value in values)


def _processor_share(process: psutil.Process) -> float:
    """Return the share of a processor that a process has used since the last call."""
    try:
        return float(process.cpu_percent()) / 100
    except psutil.Error:
        return 0.0  # it has ended


def findings(host: Host, gpus: Sequence[Gpu], no_gpu: str, device: str) -> list[Condition]:
    """Check a machine for measuring on `device` ("cpu" or "cuda").

    no_gpu : the reason why `gpus` is empty
    """
    found: list[Condition] = []

    def report(subject: str, observed: str, advice: str, *, warning: bool = False, refused: bool = False) -> None:
        level = Level.REFUSED if refused else Level.WARNING if warning else Level.OK
        found.append(Condition(subject, observed, level, "" if level is Level.OK else advice))

    names = ", ".join(host.busiest[:5])
    load = f"{percent(host.busy, 0)} of the processors in use" + (f", by {names}" if names else "")
    wait = f"wait until {names or 'the load'} has ended"
    report("other load", load, wait, warning=host.busy >= LOAD_WARNING, refused=host.busy >= LOAD_REFUSED)
    memory = MEMORY if device == "cpu" else DEVICE_MEMORY
    report("memory", _free(host.memory), f"{memory // GIB} GiB are needed", refused=host.memory < memory)
    report("disk", _free(host.disk), f"a torch with CUDA takes up to {DISK / GIB:.1f} GiB: --environments 2", warning=host.disk < DISK)
    frequency = (host.governor or "unknown") + {True: ", boost on", False: ", boost off", None: ""}[host.boost]
    report("frequency", frequency, "cpupower frequency-set -g performance", warning=host.governor not in ("", "performance"))
    two = host.speeds.ratio > 1
    level = f"two levels: a loop takes {host.speeds.ratio:.2f} times as long for {percent(host.speeds.slow, 0)} of {OBSERVATION:g} s"
    turns = "compare only what took turns: single launches differ by as much"
    report("speed", level if two else f"one level in {OBSERVATION:g} s", turns, warning=two)
    power = "battery" if host.battery else "mains"
    report("power", power, "plug it in: the clocks are lower on battery", warning=host.battery)
    if device != "cuda":
        return found
    if no_gpu == MIG_INSTANCE:
        report("GPU", no_gpu, "look at its GPU with nvidia-smi: its instances share the bandwidth", warning=True)
    elif not gpus:
        report("GPU", no_gpu, "install the driver; start a container with --gpus all; run nvidia-smi", refused=True)
    for gpu in gpus:
        name = f"GPU {gpu.index}"
        report(name, f"{gpu.name}, {gpu.temperature} °C", "divided by MIG: its instances share the bandwidth", warning=gpu.divided)
        driver = f"{gpu.driver}, {'kept loaded' if gpu.persistent else 'unloaded when idle'}"
        report(f"{name} driver", driver, "nvidia-smi -pm 1 keeps the driver loaded", warning=not gpu.persistent)
        load = f"{percent(gpu.busy, 0)} busy" + (f", held by {', '.join(gpu.processes[:5])}" if gpu.processes else "")
        load += f", its processes cannot be listed: {gpu.hidden}" if gpu.hidden else ""
        wait = "run nvidia-smi as its administrator" if gpu.hidden else "wait, or use a GPU that no other process uses"
        report(f"{name} load", load, wait, warning=bool(gpu.processes or gpu.hidden), refused=gpu.busy >= GPU_BUSY)
        report(f"{name} memory", _free(gpu.free), f"{GPU_MEMORY // GIB} GiB are needed", refused=gpu.free < GPU_MEMORY)
        clock = f"{gpu.clock} of {gpu.max_clock} MHz" + (f", slowed by {', '.join(gpu.slowed_by)}" if gpu.slowed_by else "")
        report(f"{name} clock", clock, "let it cool; run nvidia-smi -q -d PERFORMANCE", warning=bool(gpu.slowed_by))
    return found


def _free(nbytes: int) -> str:
    return f"{nbytes / GIB:.1f} GiB free"
