"""How asv ends: with one line and exit code 2 for an error, 130, 143 or 129 for a signal, and 141 where `| head` has read enough.

It is imported first, and imports little: until `end_in_one_line` is called, Ctrl-C ends asv with a traceback.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType, TracebackType

from tensorcopy.errors import TensorcopyError, of_os_error

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_received: list[int] = []  # the first signal that asked this process to end


def end_in_one_line() -> None:
    """Let asv end in one line, after what runs has ended its processes and removed its temporary files."""
    show_others = sys.excepthook

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if not _received:  # a second one would interrupt the cleaning up
            _received.append(number)
            raise KeyboardInterrupt

    def show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if isinstance(error, KeyboardInterrupt):
            print("interrupted; complete launches, and the site that was there, are kept", flush=True)
            raise SystemExit(128 + (_received or [signal.SIGINT])[0])
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python writes what is left of the output
            raise SystemExit(141)
        known = error if isinstance(error, TensorcopyError) else of_os_error(error) if isinstance(error, OSError) else None
        if known is None:
            show_others(kind, error, traceback)
            return
        for each in (*known.earlier, known):
            print(each, flush=True)
        raise SystemExit(2)

    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # such as under nohup, or in the background of a script
            signal.signal(number, interrupt)
    sys.excepthook = show
