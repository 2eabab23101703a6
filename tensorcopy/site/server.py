"""A local web server for the site, on the loopback interface only."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tensorcopy.errors import TensorcopyError

PORTS = (*range(8080, 8100), 0)  # the usual port, its neighbours, any free one


def bound(directory: Path, port: int | None) -> ThreadingHTTPServer:
    """Return a server for `directory`, bound but not yet serving.

    port : None for 8080 or the next free one
    Raises TensorcopyError when the port is in use or not allowed.
    """
    handler = partial(_QuietHandler, directory=str(directory))
    for candidate in PORTS if port is None else (port,):
        try:
            return ThreadingHTTPServer(("127.0.0.1", candidate), handler)
        except (OSError, OverflowError):
            continue
    raise TensorcopyError(
        "cannot serve on this port",
        got=f"{port}, in use or not allowed",
        allowed="a free port from 1 to 65535",
        next="choose another --port, or omit it to use the next free one",
    )


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: requests would mix with the command's own output."""
