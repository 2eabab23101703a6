"""A machine for jobs, as GitHub's ubuntu-24.04: git, bash and Python 3.12, no uv, and nothing of the tests' environment."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tensorcopy.releases import uv
from tests.conftest import ROOT, require

SYSTEM = "3.12"  # the Python of Ubuntu 24.04
CONFIGURATION = "_sysconfigdata__linux_x86_64-linux-gnu.py"  # uv expects it in a Python that it downloads
INDEX = ("UV_INDEX", "UV_DEFAULT_INDEX", "UV_CONFIG", "UV_EXTRA", "SSL_", "PIP_", "HTTP_", "HTTPS_", "NO_PROXY", "REQUESTS_", "XDG_CONFIG")


@dataclass(frozen=True)
class Machine:
    """Folders of a machine; a hosted one takes one job.

    folder : with workspace, temp and home
    """

    folder: Path

    @property
    def workspace(self) -> Path:
        """The folder of the checkout."""
        return self.folder / "workspace"

    @property
    def temp(self) -> Path:
        """The folder that is emptied after each job."""
        return self.folder / "temp"

    def variables(self) -> dict[str, str]:
        """Return the environment variables of its processes: the network's settings of this machine, and no others."""
        programs = self.folder / "bin"
        network = {name: value for name, value in os.environ.items() if name.upper().startswith(INDEX)}
        return {
            **network,
            "PATH": f"{programs}:/usr/bin:/bin",
            "HOME": str(self.folder / "home"),
            "LANG": "C.UTF-8",
            "RUNNER_TEMP": str(self.temp),
            "PYTHONPYCACHEPREFIX": f"{self.folder}-bytecode",
            "UV_CACHE_DIR": _cache(),
            "UV_PYTHON_INSTALL_DIR": str(self.folder / "pythons"),
            "UV_PYTHON_DOWNLOADS_JSON_URL": str(self.folder / "downloads.json"),
            "UV_LINK_MODE": "hardlink",
        }


def new(folder: Path) -> Machine:
    """Return a new machine in `folder`; an earlier one there is removed.

    Its processes find the bytecode of earlier machines there, which is the only thing that is left.
    """
    machine = Machine(folder)
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("workspace", "temp", "home", "bin"):
        (folder / name).mkdir(parents=True)
    system = uv.find_python(SYSTEM)
    require(system, f"uv finds no Python {SYSTEM}: uv python install {SYSTEM}")
    (folder / "bin" / f"python{SYSTEM}").symlink_to(system)
    _simulated_sudo(folder / "bin" / "sudo")
    _link_go(folder / "bin" / "go")
    (folder / "downloads.json").write_text(json.dumps(_downloads(folder)), encoding="utf-8")
    return machine


def install_uv(version: str, folder: Path) -> Path:
    """Install a version of uv, and return the folder of its program."""
    target = folder / f"uv-{version}"
    if not target.exists():
        subprocess.run([uv._program(), "pip", "install", "--quiet", "--target", str(target), f"uv=={version}"], check=True)
    return target / "bin"


@cache
def _cache() -> str:
    return subprocess.run([uv._program(), "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()


def _simulated_sudo(path: Path) -> None:
    """Write a `sudo` that lets apt-get only print what it would do: the tests change nothing on their machine."""
    path.write_text(
        '#!/bin/sh\nif [ "$1" = apt-get ]; then shift; case "$1" in update) exit 0;; esac; exec apt-get --simulate "$@"; fi\nexit 1\n'
    )
    path.chmod(0o755)


def _link_go(path: Path) -> None:
    """Link this machine's go; where there is none, one that does nothing: a hosted runner has one."""
    program = shutil.which("go")
    if program:
        path.symlink_to(program)
    else:
        path.write_text("#!/bin/sh\necho there is no go on this machine\n")
        path.chmod(0o755)


def _downloads(folder: Path) -> dict[str, object]:
    """Return uv's list of Pythons that can be downloaded: those of this machine, each an archive that starts it."""
    rows: dict[str, object] = {}
    for minor in ("3.9", "3.10", "3.11", "3.12", "3.13"):
        interpreter = uv.find_python(minor)
        if interpreter is None:
            continue
        full = _version(interpreter)
        archive = folder / f"{minor}.tar.gz"
        _write_archive(archive, minor, interpreter)
        rows[f"cpython-{full}-linux-x86_64-gnu"] = {
            "name": "cpython", "arch": {"family": "x86_64", "variant": None}, "os": "linux", "libc": "gnu", "major": 3,
            "minor": int(minor[2:]), "patch": int(full.split(".")[2]), "prerelease": "", "url": archive.as_uri(), "sha256": None,
            "variant": None, "build": "1",
        }  # fmt: skip
    return rows


@cache
def _version(interpreter: Path) -> str:
    return subprocess.run([interpreter, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]


def _write_archive(path: Path, minor: str, interpreter: Path) -> None:
    start = f'#!/bin/sh\nexec {interpreter} "$@"\n'.encode()
    with tarfile.open(path, "w:gz") as archive:
        for name, content in (
            (f"bin/python{minor}", start),
            (
                f"lib/python{minor}/{CONFIGURATION}",
                b"# system configuration generated and used by the sysconfig module\nbuild_time_vars = {}\n",
            ),
        ):
            entry = tarfile.TarInfo(f"python/{name}")
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))


def tests_environment(machine: Machine) -> dict[str, str]:
    """Return variables by which `uv run` uses the environment of these tests, which `uv run` made from the group dev.

    pytest only collects, since these tests run in it.
    """
    return {
        "UV_PROJECT_ENVIRONMENT": sys.prefix,
        "UV_NO_SYNC": "1",
        "PYTHONPATH": str(machine.workspace),
        "PYTEST_ADDOPTS": "--collect-only --quiet -n 0 -p no:cacheprovider",
        "MYPY_CACHE_DIR": str(ROOT / ".mypy_cache"),
        "GOFLAGS": "-n",  # go resolves and prints, and compiles nothing
    }
