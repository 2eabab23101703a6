"""Build the emulated CUDA runtime and return the variables that preload it.

README.md beside this file describes what it emulates.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).parent
LIBRARIES = {"cuda_runtime.c": "libcuda.so.1", "nvml.c": "libnvidia-ml.so.1"}  # by source: the names that torch and pynvml open


@dataclass(frozen=True)
class EmulatedCuda:
    """The built libraries. Any process with `variables()` sees an NVIDIA GPU."""

    libraries: tuple[Path, ...]

    def variables(self, **switches: object) -> dict[str, str]:
        """Return the environment variables of a process.

        switches : of README.md, without their "EMULATED_": `CUDA_DEVICES=2`
        """
        named = {f"EMULATED_{name}": str(value) for name, value in switches.items()}
        return {"LD_PRELOAD": " ".join(map(str, self.libraries)), **named}


def build(folder: Path) -> EmulatedCuda:
    """Compile both libraries into `folder`, in a fraction of a second."""
    for source, library in LIBRARIES.items():
        command = ["gcc", "-O1", "-shared", "-fPIC", "-Wall", f'-DSITE="{SOURCES / "site"}"', str(SOURCES / source)]
        subprocess.run([*command, f"-Wl,-soname,{library}", "-o", str(folder / library), "-lpthread"], check=True)
    return EmulatedCuda(tuple(folder / library for library in LIBRARIES.values()))


@cache
def missing() -> str:
    """Return what is missing here to build and use it, and the command that installs it; "" where nothing is."""
    if sys.platform != "linux":
        return "the emulated CUDA is preloaded, which needs Linux"
    if shutil.which("gcc") is None:
        return "no gcc: apt install gcc libc6-dev"
    import torch

    if torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA: uv sync installs PyPI's wheel, which has it"
    libraries = Path(torch.__file__).parent / "lib"
    if b"libcudart.so" not in (libraries / "libc10_cuda.so").read_bytes():
        return f"torch {torch.__version__} is linked with CUDA's runtime statically, so that no other can be preloaded"
    return ""
