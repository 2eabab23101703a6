"""Run uv: find Pythons, make virtual environments, query the package index.

Indexes, proxies, caches and `UV_TORCH_BACKEND` are uv's own settings.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from uv import find_uv_bin

from tensorcopy import files

UNSOLVABLE = "No solution found"  # begins what uv says of requirements that exclude each other
LONGEST = 1000  # characters of uv's output that are shown


class UvFailed(Exception):
    """uv exited with an error; the text is its reason, or the beginning and the end of its output."""

    @property
    def is_of_network(self) -> bool:
        """Whether an index could not be reached."""
        return bool(re.search(r"Failed to (fetch|download)|error sending request|network was disabled", str(self)))


def find_python(minor: str) -> Path | None:
    """Return the interpreter of Python `minor`, such as "3.11", or None: uv looks on this machine, outside virtual environments."""
    return _python(minor, os.environ.get("PATH", ""))


@cache
def _python(minor: str, _: str) -> Path | None:
    """Return the interpreter of a Python, or None; the last argument is the PATH, where uv looks too."""
    try:
        return Path(_run("python", "find", "--system", "--no-project", "--no-python-downloads", f"cpython@{minor}").strip())
    except UvFailed:
        return None


def make_environment(path: Path, python: Path, requirements: list[str]) -> None:
    """Make a virtual environment with `requirements`, replacing any at `path`. Raises UvFailed."""
    _run("venv", "--quiet", "--clear", "--no-project", "--python", str(python), str(path))
    _run("pip", "install", "--quiet", "--python", str(interpreter(path)), *requirements)


def has_cached(requirement: str, python: Path, folder: Path) -> bool:
    """Return whether uv has all files of a requirement in its cache, on the file system of `folder`, where it links them."""
    try:
        if Path(_run("cache", "dir").strip()).stat().st_dev != folder.stat().st_dev:
            return False
        with tempfile.TemporaryDirectory() as nowhere:
            dry_run = ("--dry-run", "--offline", "--python", str(python), "--target", nowhere)
            return "Would download" not in _run("pip", "install", *dry_run, requirement, output="stderr")
    except (UvFailed, OSError):
        return False


def interpreter(environment: Path) -> Path:
    """Return the Python of a virtual environment."""
    return environment / "bin/python"


def index_entry(version: str, python: str) -> dict[str, Any]:
    """Return the entry of a version of torch in uv's lock file: its wheels with file name and upload time.

    Raises UvFailed where the index has no such version for Python `python` ("3.11").
    """
    entry: dict[str, Any] = {}
    for second in range(int(python.split(".")[1]), 5, -1):  # a lock file omits wheels for Pythons before its first
        # what torch requires is not resolved, which would take a second
        project = f'[project]\nname = "probe"\nversion = "0"\nrequires-python = ">=3.{second}"\ndependencies = ["torch=={version}"]\n'
        project += '[[tool.uv.dependency-metadata]]\nname = "torch"\n'
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "pyproject.toml").write_text(project, encoding="utf-8")
            try:
                _run("lock", "--quiet", "--project", folder)
            except UvFailed:
                if not entry:
                    raise
                break
            entry = next(each for each in files.read_toml(Path(folder, "uv.lock"))["package"] if each["name"] == "torch")
    return entry


def resolved(requirement: str, python: str, *, lowest: bool) -> str | None:
    """Return the version that the index has for a requirement such as "torch>2.14.1", the lowest or the highest; None without one.

    Raises UvFailed where the index cannot be reached.
    """
    which = "lowest-direct" if lowest else "highest"
    options = ["--no-header", "--no-annotate", "--no-deps", "--prerelease", "disallow", "--resolution", which, "--python-version", python]
    try:
        compiled = _run("pip", "compile", "--quiet", *options, "-", given=requirement)
    except UvFailed as error:
        if UNSOLVABLE in str(error):
            return None
        raise
    return compiled.strip().partition("==")[2]


def _run(*arguments: str, given: str = "", output: str = "stdout") -> str:
    environment = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT")}
    completed = subprocess.run([find_uv_bin(), *arguments], input=given, capture_output=True, text=True, env=environment, check=False)
    if completed.returncode != 0:
        text = " ".join(completed.stderr.split())
        begin, end = (LONGEST, 0) if UNSOLVABLE in text else (LONGEST // 5, LONGEST * 4 // 5)  # what was built; why it failed
        reason = text[max(0, text.find(UNSOLVABLE)) :] or "no output"
        raise UvFailed(reason if len(reason) <= LONGEST else f"{reason[:begin]} … {reason[len(reason) - end :]}")
    return str(getattr(completed, output))
