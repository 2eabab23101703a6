"""An environment per (release, Python, build): made by uv, kept, and refused unless what is in it is what the table says."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import interpreters, uv
from tensorcopy.releases.interpreters import CHECKOUT
from tensorcopy.releases.release_table import Release, load, minor, numpy_for
from tensorcopy.worker.registry import operations

COMPLETE = "complete"  # a file in an environment, written last: an interrupted installation has none
# What is measured is measured so, unless the caller's environment says otherwise. glibc moves its threshold for mmap as memory is freed,
# so that a copy of 4 MiB costs a process its page faults at first and later not; here it stands from the start where it ends up at most.
STEADY = {"GLIBC_TUNABLES": f"glibc.malloc.mmap_threshold={32 * 2**20}:glibc.malloc.trim_threshold={64 * 2**20}"}


@dataclass(frozen=True)
class Environment:
    """A place where one torch release can be measured, verified.

    python : its interpreter
    report : what `python -m tensorcopy.worker.provenance --observe` printed there: "ledger", "methods", "article"
    own : variables of its processes
    """

    python: Path
    report: dict[str, Any]
    own: Mapping[str, str] = field(default_factory=dict)

    def variables(self) -> dict[str, str]:
        """A process's variables in which something of this checkout is measured or observed."""
        return {**STEADY, **os.environ, **self.own, "PYTHONPATH": str(CHECKOUT)}


def runner() -> str:
    """The version of asv_runner that goes into every environment, this program's own: it decides how a sample is taken."""
    return version("asv_runner")


def name(python: str, build: str) -> str:
    """The environment's name in results: "py3.11-cuda"."""
    return f"py{python}-{build}"


def expected_build() -> str:
    """The kind of torch wheel that uv installs on this machine: the index's default, or what UV_TORCH_BACKEND asks for."""
    asked = os.environ.get("UV_TORCH_BACKEND", "")
    for prefix, build in (("cpu", "cpu"), ("cu", "cuda"), ("rocm", "rocm"), ("xpu", "xpu")):
        if asked.startswith(prefix):
            return build
    return "cuda" if platform.system() == "Linux" and platform.machine() == "x86_64" else "cpu"


def why_not(release: Release, pythons: list[str]) -> str:
    """Why `release` cannot be installed with any of `pythons` on this machine; "" when it can."""
    served = [python for python in pythons if release.runs_on(python)]
    wheels = f"torch {release.version} has wheels for Python {release.pythons[0]} to {release.pythons[1]}"
    if not served:
        return f"{wheels}, not for {' or '.join(pythons)}"
    if not any(uv.find_python(python) for python in served):
        return f"{wheels}; none of {', '.join(served)} is on this machine (uv python install {served[0]})"
    return ""


def path_of(directory: Path, release: Release, python: str, build: str) -> Path:
    """Where the environment lies under `directory`."""
    return directory / f"{release.version}-{name(python, build)}"


def is_complete(path: Path) -> bool:
    """Whether the environment at `path` was installed to the end."""
    return (path / COMPLETE).exists()


def build(directory: Path, release: Release, python: str, build: str) -> Environment:
    """The environment for `release` on Python `python`, made under `directory` unless it is there. Raises TensorcopyError."""
    path = path_of(directory, release, python, build)
    complete = path / COMPLETE
    own = [package for one in operations.declared() for package in one.requires]
    wanted = "\n".join([*release.requirements(python), f"asv_runner=={runner()}", *own])
    if not complete.exists() or complete.read_text(encoding="utf-8") != wanted:
        _install(path, release, python, wanted.split("\n"))
        complete.write_text(wanted, encoding="utf-8")
    # not part of `complete`: a checkout that moved is found again
    (uv.site_packages(path) / "tensorcopy.pth").write_text(f"{CHECKOUT}\n", encoding="utf-8")
    environment = inspected(uv.interpreter(path), bytecode_in(path))
    verify(environment, release, build=build, numpy=numpy_for(release, python))
    return environment


