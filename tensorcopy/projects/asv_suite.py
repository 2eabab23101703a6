"""What the asv.conf.json of a suite says about its package, as far as it concerns an environment with a torch release."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct
from packaging.utils import canonicalize_name

from tensorcopy import configuration, files
from tensorcopy.campaign import PROJECT_NAME
from tensorcopy.configuration import Text
from tensorcopy.measure import plan
from tensorcopy.releases import environments, release_table, uv

NAMES = (configuration.FILE, "asv.conf.jsonc")
CONDA = ("conda", "mamba", "rattler")  # environments whose packages have other names than those of pip's index, or other owners
FIRST_PYTHON = 9  # of Python 3: torch has wheels for it and newer ones
# what differs in a project: folders, the repository of releases, pages
OURS = {
    *("version", "project", "project_url", "repo", "repo_subdir", "benchmark_dir", "branches", "dvcs", "env_dir", "results_dir"),
    *("html_dir", "show_commit_url", "hash_length", "pythons", "matrix", "plugins", "default_benchmark_timeout"),
}


class _SuiteConfiguration(Struct):
    """What is read of the configuration."""

    project: Text = ""
    project_url: Text = ""
    repo: Text = ""
    repo_subdir: Text = ""
    benchmark_dir: Text = "benchmarks"
    pythons: list[Text] = []
    environment_type: Text = ""
    matrix: dict[str, dict[str, Any] | list[Any] | str | None] = {}


@dataclass(frozen=True)
class AsvSuite:
    """A suite's configuration.

    path : of the file, relative to the project
    name : of the package
    source : the address of its repository; "" if it names none
    requires : the package, where pip can install it, and what the matrix adds
    pythons : that torch has wheels for, the newest first of those that the reference has one for, with which all releases are compared
    ignored : the settings that have no meaning here
    """

    path: str
    name: str
    source: str
    requires: tuple[str, ...]
    pythons: tuple[str, ...]
    ignored: tuple[str, ...]


def benchmarks(folder: Path) -> Path:
    """Return the folder of the benchmarks: the one that a configuration in `folder` names, or `folder` itself."""
    if not (folder / "__init__.py").exists():
        for path in (folder / name for name in NAMES):
            if path.is_file():
                return folder / configuration.read(path, _SuiteConfiguration).benchmark_dir
    return folder


def find(suites: Path, folder: Path) -> AsvSuite | None:
    """Return the configuration that stands in the folder of a suite or above it, in the same repository; None without one.

    folder : of the project, whose own configuration is another
    """
    for parent in (suites, *suites.parents):
        for path in (parent / name for name in NAMES):
            if path.is_file() and path != folder / configuration.FILE:
                return _read(path, folder)
        if (parent / ".git").exists():
            break
    return None


def _read(path: Path, folder: Path) -> AsvSuite:
    known, ignored = configuration.read(path, _SuiteConfiguration), [key for key in configuration.read(path, dict) if key not in OURS]
    top, requires = _package(path.parent, known), list[str]()
    if top:
        below = os.path.relpath(top, folder)
        requires = [below if below.startswith(".") else f"./{below}"]
    elif known.project and (reason := _why_not_on_index(known.project)):
        ignored.append(f"project, {reason}")
    elif known.project:
        requires = [known.project]
    apart = {"req", "env", "env_nobuild"} & known.matrix.keys()
    ignored += [f"matrix.{key}" for key in ("env", "env_nobuild") if known.matrix.get(key)]
    rows = known.matrix.get("req") if apart else known.matrix
    of_conda = list[str]()
    for package, versions in rows.items() if isinstance(rows, dict) else ():
        asked = [version for version in (versions if isinstance(versions, list) and versions else [versions or ""]) if version is not None]
        if package.removeprefix("pip+") == "torch":
            ignored.append("torch in matrix, which is what is measured")
        elif asked:
            version = str(asked[-1])
            required = f"{package.removeprefix('pip+')}{'==' if version[:1].isdigit() else ''}{version}"
            is_of_conda = known.environment_type in CONDA and not package.startswith("pip+")
            (of_conda if is_of_conda else requires).append(required)
            ignored += [f"{package} {version} in matrix" for version in asked[:-1]]
    if named := [package for package in of_conda if package not in ("numpy", *requires)]:  # every environment has numpy
        ignored.append(f"{', '.join(named)} in matrix, as conda names them: add to requires what the suite imports, as pip names it")
    seconds = {int(each[2:]) for each in known.pythons if re.fullmatch(r"3\.\d+", each)}
    newest_first = [f"3.{second}" for second in sorted(seconds, reverse=True) if second >= FIRST_PYTHON]
    reference = release_table.load().find(plan.REFERENCE)
    return AsvSuite(
        path=os.path.relpath(path, folder),
        name=known.project if PROJECT_NAME.fullmatch(known.project) else "",
        source=configuration.web_address(known.repo) or configuration.web_address(known.project_url),
        requires=tuple(requires),
        pythons=tuple(sorted(newest_first, key=reference.runs_on, reverse=True)),
        ignored=tuple(ignored),
    )


def _package(place: Path, known: _SuiteConfiguration) -> Path | None:
    """Return the folder of the package that a configuration measures, which is the repository it is in; None without one there."""
    is_local = (place / known.repo).is_dir()
    around = (parent for parent in (place, *place.parents) if (parent / ".git").exists())
    for folder in (*([place / known.repo] if known.repo and is_local else []), *islice(around, 1)):
        top = (folder / known.repo_subdir).resolve()
        tables: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            tables = files.read_toml(top / "pyproject.toml")
        named = tables.get("project")
        name = str(named.get("name", "")) if isinstance(named, dict) else ""
        if name and not is_local and canonicalize_name(name) != canonicalize_name(known.project):
            continue  # a suite in the repository of another package
        if (top / "setup.py").is_file() or {"project", "build-system"} & set(tables):
            return top
    return None


def _why_not_on_index(name: str) -> str:
    """Return why pip cannot install a package of this name; "" where it can."""
    try:
        if PROJECT_NAME.fullmatch(name) and uv.resolved(name, environments.this_python(), lowest=False):
            return ""
    except uv.UvFailed as error:
        if error.is_of_network:
            return "since the package index cannot be reached"
    return "which pip cannot install"
