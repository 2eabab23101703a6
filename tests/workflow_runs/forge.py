"""A local GitHub: its REST API, its repository over HTTP, artifacts and Pages, with the rights of each job's token."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.conftest import POLL

REPOSITORY = "o/r"
BOT = {"login": "github-actions[bot]", "type": "Bot"}
ORDER = ("none", "read", "write")


@dataclass
class Forge:
    """What the local GitHub stores.

    address : of its API and its repositories
    folder : with the bare repository
    rights : of each token, by scope
    artifacts : of each run, by name: a folder
    attestations : the name and the SHA-256 of each attested file
    environments : of the job of each token
    """

    folder: Path
    address: str = ""
    private: bool = False
    rights: dict[str, Mapping[str, str]] = field(default_factory=dict)
    artifacts: dict[int, dict[str, Path]] = field(default_factory=dict)
    pulls: list[dict[str, Any]] = field(default_factory=list)
    comments: list[dict[str, Any]] = field(default_factory=list)
    started: list[dict[str, Any]] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    attestations: list[dict[str, str]] = field(default_factory=list)
    environments: dict[str, str] = field(default_factory=dict)

    def token(self, permissions: Mapping[str, str], environment: str = "") -> str:
        """Return the token of a job with these permissions and this environment."""
        token = f"token-{len(self.rights)}"
        self.rights[token] = {"metadata": "read", **permissions}
        self.environments[token] = environment
        return token

    def identity(self, token: str, audience: str) -> str:
        """Return the text by which a job shows another server who it is. GitHub signs it."""
        return json.dumps({"aud": audience, "repository": REPOSITORY, "environment": self.environments[token]})

    def allows(self, token: str, scope: str, right: str) -> bool:
        """Return whether a token, or a visitor without one (""), may read or write."""
        given = self.rights.get(token, {}).get(scope, "none")
        public = not self.private and right == "read" and (not token or token in self.rights)
        return public or ORDER.index(given) >= ORDER.index(right)

    def pull(self, number: int, branch: str, sha: str, owner: str = "o", labels: tuple[str, ...] = ()) -> dict[str, Any]:
        """Add an open pull request, and return it as the API and the events have it."""
        repository = {"full_name": f"{owner}/r", "owner": {"login": owner, "type": "User"}, "private": self.private}
        return self.pulls.append(row := {
            "number": number,
            "state": "open",
            "title": branch,
            "labels": [{"name": label} for label in labels],
            "head": {"label": f"{owner}:{branch}", "ref": branch, "sha": sha, "repo": repository, "user": {"login": owner}},
            "base": {"label": "o:main", "ref": "main", "repo": {**repository, "full_name": REPOSITORY}},
            "issue_url": f"{self.address}/repos/{REPOSITORY}/issues/{number}",
            "url": f"{self.address}/repos/{REPOSITORY}/pulls/{number}",
        }) or row  # fmt: skip


@contextmanager
def serving(folder: Path, *, private: bool = False) -> Iterator[Forge]:
    """Yield a local GitHub with an empty repository."""
    forge = Forge(folder, private=private)
    bare = folder / f"{REPOSITORY}.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    subprocess.run(["git", "-C", str(bare), "config", "http.receivepack", "true"], check=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Handler,), {"forge": forge}))
    forge.address = f"http://127.0.0.1:{server.server_address[1]}"
    Thread(target=server.serve_forever, args=(POLL,), daemon=True).start()
    try:
        yield forge
    finally:
        server.shutdown()
        server.server_close()


class Handler(BaseHTTPRequestHandler):
    """Reads requests and writes answers."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def token(self) -> str:
        kind, _, value = (self.headers.get("Authorization") or "").partition(" ")
        return base64.b64decode(value).decode().partition(":")[2] if kind.lower() == "basic" else value

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def answer(self, status: int, value: Any, kind: str = "application/json") -> None:
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="GitHub"')
        self.end_headers()
        self.wfile.write(text)


