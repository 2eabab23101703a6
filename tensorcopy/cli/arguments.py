"""Arguments that several commands share, and the campaign that they are about."""

from __future__ import annotations

import argparse
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorcopy.worker.devices import DEVICES

if TYPE_CHECKING:
    from tensorcopy.campaign import Campaign

MACHINE = "a machine in results; default: the one with the longest history of the device"


class StoreName(argparse.Action):
    """Store a name that restricts the results; an empty one, as of an unset variable of a shell, would restrict nothing."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        if not values.strip():
            raise argparse.ArgumentError(self, f"got {values!r}; allowed: a name; next: leave {option} out for its default")
        setattr(namespace, self.dest, values)


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which results are meant."""
    parser.add_argument("--device", default="", choices=DEVICES, help="cases on this device; default: cpu where it was measured")
    parser.add_argument("--machine", action=StoreName, default="", metavar="NAME", help=MACHINE)


def results_folder() -> Path:
    """Return the folder of launch files: that of asv.conf.json, or results/ in a folder without one."""
    from tensorcopy import configuration

    return Path(relpath(configuration.paths().results)) if Path(configuration.FILE).exists() else Path("results")


def campaign() -> Campaign:
    """Return the campaign of the current folder, and print a warning for each operation that it leaves out.

    Raises TensorcopyError for an invalid tensorcopy.toml.
    """
    from tensorcopy.cli.output import print_warnings
    from tensorcopy.copying.shipped import of_folder

    own = of_folder(Path.cwd())
    print_warnings([*own.left_out.values()])
    return own
