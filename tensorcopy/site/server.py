"""The site on this machine's loopback."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tensorcopy.errors import TensorcopyError

PORTS = (*range(8080, 8100), 0)  # the usual one, its neighbours, whatever is free


def bound(directory: Path, port: int | None) -> ThreadingHTTPServer:
    """A server for `directory`, bound but not yet serving; without a port, on 8080 or the next free one.

    Raises TensorcopyError for a port that cannot be had.
    """
    handler = partial(_QuietHandler, directory=str(directory))
    for candidate in PORTS if port is None else (port,):
        try:
            return ThreadingHTTPServer(("127.0.0.1", candidate), handler)
        except (OSError, OverflowError):
            continue
    raise TensorcopyError(
        "the port cannot be had",
        got=f"{port}, in use or not allowed",
        allowed="a free port of the loopback, 1 to 65535",
        next="another --port, or none for the next free one",
    )


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the terminal is the reader's."""
