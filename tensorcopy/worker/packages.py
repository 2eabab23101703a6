"""What is installed of the packages that a campaign requires: their versions, and of those that are built from files, a digest of these."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

REQUIREMENTS = "TENSORCOPY_REQUIREMENTS"  # environment variable of the probe: the requirements, as JSON
NAME = re.compile(r"[\w.-]+")  # at the beginning of a requirement
WRITTEN = re.compile(r"\.|(build|dist|__pycache__|.+\.egg-info)$")  # folders of a package that are no sources
DIGITS = 12


def installed(requirements: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return what is installed of some requirements, by name, as a part of the provenance.

    requirements : arguments of `pip install`: names with versions, addresses, or folders

    "requires" is compared between releases. "follows_torch" is of packages from an index that depend on torch, whose versions differ from
    release to release. A package that is not there is left out.
    """
    names = {_normalized(match[0]) for match in map(NAME.match, requirements) if match}
    by_field: dict[str, dict[str, str]] = {"requires": {}, "follows_torch": {}}
    for distribution in distributions() if requirements else ():
        origin = _origin(distribution)
        url, name = origin.get("url", ""), distribution.metadata["Name"] or ""
        is_required = _normalized(name) in names or any(
            url and ((Path(each).is_absolute() and Path(each).as_uri() == url) or url in each) for each in requirements
        )
        if not is_required:
            continue
        needs_torch = any(_normalized(match[0]) == "torch" for match in map(NAME.match, distribution.requires or ()) if match)
        field = "follows_torch" if needs_torch and not url else "requires"
        by_field[field].setdefault(name, " ".join(filter(None, [distribution.version, url and _digest(distribution, origin)])))
    return {field: dict(sorted(packages.items())) for field, packages in by_field.items() if packages}


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _origin(distribution: Distribution) -> dict[str, Any]:
    """Return where a distribution was installed from (PEP 610); nothing of one from an index, or where that cannot be read."""
    try:
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    except ValueError:
        return {}
    return origin if isinstance(origin, dict) else {}


def _digest(distribution: Distribution, origin: dict[str, Any]) -> str:
    """Return a digest of the installed files, or of the sources where these are imported from their folder."""
    if origin.get("dir_info", {}).get("editable"):
        folder = Path(url2pathname(urlsplit(origin["url"]).path))
        texts = [f"{path.relative_to(folder)} {sha256(path.read_bytes()).hexdigest()}" for path in _sources(folder)]
    else:
        files = distribution.files or []
        texts = [f"{file} {file.hash.value}" for file in files if file.hash and not file.parts[0].endswith(".dist-info")]
    return sha256("\n".join(sorted(texts)).encode()).hexdigest()[:DIGITS]


def _sources(folder: Path) -> Iterator[Path]:
    """Yield the Python files and extension modules below a folder."""
    for parent, names, files in os.walk(folder):
        names[:] = [name for name in names if not WRITTEN.match(name)]
        yield from (Path(parent, file) for file in files if file.endswith((".py", ".so", ".pyd")))
