"""A local web server for the site, on the loopback interface only."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PORTS = range(8080, 8100)  # the usual port and its neighbours, before any free one
PATIENCE = 30.0  # seconds that a client may be silent: otherwise it would keep a thread for ever


def bound(directory: Path) -> ThreadingHTTPServer:
    """Return a server for `directory` on port 8080 or the next free one, bound but not yet serving."""
    handler = partial(_QuietHandler, directory=str(directory))
    for port in PORTS:
        with suppress(OSError):
            return _Server(("127.0.0.1", port), handler)
    return _Server(("127.0.0.1", 0), handler)


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # a client that holds its connection does not hold the program

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print one line for a request that failed; nothing for a client that has gone."""
        error = sys.exc_info()[1]
        if not isinstance(error, (ConnectionError, TimeoutError)):
            sys.stderr.write(f"tensorcopy: a request failed: {type(error).__name__}: {ascii(str(error))[:200]}\n")


class _QuietHandler(SimpleHTTPRequestHandler):
    timeout = PATIENCE

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: requests would mix with the command's own output."""
