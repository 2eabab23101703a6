"""The results that a damaged, refused or missing file would have held, by its name. Reads only the names in a folder."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.results.reading.problems import NOT_RESULTS, FileProblem

NAME = re.compile(r"(?P<sha>[0-9a-f]{8})-py(?P<python>3\.\d{1,2})-(?P<build>[a-z]+)(-interpreter)?\.json$")


@dataclass(frozen=True)
class Unread:
    """A result that could not be read.

    sha : its first eight digits; sha, python and build are "" where the name is not a result's, so that it may be any
    problem : why it could not be read
    """

    machine: str
    sha: str
    python: str
    build: str
    problem: TensorcopyError

    @property
    def label(self) -> str:
        """Return its release and Python, such as "torch 2.4.1 on Python 3.11"."""
        versions = {row.sha[:8]: row.version for row in release_table.load()}
        return f"torch {versions.get(self.sha, self.sha)} on Python {self.python}"


def unread(problems: Iterable[TensorcopyError]) -> list[Unread]:
    """Return the results that could not be read because of these problems."""
    return [each for problem in problems if isinstance(problem, FileProblem) for each in _of_file(problem)]


def concerning(problems: Iterable[TensorcopyError], machines: Collection[str], pythons: Collection[str]) -> tuple[TensorcopyError, ...]:
    """Return the problems of files that could have results of these machines and Pythons.

    machines, pythons : any, where empty
    """
    return tuple(problem for problem in problems if _concerns(problem, machines, pythons))


def _concerns(problem: TensorcopyError, machines: Collection[str], pythons: Collection[str]) -> bool:
    held = unread([problem])
    return not held or any(
        (not machines or any(name.startswith(each.machine) for name in machines))  # a machine may have a suffix in its folder
        and (not pythons or each.python in ("", *pythons))
        for each in held
    )


def _of_file(problem: FileProblem) -> list[Unread]:
    path = problem.path
    if path.name == "benchmarks.json" or path.suffix != ".json":
        return []
    if path.name == "machine.json":  # none of the folder's files are read
        names = sorted(other.name for other in path.parent.glob("*.json") if other.name not in NOT_RESULTS)
        return [_named(path.parent.name, name, problem) for name in names]
    return [_named(path.parent.name, path.name, problem)]


def _named(machine: str, name: str, problem: FileProblem) -> Unread:
    match = NAME.search(name)
    sha, python, build = match.group("sha", "python", "build") if match else ("", "", "")
    return Unread(machine, sha, python, build, problem)
