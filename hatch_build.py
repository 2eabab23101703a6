"""The package's description: README.md, with the addresses of files in place of their paths, which an index cannot follow."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

UNKNOWN_SOURCE = "https://github.com/-owner-/tensorcopy"  # of the clone command
LINK = re.compile(r"(?<=\]\()[^)\s#]+")


class Description(MetadataHookInterface):
    """Sets the field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = with_addresses(Path(self.root), metadata["urls"]["Repository"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def with_addresses(root: Path, repository: str) -> str:
    """Return README.md with absolute links: to the content of a picture, and to the page of any other file."""

    def absolute(match: re.Match[str]) -> str:
        path = match[0]
        if not (root / path).exists():  # an address, or code
            return path
        return f"{repository}/{'raw' if path.endswith(('.svg', '.png')) else 'blob'}/main/{path}"

    return LINK.sub(absolute, (root / "README.md").read_text(encoding="utf-8").replace(UNKNOWN_SOURCE, repository))
