"""asv's commands on launches: torch releases are the commits of its repository, and `asv publish` writes the pages.

asv.conf.json names the module of the command line that calls `setup`, and asv calls that before it runs a command. Only this folder
imports asv. `run` and `continuous` let releases take turns, `compare`, `find` and `show` read launches, `publish` and `gh-pages` write the
pages, `preview` and `machine` are asv's own. Any other command is refused in a line.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorcopy.asv_plugin.publishing import Writer
    from tensorcopy.campaign import Campaign


def setup(read: Callable[[Path], Campaign], write: Writer) -> None:
    """Prepare asv's process.

    read : returns the campaign of a folder
    write : writes its pages
    """
    from tensorcopy.asv_plugin import commands, measuring, publishing, reading

    commands.own(
        read,
        {
            "run": measuring.run,
            "continuous": measuring.continuous,
            "compare": reading.compare,
            "find": reading.find,
            "show": reading.show,
            "publish": partial(publishing.publish, write),
            "gh-pages": partial(publishing.gh_pages, write),
        },
    )
