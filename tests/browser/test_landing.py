"""The landing page in Chromium: the answer, its history and the commands on the first screen; copying, tabs and selects."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tensorcopy.copying.shipped import shipped
from tensorcopy.site import render
from tests import launch_files
from tests.browser.test_explorer import field
from tests.conftest import SHIPPED, write_pages
from tests.launch_files import METHODS
from tests.site.test_page_japanese import english_in

pytestmark = pytest.mark.slow

RELEASES = ("1.9.0", "1.13.1", "2.5.1", "2.9.1", "2.14.1", "2.15.0")

SAID = """() => [...document.querySelectorAll(".chart *")].flatMap((node) => [
  ...[...node.childNodes].filter((child) => child.nodeType === Node.TEXT_NODE && !node.closest("code, script")).map((child) => child.data),
  ...["aria-label", "aria-valuetext", "title"].map((name) => node.getAttribute(name)).filter(Boolean),
]).join("\\n")"""

LOAD_LATER = """() => {
  const { load } = tensorHistory;
  tensorHistory.load = (address) => new Promise((resolve) => (window.loadNow = resolve)).then(() => load(address));
}"""


@pytest.fixture(scope="module")
def published(tmp_path_factory, shipped_results) -> Path:
    """Write the landing page of some of the shipped results.

    In own/ that of fewer, on whose site a laptop has measured since, in gpu/ that of two releases with copies on the CPU and on CUDA, in
    two/ the same of two machines.
    """
    results = [result for result in shipped_results.results if result.machine == SHIPPED.name and result.version in RELEASES]
    newest = next(result for result in results if result.version == "2.15.0")
    laptop = replace(newest, machine="laptop", provenance={**newest.provenance, "started": "2027-01-01T00:00:00+00:00"})
    own = [laptop, newest, next(result for result in results if result.version == "2.14.1")]
    directory = tmp_path_factory.mktemp("site")
    made, sides = tmp_path_factory.mktemp("results"), RELEASES[-2:]
    cases = [f"copies.{case}" for name in METHODS for case in (f"BySize.time_copy {name} 16384", f"Throughput.time_copy {name} 16384 cuda")]
    launch_files.write(made, {case: dict.fromkeys(sides, 1.0) for case in cases}, accelerators={"cuda": "NVIDIA A1"})
    launch_files.write_counts(made, sides[-1], {}, methods={name: launch_files.observed(code=code) for name, code in METHODS.items()})
    apart = tmp_path_factory.mktemp("apart")
    for machine, device in (("box", "cpu"), ("gpu", "cuda")):
        of_device = [case for case in cases if case.endswith(" cuda") is (device == "cuda")]
        launch_files.write(
            apart, {case: dict.fromkeys(sides, 1.0) for case in of_device}, machine=machine, accelerators={"cuda": "NVIDIA A1"}
        )
    for folder, each in (("", results), ("own", own), ("gpu", launch_files.load(made)), ("two", launch_files.load(apart))):
        write_pages(directory / folder, render.content(shipped(), each), "explorer", "landing")
    return directory


@pytest.fixture
def landing(offline, published):
    """Return a function that opens the landing page."""
    return lambda *size, language="", site="", **options: offline(published / site / language / "index.html", *size, **options)


def test_what_is_asked_first_is_on_the_first_screen(landing):
    """The answers and their costs, the newest release, and what is still slower: on a desk the worst methods, on a phone the way there."""
    for language in ("", "ja"):
        for width, height, last in ((1280, 800, ".open tbody tr"), (360, 800, "#open")):
            page = landing(width, height, language=language)
            parts = (".device:visible .answer", ".device:visible .costs", ".news", "#open", last, ".chart canvas")
            ends = [page.locator(part).last.bounding_box() for part in parts]
            bottoms = [box["y"] + box["height"] for box in ends]
            assert bottoms == sorted(bottoms)
            assert bottoms[-2] <= height, (language, width)
            assert ends[-1]["width"] > width / 2
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_button_copies_the_code_of_the_answer(landing):
    """It says so, and the clipboard has the code and nothing else."""
    page = landing(permissions=["clipboard-read", "clipboard-write"])
    button = page.get_by_role("button", name="Copy: x.detach().clone()")
    button.click()
    expect(button).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "x.detach().clone()"
    page.get_by_role("radio", name="cuda", exact=True).check()
    commands = page.locator(".device:visible").get_by_role("button", name="Copy", exact=True)
    commands.click()
    expect(commands).to_have_text("Copied")
    lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert [line.split()[0] for line in lines] == ["git", "pip", "uv"]


@pytest.mark.parametrize("with_scripts", [True, False], ids=["with scripts", "without"])
def test_a_tab_shows_what_to_do_on_its_device(landing, with_scripts):
    """By pointer and by arrow keys, without scripts too; one that was not measured has the commands, and nothing of another."""
    page = landing(java_script_enabled=with_scripts)
    shown, chart = page.locator(".device:visible"), page.locator(".chart")
    expect(shown).to_contain_text("x.detach().clone()")
    expect(chart).to_be_visible()
    expect(page.locator(".name")).to_have_count(4)
    assert page.locator(".name:visible").count() == 0  # the tab names the device
    page.get_by_role("radio", name="cpu", exact=True).focus()
    page.keyboard.press("ArrowRight")
    expect(shown).to_contain_text("Not measured on cuda yet")
    expect(chart).to_be_hidden()
    assert page.locator("section:visible").count() == 0
    page.get_by_role("radio", name="mps", exact=True).check()
    expect(shown).to_contain_text("Not measured on mps yet")
    expect(shown).to_contain_text("uv run tensorcopy dashboard")
    assert shown.count() == 1


def test_the_chart_of_the_japanese_page_has_no_english(landing):
    """What it draws, says to the pointer and to a screen reader, and offers; also of a size that is loaded later, and of two releases."""
    page = landing(language="ja")
    field(page, "要素数").select_option("1024")
    expect(page.locator(".hc-title")).to_have_text(re.compile("コピー、2¹⁰ float32"))
    page.goto(f"{page.url}&base=1.13.1&with=2.15.0")
    expect(page.locator(".hc-comparison table")).to_be_visible()
    said = page.evaluate(SAID)
    assert re.search(r"x\.detach\(\)\.clone\(\): [\d.]+\s% 速くなった（[\d.]+ ～ [\d.]+ %）", said)
    assert english_in(said) == []


def test_a_chosen_chart_has_an_address(landing):
    """The page itself has none; a choice is a step back in the browser, and its link shows the same chart again."""
    page = landing()
    first = page.locator(".hc-title").inner_text()
    assert "#" not in page.url
    field(page, "size").select_option("1024")
    expect(page.locator(".hc-title")).to_contain_text("2¹⁰ float32")  # it has been loaded: two choices before that are one step
    page.locator(".hc-readout input[value=tensor]").uncheck()
    assert page.url.endswith("#group=copies&method=new_tensor,clone_detach,empty_like_copy,detach_clone")
    assert page.get_by_role("link", name="Link to this chart").evaluate("link => link.href") == page.url
    page.reload()
    expect(page.locator(".hc-title")).to_contain_text("2¹⁰ float32")
    assert page.locator(".hc-name").count() == 4
    field(page, "grad").select_option("yes")
    expect(page.locator(".hc-title")).to_contain_text("requires_grad")
    page.reload()
    expect(page.locator(".hc-title")).to_contain_text("2¹⁰ float32, requires_grad")
    for _ in range(3):
        page.go_back()
    expect(page.locator(".hc-title")).to_have_text(first)
    page.evaluate("location.hash = '#upgrade'")
    expect(page.locator(".hc-title")).to_have_text(first)


@pytest.mark.parametrize("site", ["gpu", "two"], ids=["one machine", "two machines"])
def test_the_chart_is_of_the_chosen_device(landing, site):
    """By its tab, and by its address, which chooses the tab; its data is loaded then. Without scripts each device has its drawing."""
    page, title = landing(site=site), ".hc-title:visible"
    page.get_by_role("radio", name="cuda", exact=True).check()
    expect(page.locator(title)).to_contain_text("NVIDIA A1")
    assert "device=cuda" in page.url
    page.reload()
    expect(page.locator(title)).to_contain_text("NVIDIA A1")
    assert page.get_by_role("radio", name="cuda", exact=True).is_checked()
    page.get_by_role("radio", name="mps", exact=True).check()
    assert page.locator(".chart:visible").count() == 0
    page.get_by_role("radio", name="cpu", exact=True).check()
    expect(page.locator(title)).to_contain_text("Box 9000")
    assert "device" not in page.url
    page.go_back()
    expect(page.locator(title)).to_contain_text("NVIDIA A1")
    page.locator(".hc-readout:visible input[value=detach_clone]").uncheck()
    assert page.url.endswith("#group=copies&method=clone_detach,detach_numpy_copy&numel=16384&device=cuda")
    page.go_back()
    expect(page.locator(".hc-readout:visible input:checked")).to_have_count(3)
    page.go_back()
    expect(page.locator(title)).to_contain_text("Box 9000")
    plain = landing(site=site, java_script_enabled=False)
    plain.get_by_role("radio", name="cuda", exact=True).check()
    assert plain.locator(".chart svg.plot:visible").count() == 1
    assert "cuda" in plain.locator(".chart svg.plot:visible").get_attribute("aria-label")


def test_a_chart_that_cannot_be_loaded_leaves_its_drawing(landing, published):
    """That of a device whose tab is chosen."""
    (data,) = published.glob("gpu/history/**/times.js")
    data.rename(data.with_suffix(".absent"))
    page = landing(site="gpu")
    page.get_by_role("radio", name="cuda", exact=True).check()
    page.wait_for_timeout(200)
    data.with_suffix(".absent").rename(data)
    assert page.locator(".chart svg.plot:visible").count() == 1
    page.messages.clear()  # of the file that was absent


def test_a_device_stays_in_its_chart(landing):
    """Of what was not measured on it, the chart of a GPU shows nothing of the CPU."""
    page = landing(site="gpu")
    page.get_by_role("radio", name="cuda", exact=True).check()
    expect(page.locator(".hc-title:visible")).to_contain_text("NVIDIA A1")
    page.goto(page.url.replace("numel=16384", "numel=16384&unit=instructions&grad=yes"))
    expect(page.locator(".hc-title:visible")).to_contain_text("NVIDIA A1")
    expect(page.locator(".hc-title:visible")).not_to_contain_text("requires_grad")


def test_without_the_selector_every_block_is_shown_with_its_device(landing, published):
    """As in a browser that does not know `:has()`, one after the other."""
    style = published / "gpu" / "tensorcopy.css"
    text = style.read_text(encoding="utf-8")
    style.write_text(text.replace("selector(:has(*))", "selector(:no-such)"), encoding="utf-8")
    page = landing(site="gpu", java_script_enabled=False)
    assert page.locator(".name:visible").all_inner_texts() == ["CPU", "CUDA", "MPS", "XPU"]
    assert page.locator(".asked:visible").count() == 4
    assert page.locator(".chart svg.plot:visible").count() == 2
    style.write_text(text, encoding="utf-8")


def test_a_select_answers_for_an_upgrade_from_any_release(landing):
    """With the numbers of the table."""
    page = landing()
    before = page.get_by_label("from release")
    answer = page.locator(".upgrade .counts")
    page.get_by_text("Time per call from every release to 2.15.0").click()
    for release in ("1.13.1", "2.14.1"):
        before.select_option(release)
        copies, conversions = (
            [
                page.locator(f".upgrade tr:has(th :text-is('{release}'), th:text-is('{release}')) td").nth(column).inner_text()
                for column in columns
            ]
            for columns in ((0, 1, 2), (3, 4, 5))
        )
        sentences = "Time of copies: {} slower, {} faster of {}. Time of conversions: {} slower, {} faster of {}."
        assert answer.inner_text().startswith(sentences.format(*copies, *conversions))
    assert answer.get_by_role("link").get_attribute("href") == "compare/epyc-2core/py3.11-cuda/2.14.1..2.15.0.html"


def test_the_page_is_complete_without_scripts(landing):
    """A drawing of the history as wide as the page, the sentence of an upgrade, every other upgrade, and a link to every history."""
    page = landing(java_script_enabled=False)
    drawing, section = page.locator(".chart svg.plot").bounding_box(), page.locator("section.chart").bounding_box()
    assert (drawing["x"], drawing["width"]) == (section["x"], section["width"])
    heights = [label.bounding_box()["height"] for label in page.locator(".chart .y text").all()]
    assert 11 < min(heights) <= max(heights) < 22, "letters do not grow with the drawing"
    expect(page.locator(".upgrade .counts")).to_contain_text("slower")
    page.get_by_text("Time per call from every release to 2.15.0").click()
    assert page.locator(".upgrade tbody tr:visible").count() == len(RELEASES) - 1
    assert page.locator(".grid td a:visible").count() == (5 + 3) * 8
    assert page.get_by_role("link", name="Explore every method, size and dtype").is_visible()


def test_the_history_with_grad_is_two_clicks_away(landing):
    """Its data is loaded when it is chosen; a second choice, made before the data of the first is there, is not replaced by it."""
    page = landing()
    page.evaluate(LOAD_LATER)
    field(page, "grad").select_option("yes")
    page.evaluate("() => { window.loadFirst = loadNow; }")
    field(page, "size").select_option("1024")
    page.evaluate("loadNow()")
    expect(page.locator(".hc-title")).to_contain_text("2¹⁰ float32, requires_grad")
    page.evaluate("loadFirst()")
    page.wait_for_timeout(100)
    expect(page.locator(".hc-title")).to_contain_text("2¹⁰ float32, requires_grad")
    field(page, "size").select_option("16384")
    expect(page.locator(".hc-title")).to_contain_text("2¹⁴ float32, requires_grad")
    readings = page.locator(".hc-readout tbody tr")
    assert readings.count() == 5
    expect(readings.last).to_contain_text("x.detach().clone()")
    assert page.locator(".hc-readout a[href*='copies.ByGrad/detach_clone-16384-True']").count() == 1


def test_data_that_could_not_be_loaded_is_asked_for_again(landing, published):
    """The chart stays as it was and says so; the next choice loads the data."""
    page = landing()
    (data,) = published.glob("history/**/times.js")
    data.rename(data.with_suffix(".absent"))
    field(page, "grad").select_option("yes")
    expect(page.locator(".hc-note")).to_have_text("The data could not be loaded.")
    expect(field(page, "grad")).to_have_value("no")
    assert "requires_grad" not in page.locator(".hc-title").inner_text()
    data.with_suffix(".absent").rename(data)
    field(page, "grad").select_option("yes")
    expect(page.locator(".hc-title")).to_contain_text("2¹⁴ float32, requires_grad")
    page.messages.clear()  # of the file that was absent


def test_the_own_machine_is_beside_the_shipped_history(landing):
    """Its points are in the chart, and its values in the reading of a release, under its label."""
    page = landing(site="own")
    expect(page.locator(".own")).to_contain_text("Your machine (laptop): x.detach().clone(): ")
    expect(page.locator(".own")).to_contain_text("1.00 times the time on epyc-2core")
    readings = page.locator(".hc-over").all_inner_texts()
    assert len(readings) == 5
    assert all(text.strip().startswith("Your machine") for text in readings)
