"""Where this tensorcopy was installed from, so that a workflow installs the same."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from tensorcopy import __version__
from tensorcopy.configuration import web_address
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git
from tensorcopy.releases import interpreters
from tensorcopy.releases.interpreters import CHECKOUT, PACKAGE

PROGRAM, BUILD = "requirements.txt", "build-requirements.txt"  # with hashes, of what tensorcopy imports, and of what builds it


@dataclass(frozen=True)
class Origin:
    """What an installer needs to get this tensorcopy."""

    version: str = ""  # the end of a requirement: "==0.1.0", or " @ " and an address
    wheel: Path | None = None  # the file to install from; None where an index or a repository has it
    is_built: bool = False  # whether it has no wheel, so that an installer builds one


def of_repository(name: str) -> str:
    """Return the content of a file in .github of tensorcopy's own repository."""
    folder = CHECKOUT / ".github" if interpreters.is_checkout() else PACKAGE / "projects"
    return (folder / name).read_text(encoding="utf-8")


def find() -> Origin:
    """Return the origin of the running tensorcopy, as its installer noted it (PEP 610), or git in a checkout.

    Raises TensorcopyError for one that only this machine has.
    """
    try:
        noted = json.loads(distribution("tensorcopy").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:  # a checkout on the search path
        noted = {"url": CHECKOUT.as_uri()}
    if not noted:
        return Origin(f"=={__version__}")
    url, sha = str(noted["url"]), noted.get("vcs_info", {}).get("commit_id", "")
    if not url.startswith("file:"):
        address = f"git+{web_address(url)}@{sha}" if sha else re.sub("//[^/]*@", "//", url)
        return Origin(f" @ {address}", is_built=not url.endswith(".whl"))
    path = Path(url2pathname(urlsplit(url).path))
    if path.suffix == ".whl" and path.is_file():
        return Origin(wheel=path)
    sha = sha or git.printed("-C", str(path), "rev-parse", "HEAD")
    remote = web_address(git.printed("-C", str(path), "config", "--get", "remote.origin.url"))
    if path.is_dir() and remote and git.printed("-C", str(path), "branch", "--remotes", "--contains", sha):
        return Origin(f" @ git+{remote}@{sha}", is_built=True)
    raise TensorcopyError(
        "no workflow can install this tensorcopy",
        got=f"{path}, {'a wheel that was removed' if path.suffix == '.whl' else 'a folder whose commit is at no git remote'}",
        allowed="one from a package index, a wheel, or a commit at a git remote",
        next=f'uv build --wheel -o dist {path if path.is_dir() else "CHECKOUT"}, pip install "$(ls dist/*.whl)[dashboard]", then repeat',
    )
