"""The plugin of asv: asv.conf.json names this module, and asv calls `setup` before it runs a command."""

from __future__ import annotations

import sys
from functools import partial
from signal import SIGINT
from types import TracebackType

from tensorcopy import __main__ as program
from tensorcopy import cli


def setup() -> None:
    """Let asv measure the campaign of the folder in which it runs, and write its pages."""
    end_in_one_line()  # first: the other imports take longer than those of asv
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
            "preview": publishing.preview,
        },
    )


def end_in_one_line() -> None:
    """Let asv end as `tensorcopy` does, when what runs has ended its processes and removed its files; a fault has a traceback."""
    show_others = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if isinstance(error, KeyboardInterrupt):
            program.INTERRUPTION.signal = program.INTERRUPTION.signal or SIGINT
            program.INTERRUPTION.end()
        code = cli.ended(error) if isinstance(error, Exception) else None
        if code is not None:
            raise SystemExit(code)
        show_others(kind, error, traceback)

    program.handle_signals()
    program.INTERRUPTION.command_starts("complete launches, and the site that was there, are kept")
    sys.excepthook = show
