"""A local web server for the site, on the loopback interface only."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MISSING = "404.html"  # what the site answers for an address without a page
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

    def list_directory(self, path: Any) -> None:
        """Answer a folder without a page as a missing address."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a missing address with the site's own page, as GitHub Pages does."""
        page = Path(self.directory) / MISSING
        if code != HTTPStatus.NOT_FOUND or not page.exists():
            return super().send_error(code, message, explain)
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(page.stat().st_size))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page.read_bytes())
        return None

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: requests would mix with the command's own output."""
