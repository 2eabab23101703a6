"""The pages of the shipped results in Chromium: on a phone and a desk, light and dark, with scripts and without."""

import re
from urllib.parse import unquote

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.site.reading import read

pytestmark = pytest.mark.slow

CASE = "methods/cpu/detach_clone.html"
PAIR = "compare/2.14.1..2.15.0.html"
KINDS = [  # a page of each template but 404.html, whose links begin at the site's root
    *("index.html", "ja/index.html", "choose.html", "methods/index.html", "history.html", "regressions.html", "compare/index.html"),
    *(PAIR, CASE, "methods/cuda/detach_clone.html", "data.html", "docs/guide.html", "docs/guide.ja.html", "docs/measurement.html"),
]
DESK, PHONE = (1280, 800), (360, 800)
OPEN_ALL = "document.querySelectorAll('details').forEach((each) => (each.open = true))"
# what a reader of a page without scripts does not see of it; controls that do nothing there
HIDDEN = """() => [...document.querySelectorAll("svg.chart, table, pre, p, li, h1, h2, h3, summary")]
  .filter((each) => !each.closest("details:not([open]) > :not(summary)") && !each.checkVisibility())
  .map((each) => each.outerHTML.slice(0, 80))"""
DEAD = "[...document.querySelectorAll('button, select, input')].filter((each) => each.checkVisibility()).map((each) => each.outerHTML)"
DRAWN = "(lines) => lines.filter((line) => getComputedStyle(line).display !== 'none').map((line) => line.dataset.line)"
BOTTOM = """(text) => Math.min(...[...document.querySelectorAll("p, table.answers")]
  .filter((each) => each.checkVisibility() && each.textContent.includes(text)).map((each) => each.getBoundingClientRect().bottom))"""


def violations(axe, page) -> list[str]:
    """Return what axe-core finds that is worse than minor."""
    problems = axe.run(page, options={"preload": False, "resultTypes": ["violations"]}).response["violations"]
    return [f"{row['id']}, {row['nodes'][0]['html'][:90]}" for row in problems if row["impact"] != "minor"]


def test_every_page_fits_on_a_phone_and_loads_nothing(offline, published_site):
    """And writes nothing to the console; all folds are open."""
    page = offline(None, *PHONE)
    wide = []
    for path in sorted(published_site.rglob("*.html")):
        if path.name == "404.html":
            continue
        page.goto(path.as_uri())
        page.evaluate(OPEN_ALL if path.stat().st_size < 200_000 else "0")
        if page.evaluate("document.documentElement.scrollWidth") > PHONE[0]:
            wide.append(path.relative_to(published_site).as_posix())
    assert wide == []


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_of_each_kind_is_accessible(offline, published_site, size, scheme):
    page, axe, faults = offline(None, *size, scheme=scheme), Axe(), []
    for address in KINDS:
        page.goto((published_site / address).as_uri())
        page.evaluate("document.querySelectorAll('tbody tr:nth-child(n + 6)').forEach((row) => row.remove())")  # alike, and slow to check
        faults += [f"{address}: {fault}" for fault in violations(axe, page)]
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", dark)[:3])) < 3 * 128) == (scheme == "dark")
    assert faults == []


def test_axe_notices_a_picture_without_a_name(offline, published_site):
    page = offline(published_site / CASE)
    page.evaluate("document.querySelector('details[open] svg.chart').removeAttribute('aria-label')")
    assert any(fault.startswith("svg-img-alt") for fault in violations(Axe(), page))


def test_a_page_is_whole_without_scripts(offline, published_site):
    """Every answer, chart and table is there, in a fold that opens or outside of one, and no control that does nothing."""
    page = offline(None, *DESK, java_script_enabled=False)
    for address in KINDS:
        page.goto((published_site / address).as_uri())
        assert page.evaluate(HIDDEN) == [], address
        assert page.evaluate(DEAD) == [], address
    page.goto((published_site / "index.html").as_uri())
    assert page.locator("section table.answers").count() == 2
    assert page.locator("svg.chart").count() == 2
    page.goto((published_site / "choose.html").as_uri())
    assert page.locator("section h2:visible").count() == page.locator("section").count() > 10


