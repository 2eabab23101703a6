"""How asv ends: with one line and exit code 2 where tensorcopy raises an error, 130 where it is interrupted, and 141
where `| head` has read enough.

It is imported first, and imports little: until `end_in_one_line` is called, Ctrl-C ends asv with a traceback.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NoReturn

from asv.console import log

from tensorcopy.errors import TensorcopyError, of_os_error

_kept: list[str] = []  # what the command that runs keeps when it is interrupted, for the line that ends it


def keeps(text: str) -> None:
    """Take note of what the command that runs keeps when it is interrupted."""
    _kept[:] = [text]


def end_with(error: TensorcopyError) -> NoReturn:
    """Log an error in one line and end asv with exit code 2."""
    log.error(str(error))
    raise SystemExit(2) from error


@contextmanager
def exit_on_error() -> Iterator[None]:
    """End asv with a TensorcopyError, or an error of the disk, that is raised here."""
    try:
        yield
    except (TensorcopyError, OSError) as error:
        known = error if isinstance(error, TensorcopyError) else of_os_error(error)
        if known is None:
            raise
        end_with(known)


def let(command: Any, act: Callable[[Any, Namespace], int]) -> None:
    """Let a command of asv do what `act` does with its configuration and options, and end in one line where that raises an error."""

    def acted(conf: Any, options: Namespace) -> int:
        keeps("complete launches are kept")
        with exit_on_error():
            return act(conf, options)

    command.run_from_conf_args = acted


def end_in_one_line() -> None:
    """Let asv end with one line and exit code 2 where a file cannot be written, 130 where it is interrupted, 141 where a pipe is closed."""
    show_others = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if isinstance(error, KeyboardInterrupt):
            print("; ".join(["interrupted", *_kept]), flush=True)
            raise SystemExit(130)
        if isinstance(error, BrokenPipeError):  # `| head` has read enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python writes what is left of the output
            raise SystemExit(141)
        known = of_os_error(error) if isinstance(error, OSError) else None
        if known is None:
            show_others(kind, error, traceback)
            return
        print(known, flush=True)
        raise SystemExit(2)

    sys.excepthook = show
