"""A local web server for the site, on the loopback interface only."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tensorcopy.errors import TensorcopyError

PORTS = (*range(8080, 8100), 0)  # the usual port, its neighbours, any free one
MISSING = "404.html"  # in the site's root


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
