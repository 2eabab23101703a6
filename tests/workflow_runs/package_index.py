"""A local package index, over HTTPS, that takes files from one environment of one repository: a trusted publisher."""

from __future__ import annotations

import json
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from hashlib import sha256
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from tests.conftest import POLL
from tests.workflow_runs.forge import REPOSITORY, Handler

AUDIENCE, TOKEN = "index", "token-of-the-index"


@dataclass
class PackageIndex:
    """What was uploaded: the SHA-256 of each file, by name.

    environment : the one whose jobs may upload
    certificate : of the server
    """

    environment: str
    certificate: Path
    address: str = ""
    files: dict[str, str] = field(default_factory=dict)

    def variables(self) -> dict[str, str]:
        """Return the variables by which `uv publish` uploads here."""
        return {"UV_PUBLISH_URL": self.address, "SSL_CERT_FILE": str(self.certificate)}

    def trusts(self, identity: str) -> bool:
        """Return whether a job may upload."""
        return json.loads(identity) == {"aud": AUDIENCE, "repository": REPOSITORY, "environment": self.environment}


class _Handler(Handler):
    index: PackageIndex

    def do_GET(self) -> None:
        self.answer(*((200, {"audience": AUDIENCE}) if self.path == "/_/oidc/audience" else (404, {})))

    def do_POST(self) -> None:
        body = self.body()
        if self.path == "/_/oidc/mint-token":
            trusted = self.index.trusts(json.loads(body)["token"])
            return self.answer(*((200, {"success": True, "token": TOKEN}) if trusted else (422, {"message": "not a trusted publisher"})))
        if self.token() != TOKEN:
            return self.answer(403, {"message": "Invalid or non-existent authentication information."})
        parts = BytesParser().parsebytes(b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + body).get_payload()
        for part in parts:
            if name := part.get_filename():
                self.index.files[name] = sha256(part.get_payload(decode=True)).hexdigest()
        return self.answer(200, {})


@contextmanager
def serving(folder: Path, environment: str) -> Iterator[PackageIndex]:
    """Yield an empty index; its certificate is in `folder`."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = "openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -subj /CN=index -addext subjectAltName=IP:127.0.0.1"
    leaf = ["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command.split(), *leaf], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    index = PackageIndex(environment, certificate)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Handler,), {"index": index}))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    index.address = f"https://127.0.0.1:{server.server_address[1]}/upload/"
    Thread(target=server.serve_forever, args=(POLL,), daemon=True).start()
    try:
        yield index
    finally:
        server.shutdown()
        server.server_close()
