"""The commits of a project, each in a clone of its repository, measured by the program that is installed.

Program, torch and asv.conf.json are the same for both commits; what differs is the project: its operations, its suite and its package.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tensorcopy.asv_plugin import configuration
from tensorcopy.ci import git, revisions
from tensorcopy.ci.revisions import Place
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import environments
from tensorcopy.worker.registry import operations, project

SIDES = ("base", "head")
EDITABLE = "--editable"  # before a folder in `Project.requirements`


def refuse_without_project(base: str, head: str) -> None:
    """Raise TensorcopyError if a commit lacks the tensorcopy.toml of the current folder."""
    _, below = git.place()
    for side, sha in zip(SIDES, (base, head)):
        if not git.has(sha, f"{below}{operations.FILE}"):
            raise TensorcopyError(
                f"{side} has no project",
                got=f"no {below}{operations.FILE} in {sha[:8]}",
                allowed="two commits of a project",
                next=f"name a commit that has it: --{side} COMMIT",
            )


def places(base: str, head: str, root: Path, stage: str, shared_environments: Path) -> tuple[Place, Place]:
    """Return where base and head are measured for a stage, with their files there.

    They use the shared environments, unless they need different packages: then each has its own.

    root : the folder of both clones
    stage : the name of the folders of results
    """
    _, below = git.place()
    for side, sha in zip(SIDES, (base, head)):
        git.clone(sha, root / side)
    folders = [root / side / below for side in SIDES]
    packages_of_base, packages_of_head = map(_packages, folders)
    for folder in folders:
        if packages_of_base == packages_of_head:
            revisions.link_environments(folder, shared_environments)
        configuration.write_configuration(folder, folder / ".asv" / stage, folder / ".asv" / "env")
    variables = environments.bytecode_in(shared_environments)  # compiling torch anew for each commit takes as long as a pass
    first, second = (Place(folder, folder / ".asv" / stage, variables) for folder in folders)
    return first, second


def refuse_own_package(measured: Sequence[Place]) -> None:
    """Raise TensorcopyError if a commit installs a package of its own: an interpreter has one version of it for both."""
    for place in measured:
        packages = _packages(place.folder) or []
        if EDITABLE in packages:
            raise TensorcopyError(
                "an interpreter cannot have the packages of two commits",
                got=f"the folder {Path(packages[packages.index(EDITABLE) + 1]).name} in requires",
                allowed="packages with a version, such as einops==0.8",
                next="leave out --interpreter",
            )


def _packages(folder: Path) -> list[str] | None:
    """Return what a project's environments need beside torch; None for an invalid project, whose measurement names the error."""
    try:
        declared = project.declared_in(folder)
        of_operations = [package for operation in operations.of_file(folder / operations.FILE) for package in operation.requires]
    except (TensorcopyError, OSError):
        return None
    return [*of_operations, *(declared.requirements() if declared else ())]
