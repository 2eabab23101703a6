"""Whether a machine is fit for measuring: the load and the settings of its host and its NVIDIA GPUs, and what to change.

psutil reads the host, `worker.nvidia` the GPUs; for MPS, XPU and ROCm only the host can be read. A finding is refused where it would make
results wrong or the run fail. It is a warning where it makes times vary more, so that verdicts need more passes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import psutil

from tensorcopy.releases import environments
from tensorcopy.releases.release_table import Release
from tensorcopy.worker.hardware import kernel_text
from tensorcopy.worker.nvidia import MIG_INSTANCE, Gpu

OBSERVATION = 2.0  # seconds over which the load of the processors is measured
BUSY = 0.2  # share of one processor above which a process is listed
GIB = 2**30
MEMORY, DEVICE_MEMORY = 2 * GIB, 4 * GIB  # torch, and the largest suite's tensors three times over; 1 GiB each for a device
DISK = 6 * GIB  # an environment with CUDA
GPU_MEMORY = 4 * GIB  # the largest suite's tensor four times over
LOAD_WARNING, LOAD_REFUSED = 0.1, 0.5  # share of all processors that other processes use
GPU_BUSY = 0.05


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


class Level(str, Enum):
    """The severity of a finding."""

    OK = "ok"
    WARNING = "warning"
    REFUSED = "refused"


@dataclass(frozen=True)
class Finding:
    """A property of the machine and its severity.

    advice : what to do about it; "" where it is OK
    """

    subject: str
    observed: str
    level: Level
    advice: str = ""


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
    boost, no_turbo = map(kernel_text, ("/sys/devices/system/cpu/cpufreq/boost", "/sys/devices/system/cpu/intel_pstate/no_turbo"))
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    return Host(
        cores=len(psutil.Process().cpu_affinity()) if hasattr(psutil.Process, "cpu_affinity") else psutil.cpu_count() or 1,
        busy=busy,
        busiest=tuple(name for name, share in sorted(shares.items(), key=lambda item: -item[1]) if share >= BUSY),
        memory=psutil.virtual_memory().available,
        disk=psutil.disk_usage(str(folder)).free,
        governor=kernel_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        boost=None if not (boost or no_turbo) else boost == "1" or no_turbo == "0",
        battery=battery is not None and battery.power_plugged is False,  # None: unknown
    )


def _processor_share(process: psutil.Process) -> float:
    """Return the share of a processor that a process has used since the last call."""
    try:
        return float(process.cpu_percent()) / 100
    except psutil.Error:
        return 0.0  # it has ended


def findings(host: Host, gpus: Sequence[Gpu], no_gpu: str, device: str, releases: Sequence[Release] = ()) -> list[Finding]:
    """Check a machine for measuring on `device` ("cpu" or "cuda").

    no_gpu : the reason why `gpus` is empty
    releases : in order of version, for the driver and the kernels that they need
    """
    findings = _host_findings(host, MEMORY if device == "cpu" else DEVICE_MEMORY)
    if device == "cuda" and no_gpu == MIG_INSTANCE:
        findings.append(Finding("GPU", no_gpu, Level.WARNING, "look at its GPU with nvidia-smi: its instances share the bandwidth"))
    elif device == "cuda" and not gpus:
        findings.append(Finding("GPU", no_gpu, Level.REFUSED, "install the driver; start a container with --gpus all; run nvidia-smi"))
    for gpu in gpus if device == "cuda" else ():
        findings += [*_gpu_findings(gpu, f"GPU {gpu.index}"), *_torch_findings(gpu, f"GPU {gpu.index}", releases)]
    return findings


def _torch_findings(gpu: Gpu, name: str, releases: Sequence[Release]) -> list[Finding]:
    """Check which releases a GPU and its driver can run."""
    if not releases:
        return []
    newest, reason = releases[-1], environments.why_not_on(releases[-1], gpu.driver, gpu.capability)
    others = [release.version for release in releases if not environments.why_not_on(release, gpu.driver, gpu.capability)]
    observed = f"torch {newest.version} cannot run: {reason}" if reason else f"runs torch {others[0]} to {others[-1]}"
    driver = "install a newer driver" if reason == environments.why_not_on(newest, gpu.driver, None) else ""  # which cannot add kernels
    if not others:
        return [Finding(f"{name} torch", observed, Level.REFUSED, driver or "measure on another GPU, or only the CPU")]
    advice = " or ".join(filter(None, [driver, f"measure {others[-1]}: tensorcopy list releases --device cuda"]))
    return [_finding(f"{name} torch", observed, _warning_if(bool(reason)), advice)]


def _host_findings(host: Host, memory: int) -> list[Finding]:
    names = ", ".join(host.busiest[:5])
    load = f"{host.busy:.0%} of the processors in use" + (f", by {names}" if names else "")
    frequency = (host.governor or "unknown") + {True: ", boost on", False: ", boost off", None: ""}[host.boost]
    return [
        _finding("other load", load, _load_level(host.busy), f"wait until {names or 'the load'} has ended"),
        _finding("memory", _free(host.memory), _refused_if_less(host.memory, memory), f"{memory // GIB} GiB are needed"),
        _finding("disk", _free(host.disk), _warning_if(host.disk < DISK), f"a torch with CUDA takes {DISK // GIB} GiB: --environments 2"),
        _finding("frequency", frequency, _warning_if(host.governor not in ("", "performance")), "cpupower frequency-set -g performance"),
        _finding("power", "battery" if host.battery else "mains", _warning_if(host.battery), "plug it in: the clocks are lower on battery"),
    ]


def _gpu_findings(gpu: Gpu, name: str) -> list[Finding]:
    load = f"{gpu.busy:.0%} busy" + (f", held by {', '.join(gpu.processes[:5])}" if gpu.processes else "")
    load += f", its processes cannot be listed: {gpu.hidden}" if gpu.hidden else ""
    level = Level.REFUSED if gpu.busy >= GPU_BUSY else _warning_if(bool(gpu.processes or gpu.hidden))
    clock = f"{gpu.clock} of {gpu.max_clock} MHz" + (f", slowed by {', '.join(gpu.slowed_by)}" if gpu.slowed_by else "")
    driver = f"{gpu.driver}, {'kept loaded' if gpu.persistent else 'unloaded when idle'}"
    return [
        _finding(name, f"{gpu.name}, {gpu.temperature} °C", _warning_if(gpu.divided), "divided by MIG: its instances share the bandwidth"),
        _finding(
            f"{name} driver",
            driver,
            _warning_if(not gpu.persistent),
            "nvidia-smi -pm 1 keeps the driver loaded",
        ),
        _finding(
            f"{name} load",
            load,
            level,
            "run nvidia-smi as its administrator" if gpu.hidden else "wait, or use a GPU that no other process uses",
        ),
        _finding(f"{name} memory", _free(gpu.memory), _refused_if_less(gpu.memory, GPU_MEMORY), f"{GPU_MEMORY // GIB} GiB are needed"),
        _finding(f"{name} clock", clock, _warning_if(bool(gpu.slowed_by)), "let it cool; run nvidia-smi -q -d PERFORMANCE"),
    ]


def _finding(subject: str, observed: str, level: Level, advice: str) -> Finding:
    return Finding(subject, observed, level, "" if level is Level.OK else advice)


def _load_level(share: float) -> Level:
    return Level.REFUSED if share >= LOAD_REFUSED else _warning_if(share >= LOAD_WARNING)


def _warning_if(condition: bool) -> Level:
    return Level.WARNING if condition else Level.OK


def _refused_if_less(value: int, needed: int) -> Level:
    return Level.REFUSED if value < needed else Level.OK


def _free(nbytes: int) -> str:
    return f"{nbytes / GIB:.1f} GiB free"