def test_print_has_the_answers_and_no_controls(offline, published_site):
    page = offline(published_site / "index.html", scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate(DEAD) == []
    assert page.locator("nav:visible").count() == 0
    assert page.locator("table.answers:visible").count() == 1


# choices and charts


def pressed(page) -> list[str]:
    return page.locator("fieldset:visible button[aria-pressed=true]").all_inner_texts()


def test_the_first_page_shows_one_device_and_one_x(offline, published_site):
    page = offline(published_site / "index.html")
    assert pressed(page) == ["CPU", "requires grad"]
    captions = page.locator("caption:visible")
    assert captions.all_inner_texts()[0] == "Copies, requires grad"
    page.get_by_role("button", name="no grad").click()
    assert captions.all_inner_texts()[0] == "Copies"
    page.get_by_role("button", name="CUDA").click()
    assert page.locator("table.answers:visible").count() == 1
    assert 'x.detach().to("cpu", copy=True).numpy()' in page.locator("table.answers:visible").inner_text()
    assert page.locator("svg.chart:visible").count() == 1
    page.goto((published_site / "index.html").as_uri() + "#cuda")
    page.reload()
    assert pressed(page)[0] == "CUDA", "as the address says"
    page.get_by_role("button", name="CPU", exact=True).click()
    page.get_by_role("button", name="CUDA").click()
    page.get_by_role("link", name="Choose").click()
    assert pressed(page)[0] == "CUDA", "as was chosen on another page"


def test_the_chooser_leads_to_one_table_for_every_wish(offline, published_site):
    page = offline(published_site / "choose.html")
    expected = {str(each.attributes["data-part"]) for each in read((published_site / "choose.html").read_text()).all("section")}
    seen = set()
    assert page.locator("section:visible h2").inner_text().startswith("A tensor, own memory, x requires grad, out of the graph")

    def visit(place: int) -> None:
        """Choose each option of a control, and then of those behind it."""
        boxes = page.locator("fieldset")
        if place == boxes.count():
            assert page.locator("section:visible").count() == 1
            seen.add(page.locator("section:visible").get_attribute("data-part"))
            assert page.locator(page.evaluate("location.hash")).is_visible()
            assert page.evaluate("[...document.querySelectorAll('.scroll')].every((each) => each.scrollWidth <= each.clientWidth)")
            return
        for word in page.locator("fieldset").nth(place).locator("option").all_text_contents() or [""]:
            if boxes.nth(place).is_visible():
                boxes.nth(place).get_by_role("button", name=word, exact=True).click()
            visit(place + 1)

    visit(0)
    assert seen == expected
    page.evaluate("location.hash = 'cpu-anndarray-memorysharedwithx-xrequiresnograd'")
    page.locator("section:visible h2:has-text('An ndarray, memory shared with x, x requires no grad CPU')").wait_for()
    page.get_by_role("button", name="x requires grad", exact=True).click()
    page.get_by_role("button", name="own memory", exact=True).click()
    page.get_by_role("link", name="Other dtypes and layouts").locator("visible=true").click()
    page.locator("section:visible summary:has-text('Other dtypes and layouts')").wait_for()


def test_the_history_shows_the_chart_of_a_group_and_a_size(offline, published_site):
    page = offline(published_site / "history.html")
    section = page.locator("section").first
    assert section.locator("svg.chart:visible").count() == 1
    group, size = section.locator("select").first, section.locator("select").nth(1)
    titles = set()
    for option in group.locator("option").all_text_contents()[:3]:
        group.select_option(option)
        for numel in size.locator("option").all_text_contents():
            if size.is_visible():
                size.select_option(numel)
            assert section.locator("svg.chart:visible").count() == 1
            titles.add(section.locator("figcaption:visible").inner_text())
    assert len(titles) > 10


def test_a_chart_answers_to_the_pointer_and_its_key(offline, published_site):
    """Pointing at a release shows its values, a click leads to its comparison with the one before, an entry of the key hides its line."""
    page = offline(published_site / "index.html")
    figure = page.locator("figure:visible")
    area = figure.locator("a rect").last
    title = area.locator("title").text_content()
    area.hover()
    assert figure.locator(".readout").inner_text() == " · ".join(title.split("\n"))
    assert title.split("\n")[0] == "2.15.0"
    lines = figure.locator("[data-line]")
    names = lines.evaluate_all(DRAWN)
    assert len(names) >= 5
    key = figure.get_by_role("button", name="torch.tensor(x)")
    key.click()
    assert lines.evaluate_all(DRAWN) == [name for name in names if name != "torch.tensor(x)"]
    assert key.get_attribute("aria-pressed") == "false"
    key.click()
    assert lines.evaluate_all(DRAWN) == names
    area.click()
    assert PAIR in page.url


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chart_on_a_phone_begins_with_the_oldest_release_and_keeps_its_axis(offline, published_site, scheme):
    """With which its title compares the newest one. A shadow beside the axis tells that there are earlier ones: there is none at first."""
    page = offline(published_site / "index.html", *PHONE, scheme=scheme)
    scrolled, axis = page.locator(".scroll:has(.chart):visible"), page.locator(".axis:visible")
    scrolled.scroll_into_view_if_needed()
    oldest, place = page.locator("text.x:visible").first.bounding_box(), axis.bounding_box()
    assert 0 <= place["x"] < place["x"] + place["width"] <= oldest["x"] < PHONE[0] / 3
    page.locator(".chart:visible").evaluate("(each) => (each.style.visibility = 'hidden')")
    edge = {"x": place["x"] + place["width"], "y": place["y"] + place["height"] / 2, "width": 8, "height": 8}
    for by, is_end in ((0, True), (150, False), (999, False)):
        scrolled.evaluate("(each, by) => each.scrollBy(by, 0)", by)
        assert axis.bounding_box() == place
        assert (page.screenshot(clip=edge) == page.screenshot(clip={**edge, "x": 4})) == is_end


def test_code_is_copied_and_a_link_opens_its_fold(offline, published_site):
    page = offline()
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => { window.copied = text; }}})")
    page.goto((published_site / "index.html").as_uri())
    page.get_by_role("button", name="Copy x.detach().clone()").first.click()
    assert page.evaluate("copied") == "x.detach().clone()"
    assert page.get_by_role("button", name="Copy x.detach().clone()").first.inner_text() == "Copy ✓"
    page.goto((published_site / PAIR).as_uri())
    link = page.locator("table.changes a").first
    anchor = unquote(link.get_attribute("href").partition("#")[2])
    link.click()
    page.locator(f"details[open]:has([id='{anchor}']) svg.chart").wait_for()
    page.goto((published_site / "regressions.html").as_uri())
    why = page.get_by_role("link", name="why", exact=True).first
    anchor = unquote(why.get_attribute("href").partition("#")[2])
    why.click()
    page.locator(f"details[id='{anchor}'] table").wait_for()


