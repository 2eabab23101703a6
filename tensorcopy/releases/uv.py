"""uv: which Pythons are here, a virtual environment, packages into it, and what an index says of a package.

Indexes, proxies, caches and `UV_TORCH_BACKEND` are uv's own settings and are left to it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class UvFailed(Exception):
    """uv exited with an error; the text is its last words."""


@cache
def find_python(minor: str) -> Path | None:
    """The interpreter of Python `minor`, such as "3.11", that uv finds on this machine outside virtual environments, or None."""
    try:
        found = _run("python", "find", "--system", "--no-project", "--no-python-downloads", f"cpython@{minor}")
    except UvFailed:
        return None
    return Path(found.strip())


def make_environment(path: Path, python: Path, requirements: list[str]) -> None:
    """A fresh virtual environment at `path` with `requirements` in it; what was there is removed. Raises UvFailed."""
    _run("venv", "--quiet", "--clear", "--no-project", "--python", str(python), str(path))
    _run("pip", "install", "--quiet", "--python", str(interpreter(path)), *requirements)


def interpreter(environment: Path) -> Path:
    """The Python of a virtual environment."""
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def site_packages(environment: Path) -> Path:
    """Where a virtual environment keeps its packages."""
    if os.name == "nt":
        return environment / "Lib" / "site-packages"
    return next((environment / "lib").glob("python*/site-packages"))


def packages(environment: Path) -> list[str]:
    """The names of what is installed in a virtual environment, as far as it is there."""
    return sorted({path.name.split("-")[0] for path in environment.glob("**/site-packages/*.dist-info")})


def forget(names: list[str]) -> None:
    """Remove packages from uv's cache."""
    if names:
        _run("cache", "clean", "--quiet", *names)


def index_entry(package: str, version: str, python: str) -> dict[str, Any]:
    """What the index says of one version of a package, as uv's lock file has it: its wheels with file name and upload time.

    Raises UvFailed where there is no such version for Python `python` ("3.11").
    """
    entry = _locked(package, version, f">={python}")
    for second in range(int(python.split(".")[1]) - 1, 5, -1):  # a lock lists no wheel for a Python before its own first
        try:
            entry = _locked(package, version, f">=3.{second}")
        except UvFailed:
            break
    return entry


def resolved(requirement: str, python: str, *, lowest: bool, prereleases: bool = False) -> str | None:
    """The lowest or the highest version that the index has for a requirement such as "torch>2.14.1" on Python `python`; None where it has
    none. Raises UvFailed where it cannot be asked.
    """
    options = ["--resolution", "lowest-direct" if lowest else "highest", "--prerelease", "allow" if prereleases else "disallow"]
    try:
        said = _run("pip", "compile", "--quiet", "--no-header", "--no-annotate", "--no-deps", *options, "--python-version", python, "-",
                    given=requirement)  # fmt: skip
    except UvFailed as error:
        if "No solution found" in str(error):
            return None
        raise
    return said.strip().partition("==")[2]


def _locked(package: str, version: str, pythons: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        project = Path(directory)
        (project / "pyproject.toml").write_text(
            f'[project]\nname = "probe"\nversion = "0"\nrequires-python = "{pythons}"\ndependencies = ["{package}=={version}"]\n',
            encoding="utf-8",
        )
        _run("lock", "--quiet", "--project", directory)
        lock = tomllib.loads((project / "uv.lock").read_text(encoding="utf-8"))
    return next(entry for entry in lock["package"] if entry["name"] == package)


def _run(*arguments: str, given: str = "") -> str:
    environment = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT")}
    done = subprocess.run([_program(), *arguments], input=given, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise UvFailed(_last_words(done.stderr))
    return done.stdout


@cache
def _program() -> str:
    try:
        from uv import find_uv_bin

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError):
        pass  # not installed as a package: the one on the PATH does as well
    found = shutil.which("uv")
    if found is None:
        raise TensorcopyError(
            "the program uv is missing", got="nothing on the PATH", allowed="uv, any recent version", next="pip install uv"
        )
    return found


def _last_words(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return " ".join(lines)[-400:] or "uv said nothing"
