"""Where this tensorcopy was installed from, so that a workflow installs the same."""

from __future__ import annotations

import json
import re
from importlib.metadata import distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from tensorcopy import __version__
from tensorcopy.configuration import web_address
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git


def find() -> str | Path:
    """Return the requirement of the running tensorcopy, or its wheel, as its installer noted it (PEP 610), or git in a checkout.

    Raises TensorcopyError for one that only this machine has.
    """
    noted = json.loads(distribution("tensorcopy").read_text("direct_url.json") or "{}")
    if not noted:
        return f"tensorcopy=={__version__}"
    url, sha = str(noted["url"]), noted.get("vcs_info", {}).get("commit_id", "")
    if not url.startswith("file:"):
        return f"tensorcopy @ {f'git+{web_address(url)}@{sha}' if sha else re.sub('//[^/]*@', '//', url)}"
    path = Path(url2pathname(urlsplit(url).path))
    if path.suffix == ".whl" and path.is_file():
        return path
    sha = sha or git.printed("-C", str(path), "rev-parse", "HEAD")
    remote = web_address(git.printed("-C", str(path), "config", "--get", "remote.origin.url"))
    if remote and git.printed("-C", str(path), "branch", "--remotes", "--contains", sha):
        return f"tensorcopy @ git+{remote}@{sha}"
    raise TensorcopyError(
        "no workflow can install this tensorcopy",
        got=str(path),
        allowed="one from a package index, a wheel that is there, or a commit at a git remote",
        next='git push, or uv build --wheel -o dist CHECKOUT, pip install "$(ls dist/*.whl)[dashboard]", then repeat',
    )
