"""A Python that has torch, asked through the torch half: a module of it is run there and prints JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorcopy.errors import Relayed, TensorcopyError

CHECKOUT = Path(__file__).resolve().parent.parent


def executable(python: str) -> Path:
    """The interpreter of this name: "same" is the running one, others are programs or paths. Raises TensorcopyError where there is none."""
    found = sys.executable if python == "same" else shutil.which(python)
    if found is None:
        raise TensorcopyError(
            "no such interpreter", got=python, allowed='"same", a program on the PATH, or its path', next="look at the name again"
        )
    return Path(found)


def asked(python: Path, module: str, *arguments: str, variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What `python -m MODULE` prints, a JSON object. Raises TensorcopyError where it fails.

    variables : of the process; by default ours, with this package to be found
    """
    done = subprocess.run(
        [str(python), "-m", module, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)} if variables is None else dict(variables),
        cwd=CHECKOUT,
        check=False,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        if "; allowed: " in last and "; next: " in last:
            raise Relayed(last)
        raise TensorcopyError(
            f"{python} cannot import torch and tensorcopy's registry",
            got=last,
            allowed="torch 1.9 or newer and numpy on Python 3.9 or newer",
            next=f"{python} -m {module} shows it whole",
        )
    said: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return said
