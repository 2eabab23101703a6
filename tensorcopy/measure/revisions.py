"""Git revisions as sides of launches: the suites, registry and package of a commit, under a torch release. Prints nothing.

A commit of tensorcopy times its own suites with its own registry. A commit of a project is timed by this tensorcopy: what
differs is the project, its operations, its suite and its package. Files and launches of revisions lie beside the environments, never in the
published results.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git, plan
from tensorcopy.measure.launch import Side
from tensorcopy.measure.plan import Measurement
from tensorcopy.releases import interpreters, release_table
from tensorcopy.releases.environments import Environment
from tensorcopy.releases.release_table import ReleaseIndex
from tensorcopy.results.launches import Place
from tensorcopy.worker import declarations

FOLDER = "revisions"
TABLE = "tensorcopy/releases.toml"
MEASURED = ("benchmarks/", "tensorcopy/", "asv.conf.json", "pyproject.toml")  # files that can change a time, or whether there is one


@dataclass(frozen=True)
class Revision(Measurement):
    """A commit of this repository, and the torch that measures it.

    commit : its SHA
    name : as it is printed, such as "head 1234abcd"; "" for its SHA
    """

    commit: str = ""
    name: str = ""

    def __str__(self) -> str:
        return f"{self.name or self.commit[:8]} with {super().__str__()}"

    @property
    def place(self) -> Place:
        return self.release.sha, self.environment, self.commit

    def path(self, paths: Paths) -> Path:
        return super().path(_own_paths(self.commit, paths))

    def opened(self, paths: Paths) -> Environment:
        own = _own_paths(self.commit, paths)
        with declarations.in_folder(checked_out(self.commit, paths)):
            return super().opened(own)

    def side(self, environment: Environment, paths: Paths) -> Side:
        folder, own = checked_out(self.commit, paths), _own_paths(self.commit, paths)
        with declarations.in_folder(folder):
            made = replace(super().side(environment, own), revision=self.commit)
            if declarations.project():
                return made
        search_path = os.pathsep.join([str(folder), made.variables["PYTHONPATH"]])  # its own tensorcopy first
        variables = {**made.variables, **dict.fromkeys(interpreters.SEARCH_PATHS, search_path)}
        variables.pop(declarations.VARIABLE, None)  # it declares its own
        return replace(made, suites=folder / "benchmarks", variables=variables)


def results_of(paths: Paths) -> Path:
    """Return the folder of the launches of revisions."""
    return _root(paths) / "results"


def checked_out(commit: str, paths: Paths) -> Path:
    """Return the folder with the files of a commit, of a project the part of it that is the project's.

    Raises TensorcopyError where the commit has no such project.
    """
    folder = _root(paths) / commit[:12]
    below = git.prefix() if declarations.project() else ""
    if declarations.project() and not git.has(commit, f"{below}{declarations.FILE}"):
        raise TensorcopyError(
            f"{commit[:8]} has no project",
            got=f"no {below}{declarations.FILE} in it",
            allowed="commits of a project",
            next="name a commit that has it",
        )
    git.check_out(commit, folder)
    return folder / below


def differ(base: str, head: str) -> bool:
    """Return whether a file that can change a time differs between two commits; of a project, any file can."""
    changed = git.changed(base, head)
    return any(name.startswith(MEASURED) and name != TABLE for name in changed) or bool(declarations.project() and changed)


def table_of(commit: str, paths: Paths) -> ReleaseIndex:
    """Return the table of releases of a commit; that of this tensorcopy for a project."""
    own = checked_out(commit, paths) / TABLE
    return release_table.load(own) if own.exists() else release_table.load()


def under_newest(commits: Mapping[str, str], paths: Paths, *, version: str = "", interpreter: str = "") -> list[Revision]:
    """Return commits as revisions under the newest torch that all of them support and this machine can install.

    commits : SHAs by the names that are printed
    version : of torch, "" for the newest
    interpreter : the Python whose torch is measured; "" to install one

    Raises TensorcopyError where there is no such torch, and for a commit without a project.
    """
    tables = [table_of(commit, paths) for commit in commits.values()]
    if interpreter:
        needs = [_packages(checked_out(commit, paths)) for commit in commits.values()]
        if None not in needs and any(each != needs[0] for each in needs):
            raise TensorcopyError(
                "an interpreter cannot have the packages of two commits",
                got="requires that differ, or that name a folder",
                allowed="the same versions in both commits, such as einops==0.8",
                next="leave the interpreter out",
            )
        measurement = plan.in_interpreters([interpreter], [version] if version else [])[0]
    else:
        common = [release for release in tables[0] if all(release in table for table in tables)]
        wanted = [release for release in reversed(common) if version in ("", release.version)]
        usable = next(filter(None, (plan.installable(release, paths.pythons)[0] for release in wanted)), None)
        if usable is None:
            raise TensorcopyError(
                f"{' and '.join(commits)} have no torch in common here",
                got=version or f"{len(common)} releases in the tables of all, none of which this machine can install",
                allowed="a release in all tables, and a Python with its wheel",
                next="tensorcopy list releases lists them",
            )
        measurement = usable
    return [of(measurement, commit, name) for name, commit in commits.items()]


def of(measurement: Measurement, commit: str, name: str) -> Revision:
    """Return a commit as a revision that a measurement's torch measures."""
    return Revision(measurement.release, measurement.python, measurement.interpreter, measurement.build, commit, name)


def _root(paths: Paths) -> Path:
    return paths.environments.parent / FOLDER


def _own_paths(commit: str, paths: Paths) -> Paths:
    """Return the paths of a commit: its environments are those of the checkout, unless it needs other packages than the checkout.

    A project's suites are generated beside its environments: so the folder is a link in any case.
    """
    folder = checked_out(commit, paths)
    if not declarations.project():
        return paths
    link = folder / ".asv" / "env"
    if _packages(folder) == _packages(declarations.folder()):
        paths.environments.mkdir(parents=True, exist_ok=True)  # first: the link may be there, and lead to a folder that was removed
        if not link.exists():
            link.parent.mkdir(exist_ok=True)
            link.unlink(missing_ok=True)  # the project may have been moved
            link.symlink_to(paths.environments, target_is_directory=True)
    return replace(paths, environments=link)


def _packages(folder: Path) -> list[str] | None:
    """Return what a project's environments need beside torch; None for an invalid project, whose side names the error."""
    try:
        declared = declarations.project_in(folder)
        of_operations = [
            package for operation in declarations.operations_of_file(folder / declarations.FILE) for package in operation.requires
        ]
    except (TensorcopyError, OSError):
        return None
    return [*of_operations, *(declared.requirements() if declared else ())]
