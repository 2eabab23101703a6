"""The plugin of asv: asv.conf.json names this module, and asv calls `setup` before it runs a command."""

from tensorcopy.asv_plugin import ending


def setup() -> None:
    """Let asv measure the campaign of the folder in which it runs, and write its pages."""
    ending.end_in_one_line()  # first: the other imports take longer than those of asv
    from tensorcopy import asv_plugin
    from tensorcopy.copying import shipped
    from tensorcopy.site import build

    asv_plugin.setup(shipped.of_folder, build.publish)
