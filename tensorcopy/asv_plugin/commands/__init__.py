"""asv's own commands: which arguments they take here, and what they print."""

from tensorcopy.asv_plugin.commands.arguments import check_arguments
from tensorcopy.asv_plugin.commands.environments import check_environments, print_environments

__all__ = ["check_arguments", "check_environments", "print_environments"]
