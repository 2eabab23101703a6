"""The errors that name a file of results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError

LONGEST = 600  # characters of what a problem quotes
NOT_RESULTS = ("machine.json", "benchmarks.json")


class FileProblem(TensorcopyError):
    """An error that names a file of results: it is damaged, refused or gone."""

    def __init__(self, what: str, *, path: Path, got: str, allowed: str, next: str) -> None:
        super().__init__(what, got=_in_one_line(got), allowed=allowed, next=next)
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process raises the error again."""
        return partial(type(self), self.what, path=self.path, got=self.got, allowed=self.allowed, next=self.next), ()


def _in_one_line(text: str) -> str:
    """Return a text that may quote a file, without ends of lines and not longer than `LONGEST`."""
    return " ".join(text[:LONGEST].split())


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


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Raise TensorcopyError, naming the file, where its values are not what the code expects of a valid one."""
    try:
        yield
    except TensorcopyError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise damaged(path, f"{type(error).__name__}: {error}") from error


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
