"""What asv is taught: torch releases as commits, asv's commands on launches, pages.

Only this folder imports asv, which finds its classes among the subclasses of `Repo` and `Environment`. asv's `run`, `continuous` and `find`
let releases take turns, `asv publish` writes the pages, and `asv show` reads a projection of the launches.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorcopy.asv_plugin.publishing import Writer
    from tensorcopy.campaign import Campaign

__all__ = ["setup"]


def setup(read: Callable[[Path], Campaign], write: Writer) -> None:
    """Prepare asv's process.

    read : returns the campaign of a folder
    write : writes its pages
    """
    from asv.commands.compare import Compare
    from asv.commands.continuous import Continuous
    from asv.commands.find import Find
    from asv.commands.run import Run

    from tensorcopy.asv_plugin import environment, publishing, repository  # noqa: F401 - asv finds their classes
    from tensorcopy.asv_plugin.commands import prepare
    from tensorcopy.asv_plugin.comparing import compare, continuous
    from tensorcopy.asv_plugin.ending import let
    from tensorcopy.asv_plugin.finding import find
    from tensorcopy.asv_plugin.running import run

    prepare(read)
    publishing.register(write)
    for command, act in ((Run, run), (Continuous, continuous), (Compare, compare), (Find, find)):
        let(command, act)
