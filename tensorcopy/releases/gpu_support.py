"""Which releases an NVIDIA GPU and its driver can run. Pure.

The table has the CUDA version and the kernels of each release's wheel; `devices.has_kernels` has NVIDIA's rule of compatibility.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from tensorcopy.releases.release_table import Release
from tensorcopy.worker.devices import has_kernels

# the oldest driver on Linux by CUDA's major version, from "Minimum Required Driver Version for CUDA Minor Version Compatibility" of
# docs.nvidia.com/cuda/cuda-toolkit-release-notes; 10.2, which has no such compatibility, needs the driver of its own toolkit
OLDEST_DRIVER = {10: (440, 33), 11: (450, 80, 2), 12: (525, 60, 13), 13: (580, 65, 6)}


class Gpu(Protocol):
    """An NVIDIA GPU.

    driver : version of its driver, such as "580.65.06"
    capability : compute capability; None if it is unknown
    """

    @property
    def name(self) -> str: ...
    @property
    def driver(self) -> str: ...
    @property
    def capability(self) -> tuple[int, int] | None: ...


def why_none(release: Release, gpus: Iterable[Gpu]) -> str:
    """Return why none of these GPUs can run the wheel of `release`: the first one's reason. "" where one can."""
    reasons = [why_not(release, gpu.driver, gpu.capability) for gpu in gpus]
    return reasons[0] if all(reasons) else ""


def why_not(release: Release, driver: str, capability: tuple[int, int] | None) -> str:
    """Return why a GPU cannot run the wheel of `release`; "" where it can, or where that is unknown.

    driver : version of NVIDIA's driver, such as "580.65.06"
    capability : compute capability of the GPU; None if it is unknown
    """
    if not release.cuda:
        return ""
    needed = OLDEST_DRIVER.get(int(release.cuda.split(".")[0]), ())
    if _numbers(driver)[:1] < needed[:1]:  # the branch decides: its later numbers are those of the toolkit's own driver
        return f"CUDA {release.cuda} needs driver R{needed[0]} or newer, and this one is {driver}"
    if capability and release.kernels and not has_kernels(release.kernels, capability):
        return f"no kernels for sm_{capability[0]}{capability[1]}, only for {', '.join(release.kernels)}"
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
