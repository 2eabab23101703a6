"""Digests of what a site is made from: this program, and the files of results.

A result depends on more files than its own: what counts as quiet is decided by all passes of a machine and Python. So the smallest unit is
a machine and Python, and a digest of it has every file of the machine's folder whose Python is unknown, too.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from tensorcopy.results.load import Result
from tensorcopy.results.profiles import profile_file
from tensorcopy.worker.registry import operations

PACKAGE = Path(__file__).parents[2]
CODE = (".html", ".json", ".py", ".toml")  # what pages are made with; scripts and stylesheets are files of their own
LIBRARIES = ("jinja2", "markdown-it-py", "markupsafe", "mdit-py-plugins", "numpy", "pygments", "scipy")
ENOUGH = 32  # hexadecimal digits of a digest


def digest(*parts: object) -> str:
    """Return a digest of values whose `repr` is the same in every process."""
    return sha256(repr(parts).encode()).hexdigest()[:ENOUGH]


@cache
def program() -> str:
    """Return a digest of this program, the libraries that it computes and writes with, and the operations declared here."""
    files = sorted(path for path in PACKAGE.rglob("*") if path.suffix in CODE)
    declared = operations.folder() / operations.FILE
    versions = platform.python_version(), *map(version, LIBRARIES)
    return digest(versions, [content(path) for path in files], content(declared))


@dataclass(frozen=True)
class Sources:
    """The files behind results that have been loaded from a folder.

    contents : a digest of each file in the folders of machines
    common : a digest of the list of suites
    pythons : of each result, by path
    """

    contents: Mapping[Path, str] = field(default_factory=dict)
    common: str = ""
    pythons: Mapping[Path, str] = field(default_factory=dict)

    @classmethod
    def of(cls, directory: Path, results: Iterable[Result]) -> Sources:
        """Return the files of a folder of results."""
        contents = {path: content(path) for path in sorted(directory.absolute().glob("*/*")) if path.is_file()}
        return cls(contents, content(directory / "benchmarks.json"), {result.path.absolute(): result.python for result in results})

    def machine(self, result: Result) -> str:
        """Return a digest of every file in a result's folder; "" for a result without a file."""
        return self._digest(result, list(self.contents))

    def python(self, result: Result) -> str:
        """Return a digest of the files that decide what is loaded of a result; "" for a result without a file."""
        documents = [path for path in self.contents if path.suffix == ".json"]  # the others are profiles and confirmations
        return self._digest(result, [path for path in documents if self.pythons.get(path, result.python) == result.python])

    def result(self, result: Result) -> str:
        """Return a digest of a result's file and its profile; "" for a result without a file."""
        return self._digest(result, [result.path.absolute(), profile_file.path_of(result.path.absolute())])

    def _digest(self, result: Result, paths: list[Path]) -> str:
        own = result.path.absolute()
        if own not in self.contents:  # a folder with several machines is divided in memory
            return ""
        return digest(self.common, [(path.name, self.contents.get(path, "")) for path in paths if path.parent == own.parent])


NO_SOURCES = Sources()


def content(path: Path) -> str:
    """Return a digest of a file; "" where there is none."""
    return sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
