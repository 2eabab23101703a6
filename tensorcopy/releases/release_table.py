"""The table of torch releases, `releases.toml`: the commits of the repository that asv draws its history over."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from tensorcopy.errors import TensorcopyError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = Path(__file__).parent.parent / "releases.toml"


@dataclass(frozen=True)
class Release:
    """A torch release, one row of the table.

    sha : PyTorch's own commit, as the wheel reports it in torch.version.git_version
    pythons : the first and the last Python minor with a Linux x86-64 wheel
    numpy : the version measured with
    requires : what the wheel needs and does not say
    kind : "release" or "nightly"
    """

    version: str
    date: date
    sha: str
    pythons: tuple[str, str]
    numpy: str
    notes: str
    requires: tuple[str, ...] = ()
    kind: str = "release"

    @property
    def tag(self) -> str:
        return f"v{self.version}"

    def runs_on(self, python: str) -> bool:
        """Whether there is a wheel for Python `python`, such as "3.11"."""
        return minor(self.pythons[0]) <= minor(python) <= minor(self.pythons[1])

    def requirements(self, python: str) -> list[str]:
        """What an environment of this release on Python `python` consists of."""
        return [f"torch=={self.version}", f"numpy=={numpy_for(self, python)}", *self.requires]


def minor(python: str) -> tuple[int, int]:
    """(3, 11) of "3.11" or "3.11.7"."""
    major, second = python.split(".")[:2]
    return int(major), int(second)


def numpy_for(release: Release, python: str) -> str:
    """The release's numpy; a later one on a Python for which that has no wheel."""
    return _document(TABLE)["numpy_by_python"].get(python, release.numpy)  # type: ignore[no-any-return]


@cache
def load(table: Path = TABLE) -> tuple[Release, ...]:
    """Every release, in order of version. Raises TensorcopyError for a row that is not one."""
    rows = [_release(row, table) for row in _document(table).get("release", [])]
    return tuple(sorted(rows, key=lambda release: Version(release.version)))


def find(name: str) -> Release:
    """The release called `name`: a version, its tag, or a SHA of at least 7 digits. Raises TensorcopyError."""
    for release in load():
        if name in (release.version, release.tag) or (len(name) >= 7 and release.sha.startswith(name)):
            return release
    raise TensorcopyError(
        "unknown torch release",
        got=repr(name),
        allowed=_names(load()),
        next=f"tensorcopy releases add {name.lstrip('v')}",
    )


def between(first: str, last: str) -> list[Release]:
    """The releases from `first` to `last`, both included; "" leaves that end open. Raises TensorcopyError."""
    every = list(load())
    start = every.index(find(first)) if first else 0
    end = every.index(find(last)) if last else len(every) - 1
    return every[start : end + 1]


def select(text: str) -> list[Release]:
    """The releases that `text` names: "2.15.0", "2.10.." (from then on), "..2.0.1", "2.5.1..2.9.1".

    An end may name a minor release: "2.10.." starts at its last patch in the table. Raises TensorcopyError.
    """
    if ".." not in text:
        return [find(_completed(text))]
    first, last = text.split("..", 1)
    chosen = between(_completed(first), _completed(last))
    if not chosen:
        raise TensorcopyError("an empty range of releases", got=repr(text), allowed="FIRST..LAST in order of version", next="turn it round")
    return chosen


def add(release: Release, table: Path = TABLE) -> None:
    """Write `release` into the table, in its place by version; a row of the same version is replaced."""
    others = [row for row in load(table) if row.version != release.version]
    rows = sorted([*others, release], key=lambda row: Version(row.version))
    header = table.read_text(encoding="utf-8").split("[[release]]", 1)[0]
    table.write_text(header + "\n".join(_row(row) for row in rows), encoding="utf-8")
    load.cache_clear()
    _document.cache_clear()


def _completed(name: str) -> str:
    """The last patch of a minor release: "2.5.1" of "2.5"; any other name as it is."""
    if name.count(".") != 1:
        return name
    patches = [release.version for release in load() if release.version.startswith(f"{name.lstrip('v')}.")]
    return patches[-1] if patches else name


@cache
def _document(table: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = tomllib.loads(table.read_text(encoding="utf-8"))
        return document
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise TensorcopyError(
            "the table of releases cannot be read", got=f"{table.name}: {error}", allowed="TOML", next=f"git checkout {table.name}"
        ) from error


def _release(row: dict[str, Any], table: Path) -> Release:
    try:
        first, last = row["pythons"]
        Version(row["version"])
        release = Release(**{**row, "pythons": (first, last), "requires": tuple(row.get("requires", ()))})
    except (KeyError, TypeError, ValueError, InvalidVersion) as error:
        raise TensorcopyError(
            f"a row of {table.name} is no release",
            got=f"{row.get('version', row)}: {error}",
            allowed="version, date, sha, pythons, numpy, notes, and where needed requires, kind",
            next=f"tensorcopy releases add {row.get('version', 'VERSION')}",
        ) from error
    if len(release.sha) != 40 or set(release.sha) - set("0123456789abcdef"):
        raise TensorcopyError(
            f"the SHA of torch {release.version} in {table.name} is none",
            got=repr(release.sha),
            allowed="40 hexadecimal digits",
            next=f"tensorcopy releases add {release.version}",
        )
    return release


def _row(release: Release) -> str:
    lines = [
        "[[release]]",
        f'version = "{release.version}"',
        f"date = {release.date.isoformat()}",
        f'sha = "{release.sha}"',
        f'pythons = ["{release.pythons[0]}", "{release.pythons[1]}"]',
        f'numpy = "{release.numpy}"',
        f'notes = "{release.notes}"',
    ]
    if release.requires:
        lines.append(f"requires = [{', '.join(repr(one) for one in release.requires)}]".replace("'", '"'))
    if release.kind != "release":
        lines.append(f'kind = "{release.kind}"')
    return "\n".join(lines) + "\n"


def _names(releases: tuple[Release, ...]) -> str:
    return f"{releases[0].version} to {releases[-1].version} as listed by `tensorcopy releases`" if releases else "none yet"
