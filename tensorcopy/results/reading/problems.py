"""The errors that name a file of results, and what the file would have held."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError

NAME = re.compile(r"(?P<sha>[0-9a-f]{8})-py(?P<python>3\.\d+)-(?P<build>[a-z]+)(-interpreter)?\.json")
NOT_RESULTS = ("machine.json", "benchmarks.json")


class FileProblem(TensorcopyError):
    """An error that names a file of results: it is damaged, refused or gone."""

    def __init__(self, what: str, *, path: Path, got: str, allowed: str, next: str) -> None:
        super().__init__(what, got=got, allowed=allowed, next=next)
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process raises the error again."""
        return partial(type(self), self.what, path=self.path, got=self.got, allowed=self.allowed, next=self.next), ()


@dataclass(frozen=True)
class Unread:
    """A result that a file would have held, by the file's name.

    sha : its first eight digits; sha, python and build are "" where the name is not a result's, so that it may be any
    """

    machine: str
    sha: str
    python: str
    build: str


def unread(problem: TensorcopyError) -> list[Unread]:
    """Return the results that could not be read because of a problem."""
    if not isinstance(problem, FileProblem) or problem.path.name == "benchmarks.json":
        return []
    if problem.path.name == "machine.json":  # none of the folder's files are read
        paths = sorted(path for path in problem.path.parent.glob("*.json") if path.name not in NOT_RESULTS)
    else:
        paths = [problem.path]
    return [_unread(path) for path in paths]


def _unread(path: Path) -> Unread:
    match = NAME.fullmatch(path.name)
    return Unread(path.parent.name, match["sha"], match["python"], match["build"]) if match else Unread(path.parent.name, "", "", "")


def displayed(path: Path) -> Path:
    """Return a file's path from the folder of results on, as errors show it."""
    depth = 2 if path.name == "benchmarks.json" else 3  # results/benchmarks.json, results/machine/file.json
    full = path if len(path.parts) >= depth and ".." not in path.parts else path.resolve()  # a link in a full path keeps its name
    return Path(*full.parts[-depth:])


def damaged(path: Path, got: str) -> FileProblem:
    """Return the error for a file that cannot be read."""
    return FileProblem(
        f"the result file {displayed(path)} cannot be read",
        path=path,
        got=got,
        allowed="a complete file as asv writes it",
        next=f"git checkout {displayed(path)}, or measure again",
    )


def mislabelled(path: Path, got: str, allowed: str) -> FileProblem:
    """Return the error for a file whose name, folder, label or passes disagree."""
    return FileProblem(
        f"the result file {displayed(path)} is refused, its provenance does not match its label",
        path=path,
        got=got,
        allowed=allowed,
        next="remove the file and measure again",
    )


def in_no_row(path: Path, torch: str, sha: str) -> FileProblem:
    """Return the error for a result of a torch that is not in the table of releases: it is in no history."""
    return FileProblem(
        f"the result file {displayed(path)} is in no history",
        path=path,
        got=f"torch {torch[:60]} of {sha[:8]}",
        allowed="a SHA with a row in the table of releases",
        next=f"tensorcopy releases add {torch.partition('+')[0][:60]}",
    )
