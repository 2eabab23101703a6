"""Build and verify the environments of releases, one per (release, Python, build).

uv builds them; they are kept and reused. An environment whose torch, numpy or SHA differs from the table of releases is refused.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorcopy import files
from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.releases import uv
from tensorcopy.releases.release_table import TABLE, Release, minor, numpy_for
from tensorcopy.worker.devices import WHEELS, has_kernels
from tensorcopy.worker.nvidia import Gpu
from tensorcopy.worker.packages import WRITTEN

if TYPE_CHECKING:  # a campaign has releases
    from tensorcopy.campaign import Campaign

# on the disk for an environment with CUDA, by torch's major version: the most that `du` shows, rounded up; 1.6 to 2.3 GB of torch 1, and
# 3.4 to 6.8 GB of torch 2
GIGABYTES = {1: 3, 2: 7}
BACKEND = "UV_TORCH_BACKEND"  # environment variable of uv: the kind of wheel that it installs, instead of the package index's default
LARGEST_SOURCE = 1 << 20  # bytes of a file that is read for its digest
COMPLETE = "complete"  # a file in an environment, written last: it is missing after an interrupted installation
# Environment variables of measuring processes, unless the caller sets them. glibc raises its mmap threshold as memory is freed, so that
# copies of 4 MiB cause page faults early in a process and not later; here the threshold has its maximum from the start. CUDA numbers GPUs
# by their speed; here it numbers them as NVIDIA's management library and nvidia-smi do.
STEADY = {
    "GLIBC_TUNABLES": f"glibc.malloc.mmap_threshold={32 * 2**20}:glibc.malloc.trim_threshold={64 * 2**20}",
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
}
RUNNER = version("asv_runner")  # of every environment: that of this program, because it decides how a sample is taken

# the branch of the oldest driver on Linux by CUDA's major version, from "Minimum Required Driver Version for CUDA Minor Version
# Compatibility" of docs.nvidia.com/cuda/cuda-toolkit-release-notes; 10.2, which has no such compatibility, needs that of its own toolkit
OLDEST_DRIVER = {10: 440, 11: 450, 12: 525, 13: 580}


def expected_build() -> str:
    """Return the kind of torch wheel that uv installs here: the package index's default, or the one that `BACKEND` selects."""
    for build, (_, prefix) in {"cpu": ("", "cpu"), **WHEELS}.items():
        if os.environ.get(BACKEND, "").startswith(prefix):
            return build
    return "cuda" if platform.system() == "Linux" and platform.machine() == "x86_64" else "cpu"


def why_not_on(release: Release, gpu: Gpu) -> str:
    """Return why a GPU cannot run the wheel of `release`; "" where it can, or where that is unknown."""
    if not release.cuda:
        return ""
    needed = OLDEST_DRIVER.get(int(release.cuda.split(".")[0]), 0)
    if int(gpu.driver.split(".")[0] or 0) < needed:
        return f"CUDA {release.cuda} needs driver R{needed} or newer, and this one is {gpu.driver}"
    if gpu.capability and release.kernels and not has_kernels(release.kernels, gpu.capability):
        return "no kernels for sm_{}{}, only for {}".format(*gpu.capability, ", ".join(release.kernels))
    return ""


def gigabytes(release: Release) -> int:
    """Return how much space an environment needs, at most: uv links what it has in its cache; 0 for a build without CUDA."""
    return GIGABYTES.get(minor(release.version)[0], max(GIGABYTES.values())) if expected_build() == "cuda" else 0


def install(folder: Path, release: Release, python: str, campaign: Campaign) -> Path:
    """Return the interpreter of the environment for `release` on Python `python`, with what a campaign requires.

    It is installed in `folder`, unless it is there, from the same: builds of one name may have several wheels, and packages are built
    anew when a file of theirs has changed. Raises TensorcopyError, and OSError.
    """
    # without links: the bytecode of its packages is kept by their path
    path = folder.resolve()
    numpy = numpy_for(release, python) if campaign.pins_numpy else ""
    requirements = [*release.requirements(numpy), f"asv_runner=={RUNNER}", *campaign.requirements()]
    built = [f"# {BACKEND}={os.environ[BACKEND]}"] if os.environ.get(BACKEND) else []
    text = "\n".join([*requirements, *built, *(f"# {_digest(source, campaign)} of {source}" for source in campaign.sources())])
    with files.locked(path.with_name(f".{path.name}.lock")):  # uv would remove what another program has installed
        if not ((path / COMPLETE).exists() and (path / COMPLETE).read_text(encoding="utf-8") == text):
            interpreter = uv.find_python(python)
            assert interpreter is not None  # `sides.of_release` has found it
            try:
                uv.make_environment(path, interpreter, requirements)
            except DiskError:
                shutil.rmtree(path, ignore_errors=True)  # half of it would take the space that something else needs
                raise
            (path / COMPLETE).write_text(text, encoding="utf-8")
    return uv.interpreter(path)


def _digest(package: Path, campaign: Campaign) -> str:
    """Return a digest of the files from which a package is built, without those that builds, environments and measurements write."""
    digest, written = hashlib.sha256(), [campaign.folder / name for name in ("results", "site")]
    for folder, names, sources in os.walk(package):
        kept = [name for name in names if not WRITTEN.match(name) and Path(folder, name) not in written]
        names[:] = sorted(kept)
        for path in (Path(folder, name) for name in sorted(sources)):
            if path.is_file():
                content = path.read_bytes() if path.stat().st_size <= LARGEST_SOURCE else str(path.stat().st_mtime_ns).encode()
                digest.update(f"{path.relative_to(package)} {len(content)} ".encode(errors="surrogateescape") + content)
    return digest.hexdigest()[:12]


def verify(provenance: Mapping[str, Any], release: Release, python: str, build: str, campaign: Campaign, folder: Path) -> None:
    """Raise TensorcopyError where what an environment reports differs from the table; folder : of the environment."""
    numpy = numpy_for(release, python) if campaign.pins_numpy else ""
    expected = {"torch": release.version, "torch_sha": release.sha, "build": build, "numpy": numpy, "asv_runner": RUNNER}
    for name, value in expected.items():
        installed = str(provenance[name]).split("+")[0]
        if value and installed != value:  # "" for what the campaign requires
            what = f"the environment of torch {release.version} is refused: its {name} differs from the table of releases"
            following = f"remove {folder} and repeat, set {BACKEND} to the build, such as cu126, or correct the row in {TABLE.name}"
            raise TensorcopyError(what, got=f"{installed} in {provenance['torch']}", allowed=value, next=following)


def bytecode_in(folder: Path) -> dict[str, str]:
    """Return environment variables that make Python cache bytecode in `folder`, which a caller may disable: torch starts twice as fast."""
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def known_pythons(preferred: Sequence[str] = ()) -> list[str]:
    """Return Pythons to look for on this machine: those of `preferred`, the running one, then the others from the newest on."""
    running = sys.version_info.minor
    others = [f"3.{second}" for second in (running, *range(running + 3, 7, -1))]
    return list(dict.fromkeys([*preferred, *others]))
