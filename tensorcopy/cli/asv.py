"""The plugin of asv: asv.conf.json names this module, and asv calls `setup` before it runs a command."""

from functools import partial

from tensorcopy.asv_plugin import ending


def setup() -> None:
    """Let asv measure the campaign of the folder in which it runs, and write its pages."""
    ending.end_in_one_line()  # first: the other imports take longer than those of asv
    from tensorcopy.asv_plugin import commands, measuring, publishing, reading
    from tensorcopy.copying import shipped
    from tensorcopy.site import build

    commands.own(
        shipped.of_folder,
        {
            "run": measuring.run,
            "continuous": measuring.continuous,
            "compare": reading.compare,
            "find": reading.find,
            "show": reading.show,
            "publish": partial(publishing.publish, build.publish),
            "gh-pages": partial(publishing.gh_pages, build.publish),
        },
    )
