"""The asv plugin: torch releases as commits, an environment for each, pages.

Only this folder imports asv. asv imports it by the name in asv.conf.json ("plugins") and finds its classes among the subclasses of asv's
`Repo`, `Environment` and `OutputPublisher`.
"""

from tensorcopy.asv_plugin.commands import check_arguments, check_environments, print_environments, show_disk_errors
from tensorcopy.asv_plugin.environment import InterpreterEnvironment, ReleaseEnvironment
from tensorcopy.asv_plugin.publisher import Pages
from tensorcopy.asv_plugin.repository import TorchReleases

__all__ = ["InterpreterEnvironment", "Pages", "ReleaseEnvironment", "TorchReleases", "setup"]


def setup() -> None:
    """Prepare asv's process; asv calls this once it has imported the plugin."""
    show_disk_errors()
    check_arguments()
    check_environments()
    print_environments()
