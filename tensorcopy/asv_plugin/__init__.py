"""asv's commands on launches: torch releases are the commits of its repository, and `asv publish` writes the pages.

asv.conf.json names the module of the command line that calls `setup`, and asv calls that before it runs a command. Only this folder
imports asv. `run` and `continuous` let releases take turns, `compare`, `find` and `show` read launches, `publish` and `gh-pages` write the
pages, `preview` and `machine` are asv's own. Any other command is refused in a line.
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
    from asv.commands.publish import Publish
    from asv.commands.run import Run
    from asv.commands.show import Show
    from asv.plugins.github import GithubPages

    from tensorcopy.asv_plugin import commands, measuring, publishing, reading, repository

    acts = {Run: measuring.run, Continuous: measuring.continuous, Compare: reading.compare, Find: reading.find, Show: reading.show}
    repository.TorchReleases.read = staticmethod(read)
    publishing.write_with(write)
    commands.own({**acts, Publish: publishing.publish, GithubPages: publishing.gh_pages})
