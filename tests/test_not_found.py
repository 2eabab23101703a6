"""A missing address is answered with a page that leads on; an old comparison's, to the comparison."""

from __future__ import annotations

import shutil
import threading
from http.client import HTTPConnection
from http.server import ThreadingHTTPServer

import pytest

from tensorcopy.site import server, writer
from tests.conftest import POLL

OLD_COMPARISON = "compare/box/py3.11-cuda/2.3.1..2.9.1.html"


@pytest.fixture
def site(tmp_path):
    """A site in a folder of its host, as GitHub Pages serves a project, without any result."""
    folder = tmp_path / "project"
    folder.mkdir()
    writer.write((), None, {}, folder)
    shutil.copy(folder / server.MISSING, tmp_path)
    with server.bound(tmp_path, 0) as bound:
        threading.Thread(target=bound.serve_forever, args=(POLL,), daemon=True).start()
        yield bound
        bound.shutdown()


def answer(bound: ThreadingHTTPServer, address: str, method: str = "GET") -> tuple[int, str, str]:
    connection = HTTPConnection("127.0.0.1", bound.server_port)
    connection.request(method, address)
    response = connection.getresponse()
    return response.status, response.headers["Content-Type"], response.read().decode()


def test_the_server_answers_a_missing_address_with_the_sites_page(site):
    """With the status of a missing page, and no body for HEAD."""
    status, kind, text = answer(site, f"/project/{OLD_COMPARISON}")
    assert (status, kind) == (404, "text/html; charset=utf-8")
    assert "No such page" in text
    assert answer(site, "/project/nowhere", "HEAD") == (404, kind, "")
    assert answer(site, "/project/index.html")[0] == 200


def links(page) -> list[str]:
    return list(page.evaluate("[...document.querySelectorAll('a')].filter((a) => a.checkVisibility()).map((a) => a.href)"))


@pytest.mark.slow
def test_an_old_comparison_leads_to_its_two_releases(site, browser):
    """The page names both releases and links to Compare with them; its style is that of the site, whatever the depth."""
    page, root = browser.new_page(), f"http://127.0.0.1:{site.server_port}/project"
    page.goto(f"{root}/{OLD_COMPARISON}")
    assert "comparison of 2.3.1 with 2.9.1 on box/py3.11-cuda" in page.inner_text("main")
    assert links(page)[0] == f"{root}/compare/index.html#from=2.3.1&to=2.9.1&on=box/py3.11-cuda"
    assert page.evaluate("getComputedStyle(document.body).margin") == "0px"
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("address", ["gone.html", "a/b.html", "a/b/c.html", "history/box/copies.BySize/gone-16.html"])
def test_any_other_address_leads_to_the_sites_pages(site, browser, address):
    """Its links exist, at each depth."""
    page, root = browser.new_page(), f"http://127.0.0.1:{site.server_port}/project"
    page.goto(f"{root}/{address}")
    assert links(page) == [f"{root}/{name}" for name in ("compare/index.html", "history/index.html", "index.html")]
    assert all(answer(site, link.removeprefix(f"http://127.0.0.1:{site.server_port}"))[0] == 200 for link in links(page))
    page.close()


@pytest.mark.slow
def test_without_a_script_an_old_comparison_leads_to_the_sites_pages(site, browser):
    """The links are those of an address three folders deep, and the page says so."""
    context = browser.new_context(java_script_enabled=False)
    page, root = context.new_page(), f"http://127.0.0.1:{site.server_port}/project"
    page.goto(f"{root}/{OLD_COMPARISON}")
    hrefs = [link.get_attribute("href") for link in page.query_selector_all("li a")]
    assert hrefs == [f"../../../{name}" for name in ("compare/index.html", "history/index.html", "index.html")]
    assert "three folders deep" in page.inner_text("main")
    context.close()