def remove(path: Path) -> None:
    """Give an environment's room on the disk back. Its packages leave uv's cache too: the files are the same, linked twice."""
    if not path.exists():
        return
    (path / COMPLETE).unlink(missing_ok=True)  # first: what is interrupted from here on is no environment
    try:
        uv.forget(uv.packages(path))
    except uv.UvFailed as error:
        raise TensorcopyError(
            f"uv's cache kept the packages of {path.name}", got=str(error), allowed="a cache that nobody uses", next="uv cache clean torch"
        ) from error
    shutil.rmtree(path)


def _install(path: Path, release: Release, python: str, requirements: list[str]) -> None:
    found = uv.find_python(python)
    if found is None:
        raise TensorcopyError(
            f"no Python {python} for torch {release.version}",
            got="none that uv finds on this machine",
            allowed=f"Python {release.pythons[0]} to {release.pythons[1]}",
            next=f"uv python install {python}",
        )
    try:
        uv.make_environment(path, found, requirements)
    except uv.UvFailed as error:
        raise TensorcopyError(
            f"torch {release.version} was not installed on Python {python}",
            got=str(error),
            allowed="an index that uv reaches and has the wheel",
            next="look at the network and UV_INDEX_URL, then repeat: nothing that was measured is lost",
        ) from error


def inspected(python: Path, own: Mapping[str, str] | None = None) -> Environment:
    """The environment of an interpreter that has torch, whichever that is. Raises TensorcopyError where it has none."""
    unseen = Environment(python, {}, own or {})
    report = interpreters.asked(python, "tensorcopy.worker.provenance", "--observe", variables=unseen.variables())
    return replace(unseen, report=report)


def verify(environment: Environment, release: Release, *, build: str, numpy: str) -> None:
    """Refuse an environment that is not what its label says: TensorcopyError with what was wanted, what came and what to do."""
    provenance = environment.report["ledger"]
    wanted = {"torch": release.version, "torch_sha": release.sha, "build": build, "numpy": numpy, "asv_runner": runner()}
    for name, value in wanted.items():
        came = provenance[name].split("+")[0] if name == "torch" else provenance[name]
        if came != value:
            raise TensorcopyError(
                f"the environment of torch {release.version} is refused, its {name} is not the table's",
                got=f"{came} in {provenance['torch']}",
                allowed=value,
                next=_remedy(name, release, environment),
            )


def released_as(provenance: dict[str, Any]) -> Release:
    """The release whose SHA a torch reports. Raises TensorcopyError for a build that is in no row."""
    for release in load():
        if release.sha == provenance["torch_sha"]:
            return release
    raise TensorcopyError(
        "this torch is no known release",
        got=f"{provenance['torch']} built from {provenance['torch_sha']}",
        allowed="a SHA in tensorcopy/releases.toml",
        next=f"tensorcopy releases add {provenance['torch'].split('+')[0]}, or measure in an environment of its own",
    )


def _remedy(field: str, release: Release, environment: Environment) -> str:
    if field == "build":
        return "set UV_TORCH_BACKEND to the build that is meant, such as cpu or cu126"
    if field in ("torch", "torch_sha"):
        return f"tensorcopy releases add {release.version} makes the row anew from the wheel"
    return f"remove {environment.python.parent.parent} and repeat"


def bytecode_in(folder: Path) -> dict[str, str]:
    """Variables by which Python keeps bytecode in a folder of ours, whatever the caller's Python does: torch takes twice as long to import
    without, and that in every process of a pass.
    """
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def this_python() -> str:
    """The minor version of the running interpreter, such as "3.12"."""
    return "{}.{}".format(*minor(platform.python_version()))


def pythons_for(release: Release, preferred: list[str]) -> list[str]:
    """The Pythons on this machine with a wheel of `release`: those of `preferred` first, then the running one, then any newer."""
    others = [this_python(), *(f"3.{second}" for second in range(sys.version_info.minor + 3, 7, -1))]
    candidates = list(dict.fromkeys([*preferred, *others]))
    return [python for python in candidates if release.runs_on(python) and uv.find_python(python)]
