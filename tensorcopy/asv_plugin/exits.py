"""End asv with one line and exit code 2 where tensorcopy raises an error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from asv.console import log

from tensorcopy.errors import TensorcopyError, of_os_error

ERROR_FILE = "TENSORCOPY_ERROR"  # environment variable: where the process that started asv reads the error as JSON


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Log a TensorcopyError, or an error of the disk, in one line and end asv with exit code 2.

    asv then stores nothing for what it was about to measure.
    """
    try:
        yield
    except (TensorcopyError, OSError) as error:
        known = error if isinstance(error, TensorcopyError) else of_os_error(error)
        if known is None:
            raise
        log.error(str(known))
        pass_on(known)
        raise SystemExit(2) from error


def pass_on(error: TensorcopyError) -> None:
    """Write the first error into the file that asv's caller has named, if any."""
    path = os.environ.get(ERROR_FILE)
    with suppress(OSError):  # the disk may be full; the error was printed
        if path and not Path(path).exists():
            Path(path).write_text(json.dumps(error.document()), encoding="utf-8")


def end_on(errors: Sequence[Exception]) -> None:
    """Print errors in one line each and end the process with exit code 2, if there are any.

    For the end of a process: asv's log is closed, and its exit code is decided.
    """
    for error in errors:
        print(error, flush=True)
        if isinstance(error, TensorcopyError):
            pass_on(error)
    if errors:
        sys.stderr.flush()
        os._exit(2)  # an exception in a function that runs at exit would not change the exit code


def show_disk_errors() -> None:
    """Let asv end with one line and exit code 2 where a file cannot be written."""
    show_others = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        known = of_os_error(error) if isinstance(error, OSError) else None
        if known is None:
            show_others(kind, error, traceback)
            return
        print(known, flush=True)
        pass_on(known)
        raise SystemExit(2)

    sys.excepthook = show
