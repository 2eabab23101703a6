"""asv.conf.json of the current folder: its folders, its Pythons and its addresses. Read without asv."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError

FILE = "asv.conf.json"


@dataclass(frozen=True)
class Paths:
    """The folders and the Python versions that asv.conf.json names.

    results : of launch files
    html : of the site
    environments : of releases
    pythons : in order of preference
    """

    results: Path
    html: Path
    environments: Path
    pythons: tuple[str, ...]

    @property
    def projection(self) -> Path:
        """The folder of what asv's commands read."""
        return self.results.parent / ".asv" / "results"


def paths() -> Paths:
    """Read asv.conf.json of the current folder. Raises TensorcopyError where it is missing or damaged."""
    document = _read()
    results, html, environments = (
        Path(document.get(name, usual)).absolute() for name, usual in (("results_dir", "results"), ("html_dir", "html"), ("env_dir", "env"))
    )
    return Paths(results, html, environments, tuple(document.get("pythons", ())))


def web_addresses() -> tuple[str, str]:
    """Return the addresses of the repository and of the site in asv.conf.json; "" for a missing one."""
    document = _read()
    return str(document.get("source_url", "")), str(document.get("site_url", ""))


def _read() -> dict[str, Any]:
    import json5  # asv's own reader: the file has comments

    path = Path(FILE)
    if not path.is_file():
        raise TensorcopyError(
            "this is neither a project nor a checkout of tensorcopy",
            got=f"{Path.cwd().name}, without {FILE}",
            allowed=f"a folder with {FILE}",
            next="tensorcopy init, or git clone tensorcopy and run it there",
        )
    try:
        return {**json5.loads(path.read_text(encoding="utf-8"))}
    except (ValueError, TypeError) as error:
        raise TensorcopyError(
            f"{FILE} cannot be read", got=" ".join(str(error).split()), allowed="JSON with comments", next=f"git checkout {FILE}"
        ) from error
