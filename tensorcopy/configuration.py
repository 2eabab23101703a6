"""asv.conf.json of the current folder: its folders, its Pythons and its addresses. Read without asv."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from tensorcopy import files
from tensorcopy.errors import TensorcopyError

FILE = "asv.conf.json"
LARGEST = 64 << 10  # characters: reading them takes json5 five seconds
ALLOWED = f"JSON with comments, of at most {LARGEST:,} characters, and texts for its folders and Pythons"
Kind = TypeVar("Kind")
Text = Annotated[str, Meta(pattern=r"^[^\x00\ud800-\udfff]*$")]  # without what no path can have


@dataclass(frozen=True)
class Paths:
    """The folders and the Python versions that asv.conf.json names.

    results : of launch files
    html : of the site
    environments : of releases
    pythons : in order of preference
    """

    results: Path
    html: Path
    environments: Path
    pythons: tuple[str, ...]


def paths(values: Mapping[str, Any] | None = None) -> Paths:
    """Return the paths of asv.conf.json in the current folder. Raises TensorcopyError where it is missing or damaged.

    values : of its fields, where asv has read it
    """
    read = _read() if values is None else _converted(values, Path(FILE), _AsvConfiguration)
    results, html, environments = (Path(each).absolute() for each in (read.results_dir, read.html_dir, read.env_dir))
    return Paths(results, html, environments, tuple(read.pythons))


def web_addresses() -> tuple[str, str]:
    """Return the addresses of the repository and of the site in asv.conf.json; "" for a missing one."""
    read = _read()
    return read.source_url, read.site_url


def web_address(remote: str) -> str:
    """Return the web address of a git remote without its credentials; "" for a folder."""
    match = re.fullmatch(r"(?:(?:https?|ssh|git)://)?(?:[^@/]*@)?([\w.-]+)(?::\d+(?=/))?[:/](?!/)(\S+?)(?:\.git)?/?", remote)
    return f"https://{match[1]}/{match[2]}" if match and "." in match[1].strip(".") else ""


class _AsvConfiguration(Struct):
    """What tensorcopy reads of asv.conf.json, with asv's defaults."""

    results_dir: Text = "results"
    html_dir: Text = "html"
    env_dir: Text = "env"
    pythons: list[Text] = []
    source_url: Text = ""
    site_url: Text = ""


def _read() -> _AsvConfiguration:
    path = Path(FILE)
    if not files.is_there(path):
        above = [os.path.relpath(folder) for folder in Path.cwd().parents if (folder / FILE).exists()]
        raise TensorcopyError(
            "this is neither a project nor a checkout of tensorcopy",
            got=f"{Path.cwd().name}, without {FILE}",
            allowed=f"a folder with {FILE}",
            next=f"cd {shlex.quote(above[0])}" if above else "tensorcopy init, or the same in a clone of tensorcopy",
        )
    return read(path, _AsvConfiguration)


def read(path: Path, kind: type[Kind]) -> Kind:
    """Return a configuration of asv. Raises TensorcopyError for a damaged one."""
    import json5  # asv's own reader: the file has comments

    try:
        if len(text := files.read_text(path)) > LARGEST:
            raise ValueError(f"{len(text):,} characters")
        values = json5.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise files.damaged(path, error, ALLOWED) from error
    return _converted(values, path, kind)


def _converted(values: Any, path: Path, kind: type[Kind]) -> Kind:
    try:
        return msgspec.convert(values, kind)
    except ValueError as error:
        raise files.damaged(path, error, ALLOWED) from error
