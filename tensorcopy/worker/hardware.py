"""The hardware of this host, and the identity of the machine that follows from it.

Two hosts may report the same processor name and differ by a third in the time of a copy: family, model, stepping, caches and instruction
sets tell them apart. Torch is not needed.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tensorcopy.files import kernel_text
from tensorcopy.worker.devices import cpu_model

DIGITS = 12  # of an identity
# what version 1 of the digest is of. It never changes, or every host would be another machine than the one that measured; what is
# recorded beside it may grow. Memory and microcode are not part of it: they change without making another machine
DIGESTED = ("family", "model", "stepping", "flags", "caches", "processors", "hypervisor")
# instruction sets on which torch, numpy or the C library choose their kernels
FLAGS_1 = (
    *("avx", "avx2", "fma", "f16c", "erms", "fsrm", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16"),
    *("avx512_fp16", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8", "asimd", "asimdhp", "bf16", "i8mm", "sve", "sve2"),
)
FLAGS = FLAGS_1  # that are recorded: others are added here


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


def identity() -> str:
    """Return a digest of what decides the speed of this host."""
    return digest(platform.machine(), cpu_model(), platform.system(), collect())


def digest(arch: str, cpu: str, system: str, hardware: Mapping[str, Any]) -> str:
    """Return the identity of a host from what a provenance records of it (version 1).

    hardware : as `collect` returns it, perhaps with fields and instruction sets that are not part of version 1
    """
    parts = {name: hardware[name] for name in DIGESTED}
    parts["flags"] = [flag for flag in FLAGS_1 if flag in hardware["flags"]]
    return hashlib.sha256(json.dumps({"arch": arch, "cpu": cpu, "os": system, **parts}, sort_keys=True).encode()).hexdigest()[:DIGITS]


def missing_valgrind(system: str = sys.platform) -> str:
    """Return why instructions cannot be counted on this host; "" where they can."""
    if not system.startswith("linux"):
        return "valgrind counts on Linux only"
    if shutil.which("valgrind") is None or shutil.which("callgrind_control") is None:
        return "no valgrind here: apt install valgrind, or your system's package"
    return ""
