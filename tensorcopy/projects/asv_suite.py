"""What an asv suite says of its package: its asv.conf.json, and what its benchmarks import."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from tensorcopy import configuration, files
from tensorcopy.campaign import PROJECT_NAME
from tensorcopy.configuration import Text

NAMES = (configuration.FILE, "asv.conf.jsonc")
CONDA = ("conda", "mamba", "rattler")  # environments whose packages have other names than those of pip's index, or other owners
UNUSED = ("environment_type", "build_command", "install_command", "uninstall_command")  # settings without a meaning here
EVERYWHERE = {"torch", "numpy", "asv_runner", "asv", *sys.stdlib_module_names}  # what each environment has


class AsvSuite(Struct):
    """What is read of a suite's configuration."""

    project: Text = ""
    project_url: Text = ""
    repo: Text = ""
    repo_subdir: Text = ""
    benchmark_dir: Text = "benchmarks"
    pythons: list[Text] = []
    environment_type: Text = ""
    matrix: dict[str, dict[str, Any] | list[Any] | str | None] = {}


@dataclass(frozen=True)
class Proposal:
    """What a suite's configuration means for a project that measures it."""

    path: Path | None = None  # of the file; None without one
    suite: AsvSuite = field(default_factory=AsvSuite)
    requires: list[str] = field(default_factory=list)  # the package, and what the matrix adds
    ignored: list[str] = field(default_factory=list)  # the settings that have no meaning here


def find(suites: Path, folder: Path) -> Proposal:
    """Return what the configuration means that stands in a folder or above it, in the same repository.

    folder : of the project, whose own configuration is another
    """
    for parent in (suites, *suites.parents):
        for path in (parent / name for name in NAMES):
            if path.is_file() and path != folder / configuration.FILE:
                suite, keys = configuration.read(path, AsvSuite), configuration.read(path, dict)
                top, is_local = _package(parent, suite), bool(suite.repo) and (parent / suite.repo).is_dir()
                package = os.path.relpath(top, folder) if top else suite.project
                package = f"./{package}" if top and not package.startswith(".") else package
                is_usable = bool(top or (PROJECT_NAME.fullmatch(package) and not is_local))  # the index may have another of its name
                requires, ignored = [package] if is_usable else [], [key for key in UNUSED if key in keys]
                if package and not is_usable:
                    ignored.append(f"{suite.repo}, without a pyproject.toml or setup.py" if is_local else package)
                _add_matrix(suite, requires, ignored)
                return Proposal(path, suite, requires, ignored)
        if (parent / ".git").exists():
            break
    return Proposal()


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


def _package(place: Path, suite: AsvSuite) -> Path | None:
    """Return the folder of the package that a suite in `place` measures, which is the repository it is in; None without one there."""
    is_local = bool(suite.repo) and (place / suite.repo).is_dir()
    around = next((parent for parent in (place, *place.parents) if (parent / ".git").exists()), None)
    for repository in filter(None, (place / suite.repo if is_local else None, around)):
        top, tables = (repository / suite.repo_subdir).resolve(), dict[str, Any]()
        with suppress(OSError, ValueError):
            tables = files.read_toml(top / "pyproject.toml")
        named = tables.get("project")
        name = str(named.get("name", "")) if isinstance(named, dict) else ""
        is_of_another = name and not is_local and canonicalize_name(name) != canonicalize_name(suite.project)
        if not is_of_another and ((top / "setup.py").is_file() or {"project", "build-system"} & set(tables)):
            return top
    return None


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
        if package.startswith("."):
            own |= {path.stem for place in (folder / package, folder / package / "src") if place.is_dir() for path in place.iterdir()}
        with suppress(InvalidRequirement):
            own.add(re.sub(r"[-.]", "_", Requirement(package).name.lower()))
    return sorted({name.partition(".")[0] for name in names} - EVERYWHERE - own)
