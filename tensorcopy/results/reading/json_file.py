"""Read a JSON file that anybody may have written, within limits of size and depth."""

from __future__ import annotations

import json
import os
import re
import stat
from collections import Counter
from pathlib import Path
from typing import Any

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


def read(path: Path, inside: Path | None = None) -> dict[str, Any]:
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
        if inside is not None:
            _check_inside(path, inside)
        return _bytes(path)
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from error


def _check_inside(path: Path, inside: Path) -> None:
    if Path(os.path.realpath(inside)) not in Path(os.path.realpath(path)).parents:
        raise ValueError("a link that leaves the folder of results")


def _bytes(path: Path) -> bytes:
    """Return the content of a regular file. Raises ValueError and OSError."""
    with open(path, "rb", opener=_open) as file:  # Path.open takes no opener
        return file.read(LARGEST)  # a file that grows meanwhile is cut off, and so no JSON


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
