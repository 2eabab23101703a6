"""The local server answers any client in one piece; a missing address leads on."""

import socket
import threading

import pytest

from tensorcopy.site import server
from tests.conftest import POLL


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A served site of one page."""
    parent = tmp_path_factory.mktemp("served")
    folder = parent / "site"
    (folder / "folder").mkdir(parents=True)
    (folder / "index.html").write_text("front")
    (folder / "large.bin").write_bytes(bytes(8 << 20))
    (parent / "secret").write_text("secret")
    with server.bound(folder) as bound:
        threading.Thread(target=bound.serve_forever, args=(POLL,), daemon=True).start()
        yield bound
        bound.shutdown()


def answer(bound, request: bytes) -> bytes:
    """Send bytes and return all that comes back."""
    with socket.create_connection(("127.0.0.1", bound.server_port), timeout=5) as client:
        client.sendall(request)
        client.shutdown(socket.SHUT_WR)
        parts = []
        try:
            while part := client.recv(1 << 20):
                parts.append(part)
        except ConnectionError:
            pass
        return b"".join(parts)


def get(bound, path: bytes, method: bytes = b"GET") -> bytes:
    return answer(bound, method + b" " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")


def status(text: bytes) -> int:
    return int(text.split(b" ", 2)[1]) if text.startswith(b"HTTP/") else 0


MISSING = [b"/%ff", b"/%", b"/..%2f..%2fsecret", b"/../secret", b"/%0d%0aSet-Cookie:a=b"]
MISSING += [b"/\\secret", b"/index.html/", b"//evil.example", b"/%e2%80%ae"]


@pytest.mark.parametrize("path", MISSING, ids=lambda path: repr(path[:30]))
def test_no_address_leads_out_of_the_site(site, capfd, path):
    text = get(site, path)
    assert status(text) == 404
    assert b"secret" not in text.partition(b"\r\n\r\n")[2]
    assert b"\r\nSet-Cookie" not in text
    assert status(get(site, path, method=b"HEAD")) == status(text)
    assert capfd.readouterr() == ("", "")


BROKEN = {
    "nothing": b"",
    "a NUL": b"\0" * 100,
    "a long line": b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    "another method": b"DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a TLS hello": bytes.fromhex("16030100f4010000f00303") + bytes(200),
}


@pytest.mark.parametrize("request_text", BROKEN.values(), ids=BROKEN)
def test_a_broken_request_prints_nothing_and_the_next_is_answered(site, capfd, request_text):
    answer(site, request_text)
    assert b"front" in get(site, b"/")
    assert capfd.readouterr() == ("", "")


def test_a_fault_of_a_request_is_one_line(site, capfd, monkeypatch):
    """Without control characters, and the server goes on."""
    monkeypatch.setattr(server._QuietHandler, "send_head", lambda _: 1 / 0)
    get(site, b"/")
    assert capfd.readouterr().err == "tensorcopy: a request failed: ZeroDivisionError: 'division by zero'\n"
