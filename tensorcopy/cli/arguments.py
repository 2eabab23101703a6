"""Arguments that several commands share, and the campaign that they are about."""

from __future__ import annotations

from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorcopy.campaign import Campaign

MACHINE = "a machine in results; default: the last that measured what the command needs"


def results_folder() -> Path:
    """Return the folder of launch files: that of asv.conf.json, or results/ in a folder without one."""
    from tensorcopy import configuration

    return Path(relpath(configuration.paths().results)) if Path(configuration.FILE).exists() else Path("results")


def campaign() -> Campaign:
    """Return the campaign of the current folder. Raises TensorcopyError for an invalid tensorcopy.toml."""
    from tensorcopy.copying.shipped import of_folder

    return of_folder(Path.cwd())
