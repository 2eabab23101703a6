"""Provenance: the versions, hardware and settings of a measurement.

`python -m tensorcopy.worker.processes tensorcopy.worker.provenance MODULE` prints it as JSON from inside an environment, with what the
module of a campaign observes there. `releases/environments.py` checks it against the release.
"""

from __future__ import annotations

import faulthandler
import json
import os
import platform
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import numpy
import torch

from tensorcopy import __version__
from tensorcopy.files import kernel_text
from tensorcopy.worker import devices, hardware, nvidia, packages
from tensorcopy.worker.processes import ReportProgress, ignore_progress

LONGEST = 600.0  # seconds of this probe, which takes some: a driver may hang, and would hold the program for ever
# environment variables that change the time of a copy: kernels, allocator, threads
SETTINGS = (
    "ATEN_CPU_CAPABILITY",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_VISIBLE_DEVICES",
    "GLIBC_TUNABLES",
    "LD_PRELOAD",
    "MALLOC_CONF",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "TENSORCOPY_EXTRA",  # a slowdown injected to test the detector
    "THP_MEM_ALLOC_ENABLE",
)


def collect() -> dict[str, Any]:
    """Return versions, builds, processor, accelerators and settings of this process, as plain values.

    Raises TensorcopyError for a device that is there and fails.
    """
    settings = {name: os.environ[name] for name in SETTINGS if name in os.environ}  # before torch initializes CUDA and adds its own
    available, unsupported = devices.available(), devices.unsupported()
    get_capability = getattr(getattr(torch.backends, "cpu", None), "get_cpu_capability", None)  # from 2.1 on
    quota, _, period = kernel_text("/sys/fs/cgroup/cpu.max").partition(" ")
    hugepages = kernel_text("/sys/kernel/mm/transparent_hugepage/enabled")
    return {
        "torch": torch.__version__,
        "torch_sha": torch.version.git_version,
        "build": next((kind for kind, (name, _) in devices.WHEELS.items() if getattr(torch.version, name, None)), "cpu"),
        "cuda": torch.version.cuda,
        "numpy": numpy.__version__,
        "asv_runner": next((each.version for each in distributions(name="asv_runner")), ""),
        "python": platform.python_version(),
        "compiler": platform.python_compiler(),  # of the interpreter, whose instructions are counted too
        "tensorcopy": __version__,
        "os": platform.system(),
        "arch": platform.machine(),
        "libc": " ".join(platform.libc_ver()),  # whose malloc serves torch on the CPU
        "cpu": devices.cpu_model(),
        "hardware": hardware.collect(),
        "cores": devices.cores(),
        "cpu_capability": str(get_capability()) if get_capability else "",
        "governor": kernel_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "cpu_quota": int(quota) / int(period) if quota.isdigit() else None,  # of the container, in processors
        "hugepages": hugepages.partition("[")[2].partition("]")[0],  # "always", "madvise" or "never"
        "threads": torch.get_num_threads(),
        "accelerators": {name: devices.model(name) for name in available if name != "cpu"},
        **({"unsupported": unsupported} if unsupported else {}),
        **(nvidia.properties() if "cuda" in available and torch.version.cuda else {}),
        # a container may have no /proc/driver
        "driver": nvidia.driver_version(kernel_text("/proc/driver/nvidia/version").split("\n")[0]) or nvidia.driver(),
        "settings": settings,
        **packages.installed(json.loads(os.environ.get(packages.REQUIREMENTS, "[]"))),
    }


def main(arguments: Sequence[str], report_progress: ReportProgress = ignore_progress) -> dict[str, Any]:
    """Return the provenance, the folder of torch, and what modules observe, which are the arguments."""
    faulthandler.dump_traceback_later(LONGEST, exit=True, file=2)  # the error output, which the program reads
    try:
        document = {"provenance": collect(), "torch_folder": str(Path(torch.__file__).parent)}
        for module in arguments:
            document |= import_module(module).observations()
        return document
    finally:
        faulthandler.cancel_dump_traceback_later()
