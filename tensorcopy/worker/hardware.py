"""The hardware of this host.

Two hosts may report the same processor name and differ by a third in the time of a copy: family, model, stepping, caches and instruction
sets tell them apart. Torch is not needed.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tensorcopy.files import kernel_text
from tensorcopy.worker.devices import cpu_model

# instruction sets on which torch, numpy or the C library choose their kernels
FLAGS = (
    *("avx", "avx2", "fma", "f16c", "erms", "fsrm", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16"),
    *("avx512_fp16", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8", "asimd", "asimdhp", "bf16", "i8mm", "sve", "sve2"),
)


@cache
def collect() -> dict[str, Any]:
    """Return what decides the speed of a copy on this host, as plain values; "" or [] for the unknown."""
    first = kernel_text("/proc/cpuinfo").split("\n\n")[0]  # "" where there is none
    processor = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in first.splitlines())}
    caches = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
    virtual = "hypervisor" in processor.get("flags", "").split()
    vendor = kernel_text("/sys/hypervisor/type") or kernel_text("/sys/class/dmi/id/sys_vendor") or "unknown" if virtual else ""
    try:
        memory: float | None = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):  # not on Windows
        memory = None
    return {
        "family": processor.get("cpu family", ""),
        "model": processor.get("model", ""),
        "stepping": processor.get("stepping", ""),
        "flags": [flag for flag in FLAGS if flag in processor.get("flags", processor.get("Features", "")).split()],
        "caches": [
            " ".join([f"L{kernel_text(cache / 'level')}", kernel_text(cache / "type"), kernel_text(cache / "size")]) for cache in caches
        ],  # such as "L1 Data 48K"
        "processors": os.cpu_count() or 1,
        "hypervisor": vendor,  # of the virtual machine; "" on bare metal
        "memory_gib": memory,
        "microcode": processor.get("microcode", ""),
    }


def processor(cpu: str, hardware: Mapping[str, Any]) -> str:
    """Return the model of a processor, such as "AMD EPYC, family 25 model 17": a cloud's hosts hide the model from its name.

    cpu : its name, as `devices.cpu_model` returns it
    hardware : as `collect` returns it
    """
    family, model = hardware.get("family"), hardware.get("model")
    return f"{cpu}, family {family} model {model}" if family and model else cpu


def own_processor() -> str:
    """Return the model of this host's processor."""
    return processor(cpu_model(), collect())


def missing_valgrind(system: str = sys.platform) -> str:
    """Return why instructions cannot be counted on this host; "" where they can."""
    if not system.startswith("linux"):
        return "valgrind counts on Linux only"
    if shutil.which("valgrind") is None or shutil.which("callgrind_control") is None:
        return "no valgrind here: apt install valgrind, or your system's package"
    return ""
