"""Every valid result file of a folder, and an error for each other file."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import time
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files
from tensorcopy.results.reading import agreement
from tensorcopy.results.reading.problems import in_no_row

SETTLED = 2.0  # seconds: a file that changed so lately may change again without a later time stamp


@dataclass
class Documents:
    """The valid documents by path.

    unpublishable : problems that stop asv from publishing
    """

    by_path: dict[Path, dict[str, Any]] = field(default_factory=dict)
    problems: list[TensorcopyError] = field(default_factory=list)
    unpublishable: list[TensorcopyError] = field(default_factory=list)


def documents(directory: Path) -> Iterator[Documents]:
    """Read every result file, one folder after another. Those of a machine without a valid machine.json are not read."""
    for folder in sorted({path.parent for path in paths(directory)}):
        read_in = Documents()
        try:
            files.machine(folder)
            for path in sorted(folder.glob("*.json")):
                if path.name not in files.NOT_RESULTS:
                    _read(path, read_in)
        except TensorcopyError as error:
            read_in.problems.append(error)
            read_in.unpublishable += [error] if os.path.lexists(folder / "machine.json") else []  # asv skips a folder without one
        yield read_in


def joined(parts: Iterable[Documents]) -> Documents:
    """Return the documents of several folders as those of one."""
    whole = Documents()
    for part in parts:
        whole.by_path.update(part.by_path)
        whole.problems += part.problems
        whole.unpublishable += part.unpublishable
    return whole


def _read(path: Path, read_in: Documents) -> None:
    try:
        document = read_in.by_path[path] = files.result(path)
    except TensorcopyError as error:
        read_in.problems.append(error)
        return
    if not agreement.release_of(document):
        read_in.problems.append(in_no_row(path, document["ledger"]["torch"], document["commit_hash"]))


def paths(directory: Path) -> list[Path]:
    """Return the JSON files in the folders of a folder of results."""
    return sorted(directory.glob("*/*.json"))


def state(directory: Path) -> tuple[Hashable, bool]:
    """Return a value that changes when a file changes, comes or goes, and whether no file has changed lately."""
    statuses = dict(_statuses([directory / "benchmarks.json", *paths(directory)]))
    key = tuple((name, status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode) for name, status in statuses.items())
    return (directory.absolute(), *key), all(status.st_mtime < time() - SETTLED for status in statuses.values())


def _statuses(names: list[Path]) -> Iterator[tuple[str, os.stat_result]]:
    for path in names:
        for of_path in (path.stat, path.lstat):  # a link to nothing has only a status of its own
            try:
                yield str(path), of_path()
                break
            except (OSError, ValueError):
                continue
