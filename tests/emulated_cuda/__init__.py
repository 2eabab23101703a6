"""The CUDA device of the tests: the emulated one, which gcc builds, or a real one. `cuda_runtime.c` describes what is emulated."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]


@dataclass(frozen=True)
class Gpu:
    """A CUDA device that processes with its variables see.

    library : to preload; None for a real device
    """

    library: Path | None = None

    def variables(self, **switches: object) -> dict[str, str]:
        """Return the environment variables of a process that sees the device; a real one needs none."""
        if self.library is None:
            return {}
        return {"LD_PRELOAD": str(self.library), **{f"EMULATED_CUDA_{name}": str(value) for name, value in switches.items()}}

    def run(self, *command: str, **switches: object) -> subprocess.CompletedProcess[str]:
        """Run this Python with `command` in the checkout.

        switches : those of cuda_runtime.c, without "EMULATED_CUDA_", such as `OPERATION_US=500`
        """
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **self.variables(**switches)}
        return subprocess.run([sys.executable, *command], cwd=ROOT, env=variables, capture_output=True, text=True, check=False)

    def readings(self, cases: Sequence[str], **switches: object) -> dict[str, dict[str, Any]]:
        """Return what the suites read, by case; see readings.py."""
        done = self.run(str(FOLDER / "readings.py"), *cases, **switches)
        rows = dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))
        assert rows.keys() == {*cases}, done.stdout + done.stderr
        return rows


def build(folder: Path) -> Gpu:
    """Compile the library into `folder`, in a fraction of a second."""
    library = folder / "libcuda.so.1"  # the name by which torch opens the driver
    command = ["gcc", "-O1", "-shared", "-fPIC", "-Wall", str(FOLDER / "cuda_runtime.c"), f"-Wl,-soname,{library.name}"]
    subprocess.run([*command, "-o", str(library), "-lpthread"], check=True)
    return Gpu(library)


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