def test_the_theme_is_chosen_and_kept(offline, published_site):
    page = offline(published_site / "index.html")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    page.goto((published_site / "data.html").as_uri())
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_everything_is_reached_by_the_keyboard(offline, published_site):
    """First a link to the content; then the menu and the choices, each with a visible focus."""
    page = offline(published_site / "index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    stops = []
    for _ in range(14):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.textContent.trim()"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", stops[-1]
    assert {"Choose", "History", "Compare", "CUDA"} <= set(stops)
    page.get_by_role("button", name="CUDA").focus()
    page.keyboard.press("Enter")
    assert pressed(page)[0] == "CUDA"


# questions

FIRST = {  # by question, what answers it on the first screen
    "what to type": "a tensor of its own",
    "whether the other order is as good": "x.clone().detach():",
    "whether the newest release is slower": "Is torch 2.15.0 slower?",
    "what is slower than it was": "Slower than it was?",
    "how sure that is": "How sure is that?",
}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize(("size", "height"), [(DESK, 800), (PHONE, 1600)], ids=["desk", "phone"])
def test_the_first_screen_answers_five_questions(offline, published_site, device, size, height):
    """On a phone, the first two."""
    page = offline(None, *size)
    page.goto((published_site / "index.html").as_uri())
    page.get_by_role("button", name=device.upper(), exact=True).click()
    page.evaluate("scrollTo(0, 0)")
    assert {question: bottom for question, text in FIRST.items() if (bottom := page.evaluate(BOTTOM, text)) > height} == {}
