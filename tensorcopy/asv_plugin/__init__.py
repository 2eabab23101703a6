"""What asv is taught here: torch releases as commits, an environment per release, our pages in `asv publish`.

The only code of tensorcopy that imports asv. asv imports it by the name in asv.conf.json ("plugins") and finds the classes among the
subclasses of its own: `Repo`, `Environment`, `OutputPublisher`.
"""

from tensorcopy.asv_plugin.environment import InterpreterEnvironment, ReleaseEnvironment
from tensorcopy.asv_plugin.publisher import Pages
from tensorcopy.asv_plugin.repository import TorchReleases

__all__ = ["InterpreterEnvironment", "Pages", "ReleaseEnvironment", "TorchReleases"]
