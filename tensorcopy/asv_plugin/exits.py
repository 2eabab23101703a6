"""End asv with one line and exit code 2 where tensorcopy raises an error."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from asv.console import log

from tensorcopy.errors import TensorcopyError

ERROR_FILE = "TENSORCOPY_ERROR"  # environment variable: where the process that started asv reads the error as JSON


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Log a TensorcopyError in one line and end asv with exit code 2.

    asv then stores nothing for what it was about to measure.
    """
    try:
        yield
    except TensorcopyError as error:
        log.error(str(error))
        pass_on(error)
        raise SystemExit(2) from error


def pass_on(error: TensorcopyError) -> None:
    """Write the first error into the file that asv's caller has named, if any."""
    path = os.environ.get(ERROR_FILE)
    if path and not Path(path).exists():
        Path(path).write_text(json.dumps(error.document()), encoding="utf-8")
