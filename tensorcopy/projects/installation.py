"""Where this tensorcopy was installed from, so that a workflow installs the same."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from tensorcopy import __version__
from tensorcopy.configuration import web_address
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git
from tensorcopy.releases import interpreters
from tensorcopy.releases.interpreters import CHECKOUT, PACKAGE

PROGRAM, BUILD = "requirements.txt", "build-requirements.txt"  # with hashes, of what tensorcopy imports, and of what builds it
WHEELS_ONLY = "--no-build"  # of uv: no code of a package runs when it is installed
BUILT_FROM_SOURCE = '--only-binary ":all:" --no-binary tensorcopy --build-constraints'  # and the path of BUILD


@dataclass(frozen=True)
class Origin:
    """What an installer needs to get this tensorcopy.

    version : the end of a requirement: "==0.1.0", or " @ " and an address
    wheel : the file to install from; None where an index or a repository has it
    is_built : whether it has no wheel, so that an installer builds one
    """

    version: str
    wheel: Path | None = None
    is_built: bool = False

    def requirement(self, extras: str, wheels: str) -> str:
        """Return the requirement with some extras; wheels : the folder that has a copy of the wheel, as a relative path."""
        return f"{wheels}/{self.wheel.name}[{extras}]" if self.wheel else f"tensorcopy[{extras}]{self.version}"

    def options(self, locked: str) -> str:
        """Return those of `uv pip install` with which nothing else is built; locked : the path of what builds it, with hashes."""
        return f"{BUILT_FROM_SOURCE} {locked}" if self.is_built else WHEELS_ONLY


def locked(name: str) -> str:
    """Return the content of `PROGRAM` or `BUILD`, as uv reads it."""
    folder = CHECKOUT / ".github" if interpreters.is_checkout() else PACKAGE / "projects"
    return (folder / name).read_text(encoding="utf-8")


def find() -> Origin:
    """Return the origin of the running tensorcopy, as its installer noted it (PEP 610), or git in a checkout.

    Raises TensorcopyError for one that only this machine has.
    """
    try:
        noted = distribution("tensorcopy").read_text("direct_url.json")
    except PackageNotFoundError:  # a checkout on the search path
        noted = json.dumps({"url": CHECKOUT.as_uri()})
    if noted is None:
        return Origin(f"=={__version__}")
    document: dict[str, Any] = json.loads(noted)
    url = str(document["url"])
    is_local = url.startswith("file:")
    path = Path(url2pathname(urlsplit(url).path)) if is_local else Path()
    if "vcs_info" in document and not is_local:
        return _of_repository(url, document["vcs_info"]["commit_id"])
    if not is_local:
        return Origin(f" @ {re.sub('//[^/]*@', '//', url)}", is_built=not url.endswith(".whl"))
    if path.suffix == ".whl" and path.is_file():
        return Origin("", path)
    sha = document.get("vcs_info", {}).get("commit_id") or git.printed("-C", str(path), "rev-parse", "HEAD")
    remote = git.printed("-C", str(path), "config", "--get", "remote.origin.url")
    if path.is_dir() and web_address(remote) and git.printed("-C", str(path), "branch", "--remotes", "--contains", sha):
        return _of_repository(remote, sha)
    what = "a wheel that was removed" if path.suffix == ".whl" else "a folder whose commit is at no git remote"
    checkout = path if path.is_dir() else "CHECKOUT"
    raise TensorcopyError(
        "no workflow can install this tensorcopy",
        got=f"{path}, {what}",
        allowed="one from a package index, a wheel, or a commit at a git remote",
        next=f'uv build --wheel -o dist {checkout}, pip install "$(ls dist/*.whl)[dashboard]", then tensorcopy init --github',
    )


def _of_repository(remote: str, sha: str) -> Origin:
    return Origin(f" @ git+{web_address(remote)}@{sha}", is_built=True)
