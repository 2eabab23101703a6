"""Run uv: find Pythons, make virtual environments, query the package index.

Indexes, proxies, caches and `UV_TORCH_BACKEND` are uv's own settings.
"""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from uv import find_uv_bin

from tensorcopy import files

NIGHTLY_INDEX = "NIGHTLY_INDEX"  # environment variable: the address of an index of nightlies and release candidates of torch
UNSOLVABLE = "No solution found"  # begins what uv says of requirements that exclude each other
LONGEST = 1000  # characters of uv's output that are shown
PRERELEASE = re.compile(r"(?:\.dev|rc|[ab])\d+$")


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


def nightly_index() -> str:
    """Return the address of the index of nightlies and release candidates; "" where none is set."""
    return os.environ.get(NIGHTLY_INDEX, "")


def index_of(version: str) -> str:
    """Return the address of the index that has a version of torch; "" for those of uv's settings."""
    return nightly_index() if PRERELEASE.search(version) else ""


def make_environment(path: Path, python: Path, requirements: list[str], index: str, *, only: bool = False) -> None:
    """Make a virtual environment with `requirements`, replacing any at `path`. Raises UvFailed.

    index : the address of another package index, which comes first, or with `only` alone; "" for those of uv's settings
    """
    _run("venv", "--quiet", "--clear", "--no-project", "--python", str(python), str(path))
    indexes = {"UV_DEFAULT_INDEX" if only else "UV_INDEX": index} if index else {}  # not an argument, which every process can read
    _run("pip", "install", "--quiet", "--python", str(interpreter(path)), *requirements, **indexes)


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


def site_packages(environment: Path) -> Path:
    """Return the site-packages folder of a virtual environment. Raises FileNotFoundError where it has none."""
    for folder in (environment / "lib").glob("python*/site-packages"):
        return folder
    raise FileNotFoundError(errno.ENOENT, "no site-packages", str(environment))


def index_entry(version: str, python: str) -> dict[str, Any]:
    """Return the entry of a version of torch in uv's lock file: its wheels with file name and upload time.

    Raises UvFailed where the index has no such version for Python `python` ("3.11").
    """
    entry: dict[str, Any] = {}
    for second in range(int(python.split(".")[1]), 5, -1):  # a lock file omits wheels for Pythons before its first
        try:
            with _project(f"torch=={version}", f">=3.{second}", index_of(version)) as project:
                _run("lock", "--quiet", "--project", str(project))
                packages = files.read_toml(project / "uv.lock")["package"]
        except UvFailed:
            if not entry:
                raise
            break
        entry = next(each for each in packages if each["name"] == "torch")
    return entry


def resolved(requirement: str, python: str, *, lowest: bool, prereleases: bool = False, index: str = "") -> str | None:
    """Return the version that the index has for a requirement such as "torch>2.14.1", the lowest or the highest; None without one.

    index : the address of the index that has the package; "" for those of uv's settings

    Raises UvFailed where the index cannot be reached.
    """
    options = ["--resolution", "lowest-direct" if lowest else "highest", "--prerelease", "allow" if prereleases else "disallow"]
    try:
        with _project(requirement, f">={python}", index) as project:
            compiled = _run("pip", "compile", "--quiet", "--no-header", "--no-annotate", "--no-deps", *options, "--python-version", python,
                            str(project / "pyproject.toml"))  # fmt: skip
    except UvFailed as error:
        if UNSOLVABLE in str(error):
            return None
        raise
    return compiled.strip().partition("==")[2]


@contextmanager
def _project(requirement: str, pythons: str, index: str) -> Iterator[Path]:
    """Yield the temporary folder of a project with one requirement; index : the address of that which has this package alone, or ""."""
    package = re.split(r"[^\w.-]", requirement)[0]
    text = f'[project]\nname = "probe"\nversion = "0"\nrequires-python = "{pythons}"\ndependencies = ["{requirement}"]\n'
    text += f'[[tool.uv.dependency-metadata]]\nname = "{package}"\n'  # what it requires is not resolved, which would take a second
    if index:
        text += f'[[tool.uv.index]]\nname = "own"\nurl = {json.dumps(index)}\nexplicit = true\n'
        text += f'[tool.uv.sources]\n{package} = {{ index = "own" }}\n'
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "pyproject.toml").write_text(text, encoding="utf-8")
        yield Path(directory)


def _run(*arguments: str, output: str = "stdout", **variables: str) -> str:
    inherited = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT")}
    environment = {**inherited, **variables}
    completed = subprocess.run([find_uv_bin(), *arguments], input="", capture_output=True, text=True, env=environment, check=False)
    if completed.returncode != 0:
        text = " ".join(completed.stderr.split())
        begin, end = (LONGEST, 0) if UNSOLVABLE in text else (LONGEST // 5, LONGEST * 4 // 5)  # what was built; why it failed
        reason = text[max(0, text.find(UNSOLVABLE)) :] or "no output"
        raise UvFailed(reason if len(reason) <= LONGEST else f"{reason[:begin]} … {reason[len(reason) - end :]}")
    return str(getattr(completed, output))
