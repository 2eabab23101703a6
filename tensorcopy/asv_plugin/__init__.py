"""The asv plugin: torch releases as commits, asv's commands on launches, pages.

Only this folder imports asv. asv imports it by the name in asv.conf.json ("plugins"), calls `setup`, and finds the plugin's classes among
the subclasses of its `Repo`, `Environment` and `OutputPublisher`. asv's `run`, `continuous` and `find` let releases take turns, and the
commands that read results read a projection of the launches.
"""

__all__ = ["setup"]


def setup() -> None:
    """Prepare asv's process; asv calls this once it has imported the plugin, whose modules take longer to import than asv."""
    from tensorcopy.asv_plugin.ending import end_in_one_line, let

    end_in_one_line()
    from asv.commands.compare import Compare
    from asv.commands.continuous import Continuous
    from asv.commands.find import Find
    from asv.commands.run import Run

    from tensorcopy.asv_plugin import environment, publishing, repository  # noqa: F401 - asv finds their classes
    from tensorcopy.asv_plugin.commands import prepare
    from tensorcopy.asv_plugin.comparing import compare, continuous
    from tensorcopy.asv_plugin.finding import find
    from tensorcopy.asv_plugin.running import run

    prepare()
    for command, act in ((Run, run), (Continuous, continuous), (Compare, compare), (Find, find)):
        let(command, act)
