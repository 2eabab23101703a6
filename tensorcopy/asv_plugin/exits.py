"""How an error of ours ends asv: one line, exit code 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from asv.console import log

from tensorcopy.errors import TensorcopyError


@contextmanager
def clearly() -> Iterator[None]:
    """Turn a TensorcopyError into a line on asv's log and exit code 2. asv stores nothing for what it was about to measure."""
    try:
        yield
    except TensorcopyError as error:
        log.error(str(error))
        raise SystemExit(2) from error
