"""Read one file of results as JSON, within limits, and name what is wrong with it.

A file is asv's own JSON, version 2, with four more keys at its top level, which asv ignores. result.schema.json describes them; a file that
does not match it is neither written nor read:

"ledger" : the provenance of the last pass, with asv's version and the start as ISO 8601 in UTC
"passes" : which samples came from which pass, and the control beside each (`passes`)
"methods" : every method's code, and what it was observed to do
"article" : how many of the article's statements held
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import stat
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import schemas


def read(path: Path, inside: Path | None = None) -> dict[str, Any]:
    """Return a file's JSON object.

    inside : the folder of results, which a link must not leave
    Raises TensorcopyError, naming the file, for one that is cut off, too large, not a regular file or not a JSON object.
    """
    try:
        return read_json(path, inside)
    except ValueError as error:
        raise damaged(path, str(error)) from error


def result(path: Path) -> dict[str, Any]:
    """Return a valid result file's document.

    Raises TensorcopyError for one that is damaged, or that disagrees with itself, its name, its folder or the table of releases.
    """
    document = read(path, inside=path.parents[1])
    if not document.get("ledger"):
        raise mislabelled(path, "no provenance, as after a run that was killed", "the provenance of every pass")
    if violation := schemas.fault(document):
        raise damaged(path, violation)
    if difference := schemas.wrong_label(path, document):
        raise mislabelled(path, *difference)
    return document


def machine(directory: Path) -> dict[str, Any]:
    """Return a folder's machine.json.

    Raises TensorcopyError where it is damaged or another machine's.
    """
    path = directory / "machine.json"
    document = read(path, inside=directory.parent)
    if violation := schemas.schema_fault(document, schemas.MACHINE):
        raise damaged(path, violation)
    if document["machine"] != directory.name:
        raise damaged(path, f"machine {document['machine'][:60]!r}")
    return document


def benchmarks(directory: Path) -> dict[str, Any]:
    """Return a folder's benchmarks.json: every suite by name, and the version of the format.

    Raises TensorcopyError for a missing or damaged one.
    """
    path = directory / "benchmarks.json"
    document = read(path, inside=directory)
    if violation := schemas.schema_fault(document, schemas.BENCHMARKS) or schemas.suites_fault(document):
        raise damaged(path, violation)
    return document


def deleted(directory: Path) -> list[TensorcopyError]:
    """Return an error for each deleted result that git tracks.

    Raw results are only ever added.
    """
    git = shutil.which("git")
    command = [git or "git", "ls-files", "--deleted", "-z", "--", "."]  # fails outside a checkout, where nothing is tracked
    try:
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, errors="replace", check=False)
    except OSError:  # without git, without the folder or without the right to enter it
        return []
    return [
        FileProblem(
            f"the result file {displayed(directory / name)} is gone",
            path=directory / name,
            got="a deleted file",
            allowed="results are only ever added",
            next=f"git checkout {displayed(directory / name)}",
        )
        for name in filter(None, done.stdout.split("\0"))
    ]


def rows_of(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return every suite's row by column; {} for an empty document."""
    return {suite: dict(zip(document["result_columns"], values)) for suite, values in document.get("results", {}).items()}


def cell(row: dict[str, Any], column: str, index: int) -> Any:
    """Return a case's value in a column; asv writes null for a column of nulls."""
    cells = row.get(column)
    return cells[index] if cells else None


def records(path: Path) -> list[dict[str, Any]]:
    """Return the pass records of a result file, see `passes`.

    Raises TensorcopyError for a damaged one.
    """
    recorded = read(path).get("passes", [])
    if not isinstance(recorded, list) or not all(map(_is_record, recorded)):
        raise damaged(path, "passes that are not records")
    return recorded


def _is_record(record: object) -> bool:
    """Return whether a value has what tells which pass it records."""
    if not isinstance(record, dict) or not isinstance(record.get("selection"), str) or not isinstance(record.get("suites"), dict):
        return False
    return all(isinstance(row, dict) and "version" in row for row in record["suites"].values())


def suites(directory: Path) -> dict[str, Any]:
    """Return every suite as benchmarks.json describes it, {} without that file.

    Raises TensorcopyError for a damaged one.
    """
    document = benchmarks(directory) if os.path.lexists(directory / "benchmarks.json") else {}
    return {suite: row for suite, row in document.items() if suite != "version"}


def is_empty(path: Path) -> bool:
    """Return whether every case of a result file was skipped or failed."""
    return not any(number(value) is not None for row in read(path)["results"].values() for value in row[0] or ())


