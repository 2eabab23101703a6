"""The asv plugin: torch releases as commits, asv's commands on launches, pages.

Only this folder imports asv. asv imports it by the name in asv.conf.json ("plugins") and finds its classes among the subclasses of asv's
`Repo`, `Environment` and `OutputPublisher`. asv's `run`, `continuous` and `find` let releases take turns, and the commands that read
results read a projection of the launches.
"""

from asv.commands.find import Find

from tensorcopy.asv_plugin.commands import end_in_one_line, prepare
from tensorcopy.asv_plugin.environment import InterpreterEnvironment, ReleaseEnvironment
from tensorcopy.asv_plugin.finding import find
from tensorcopy.asv_plugin.measuring import let, measure_in_turns
from tensorcopy.asv_plugin.publishing import Pages
from tensorcopy.asv_plugin.repository import TorchReleases

__all__ = ["InterpreterEnvironment", "Pages", "ReleaseEnvironment", "TorchReleases", "setup"]


def setup() -> None:
    """Prepare asv's process; asv calls this once it has imported the plugin."""
    end_in_one_line()
    prepare()
    measure_in_turns()
    let(Find, find)
