"""Whether a machine is fit to be measured: what is refused, what is warned of, and what would help. Pure.

Refused is what would make figures wrong or the run fail; warned of is what makes them stray, which the judge then has to find out from
more passes.
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
NOTICED, TOO_MUCH = 0.1, 0.5  # of all processors, in use before anything of ours runs
GPU_BUSY = 0.05


class Level(str, Enum):
    FINE = "fine"
    WARNED = "warning"
    REFUSED = "refused"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: what was seen, and what would help; "" where it is fine."""

    what: str
    seen: str
    level: Level = Level.FINE
    next: str = ""


def findings(host: Host, gpus: Sequence[Gpu], no_gpu: str, device: str) -> list[Finding]:
    """What was looked at, for measuring on `device` ("cpu" or "cuda").

    no_gpu : why there are no GPUs
    """
    found = _host(host)
    if device == "cuda" and not gpus:
        found.append(Finding("GPU", no_gpu, Level.REFUSED, "install the driver; start a container with --gpus all; look at nvidia-smi"))
    for number, gpu in enumerate(gpus if device == "cuda" else ()):
        found += _gpu(gpu, f"GPU {number}")
    return found


def _host(host: Host) -> list[Finding]:
    names = ", ".join(host.busiest[:5])
    load = f"{host.busy:.0%} of {host.cores} processors in use" + (f", by {names}" if names else "")
    frequency = (host.governor or "not to be read") + {True: ", boost on", False: ", boost off", None: ""}[host.boost]
    return [
        _looked_at("other load", load, _level(host.busy, NOTICED, TOO_MUCH), f"wait for {names or 'it'} to end: samples wait for quiet"),
        _looked_at("memory", _free(host.memory), _short(host.memory, MEMORY), f"{MEMORY // GIB} GiB are needed"),
        _looked_at("disk", _free(host.disk), _less(host.disk < DISK), f"a torch with CUDA takes {DISK // GIB} GiB: --environments 2"),
        _looked_at("frequency", frequency, _less(host.governor not in ("", "performance")), "cpupower frequency-set -g performance"),
        _looked_at("power", "battery" if host.battery else "mains", _less(host.battery), "plug it in: the clocks are others then"),
    ]


def _gpu(gpu: Gpu, name: str) -> list[Finding]:
    load = f"{gpu.busy:.0%} busy" + (f", held by {', '.join(gpu.others[:5])}" if gpu.others else "")
    worse = Level.REFUSED if gpu.busy >= GPU_BUSY else _less(bool(gpu.others))
    clock = f"{gpu.clock} of {gpu.most_clock} MHz" + (f", slowed by {', '.join(gpu.slowed)}" if gpu.slowed else "")
    driver = f"{gpu.driver}, {'kept loaded' if gpu.persistent else 'unloaded when idle'}"
    return [
        _looked_at(name, f"{gpu.name}, {gpu.temperature} °C", _less(gpu.divided), "divided by MIG: neighbours share its bandwidth"),
        _looked_at(f"{name} driver", driver, _less(not gpu.persistent), "nvidia-smi -pm 1, or each start waits for the driver"),
        _looked_at(f"{name} load", load, worse, "wait, or give this runner a GPU of its own"),
        _looked_at(f"{name} memory", _free(gpu.memory), _short(gpu.memory, GPU_MEMORY), f"{GPU_MEMORY // GIB} GiB are needed"),
        _looked_at(f"{name} clock", clock, _less(bool(gpu.slowed)), "let it cool; nvidia-smi -q -d PERFORMANCE"),
    ]


def _looked_at(what: str, seen: str, level: Level, next: str) -> Finding:
    return Finding(what, seen, level, "" if level is Level.FINE else next)


def _level(value: float, noticed: float, too_much: float) -> Level:
    return Level.REFUSED if value >= too_much else _less(value >= noticed)


def _less(wrong: bool) -> Level:
    """Figures stray more, and are not wrong."""
    return Level.WARNED if wrong else Level.FINE


def _short(there: int, needed: int) -> Level:
    return Level.REFUSED if there < needed else Level.FINE


def _free(nbytes: int) -> str:
    return f"{nbytes / GIB:.1f} GiB free"