def number(value: Any) -> float | None:
    """Return a finite number, None for anything else.

    asv writes NaN for a skipped case, null for a failed one, and infinity for an interval of too few samples.
    """
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def fullest(machines: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the machine.json that describes a machine best: one as `asv machine --yes` writes it has only the name."""
    return max(machines, key=lambda machine: (sum(map(bool, machine.values())), canonical(machine)))


def same(first: Any, second: Any) -> bool:
    """Return whether two JSON values are equal; NaN equals NaN."""
    return canonical(first) == canonical(second)


def canonical(value: Any) -> str:
    """Return a JSON value as text that is equal for equal values, NaN included."""
    return json.dumps(value, sort_keys=True)


# The errors that name a file of results.

LONGEST_QUOTE = 600  # characters of what a problem quotes
NOT_RESULTS = ("machine.json", "benchmarks.json")


class FileProblem(TensorcopyError):
    """An error that names a file of results: it is damaged, refused or gone."""

    def __init__(self, what: str, *, path: Path, got: str, allowed: str, next: str, repair: str = "") -> None:
        super().__init__(what, got=" ".join(got[:LONGEST_QUOTE].split()), allowed=allowed, next=next, repair=repair)
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process raises the error again."""
        parts = {"got": self.got, "allowed": self.allowed, "next": self.next, "repair": self.repair}
        return partial(type(self), self.what, path=self.path, **parts), ()


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
        repair=f"git checkout {displayed(path)}",
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
        next=f"tensorcopy list releases --add {torch.partition('+')[0][:60]}",
    )


# Read a JSON file that anybody may have written, within limits of size and depth.

LARGEST = 64 * 2**20  # bytes: hundreds of passes
DEEPEST = 24  # lists and objects within each other that are always read: a result has eight
MOST_CONTAINERS = 1_000_000  # lists and objects: each takes 60 bytes and more
MOST_VALUES = 8_000_000  # numbers and texts: each takes 32 bytes and more
LONGEST_NAME = 10_000  # characters of an object's key

_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
# an escaped control character, a lone surrogate, or one of the control characters that JSON allows in a text
_SUSPECT = re.compile(rb"\\u(?:00[01]|007[fF]|00[89]|[dD][89a-fA-F])|\\[bf]|\x7f|\xc2[\x80-\x9f]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # others than tab and the ends of a line


def read_json(path: Path, inside: Path | None = None) -> dict[str, Any]:
    """Return a file's JSON object.

    inside : the folder that a link must not leave
    Raises ValueError, with the reason, for anything else than a regular file of JSON within the limits.
    """
    try:
        document = parsed(content(path, inside))
    except (RecursionError, MemoryError) as error:
        raise ValueError(type(error).__name__) from error
    if not isinstance(document, dict):
        raise ValueError(type(document).__name__)
    return document


def content(path: Path, inside: Path | None = None) -> bytes:
    """Return the content of a regular file; `inside` and ValueError as for `read`."""
    try:
        if inside is not None and Path(os.path.realpath(inside)) not in Path(os.path.realpath(path)).parents:
            raise ValueError("a link that leaves the folder of results")
        with open(path, "rb", opener=_open) as file:  # Path.open takes no opener
            return file.read(LARGEST)  # a file that grows meanwhile is cut off, and so no JSON
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from error


def _open(path: str, flags: int) -> int:
    """Open a regular file that is not too large. Raises ValueError for anything else, and OSError."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # to open a FIFO would wait for its writer
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST:
        return descriptor
    os.close(descriptor)
    if stat.S_ISREG(status.st_mode):
        raise ValueError(f"more than {LARGEST // 2**20} MiB")
    raise ValueError("a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file")


def parsed(data: bytes) -> Any:
    """Return the value that JSON text describes. Raises ValueError."""
    brackets = data.translate(None, _NOT_BRACKETS)
    if len(brackets) > 2 * MOST_CONTAINERS or data.count(b",") > MOST_VALUES:
        raise ValueError(f"more than {MOST_CONTAINERS:,} lists and objects, or {MOST_VALUES:,} values")
    if _is_deep(brackets) and _is_deep(_STRING.sub(b"", data).translate(None, _NOT_BRACKETS)):  # a text may have brackets too
        raise ValueError(f"more than {DEEPEST} lists and objects within each other")
    document = json.loads(data.decode("utf-8"), object_pairs_hook=_object)
    if _SUSPECT.search(data):
        _check_texts(document)
    return document


def _is_deep(brackets: bytes) -> bool:
    """Return whether brackets without anything between them are nested too deeply.

    A few that do not match are left to the parser, which says where.
    """
    for _ in range(DEEPEST):
        inner = brackets
        brackets = inner.replace(b"[]", b"").replace(b"{}", b"")
        if not brackets or len(brackets) == len(inner):
            break
    return len(brackets) > DEEPEST


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. Raises ValueError for a key that is there twice."""
    document = dict(pairs)
    if len(document) != len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{name[:60]!r} twice in one object")
    for name in document:
        if len(name) > LONGEST_NAME:
            raise ValueError(f"a name of {len(name):,} characters")
    return document


def _check_texts(value: Any) -> None:
    """Raise ValueError for a text with a lone surrogate or a control character."""
    if isinstance(value, str):
        value.encode("utf-8")
        if control := _CONTROL.search(value):
            raise ValueError(f"the control character {control[0]!r}")
    elif isinstance(value, dict):
        for name, item in value.items():
            _check_texts(name)
            _check_texts(item)
    elif isinstance(value, list):
        for item in value:
            _check_texts(item)
