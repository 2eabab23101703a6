"""Where the repository and the published site are on the web, so that pages can link to them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

UNKNOWN_SOURCE = "https://github.com/OWNER/tensorcopy"  # in docs/, and on pages of a checkout without an origin


@dataclass(frozen=True)
class WebAddresses:
    """The addresses of the repository and of the site's root; "" for an unknown one.

    source : as a browser opens it, and as `git clone` takes it
    site : ends with "/"
    """

    source: str = ""
    site: str = ""

    def absolute(self, address: str) -> str:
        """Return the full address of a page; "" when the site's own is unknown."""
        return f"{self.site}{address.removesuffix('index.html')}" if self.site else ""


NOWHERE = WebAddresses()


def of_configuration(source: str, site: str) -> WebAddresses:
    """Return the addresses that the configuration names."""
    return WebAddresses(source, f"{site.rstrip('/')}/" if site else "")


def of_checkout(source: str, site: str, environment: Mapping[str, str], folder: Path = Path()) -> WebAddresses:
    """Return the addresses that the configuration names.

    Without a `source`, it is the repository of the running GitHub workflow, or else git's origin. A fork thus links to itself.
    """
    workflow = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}".format_map(environment) if "GITHUB_REPOSITORY" in environment else ""
    return of_configuration(source or workflow or web_address(_origin(folder)), site)


def web_address(remote: str) -> str:
    """Return the web address of a git remote without its credentials; "" for a folder."""
    match = re.fullmatch(r"(?:(?:https?|ssh|git)://)?(?:[^@/]*@)?([\w.-]+)(?::\d+(?=/))?[:/](?!/)(\S+?)(?:\.git)?/?", remote)
    return f"https://{match[1]}/{match[2]}" if match and "." in match[1].strip(".") else ""


def _origin(folder: Path) -> str:
    try:
        done = subprocess.run(
            ["git", "config", "--get", "remote.origin.url"],  # noqa: S607 - git is wherever the user has it
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:  # no git here
        return ""
    return done.stdout.strip()
