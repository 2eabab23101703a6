"""Make rows of the table of releases from torch's wheels."""

from __future__ import annotations

import re
import sys
import tempfile
from datetime import datetime
from pathlib import Path

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import uv
from tensorcopy.releases.release_table import TABLE, Release

NUMPY = "1.26.4"  # runs with every torch from 1.9 to 2.15 on Python 3.9 to 3.12
WHEEL = re.compile(r"-cp3(\d+)-cp\d+m?-(?:manylinux\w*|linux)_x86_64\.whl")
CONSTANT = re.compile(r"^(\w+)(?: *:[^=\n]+)? *= *['\"]([^'\"\n]*)['\"]", re.MULTILINE)  # in torch/version.py: cuda: Optional[str] = '12.8'
ARCHITECTURES = re.compile(rb"(?:(?:sm|compute)_\d+[af]? ?){2,}")  # in torch's library: "sm_80 sm_90 compute_90"


def release(version: str) -> Release:
    """Return the row for torch `version`, read from its wheel for the running Python, which is installed for a moment.

    Its date is the day of the upload. Raises TensorcopyError where the index has no such wheel, or no upload times.
    """
    wheels = uv.index_entry(version).get("wheels", ())
    pythons = sorted({int(minor) for wheel in wheels for minor in WHEEL.findall(wheel["url"])})
    uploads = [wheel.get("upload-time", "").replace("Z", "+00:00") for wheel in wheels]  # Python 3.10 reads no Z
    if not (pythons and all(uploads)):
        got = "a package index without upload times" if pythons else "no wheel for Linux x86-64"
        allowed, following = "wheels for Linux x86-64 with their upload times, as on PyPI", f"write the row into {TABLE.name} by hand"
        raise TensorcopyError(f"torch {version} cannot be added", got=got, allowed=allowed, next=following)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "environment"
        uv.make_environment(path, Path(sys.executable), ["--no-deps", f"torch=={version}"])
        (torch,) = path.glob("lib/python*/site-packages/torch")
        constants = dict(CONSTANT.findall((torch / "version.py").read_text(encoding="utf-8")))
        library = torch / "lib" / "libtorch_python.so"
        # torch.cuda.get_arch_list() splits the same text, and answers only where there is a GPU; a wheel without CUDA has none
        match = ARCHITECTURES.search(library.read_bytes()) if library.exists() else None
    return Release(
        version=constants["__version__"].split("+")[0],
        date=min(map(datetime.fromisoformat, uploads)).date(),
        sha=constants["git_version"],
        pythons=(f"3.{pythons[0]}", f"3.{pythons[-1]}"),
        numpy=NUMPY,
        notes=f"https://github.com/pytorch/pytorch/releases/tag/v{version}",
        cuda=constants.get("cuda", ""),
        kernels=tuple(match[0].decode().split()) if match else (),
    )
