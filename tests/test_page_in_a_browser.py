"""The published page as a person sees it."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from tensorcopy import report_card, results, site
from tests.conftest import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    directory = tmp_path_factory.mktemp("site")
    site.write(results.load(ROOT / "results").found, json.loads((ROOT / report_card.FILE).read_text()), directory)
    return directory / "index.html"


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    executable = os.environ.get("PLAYWRIGHT_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not executable:
        pytest.skip("no Chromium here; PLAYWRIGHT_CHROMIUM names one")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280, 3840])
def test_it_fits_and_asks_nobody(browser, page_file, width, scheme):
    """From the disk: no request but its own files, no sideways scrolling, nothing in the console."""
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True)
    page = context.new_page()
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(page_file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert all(url.startswith(("file:", "data:")) for url in asked)
    assert said == []
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    lightness = sum(int(part) for part in background[4:-1].split(",")) / 3
    assert (lightness > 128) is (scheme == "light")
    stroke = page.evaluate("getComputedStyle(document.querySelector('figure svg path[stroke^=var]')).stroke")
    assert stroke.startswith("rgb(")
    context.close()


def test_it_can_be_walked_by_keyboard(browser, page_file):
    """Links, tables that scroll and folded tables take the focus, visibly."""
    page = browser.new_page()
    page.goto(page_file.as_uri())
    reached = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName"))
    assert {"A", "DIV", "SUMMARY"} <= reached