class _Handler(Handler):
    """Answers git and the part of the REST API that the workflows use; each answer checks the token's rights."""

    forge: Forge

    def respond(self) -> None:
        path = urlsplit(self.path)
        body = self.body()
        if path.path.startswith(f"/{REPOSITORY}"):
            return self.git(path.path, path.query, body)
        if path.path == "/identity" and self.forge.allows(self.token(), "id-token", "write"):
            return self.answer(200, {"value": self.forge.identity(self.token(), parse_qs(path.query)["audience"][0])})
        parameters = parse_qs(path.query)
        for method, pattern, scope, right, answer in ROUTES:
            match = re.fullmatch(pattern, path.path)
            if match and method == self.command:
                if not self.forge.allows(self.token(), scope, right):
                    return self.answer(403 if self.token() else 401, {"message": "Resource not accessible by integration"})
                return self.answer(*answer(self.forge, match, parameters, json.loads(body or b"{}")))
        return self.answer(404, {"message": "Not Found"})

    do_GET = do_POST = do_PATCH = do_DELETE = respond

    def git(self, path: str, query: str, body: bytes) -> None:
        """Answer through git's own program for HTTP."""
        right = "write" if "git-receive-pack" in path + query else "read"
        if not self.forge.allows(self.token(), "contents", right):
            return self.answer(403 if self.token() in self.forge.rights else 401, {"message": "Not Found"})
        name, rest = re.fullmatch(rf"/({REPOSITORY})(?:\.git)?(/.*)", path).groups()
        variables = {
            "GIT_PROJECT_ROOT": str(self.forge.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": f"/{name}.git{rest}",
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(["git", "http-backend"], input=body, env={**os.environ, **variables}, capture_output=True, check=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        return self.answer(int(fields.get("Status", "200 OK").split()[0]), content, fields["Content-Type"])


Parameters, Body, Answer = dict[str, list[str]], dict[str, Any], tuple[int, Any]


def _repository(forge: Forge, *_: Any) -> Answer:
    return 200, {"full_name": REPOSITORY, "default_branch": "main", "url": f"{forge.address}/repos/{REPOSITORY}", "private": forge.private}


def _pulls(forge: Forge, _: re.Match[str], parameters: Parameters, __: Body) -> Answer:
    return 200, [pull for pull in forge.pulls if pull["head"]["label"] == parameters["head"][0]]


def _open(forge: Forge, _: re.Match[str], __: Parameters, body: Body) -> Answer:
    return 201, {**forge.pull(100 + len(forge.pulls), body["head"], "0" * 40), "title": body["title"]}


def _comments(forge: Forge, match: re.Match[str], *_: Any) -> Answer:
    return 200, [comment for comment in forge.comments if comment["issue"] == int(match[1])]


def _comment(forge: Forge, match: re.Match[str], _: Parameters, body: Body) -> Answer:
    number = len(forge.comments)
    row = {"id": number, "issue": int(match[1]), "user": BOT, "body": body["body"]}
    forge.comments.append({**row, "url": f"{forge.address}/repos/{REPOSITORY}/issues/comments/{number}"})
    return 201, forge.comments[-1]


def _edit(forge: Forge, match: re.Match[str], _: Parameters, body: Body) -> Answer:
    forge.comments[int(match[1])]["body"] = body["body"]
    return 200, forge.comments[int(match[1])]


def _unlabel(forge: Forge, match: re.Match[str], *_: Any) -> Answer:
    (pull,) = (pull for pull in forge.pulls if pull["number"] == int(match[1]))
    name = match[2].replace("%20", " ")
    before, pull["labels"] = pull["labels"], [label for label in pull["labels"] if label["name"] != name]
    return (200, pull["labels"]) if len(before) > len(pull["labels"]) else (404, {"message": "Label does not exist"})


def _workflow(forge: Forge, match: re.Match[str], *_: Any) -> Answer:
    return 200, {"id": 1, "name": match[1], "url": f"{forge.address}/repos/{REPOSITORY}/actions/workflows/{match[1]}"}


def _start(forge: Forge, match: re.Match[str], _: Parameters, body: Body) -> Answer:
    forge.started.append({"workflow": match[1], **body})
    return 204, {}


def _deploy(forge: Forge, _: re.Match[str], __: Parameters, body: Body) -> Answer:
    """Unpack the site of the artifact, as Pages does."""
    packed = forge.artifacts[body["run"]]["github-pages"] / "artifact.tar"
    with tarfile.open(fileobj=io.BytesIO(packed.read_bytes())) as archive:
        names = archive.getnames()
    shutil.rmtree(packed.parent)
    forge.pages = [name.removeprefix("./") for name in names]
    return 200, {"page_url": "https://o.example.org/r/"}


def _attest(forge: Forge, _: re.Match[str], __: Parameters, body: Body) -> Answer:
    forge.attestations += body["subjects"]
    return 201, {"id": len(forge.attestations)}


HERE = f"/repos/{REPOSITORY}"
ROUTES = [
    ("GET", HERE, "metadata", "read", _repository),
    ("GET", rf"{HERE}/pulls", "pull-requests", "read", _pulls),
    ("POST", rf"{HERE}/pulls", "pull-requests", "write", _open),
    ("GET", rf"{HERE}/issues/(\d+)/comments", "pull-requests", "read", _comments),
    ("POST", rf"{HERE}/issues/(\d+)/comments", "pull-requests", "write", _comment),
    ("PATCH", rf"{HERE}/issues/comments/(\d+)", "pull-requests", "write", _edit),
    ("DELETE", rf"{HERE}/issues/(\d+)/labels/([^/]+)", "pull-requests", "write", _unlabel),
    ("GET", rf"{HERE}/actions/workflows/([\w.-]+)", "actions", "read", _workflow),
    ("POST", rf"{HERE}/actions/workflows/([\w.-]+)/dispatches", "actions", "write", _start),
    ("POST", rf"{HERE}/pages/deployments", "pages", "write", _deploy),
    ("POST", rf"{HERE}/attestations", "attestations", "write", _attest),
]
