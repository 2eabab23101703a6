"""A row of the table of releases, made from the wheel itself."""

from __future__ import annotations

import ast
import re
import tempfile
from datetime import date, datetime
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import environments, uv
from tensorcopy.releases.release_table import TABLE, Release, load, minor

NUMPY = "1.26.4"  # runs with every torch from 1.9 to 2.15 on Python 3.9 to 3.12
WHEEL = re.compile(r"-cp(3)(\d+)-cp\d+m?-(?:manylinux\w*|linux)_x86_64\.whl")
NIGHTLY = re.compile(r"\.dev(\d{8})$")
PATCHED = 3  # minor releases that may still get a patch, the newest among them
SETUPTOOLS = ("setuptools==69.5.1",)  # the last ones with pkg_resources, which these import
REQUIRES = {"1.10.2": SETUPTOOLS, "2.1.2": SETUPTOOLS}


def release(version: str) -> Release:
    """The row for torch `version`: installs the wheel into a temporary place and reads what it says of itself.

    Raises TensorcopyError where no Python here can take it, or the index has no such version.
    """
    python, entry = _index_entry(version)
    offered = _pythons(entry)
    uploaded = _date(version, entry)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "environment"
        found = uv.find_python(python)
        assert found is not None  # _index_entry has looked
        try:
            uv.make_environment(path, found, ["--no-deps", f"torch=={version}"])
        except uv.UvFailed as error:
            raise _unavailable(version, str(error)) from error
        said = _said_of_itself((uv.site_packages(path) / "torch" / "version.py").read_text(encoding="utf-8"))
    return Release(
        version=said["__version__"].split("+")[0],
        date=uploaded,
        sha=said["git_version"],
        pythons=("{}.{}".format(*offered[0]), "{}.{}".format(*offered[-1])),
        numpy=NUMPY,
        notes=f"https://github.com/pytorch/pytorch/releases/tag/v{version}",
        requires=REQUIRES.get(version, ()),
        kind="nightly" if NIGHTLY.search(version) else "release",
    )


def _date(version: str, entry: dict[str, Any]) -> date:
    """Of the upload; a nightly has its day in its name."""
    nightly = NIGHTLY.search(version)
    if nightly:
        return datetime.strptime(f"{nightly[1]}+0000", "%Y%m%d%z").date()
    if not all("upload-time" in wheel for wheel in entry["wheels"]):
        raise TensorcopyError(
            f"the date of torch {version} is unknown",
            got="an index that tells no upload times",
            allowed="an index that does, as PyPI",
            next=f"write the row into tensorcopy/{TABLE.name} by hand, and `tensorcopy releases` reads it",
        )
    return min(_upload_time(wheel) for wheel in entry["wheels"]).date()


def unknown(*, nightly: bool = False) -> list[str]:
    """The versions that the index has and the table has not, in order: what is newer than all, and patches of the newest minor releases.
    With `nightly` also the newest prerelease, where the index has one newer than all.

    Raises TensorcopyError where the index cannot be asked.
    """
    rows = [row for row in load() if row.kind == "release"]
    last = {minor(row.version): row.version for row in rows}
    python, found = environments.this_python(), []
    try:
        for series in sorted(last)[-PATCHED:-1]:
            found += _above(f"torch>{{}},<{series[0]}.{series[1] + 1}", last[series], python)
        found += _above("torch>{}", rows[-1].version, python)
        if nightly:
            newest = uv.resolved(f"torch>{found[-1] if found else rows[-1].version}", python, lowest=False, prereleases=True)
            found += [newest] if newest and ".dev" in newest and newest not in {row.version for row in load()} else []
    except uv.UvFailed as error:
        raise TensorcopyError(
            "the index cannot be asked for torch", got=str(error), allowed="an index that uv reaches", next="look at the network"
        ) from error
    return found


def _above(requirement: str, version: str, python: str) -> list[str]:
    """Every version above one, the lowest first."""
    found: list[str] = []
    while (later := uv.resolved(requirement.format(found[-1] if found else version), python, lowest=True)) is not None:
        found.append(later)
    return found


def _index_entry(version: str) -> tuple[str, dict[str, Any]]:
    """A Python of this machine that has a wheel of `version`, and what the index says of it."""
    tried = []
    for python in sorted({environments.this_python(), "3.13", "3.12", "3.11", "3.10", "3.9"}, key=minor, reverse=True):
        if uv.find_python(python) is None:
            continue
        try:
            entry = uv.index_entry("torch", version, python)
        except uv.UvFailed as error:
            tried.append(f"Python {python}: {error}")
            continue
        if minor(python) in _pythons(entry):
            return python, entry
        tried.append(f"Python {python}: no wheel for Linux x86-64")
    raise _unavailable(version, tried[-1] if tried else "no Python that uv finds")


def _pythons(entry: dict[str, Any]) -> list[tuple[int, int]]:
    """The Pythons with a Linux x86-64 wheel, in order."""
    return sorted({(int(major), int(second)) for wheel in entry.get("wheels", ()) for major, second in WHEEL.findall(wheel["url"])})


def _unavailable(version: str, why: str) -> TensorcopyError:
    return TensorcopyError(
        f"no wheel of torch {version} can be installed here",
        got=why,
        allowed="a version that the index has, and a Python it has a wheel for",
        next="look at the version, the network and `uv python list`",
    )


def _upload_time(wheel: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(wheel["upload-time"].replace("Z", "+00:00"))  # Python 3.10 knows no Z


def _said_of_itself(source: str) -> dict[str, str]:
    """The string constants of torch/version.py, which is not run: its neighbours may be of another Python."""
    constants = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and isinstance(statement.value, ast.Constant):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            if isinstance(target, ast.Name) and isinstance(statement.value.value, str):
                constants[target.id] = statement.value.value
    return constants
