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
ALLOWED = "JSON with comments, and texts for its folders and Pythons"
Kind = TypeVar("Kind")
Text = Annotated[str, Meta(pattern=r"^[^\x00\ud800-\udfff]*$")]  # without what no path can have


class AsvConfiguration(Struct, frozen=True):
    """What tensorcopy reads of asv.conf.json, with asv's defaults."""

    results_dir: Text = "results"
    html_dir: Text = "html"
    env_dir: Text = "env"
    pythons: tuple[Text, ...] = ()
    source_url: Text = ""  # of the repository
    site_url: Text = ""


@dataclass(frozen=True)
class Paths:
    """The folders and the Python versions that asv.conf.json names."""

    results: Path  # of launch files
    html: Path  # of the site
    environments: Path  # of releases
    pythons: tuple[str, ...]  # in order of preference


def paths(values: Mapping[str, Any] | None = None) -> Paths:
    """Return the paths of asv.conf.json in the current folder; values : of its fields, where asv has read it. Raises like `of_folder`."""
    found = of_folder() if values is None else read(Path(FILE), AsvConfiguration, values)
    results, html, environments = (Path(each).absolute() for each in (found.results_dir, found.html_dir, found.env_dir))
    return Paths(results, html, environments, found.pythons)


def of_folder() -> AsvConfiguration:
    """Return what asv.conf.json in the current folder says. Raises TensorcopyError where it is missing or damaged."""
    if not files.is_there(Path(FILE)):
        above = [os.path.relpath(folder) for folder in Path.cwd().parents if (folder / FILE).exists()]
        raise TensorcopyError(
            "this is neither a project nor a checkout of tensorcopy",
            got=f"{Path.cwd().name}, without {FILE}",
            allowed=f"a folder with {FILE}",
            next=f"cd {shlex.quote(above[0])}" if above else "tensorcopy init, or the same in a clone of tensorcopy",
        )
    return read(Path(FILE), AsvConfiguration)


def read(path: Path, kind: type[Kind], values: Any = None) -> Kind:
    """Return a configuration of asv; values : of its fields, where it was read. Raises TensorcopyError for a damaged one."""
    import json5  # asv's own reader: the file has comments

    try:
        return msgspec.convert(json5.loads(files.read_text(path)) if values is None else values, kind)
    except (OSError, ValueError, RecursionError) as error:
        raise files.damaged(path, error, ALLOWED) from error


def web_address(remote: str) -> str:
    """Return the web address of a git remote without its credentials; "" for a folder."""
    match = re.fullmatch(r"(?:(?:https?|ssh|git)://)?(?:[^@/]*@)?([\w.-]+)(?::\d+(?=/))?[:/](?!/)(\S+?)(?:\.git)?/?", remote)
    return f"https://{match[1]}/{match[2]}" if match and "." in match[1].strip(".") else ""
