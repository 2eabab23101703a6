"""What an asv suite says of its package: its asv.conf.json, and what its benchmarks import."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct

from tensorcopy import configuration
from tensorcopy.campaign import PROJECT_NAME
from tensorcopy.configuration import Text

CONDA = ("conda", "mamba", "rattler")  # environments whose packages have other names than those of pip's index, or other owners
UNUSED = ("environment_type", "pythons", "build_command", "install_command", "uninstall_command")  # settings without a meaning here
EVERYWHERE = {"torch", "numpy", "asv_runner", "asv", *sys.stdlib_module_names}  # what each environment has


class AsvSuite(Struct):
    """What is read of a suite's configuration."""

    project: Text = ""
    repo: Text = "."
    benchmark_dir: Text = "benchmarks"
    environment_type: Text = ""
    matrix: dict[str, dict[str, Any] | list[Any] | str | None] = {}


@dataclass(frozen=True)
class Proposal:
    """What a suite's configuration means for a project that measures it."""

    folder: Path  # of the suite
    name: str = ""  # of the project
    requires: Sequence[str] = ()  # the package, and what the matrix adds
    notes: Sequence[str] = ()  # what was read, and the settings that have no meaning here


def find(place: Path, project: Path) -> Proposal:
    """Return what the configuration means that stands in the folder of a suite, or in the one above it; place : either of them."""
    path = next((path for path in (place / configuration.FILE, place.parent / configuration.FILE) if path.is_file()), None)
    if path is None:
        return Proposal(place)
    keys = configuration.read(path, dict)
    suite, requires, ignored = configuration.read(path, AsvSuite, keys), list[str](), [key for key in UNUSED if key in keys]
    name = suite.project if PROJECT_NAME.fullmatch(suite.project) else ""
    top = (path.parent / suite.repo).resolve()
    if top.is_dir() and any((top / file).is_file() for file in ("pyproject.toml", "setup.py")):
        package = os.path.relpath(top, project)
        requires.append(package if package.startswith(".") else f"./{package}")
    elif top.is_dir():  # the index may have another package of the project's name
        ignored.append(f"{suite.repo}, without a pyproject.toml or setup.py")
    elif name:
        requires.append(name)
    _add_matrix(suite, requires, ignored)
    notes = [f"From {os.path.relpath(path, project)}: requires = {json.dumps(requires)}"]
    notes += [f"Not used of it: {'; '.join(ignored)}"] if ignored else []
    return Proposal(place / suite.benchmark_dir if path.parent == place else place, name, requires, notes)


def _add_matrix(suite: AsvSuite, requires: list[str], ignored: list[str]) -> None:
    """Add the packages of a suite's matrix, of each the last version; the others, and those that only conda names, are ignored."""
    matrix, of_conda = suite.matrix, list[str]()
    ignored += [f"matrix.{key}" for key in ("env", "env_nobuild") if matrix.get(key)]
    rows = matrix.get("req") if {"req", "env", "env_nobuild"} & matrix.keys() else matrix
    for package, versions in rows.items() if isinstance(rows, dict) else ():
        name = package.removeprefix("pip+")
        asked = [str(each) for each in (versions if isinstance(versions, list) and versions else [versions or ""]) if each is not None]
        if name == "torch":
            ignored.append("torch in matrix, which is what is measured")
        elif asked:
            to = of_conda if suite.environment_type in CONDA and name == package else requires
            to.append(f"{name}{'==' if asked[-1][:1].isdigit() else ''}{asked[-1]}")
            ignored += [f"{package} {version} in matrix" for version in asked[:-1]]
    if named := [package for package in of_conda if package not in ("numpy", *requires)]:  # every environment has numpy
        ignored.append(f"{', '.join(named)} in matrix, as conda names them: add to requires what the suite imports, as pip names it")


def missing(suites: Path, requires: Sequence[str], folder: Path) -> list[str]:
    """Return the modules that a suite imports and that `requires` does not name; a package may have another name than its module.

    folder : of the project, to which folders in `requires` are relative
    """
    names, own = set[str](), {suites.name, *(path.stem for path in suites.iterdir())}
    for path in suites.rglob("*.py"):
        with suppress(OSError, SyntaxError, ValueError):
            for node in ast.walk(ast.parse(path.read_bytes())):
                names |= {alias.name for alias in node.names} if isinstance(node, ast.Import) else set()
                names |= {node.module} if isinstance(node, ast.ImportFrom) and node.module and not node.level else set()
    for package in requires:
        places = (folder / package, folder / package / "src") if package.startswith(".") else ()
        own |= {path.stem for place in places if place.is_dir() for path in place.iterdir()}
        own.add(re.sub(r"[-.]", "_", re.sub(r"[^\w.-].*", "", package.lower())))  # the name in a requirement
    return sorted({name.partition(".")[0] for name in names} - EVERYWHERE - own)
