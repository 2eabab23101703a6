"""Check whether a machine is fit for measuring, and advise what to change. Pure.

A finding is refused where it would make results wrong or the run fail. It is a warning where it makes times vary more, so that verdicts
need more passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from tensorcopy.measure.host_probe import Gpu, Host

GIB = 2**30
MEMORY = 2 * GIB  # torch, and the largest suite's tensors three times over
DISK = 6 * GIB  # an environment with CUDA
GPU_MEMORY = 2 * GIB
LOAD_WARNING, LOAD_REFUSED = 0.1, 0.5  # share of all processors that other processes use
GPU_BUSY = 0.05


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


def findings(host: Host, gpus: Sequence[Gpu], no_gpu: str, device: str) -> list[Finding]:
    """Check a machine for measuring on `device` ("cpu" or "cuda").

    no_gpu : the reason why `gpus` is empty
    """
    findings = _host(host)
    if device == "cuda" and not gpus:
        findings.append(Finding("GPU", no_gpu, Level.REFUSED, "install the driver; start a container with --gpus all; run nvidia-smi"))
    for number, gpu in enumerate(gpus if device == "cuda" else ()):
        findings += _gpu(gpu, f"GPU {number}")
    return findings


def _host(host: Host) -> list[Finding]:
    names = ", ".join(host.busiest[:5])
    load = f"{host.busy:.0%} of {host.cores} processors in use" + (f", by {names}" if names else "")
    frequency = (host.governor or "unknown") + {True: ", boost on", False: ", boost off", None: ""}[host.boost]
    return [
        _finding("other load", load, _load_level(host.busy), f"wait until {names or 'the load'} has ended"),
        _finding("memory", _free(host.memory), _refused_if_less(host.memory, MEMORY), f"{MEMORY // GIB} GiB are needed"),
        _finding("disk", _free(host.disk), _warning_if(host.disk < DISK), f"a torch with CUDA takes {DISK // GIB} GiB: --environments 2"),
        _finding("frequency", frequency, _warning_if(host.governor not in ("", "performance")), "cpupower frequency-set -g performance"),
        _finding("power", "battery" if host.battery else "mains", _warning_if(host.battery), "plug it in: the clocks are lower on battery"),
    ]


def _gpu(gpu: Gpu, name: str) -> list[Finding]:
    load = f"{gpu.busy:.0%} busy" + (f", held by {', '.join(gpu.processes[:5])}" if gpu.processes else "")
    level = Level.REFUSED if gpu.busy >= GPU_BUSY else _warning_if(bool(gpu.processes))
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
        _finding(f"{name} load", load, level, "wait, or use a GPU that no other process uses"),
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
