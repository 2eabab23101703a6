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
from tensorcopy.worker import operations, project

SIDES = ("base", "head")


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
    variables = revisions.bytecode(shared_environments)
    first, second = (Place(folder, folder / ".asv" / stage, variables) for folder in folders)
    return first, second


def refuse_other_packages(measured: Sequence[Place]) -> None:
    """Raise TensorcopyError if the commits need different packages, or a folder of their own: an interpreter has one version for both."""
    base, head = (_packages(place.folder) for place in measured)
    if base is not None and head is not None and base != head:
        raise TensorcopyError(
            "an interpreter cannot have the packages of two commits",
            got="requires that differ, or that name a folder",
            allowed="the same versions in both commits, such as einops==0.8",
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
