"""The project of tensorcopy.toml: a dashboard of its own operations or asv suites.

    [project]
    name = "kernels"
    title = "Our kernels over torch releases"

    [suites]
    path = "benchmarks"
    threads = 1

A project measures what its file declares, and none of the registry's methods.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import operations, toml
from tensorcopy.worker.operations import FILE, GUIDE

FIELDS = {"project": ("name", "title", "requires"), "suites": ("path", "threads")}  # of the tables
NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,39}", re.ASCII)
PACKAGE = re.compile(r"[A-Za-z0-9.]")  # begins a requirement, and no option of pip
MOST_THREADS = 1024
LONGEST_TITLE = 80  # characters: a heading of two lines on a phone


@dataclass(frozen=True)
class Project:
    """The project that the current folder declares.

    name : of asv's project, in the head of every page
    title : the heading of its landing page
    requires : packages for the environment of every release; one that begins with "." is the folder of a package
    suites : the folder of an asv suite of its own; None without one
    threads : of torch in its processes, since times with several depend on what else runs; 0 for as many as torch decides
    folder : the folder of tensorcopy.toml
    """

    name: str
    title: str
    requires: tuple[str, ...]
    suites: Path | None
    threads: int
    folder: Path

    def requirements(self) -> list[str]:
        """Return the arguments of `pip install` for its packages; a folder is installed so that its changes are seen."""
        arguments = []
        for package in self.requires:
            arguments += ["--editable", str((self.folder / package).resolve())] if package.startswith(".") else [package]
        return arguments

    def variables(self) -> dict[str, str]:
        """Return the environment variables of a process that measures it, unless the caller sets them."""
        return {"OMP_NUM_THREADS": str(self.threads)} if self.threads else {}


def declared() -> Project | None:
    """Return the project of the current folder's tensorcopy.toml; None without [project] and [suites].

    Raises TensorcopyError for an invalid declaration.
    """
    return declared_in(operations.folder())


@cache
def declared_in(folder: Path) -> Project | None:
    """Return the project that a folder declares, as `declared`."""
    path = folder / FILE
    try:
        document = toml.load(path) if path.is_file() else {}
    except ValueError as error:
        raise _refused(str(error), "TOML") from error
    tables = {table: document[table] for table in FIELDS if table in document}
    return _checked(tables, folder) if tables else None


def _checked(tables: Mapping[str, Any], folder: Path) -> Project:
    for table, values in tables.items():
        allowed = ", ".join(FIELDS[table])
        if not isinstance(values, dict):
            raise _refused(f"{table} = {values!r}", f"a table [{table}] with {allowed}")
        for name, value in values.items():
            if name not in FIELDS[table]:
                raise _refused(f"{name} in [{table}]", allowed)
            if name == "requires":
                if not isinstance(value, list) or not all(isinstance(package, str) and PACKAGE.match(package) for package in value):
                    raise _refused(f"requires = {value!r}", 'an array of packages, such as "einops==0.8" or ".."')
            elif name == "threads":
                if type(value) is not int or not 0 <= value <= MOST_THREADS:
                    raise _refused(f"threads = {value!r}", f"a number from 0, torch's own, to {MOST_THREADS}")
            elif not isinstance(value, str) or not value.isprintable():
                raise _refused(f"{name} = {value!r} in [{table}]", "a text of one line")
    values, path = tables.get("project", {}), tables.get("suites", {}).get("path")
    name = values.get("name") or default_name(folder)
    title = values.get("title") or default_title(name)
    if not NAME.fullmatch(name):
        raise _refused(f"name = {name!r} in [project]", "letters, digits and . _ -, at most 40")
    if len(title) > LONGEST_TITLE:
        raise _refused(f"a title of {len(title)} characters", f"at most {LONGEST_TITLE}")
    if "suites" in tables and not path:
        raise _refused("[suites] without path", 'path = "benchmarks", the folder of an asv suite')
    threads = tables.get("suites", {}).get("threads", 1)
    requires = tuple(values.get("requires", ()))
    suites = (folder / path).resolve() if path else None
    if suites and not suites.is_dir():
        raise _refused(f"the path {suites.name} in [suites], which is no folder", "the folder of an asv suite, relative to tensorcopy.toml")
    if suites and not (suites / "__init__.py").is_file():
        raise _refused(f"the folder {suites.name} without __init__.py", "the folder of an asv suite, a package")
    return Project(name, title, requires, suites, threads, folder)


def default_name(folder: Path) -> str:
    """Return the name of a project from that of its folder."""
    return re.sub(r"[^\w.-]+|^[^A-Za-z0-9]+", "", folder.name, flags=re.ASCII)[:40] or "project"


def default_title(name: str) -> str:
    """Return the title of a project that declares none."""
    return f"{name} over torch releases"


def _refused(got: str, allowed: str) -> TensorcopyError:
    return TensorcopyError(f"{FILE} is refused", got=got, allowed=allowed, next=GUIDE)
