"""Read and write the table of torch releases, `releases.toml`.

Its rows are the commits of the repository that asv draws its history over. A campaign may have a separate table, with the releases that
the package's table lacks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import date
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta
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

    version: str
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


class ReleaseIndex(tuple[Release, ...]):
    """The releases of a table in order of version, found by SHA: of another commit nothing is known."""

    @cached_property
    def _by_sha(self) -> dict[str, Release]:
        return {release.sha: release for release in self}

    def of(self, sha: str) -> Release | None:
        """Return the release of a SHA; None for another commit."""
        return self._by_sha.get(sha)

    def find(self, name: str) -> Release:
        """Return the release of a version, tag, or SHA of at least 7 digits; of "2.14", its last patch in the table.

        Raises TensorcopyError.
        """
        version = name.removeprefix("v")
        patches = [row.version for row in self if name.count(".") == 1 and row.version.startswith(f"{version}.")]
        for row in self:
            if row.version == (patches[-1] if patches else version) or (len(name) >= 7 and row.sha.startswith(name)):
                return row
        following = "name one of these"
        with suppress(ValueError):
            asked = Version(version)
            if not self or asked > Version(self[0].version):  # an older one cannot be added: it is probably of a project
                following = f"tensorcopy measure --add-release {asked}"
        raise TensorcopyError(
            "unknown torch release", got=repr(name), allowed=", ".join(release.version for release in self) or "none yet", next=following
        )

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
    return _document(TABLE)["numpy_by_python"].get(python, release.numpy)  # type: ignore[no-any-return]


def load(*added: Path) -> ReleaseIndex:
    """Return every release of the package's table, and of others, whose rows replace those of the same version.

    Raises TensorcopyError for an invalid row.
    """
    return of_tables(TABLE, *added)


@cache
def of_tables(*tables: Path) -> ReleaseIndex:
    """Return every release of some tables. Raises TensorcopyError for an invalid row."""
    releases: dict[str, Release] = {}
    for table in tables:
        rows = _document(table).get("release", [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise files.damaged(table, ValueError(f"release = {rows!r:.60}"), "[[release]] tables")
        for row in rows:
            try:
                if unknown := row.keys() - {each.name for each in fields(Release)}:
                    raise ValueError(f"there is no {', '.join(sorted(unknown))}")
                release = msgspec.convert(row, Release)
                Version(release.version)
            except ValueError as error:
                what, got = f"a row of {table.name} is not a release", f"{row.get('version', row)}: {error}"
                allowed = "version, date, sha, pythons, numpy, notes, and optionally requires, cuda and kernels"
                following = f"remove the row, then tensorcopy measure --add-release {row.get('version', 'VERSION')}"
                raise TensorcopyError(what, got=got, allowed=allowed, next=following) from error
            releases[release.version] = release
    return ReleaseIndex(sorted(releases.values()))


def add(release: Release, table: Path) -> None:
    """Append `release` to a table, which is made where it is missing, unless it has this version.

    All that is there is kept, also what another program adds at the same time. Raises TensorcopyError where the table cannot be read.
    """
    with files.locked(table.with_name(f".{table.name}.lock")):
        text = "# Torch releases that tensorcopy does not list; `tensorcopy measure --add-release VERSION` adds one.\n"
        if table.exists():
            text = table.read_text(encoding="utf-8")
            of_tables.cache_clear()  # it may have changed since it was read
            _document.cache_clear()
            if any(row.version == release.version for row in of_tables(table)):
                return
        values = {each.name: getattr(release, each.name) for each in fields(Release) if getattr(release, each.name) != each.default}
        # a text, and a list of texts, are the same in JSON and in TOML
        lines = (f"{name} = {value if isinstance(value, date) else json.dumps(value)}" for name, value in values.items())
        files.replace(table, "\n".join([text.rstrip(), "", "[[release]]", *lines, ""]))
    of_tables.cache_clear()
    _document.cache_clear()


@cache
def _document(table: Path) -> dict[str, Any]:
    try:
        return files.read_toml(table)
    except (OSError, ValueError) as error:
        raise files.damaged(table, error, "[[release]] tables") from error
