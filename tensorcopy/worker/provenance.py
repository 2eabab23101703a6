"""The ledger: what was really there when something was measured.

`python -m tensorcopy.worker.provenance` prints it as JSON from inside an environment, and with `--observe` also what every method is observed
to do there and whether the article's statements hold. Whoever asked compares it with what was wanted.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy
import torch

from tensorcopy import __version__
from tensorcopy.worker import devices
from tensorcopy.worker.probes import article_claims
from tensorcopy.worker.registry import semantics
from tensorcopy.worker.registry.methods import GROUPS, Method, exists, promised

# what a copy's time hangs on besides code: kernels, allocator, threads
SETTINGS = (
    "ATEN_CPU_CAPABILITY",
    "GLIBC_TUNABLES",
    "LD_PRELOAD",
    "MALLOC_CONF",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "PYTORCH_CUDA_ALLOC_CONF",
    "TENSORCOPY_EXTRA",  # a slowdown that the report card knows of
    "THP_MEM_ALLOC_ENABLE",
)


def ledger() -> dict[str, Any]:
    """Versions, builds, processor, accelerators and settings of this process; plain values, as ledger.schema.json describes them."""
    return {
        "torch": torch.__version__,
        "torch_sha": torch.version.git_version,
        "build": build(),
        "cuda": torch.version.cuda,
        "numpy": numpy.__version__,
        "asv_runner": _installed("asv_runner"),
        "python": platform.python_version(),
        "tensorcopy": __version__,
        "os": platform.system(),
        "arch": platform.machine(),
        "libc": " ".join(platform.libc_ver()),  # its allocator is the CPU's
        "cpu": devices.cpu_model(),
        "cores": devices.cores(),
        "cpu_capability": _cpu_capability(),
        "governor": _governor(),
        "cpu_quota": _cpu_quota(),
        "hugepages": _hugepages(),
        "threads": torch.get_num_threads(),
        "accelerators": {name: devices.model(name) for name in devices.available() if name != "cpu"},
        "driver": _driver(),
        "settings": {name: os.environ[name] for name in SETTINGS if name in os.environ},
    }


def build() -> str:
    """The kind of wheel: "cuda", "rocm", "xpu" or "cpu"; wheels of two kinds do not belong in one series."""
    if torch.version.cuda:
        return "cuda"
    if getattr(torch.version, "hip", None):
        return "rocm"
    return "xpu" if getattr(torch.version, "xpu", None) else "cpu"


def observations() -> dict[str, Any]:
    """Every method's code and, per device, what it does here; and how many of the article's statements hold."""
    there = devices.available()
    return {"methods": observed_on(there), "article": {device: _article(device) for device in there}}


def observed_on(there: Sequence[str]) -> dict[str, Any]:
    """Every method by its name: its group and code, and what it does on these devices; {} where this torch does not have it."""
    return {
        method.name: {
            "group": group,
            "code": method.code,
            "code_on_accelerator": method.code_on_accelerator,
            "since": method.since,
            "observed": {device: _observed(method, device) for device in there} if exists(method) else {},
        }
        for group, rows in GROUPS.items()
        for method in rows.values()
    }


def _observed(method: Method, device: str) -> dict[str, Any]:
    seen, promise = semantics.observed(method, device), promised(method, device)
    return {**asdict(seen), "as_promised": None if promise is None else seen == promise}


def _article(device: str) -> dict[str, Any]:
    statements = article_claims.statements(device)
    return {
        "statements": len(statements),
        "hold": sum(statement.holds for statement in statements),
        "fail": [f"{one.section}: {one.expression} is {one.got!r}, printed {one.printed!r}" for one in statements if not one.holds],
    }


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _cpu_capability() -> str:
    ask = getattr(torch.backends.cpu, "get_cpu_capability", None) if hasattr(torch.backends, "cpu") else None  # from 2.1 on
    return str(ask()) if ask else ""


def _governor() -> str:
    return _first_line(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))


def _cpu_quota() -> float | None:
    """How many processors' time a container may use; None where nothing limits it."""
    quota, _, period = _first_line(Path("/sys/fs/cgroup/cpu.max")).partition(" ")
    return int(quota) / int(period) if quota.isdigit() else None


def _hugepages() -> str:
    """The kernel's choice of "always", "madvise" or "never"."""
    _, _, chosen = _first_line(Path("/sys/kernel/mm/transparent_hugepage/enabled")).partition("[")
    return chosen.partition("]")[0]


def _driver() -> str:
    return _first_line(Path("/proc/driver/nvidia/version"))


def _first_line(path: Path) -> str:
    """What the kernel says in a file; "" where it has none."""
    try:
        return path.read_text(encoding="utf-8").split("\n")[0].strip()
    except OSError:
        return ""


if __name__ == "__main__":
    print(json.dumps({"ledger": ledger(), **(observations() if "--observe" in sys.argv[1:] else {})}))
