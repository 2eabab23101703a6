"""Arguments that several commands share, and the campaign that they are about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorcopy.campaign import Campaign

RESULTS = Path("results")
MACHINE = "a machine in results; default: the last that measured what the command needs"


def campaign() -> Campaign:
    """Return the campaign of the current folder. Raises TensorcopyError for an invalid tensorcopy.toml."""
    from tensorcopy.copying.shipped import of_folder

    return of_folder(Path.cwd())
