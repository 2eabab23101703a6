"""Start a process that ends, with all that it has started, when the block that reads its output is left by an exception."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Yield a process that writes text to `stdout`, a pipe.

    Ctrl-C reaches every process of a terminal; a signal to this process alone does not. Without this, its children would go on measuring.

    options : of subprocess.Popen
    """
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace", **options) as process:
        try:
            yield process
        except BaseException:
            _kill(process)
            raise


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill a process and its descendants."""
    descendants: list[Any] = []
    with suppress(ImportError):  # of the dashboard's extra; without it, only probes are started, which start nothing
        import psutil

        with suppress(psutil.Error):
            descendants = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for descendant in descendants:
        with suppress(Exception):  # it has ended, or is another's now
            descendant.kill()
