"""A Python that has torch, asked through the torch half: a module of it is run there and prints JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tensorcopy.errors import Relayed, TensorcopyError
from tensorcopy.worker.registry import operations

CHECKOUT = operations.CHECKOUT


def executable(python: str) -> Path:
    """The interpreter of this name: "same" is the running one, others are programs or paths. Raises TensorcopyError where there is none."""
    found = sys.executable if python == "same" else shutil.which(python)
    if found is None:
        raise TensorcopyError(
            "no such interpreter", got=python, allowed='"same", a program on the PATH, or its path', next="look at the name again"
        )
    return Path(found)


@contextmanager
def _package() -> Iterator[Path]:
    """A folder where a Python finds this package, and nothing that lies beside it in an installation: that is for another Python."""
    if (CHECKOUT / "asv.conf.json").exists():
        yield CHECKOUT
        return
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(Path(__file__).parents[1], Path(folder) / "tensorcopy", ignore=shutil.ignore_patterns("__pycache__"))
        yield Path(folder)


def _path(here: Path, python: Path) -> str:
    """PYTHONPATH with this package; the caller's own is for the running Python, not for another."""
    own = os.environ.get("PYTHONPATH", "") if python == Path(sys.executable) else ""
    return os.pathsep.join(filter(None, [str(here), own]))


def asked(
    python: Path,
    module: str,
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    tell: Callable[[float, str], None] = lambda share, doing: None,
) -> dict[str, Any]:
    """What `python -m MODULE` prints at its end, a JSON object. Raises TensorcopyError where it fails.

    variables : of the process; by default ours, with this package to be found
    tell : hears what it prints before: the share that is done (0 to 1), and what is being done
    """
    last = ""
    with (
        _package() as here,
        tempfile.TemporaryFile("w+") as errors,  # a pipe that nobody reads meanwhile would fill up
        subprocess.Popen(
            [str(python), "-m", module, *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**(os.environ if variables is None else variables), **operations.variables(), "PYTHONPATH": _path(here, python)},
            cwd=here,
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            last = line
            if line.startswith('{"share": '):
                step = json.loads(line)
                tell(step["share"], step["doing"])
        process.wait()
        errors.seek(0)
        said = errors.read().strip().splitlines() or ["nothing"]
    if process.returncode != 0:
        if "; allowed: " in said[-1] and "; next: " in said[-1]:
            raise Relayed(said[-1].removeprefix("tensorcopy.errors.TensorcopyError: "))
        if said[-1].endswith("No module named 'torch'"):
            raise TensorcopyError(
                "there is no torch",
                got=f"{python} without it",
                allowed="torch 1.9 or newer",
                next="pip install torch, or --interpreter PYTHON",
            )
        raise TensorcopyError(
            f"{python} cannot import torch and tensorcopy's registry",
            got=said[-1],
            allowed="torch 1.9 or newer and numpy on Python 3.9 or newer",
            next=f"{python} -m {module} shows it whole",
        )
    found: dict[str, Any] = json.loads(last)
    return found
