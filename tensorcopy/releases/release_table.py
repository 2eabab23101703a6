"""Read and write the table of torch releases, `releases.toml`.

Its rows are the commits of the repository that asv draws its history over. A campaign may have a separate table, with the releases that
the package's table lacks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from packaging.version import Version

from tensorcopy import files
from tensorcopy.errors import TensorcopyError

TABLE = Path(__file__).parent.parent / "releases.toml"
NUMPY_2 = (2, 3)  # the first minor release whose wheel works with numpy 2

Python = Annotated[str, Meta(pattern=r"^3\.\d{1,2}$")]
Requirement = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][^\x00]*$")]  # no option of pip, and an argument of its process
Kernel = Annotated[str, Meta(pattern=r"^(sm|compute)_\d{2,3}[af]?$")]


@dataclass(frozen=True)
class Release:
    """A torch release, one row of the table."""

    version: Annotated[str, Meta(pattern=r"^\d{1,4}\.\d{1,4}\.\d{1,4}$")]
    date: date  # of the upload
    sha: Annotated[str, Meta(pattern="^[0-9a-f]{40}$")]  # PyTorch's commit, which the wheel reports as torch.version.git_version
    pythons: tuple[Python, Python]  # the first and the last minor with a Linux x86-64 wheel
    numpy: Requirement  # the version to measure with
    notes: str  # the address of its release notes
    requires: tuple[Requirement, ...] = ()  # packages that the wheel needs and does not declare
    # Of its Linux wheel, as another one is the same release: the CUDA version, "" if it is unknown, and the GPU architectures, as "sm_90"
    cuda: Annotated[str, Meta(pattern=r"^(\d+\.\d+)?$")] = field(default="", compare=False)
    kernels: tuple[Kernel, ...] = field(default=(), compare=False)

    @property
    def tag(self) -> str:
        return f"v{self.version}"

    def __lt__(self, other: Release) -> bool:
        """Return whether this is the earlier version."""
        return Version(self.version) < Version(other.version)

    def runs_on(self, python: str) -> bool:
        """Return whether there is a wheel for Python `python`, such as "3.11"."""
        return minor(self.pythons[0]) <= minor(python) <= minor(self.pythons[1])

    def requirements(self, numpy: str) -> list[str]:
        """Return the requirements of an environment; numpy : "" for the newest that this release, the Python and other packages allow."""
        any_numpy = "numpy" if minor(self.version) >= NUMPY_2 else "numpy<2"
        return [f"torch=={self.version}", f"numpy=={numpy}" if numpy else any_numpy, *self.requires]


class _Table(Struct, forbid_unknown_fields=True):
    """The file."""

    release: tuple[Release, ...] = ()
    numpy_by_python: dict[str, str] = {}


class ReleaseIndex(tuple[Release, ...]):
    """The releases of a table in order of version, found by SHA: of another commit nothing is known."""

    def of(self, sha: str) -> Release | None:
        """Return the release of a SHA; None for another commit."""
        return next((release for release in self if release.sha == sha), None)

    def find(self, name: str) -> Release:
        """Return the release of a version, tag, or SHA of at least 7 digits; of "2.14", its last patch in the table.

        Raises TensorcopyError.
        """
        version = name.removeprefix("v")
        patches = [row for row in self if name.count(".") == 1 and row.version.startswith(f"{version}.")]
        named = [row for row in self if row.version == version or (len(name) >= 7 and row.sha.startswith(name))]
        if found := named or patches:
            return found[-1]
        # an older one cannot be added: it is probably of a project
        following = f"tensorcopy measure --add-release {version}" if re.fullmatch(r"[2-9]\.\d+\.\d+", version) else "name one of these"
        allowed = ", ".join(release.version for release in self)
        raise TensorcopyError("unknown torch release", got=repr(name), allowed=allowed, next=following)

    def select(self, text: str) -> list[Release]:
        """Return the releases in `text`: "2.15.0", "2.10..", "..2.0.1", "2.5.1..2.9.1"; an end that is left out is open.

        A minor release stands for its last patch in the table: "2.10.." starts there. Raises TensorcopyError.
        """
        if ".." not in text:
            return [self.find(text)]
        first, last = (self.index(self.find(name)) if name else None for name in text.split("..", 1))
        releases = list(self[first : None if last is None else last + 1])
        if not releases:
            allowed = "FIRST..LAST in order of version"
            raise TensorcopyError("an empty range of releases", got=repr(text), allowed=allowed, next="swap the ends")
        return releases


def in_order(versions: Iterable[str]) -> list[str]:
    """Return versions in order, also such as no table has. Raises ValueError for a text that is no version."""
    return sorted(versions, key=Version)


def minor(python: str) -> tuple[int, int]:
    """Return (3, 11) for "3.11" or "3.11.7"."""
    major, second = python.split(".")[:2]
    return int(major), int(second)


def numpy_for(release: Release, python: str) -> str:
    """Return the numpy that the table pins: the release's, or a later one where the Python needs it."""
    return _read(TABLE).numpy_by_python.get(python, release.numpy)


def load(*tables: Path) -> ReleaseIndex:
    """Return every release of some tables, by default the package's, where a later row replaces one of the same version.

    Raises TensorcopyError for a table that cannot be read.
    """
    releases = {release.version: release for table in tables or (TABLE,) for release in _read(table).release}
    return ReleaseIndex(sorted(releases.values()))


def add(release: Release, table: Path) -> None:
    """Append `release` to a table, which is made where it is missing; all that is there is kept."""
    text = "# Torch releases that tensorcopy does not list; `tensorcopy measure --add-release VERSION` adds one.\n"
    if table.exists():
        text = table.read_text(encoding="utf-8")
    values = {each.name: getattr(release, each.name) for each in fields(Release) if getattr(release, each.name) != each.default}
    # a text, and a list of texts, are the same in JSON and in TOML
    lines = (f"{name} = {value if isinstance(value, date) else json.dumps(value)}" for name, value in values.items())
    files.replace(table, "\n".join([text.rstrip(), "", "[[release]]", *lines, ""]))


def _read(table: Path) -> _Table:
    try:
        return msgspec.convert(files.read_toml(table), _Table)
    except (OSError, ValueError) as error:
        raise files.damaged(table, error, f"[[release]] tables with {', '.join(each.name for each in fields(Release))}") from error
