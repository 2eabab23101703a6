"""Run uv: find Pythons, make virtual environments, query the package index.

Indexes, proxies, caches and `UV_TORCH_BACKEND` are uv's own settings.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from uv import find_uv_bin

from tensorcopy import files
from tensorcopy.errors import TensorcopyError, of_text

FIRST, LAST = 200, 700  # characters of uv's output that are shown: what was built, and why it failed


@cache
def find_python(minor: str) -> Path | None:
    """Return the interpreter of Python `minor`, such as "3.11", or None: uv looks on this machine, outside virtual environments."""
    with suppress(TensorcopyError):
        return Path(_run("python", "find", "--system", "--no-project", "--no-python-downloads", f"cpython@{minor}").strip())
    return None


def make_environment(path: Path, python: Path, requirements: list[str]) -> None:
    """Make a virtual environment with `requirements`, replacing any at `path`. Raises TensorcopyError."""
    _run("venv", "--quiet", "--clear", "--no-project", "--python", str(python), str(path))
    _run("pip", "install", "--quiet", "--python", str(interpreter(path)), *requirements)


def interpreter(environment: Path) -> Path:
    """Return the Python of a virtual environment."""
    return environment / "bin/python"


def index_entry(version: str) -> dict[str, Any]:
    """Return the entry of a version of torch in uv's lock file: its wheels with file name and upload time.

    Raises TensorcopyError where the index has no such version for the running Python.
    """
    # a lock file omits wheels for Pythons before the project's first; what torch requires is not resolved, which would take a second
    lines = (
        '[project]\nname = "probe"\nversion = "0"\nrequires-python = ">=3.6"',
        f"dependencies = [\"torch=={version} ; python_version >= '3.{sys.version_info.minor}'\"]",
        '[[tool.uv.dependency-metadata]]\nname = "torch"\n',
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pyproject.toml").write_text("\n".join(lines), encoding="utf-8")
        _run("lock", "--quiet", "--project", folder)
        entries: list[dict[str, Any]] = files.read_toml(Path(folder, "uv.lock"))["package"]
    return next(each for each in entries if each["name"] == "torch")


def newer(version: str) -> list[str]:
    """Return the versions of torch after another one on the index, in order. Raises TensorcopyError without the index."""
    versions = [version]
    options = ["--no-header", "--no-annotate", "--no-deps", "--prerelease", "disallow", "--resolution", "lowest-direct"]
    try:
        while following := _run("pip", "compile", "--quiet", *options, "-", given=f"torch>{versions[-1]}").strip():
            versions.append(following.partition("==")[2])
    except TensorcopyError as error:
        if "No solution found" not in error.got:  # which uv says where no release is newer
            raise
    return versions[1:]


def _run(*arguments: str, given: str = "") -> str:
    """Return what uv prints. Raises TensorcopyError, and DiskError."""
    environment = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT")}
    completed = subprocess.run([find_uv_bin(), *arguments], input=given, capture_output=True, text=True, env=environment, check=False)
    if completed.returncode != 0:
        got = " ".join(completed.stderr.split())
        got = got if len(got) <= FIRST + LAST else f"{got[:FIRST]} … {got[-LAST:]}"
        remedy = "check the network, UV_INDEX_URL and requires in tensorcopy.toml, then repeat"
        allowed = f"what {shlex.join(['uv', *arguments])} can do"
        raise of_text(got) or TensorcopyError(f"uv {arguments[0]} failed", got=got, allowed=allowed, next=remedy)
    return completed.stdout
