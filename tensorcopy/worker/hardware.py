"""The hardware of this host, and the identity of the machine that follows from it.

Two hosts may report the same processor name and differ by a third in the time of a copy: family, model, stepping, caches and instruction
sets tell them apart. Torch is not needed.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from functools import cache
from pathlib import Path
from typing import Any

from tensorcopy.worker.devices import cpu_model

DIGITS = 12  # of an identity
RECORDED_ONLY = ("memory_gib", "microcode")  # not part of the identity: they change without making another machine
# instruction sets on which torch, numpy or the C library choose their kernels
FLAGS = (
    *("avx", "avx2", "fma", "f16c", "erms", "fsrm", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16"),
    *("avx512_fp16", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8", "asimd", "asimdhp", "bf16", "i8mm", "sve", "sve2"),
)


@cache
def collect() -> dict[str, Any]:
    """Return what decides the speed of a copy on this host; "" or [] for the unknown.

    The values are plain, as result.schema.json describes them under "hardware".
    """
    processor = _processor()
    return {
        "family": processor.get("cpu family", ""),
        "model": processor.get("model", ""),
        "stepping": processor.get("stepping", ""),
        "flags": [flag for flag in FLAGS if flag in processor.get("flags", processor.get("Features", "")).split()],
        "caches": _caches(),
        "processors": os.cpu_count() or 1,
        "hypervisor": _hypervisor(processor),
        "memory_gib": _memory_gib(),
        "microcode": processor.get("microcode", ""),
    }


def identity() -> str:
    """Return a digest of what decides the speed of this host."""
    parts = {name: value for name, value in collect().items() if name not in RECORDED_ONLY}
    named = {"arch": platform.machine(), "cpu": cpu_model(), "os": platform.system(), **parts}
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:DIGITS]


def _processor() -> dict[str, str]:
    """Return the first processor of /proc/cpuinfo; {} where there is none."""
    first = _text("/proc/cpuinfo").split("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _caches() -> list[str]:
    """Return the caches of the first processor, such as "L1 Data 48K"."""
    folders = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
    return [" ".join([f"L{_text(folder / 'level')}", _text(folder / "type"), _text(folder / "size")]) for folder in folders]


def _hypervisor(processor: dict[str, str]) -> str:
    """Return the name of the virtual machine's vendor; "" on bare metal."""
    if "hypervisor" not in processor.get("flags", "").split():
        return ""
    return _text("/sys/hypervisor/type") or _text("/sys/class/dmi/id/sys_vendor") or "unknown"


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):  # not on Windows
        return None


def _text(path: str | Path) -> str:
    """Return a kernel file's text without line end; "" where it does not exist."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""
