"""The CUDA device of the tests: the emulated one, which gcc builds, or a real one.

README.md beside this file describes what is emulated.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
LIBRARIES = {"cuda_runtime.c": "libcuda.so.1", "nvml.c": "libnvidia-ml.so.1"}  # by source: the names that torch and worker/nvidia.py open


@dataclass(frozen=True)
class Request:
    """Cases of a checkout's suites, to be measured with additional environment variables."""

    root: Path
    cases: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Gpu:
    """A CUDA device that processes with `variables()` see.

    libraries : to preload; none for a real device
    """

    libraries: tuple[Path, ...] = ()

    @property
    def is_emulated(self) -> bool:
        return bool(self.libraries)

    def variables(self, **switches: object) -> dict[str, str]:
        """Return the environment variables of a process.

        switches : those of README.md, without "EMULATED_", such as `CUDA_DEVICES=2`; a real device has none
        """
        if not self.is_emulated:
            return {}
        named = {f"EMULATED_{name}": str(value) for name, value in switches.items()}
        return {"LD_PRELOAD": " ".join(map(str, self.libraries)), **named}

    def run(self, *command: str, root: Path = ROOT, **switches: object) -> subprocess.CompletedProcess[str]:
        """Run this Python with `command`, with the checkout `root` as its current folder.

        root : a copy of this checkout, which is imported
        switches : as of `variables`
        """
        variables = {**os.environ, "PYTHONPATH": str(root), "COLUMNS": "200", **self.variables(**switches)}
        return subprocess.run([sys.executable, *command], cwd=root, env=variables, capture_output=True, text=True, check=False)

    def readings(self, requests: Sequence[Request], counters: Path, **switches: object) -> dict[tuple[str, str], dict[str, Any]]:
        """Return what suites read, by checkout and case; see readings.py.

        counters : a new file for the counters of the emulated device
        """
        request = json.dumps([[str(request.root), request.cases, request.variables] for request in requests])
        done = self.run(str(FOLDER / "readings.py"), request, root=FOLDER, CUDA_COUNTERS=counters, **switches)
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
        assert len(rows) == sum(len(request.cases) for request in requests), done.stdout + done.stderr
        return {(root, case): row for root, case, row in rows}


REAL = Gpu()


def build(folder: Path) -> Gpu:
    """Compile both libraries into `folder`, in a fraction of a second."""
    for source, library in LIBRARIES.items():
        command = ["gcc", "-O1", "-shared", "-fPIC", "-Wall", f'-DSITE="{FOLDER / "site"}"', str(FOLDER / source)]
        subprocess.run([*command, f"-Wl,-soname,{library}", "-o", str(folder / library), "-lpthread"], check=True)
    return Gpu(tuple(folder / library for library in LIBRARIES.values()))


@cache
def has_real() -> bool:
    """Return whether this torch can use a real CUDA device; asked in another process, which initializes CUDA."""
    if not Path("/dev/nvidiactl").exists():
        return False
    code = "import sys, torch; sys.exit(not torch.cuda.is_available())"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@cache
def missing() -> str:
    """Return what is missing here for the emulation, and the command that installs it; "" where nothing is."""
    if sys.platform != "linux":
        return "the emulated CUDA is preloaded, which needs Linux"
    if shutil.which("gcc") is None:
        return "no gcc: apt install gcc libc6-dev"
    import torch

    if torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA: uv sync installs PyPI's wheel for Linux, which has it"
    if b"libcudart.so" not in (Path(torch.__file__).parent / "lib" / "libc10_cuda.so").read_bytes():
        return f"torch {torch.__version__} contains CUDA's runtime, in whose place no other can be preloaded"
    return ""
