"""Make rows of the table of releases from torch's wheels."""

from __future__ import annotations

import re
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import environments, uv
from tensorcopy.releases.release_table import TABLE, Release, ReleaseIndex, minor

NUMPY = "1.26.4"  # runs with every torch from 1.9 to 2.15 on Python 3.9 to 3.12
WHEEL = re.compile(r"-cp(3)(\d+)-cp\d+m?-(?:manylinux\w*|linux)_x86_64\.whl")
CONSTANT = re.compile(r"^(\w+)(?: *:[^=\n]+)? *= *['\"]([^'\"\n]*)['\"]", re.MULTILINE)  # in torch/version.py: cuda: Optional[str] = '12.8'
ARCHITECTURES = re.compile(rb"(?:(?:sm|compute)_\d+[af]? ?){2,}")  # in torch's library: "sm_80 sm_90 compute_90"
PATCHED = 3  # minor releases that may still get a patch, including the newest


def release(version: str) -> Release:
    """Return the row for torch `version`, read from its wheel, which is installed for a moment; of "2.16", that of its newest patch.

    Its date is the day of the upload. Raises TensorcopyError where the index has no wheel for a Python on this machine, or no upload times.
    """
    if re.fullmatch(r"\d+\.\d+", version):
        try:
            version = uv.resolved(f"torch=={version}.*", environments.this_python(), lowest=False) or version
        except uv.UvFailed as error:
            raise _unavailable(version, str(error)) from error
    python, entry = _index_entry(version)
    pythons = _pythons(entry)
    uploads = [wheel.get("upload-time", "").replace("Z", "+00:00") for wheel in entry["wheels"]]  # Python 3.10 reads no Z
    if not all(uploads):
        what, allowed = f"the date of torch {version} is unknown", "an index with upload times, such as PyPI"
        following = f"write the row into {TABLE.name} by hand"
        raise TensorcopyError(what, got="a package index without upload times", allowed=allowed, next=following)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "environment"
        interpreter = uv.find_python(python)
        assert interpreter is not None  # checked by _index_entry
        try:
            uv.make_environment(path, interpreter, ["--no-deps", f"torch=={version}"])
        except uv.UvFailed as error:
            raise _unavailable(version, str(error)) from error
        (torch,) = path.glob("lib/python*/site-packages/torch")
        constants = dict(CONSTANT.findall((torch / "version.py").read_text(encoding="utf-8")))  # not run: it may be for another Python
        library = torch / "lib" / "libtorch_python.so"
        # torch.cuda.get_arch_list() splits the same text, and answers only where there is a GPU; a wheel without CUDA has none
        match = ARCHITECTURES.search(library.read_bytes()) if library.exists() else None
    return Release(
        version=constants["__version__"].split("+")[0],
        date=min(map(datetime.fromisoformat, uploads)).date(),
        sha=constants["git_version"],
        pythons=("{}.{}".format(*pythons[0]), "{}.{}".format(*pythons[-1])),
        numpy=NUMPY,
        notes=f"https://github.com/pytorch/pytorch/releases/tag/v{version}",
        cuda=constants.get("cuda", ""),
        kernels=tuple(match[0].decode().split()) if match else (),
    )


def unknown(releases: ReleaseIndex) -> list[str]:
    """Return the versions that the index has and a table of releases lacks, in order. Raises TensorcopyError without the index.

    They are versions newer than the table's newest, and patches of its newest minor releases.
    """
    last = {minor(row.version): row.version for row in releases}
    python = environments.this_python()
    versions: list[str] = []
    try:
        for series in sorted(last)[-PATCHED:-1]:
            versions += _above(f"torch>{{}},<{series[0]}.{series[1] + 1}", last[series], python)
        versions += _above("torch>{}", releases[-1].version, python)
    except uv.UvFailed as error:
        what, allowed = "the package index cannot be read", "an index that uv can reach"
        raise TensorcopyError(what, got=str(error), allowed=allowed, next="check the network") from error
    return versions


def _above(requirement: str, version: str, python: str) -> list[str]:
    """Return every version above `version` that meets the requirement, in order."""
    versions: list[str] = []
    while True:
        following = uv.resolved(requirement.format(versions[-1] if versions else version), python, lowest=True)
        if following is None:
            return versions
        versions.append(following)


def _index_entry(version: str) -> tuple[str, dict[str, Any]]:
    """Return a Python on this machine with a wheel of `version`, and its entry."""
    failures = []
    for python in sorted(environments.known_pythons(), key=minor, reverse=True):
        if uv.find_python(python) is None:
            continue
        try:
            entry = uv.index_entry(version, python)
        except uv.UvFailed as error:
            failures.append(f"Python {python}: {error}")
            continue
        if minor(python) in _pythons(entry):
            return python, entry
        failures.append(f"Python {python}: no wheel for Linux x86-64")
    raise _unavailable(version, failures[-1] if failures else "no Python that uv can find")


def _pythons(entry: dict[str, Any]) -> list[tuple[int, int]]:
    """Return the Pythons with a Linux x86-64 wheel, in order."""
    return sorted({(int(major), int(second)) for wheel in entry.get("wheels", ()) for major, second in WHEEL.findall(wheel["url"])})


def _unavailable(version: str, reason: str) -> TensorcopyError:
    what, allowed = f"no wheel of torch {version} can be installed here", "a version on the index with a wheel for a Python on this machine"
    return TensorcopyError(what, got=reason, allowed=allowed, next="check the version, the network and `uv python list`")
