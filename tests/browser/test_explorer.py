"""The history explorer in Chromium: by keyboard, by pointer, from its address, on a phone, and without scripts."""

import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tensorcopy import COPIES
from tensorcopy.copying.shipped import shipped
from tensorcopy.site import render
from tensorcopy.site.content import Content
from tests import launch_files
from tests.conftest import write_pages

pytestmark = pytest.mark.slow

RELEASES = {
    "py3.9-cuda": ("1.9.0", "1.11.0", "1.12.1", "1.13.1", "2.8.0"),
    "py3.11-cuda": ("1.13.1", "2.5.1", "2.8.0", "2.9.1", "2.13.0", "2.14.1", "2.15.0"),
}
ADDRESS = "history/epyc-2core/index.html"
OTHER = "my-laptop"
MORE = ("dtype", "layout", "device", "axis", "Python", "overlay")


@pytest.fixture(scope="module")
def content(shipped_results) -> Content:
    """Some shipped results, and a second machine with one release."""
    results = [result for result in shipped_results.results if result.version in RELEASES.get(result.environment, ())]
    newest = next(result for result in results if (result.python, result.version) == ("3.11", "2.15.0"))
    earlier = {**newest.provenance, "started": "2021-01-01T00:00:00+00:00"}
    return render.content(shipped(), [*results, replace(newest, machine=OTHER, provenance=earlier)])


@pytest.fixture(scope="module")
def published(tmp_path_factory, content) -> Path:
    """Write the explorers with their data, and the stylesheets and scripts."""
    return write_pages(tmp_path_factory.mktemp("site"), content, "explorer")


@pytest.fixture
def opened(offline, published):
    """Return a function that opens the explorer with a fragment."""

    def open_explorer(fragment: str = "", width: int = 1280, scheme: str = "light", **options):
        page = offline(None, width, 800, scheme, **options)
        page.goto(f"{(published / ADDRESS).as_uri()}{fragment}")
        if options.get("java_script_enabled", True):
            page.locator(".hc-reader[aria-valuetext]").wait_for(state="attached")
        return page

    return open_explorer


def fragment_of(page) -> dict[str, str]:
    return dict(part.split("=") for part in page.evaluate("location.hash").removeprefix("#").split("&"))


FOCUSED = """() => {
  const { activeElement: focused } = document, field = focused.closest(".hc-field");
  return field ? field.firstChild.textContent : focused.getAttribute("role") ?? focused.value ?? focused.textContent;
}"""
SHADES = """(canvas) => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true }), counts = {};
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  for (let at = 3; at < data.length; at += 4) if (data[at] < 128) counts[data[at]] = (counts[data[at]] ?? 0) + 1;
  return Object.entries(counts).filter(([alpha, count]) => alpha > 0 && count > 3000).map(([alpha]) => Number(alpha));
}"""  # opacities that fill an area of a canvas, of 255


def boxes(page, selector: str) -> list[dict[str, float]]:
    return [each.bounding_box() for each in page.locator(selector).all()]


def apart(one: dict[str, float], other: dict[str, float]) -> bool:
    """Return whether two boxes do not overlap."""
    return any(
        first[start] + first[size] <= second[start]
        for first, second in ((one, other), (other, one))
        for start, size in (("x", "width"), ("y", "height"))
    )


def field(page, name: str):
    """Return the select of a field by its label; those behind "More" are opened."""
    if name in MORE:
        page.locator(".hc-more").evaluate("(details) => { details.open = true; }")
    return page.locator(f".hc-field:has(> span:text-is('{name}')) select")


def chosen(page, name: str) -> str:
    """Return the chosen value of a field."""
    return field(page, name).input_value()


def methods(page) -> list[str]:
    """Return the methods that are shown."""
    return page.locator(".hc-readout input:checked").evaluate_all("inputs => inputs.map((input) => input.value)")


def readout(page) -> dict[str, str]:
    """Return the value of each method at the release that is read."""
    return dict(
        zip(page.locator(".hc-readout tbody code").all_inner_texts(), page.locator(".hc-readout td:nth-child(2)").all_inner_texts())
    )


def test_the_keyboard_alone_drives_the_explorer(opened):
    """Every control takes the focus; arrows read releases and choose sizes, Enter on two releases compares them, Escape clears."""
    page = opened()
    reached: list[str] = []
    while len(reached) < 60 and "detach_clone" not in reached:
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUSED))
    assert [name for name in reached if name in ("what", "size", "grad", "show", "slider")] == ["what", "size", "grad", "show", "slider"]
    assert "detach.clone" in reached, "the name at the end of its line"
    reader = page.locator(".hc-reader")
    reader.focus()
    page.keyboard.press("Home")
    assert reader.get_attribute("aria-valuetext").startswith("torch 1.9.0: x.new_tensor(x) ")
    page.keyboard.press("Enter")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert {name: fragment_of(page).get(name) for name in ("base", "with")} == {"base": "1.9.0", "with": "2.14.1"}
    assert page.locator(".hc-comparison tbody tr").count() == 5
    page.keyboard.press("+")
    assert "from" in fragment_of(page)
    page.keyboard.press("0")
    page.keyboard.press("Escape")
    assert fragment_of(page) == {"group": "copies"}
    assert page.evaluate("document.activeElement.className") == "hc-reader"
    for keys in (("End", "+", "+", "-", "-", "-"), ("Home", "+", "+", "-", "-", "-")):  # zooming out moves the window back into the history
        for key in keys:
            page.keyboard.press(key)
        assert fragment_of(page) == {"group": "copies"}
    taken = """([key, options]) => !document.activeElement.dispatchEvent(
        new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...options }))"""
    for key, options in (("0", {"ctrlKey": True}), ("+", {"metaKey": True}), ("ArrowLeft", {"altKey": True})):
        assert not page.evaluate(taken, [key, options]), "the browser's own shortcut"
        assert page.evaluate(taken, [key, {}]), key
    field(page, "size").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert (fragment_of(page)["numel"], page.evaluate("document.activeElement.value")) == ("131072", "131072")
    page.locator(".hc-readout input[value=tensor]").focus()
    page.keyboard.press("Space")
    assert "tensor" not in methods(page)
    assert page.evaluate("document.activeElement.value") == "tensor"


def test_the_chart_follows_the_theme_but_is_printed_dark_on_light(opened):
    """The lines are drawn anew in the colours of the other theme."""
    page = opened()
    light = page.locator(".hc-canvas canvas").evaluate("canvas => canvas.toDataURL()")
    page.get_by_role("button", name="Light or dark").click()
    page.wait_for_timeout(100)
    assert page.locator(".hc-canvas canvas").evaluate("canvas => canvas.toDataURL()") != light
    page.emulate_media(media="print")
    red, green, blue = map(int, re.findall(r"\d+", page.locator("h1").evaluate("heading => getComputedStyle(heading).color"))[:3])
    assert red + green + blue < 3 * 100


def test_a_name_with_a_plus_survives_the_address(opened):
    page = opened()
    state = "{ ...tensorHistory.STATE, over: 'machine:gpu+big & 1#2' }"
    fragment = page.evaluate(f"() => tensorHistory.fragment({state}, [...tensorHistory.machines.values()][0])")
    assert page.evaluate("(fragment) => tensorHistory.parsed(fragment).over", fragment) == "machine:gpu+big & 1#2"


def test_the_address_restores_the_state(opened):
    place = "#group=copies&method=clone_detach,detach_clone&numel=16384&grad=yes"
    fragment = f"{place}&unit=percent&base=2.5.1&with=2.15.0&from=2.5.1&to=2.15.0&scale=linear"
    page = opened(fragment)
    names = ("what", "size", "grad", "show", "axis")
    assert [chosen(page, name) for name in names] == ["copies", "16384", "yes", "percent", "linear"]
    assert methods(page) == ["clone_detach", "detach_clone"]
    expect(page.locator(".hc-title")).to_contain_text("copies, 2¹⁴ float32, requires_grad change from torch 2.5.1")
    assert page.locator(".hc-comparison tbody tr").count() == 2
    assert page.locator(".hc-table tbody tr").count() == 6
    assert page.evaluate("location.hash") == fragment
    page.evaluate("location.hash = '#group=conversions&numel=1'")
    page.locator(".hc-title", has_text="conversions, 2⁰ float32").wait_for()
    page.reload()
    assert chosen(page, "what") == "conversions"
    page.evaluate("location.hash = '#content'")
    assert chosen(page, "what") == "conversions"


def test_what_was_not_measured_names_the_nearest(opened):
    """float16 was timed at 2^17 only; the option says so, and choosing it goes there."""
    page = opened()
    dtype = field(page, "dtype")
    assert dtype.locator("option[value=float16]").inner_text() == "float16 – shows 2¹⁷"
    dtype.select_option("float16")
    assert fragment_of(page) == {"group": "copies", "numel": "131072", "dtype": "float16"}
    expect(page.locator(".hc-note")).to_have_text("float16 was not measured with these settings. Shown: 2¹⁷.")
    cuda = field(page, "device").locator("option[value=cuda]")
    assert cuda.inner_text() == "cuda – not measured"
    assert cuda.is_disabled()


def test_a_tick_says_the_changes_as_other_pages_do(opened, content):
    """Each line of its title is the sentence of the page of the case."""
    (machine,) = [machine for machine in content.machines if machine.name != OTHER]
    told = set()
    for title in titles(opened("#group=copies&numel=1024")):
        release, *lines = title.replace("\u202f", " ").splitlines()
        told |= {f"{release}, {line}" for line in lines}
    cases = [launch_files.case(f"copies.BySize.time_copy {method} 1024") for method in COPIES]
    expected = {
        f"torch {change.release}, {machine.case_code(case)}: {change.text}"
        for case in cases
        for change in machine.case_changes.get(case, ())
    }
    assert told == expected
    assert any(", until " in line for line in told)


def test_a_tick_reads_the_changes_of_its_release(opened):
    """By pointer and by touch; the reading leads to every case of that release, and says the changes aloud, too."""
    page = opened("#group=copies&numel=1024")
    tick = page.locator(".hc-tick.faster[title^='torch 2.14.1']")
    told = dict(line.split(": ", 1) for line in tick.get_attribute("title").splitlines()[1:])
    assert told["x.detach().clone()"].startswith("faster by ")
    tick.hover()
    expect(page.locator(".hc-readout caption strong")).to_have_text("torch 2.14.1")
    fell = page.locator(".hc-readout tbody tr:has(.faster) th a").all_inner_texts()
    assert {name.replace("\n", "") for name in fell} == {*told}
    link = page.get_by_role("link", name="all cases").last
    assert link.get_attribute("href") == "../../compare/epyc-2core/py3.11-cuda/2.13.0..2.14.1.html"
    assert told["x.detach().clone()"] in page.locator(".hc-reader").get_attribute("aria-valuetext")
    page.goto(page.url.partition("#")[0] + "#group=copies&method=clone_detach&numel=16&unit=instructions")
    expect(page.locator(".hc-title")).to_contain_text("instructions")
    assert page.locator(".hc-tick").count() > 0
    assert page.locator(".hc-tick:is(.slower, .faster)").count() == 0, "instructions are neither"


@pytest.mark.parametrize(("width", "place"), [(360, "alternatives&numel=1024"), (1280, "conversions&numel=1024&unit=percent")])
def test_names_and_ticks_hide_neither_each_other_nor_a_line(opened, width, place):
    """Each line has its name at its end; ticks are in two rows below the plot, at their releases; the plot has most of the width."""
    page = opened(f"#group={place}", width)
    plot, names, ticks = boxes(page, ".u-over")[0], boxes(page, ".hc-name"), boxes(page, ".hc-tick")
    assert page.locator(".hc-name").evaluate_all("all => all.map((name) => name.getAttribute('aria-label')).sort()") == sorted(
        readout(page)
    )
    assert all(apart(one, other) for one, other in combinations(names, 2))
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in names + ticks)
    assert all(plot["y"] - 1 <= box["y"] and box["y"] + box["height"] <= plot["y"] + plot["height"] + 1 for box in names)
    assert all(plot["x"] + plot["width"] < box["x"] for box in names)
    assert plot["width"] > 0.42 * boxes(page, ".hc-plot")[0]["width"]
    assert ticks
    assert all(plot["y"] + plot["height"] <= box["y"] for box in ticks)
    assert len({box["y"] for box in ticks}) <= 2
    assert len({round(box["x"]) for box in ticks}) == len({title.splitlines()[0] for title in titles(page)})


def titles(page) -> list[str]:
    return page.locator(".hc-tick").evaluate_all("all => all.map((tick) => tick.title)")


def test_an_interval_is_shown_for_the_method_in_front_alone(opened):
    """And around it what would not have been seen: at its name, at its line and at its row; nothing is shaded without."""
    page = opened("#group=copies&numel=16777216")
    canvas = page.locator(".hc-canvas canvas")
    assert canvas.evaluate(SHADES) == []
    page.get_by_role("link", name="torch.tensor(x)").first.hover()
    shaded = canvas.evaluate(SHADES)
    assert min(shaded) < 30 < 60 < max(shaded), "the zone is paler than the interval in it"
    assert page.locator(".hc-name.dim").count() == 4
    page.locator("h1").hover()
    assert canvas.evaluate(SHADES) == []
    page.locator(".hc-readout input[value=tensor]").focus()
    assert canvas.evaluate(SHADES) == shaded
    expect(page.locator(".hc-help")).to_contain_text("the changes from the release before that are not seen 9 times in 10")
    sizes = page.locator(".hc-readout td:nth-child(4)").all_inner_texts()
    assert len(sizes) == 5
    assert all(re.fullmatch(r"\d+\.\d\u202f%", size) for size in sizes)


def test_the_pointer_reads_zooms_and_compares(opened):
    page = opened()
    box = page.locator(".u-over").bounding_box()
    middle = box["y"] + box["height"] / 2

    def x(release: int) -> float:
        return box["x"] + box["width"] * (release + 0.5) / 10

    page.mouse.move(x(1), middle)
    expect(page.locator(".hc-readout caption strong")).to_have_text("torch 1.11.0")
    page.mouse.click(x(8), middle)
    page.mouse.click(x(9), middle)
    assert page.locator(".hc-comparison a", has_text="Comparison of all cases").get_attribute("href") == (
        "../../compare/epyc-2core/py3.11-cuda/2.14.1..2.15.0.html"
    )
    page.mouse.move(x(4), middle)
    page.mouse.down()
    page.mouse.move(x(6), middle, steps=4)
    page.mouse.move(x(8), middle, steps=4)
    page.mouse.up()
    state = fragment_of(page)
    assert (state["from"], state["to"]) == ("2.5.1", "2.14.1")
    page.get_by_role("button", name="Show all releases").click()
    assert "from" not in fragment_of(page)
    page.locator(".hc-mini", has_text="2²⁰").click()
    assert fragment_of(page)["numel"] == "1048576"


def test_counts_and_another_machine_are_loaded_when_they_are_chosen(opened):
    page = opened()
    assert page.locator("script[src$='counts.js']").count() == 0
    field(page, "show").select_option("instructions")
    page.locator(".hc-title", has_text="instructions").wait_for()
    values = readout(page)
    assert all(float(value.replace("\u2009", "")) > 1000 for value in values.values())
    field(page, "show").select_option("time")
    field(page, "overlay").select_option(f"machine:{OTHER}")
    page.locator(".hc-readout .hc-over", has_text=OTHER).first.wait_for()
    assert page.locator(".hc-readout .hc-over").count() == 5
    field(page, "machine").select_option(OTHER)
    page.wait_for_url("**/history/my-laptop/index.html*")
    page.locator(".hc-reader[aria-valuetext]").wait_for(state="attached")
    expect(page.locator(".hc-readout caption strong")).to_have_text("torch 2.15.0")


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1280, "dark")])
def test_the_explorer_is_accessible(opened, width, scheme):
    """axe-core finds nothing serious; nothing is wider than the page, and targets are large enough."""
    page = opened("#group=copies&numel=1024&base=2.5.1&with=2.15.0", width, scheme)
    if width == 360:
        page.locator(".hc-more summary").click()
    violations = Axe().run(page, options={"preload": False, "resultTypes": ["violations"]}).response["violations"]
    assert [f"{row['id']}: {row['nodes'][0]['html'][:120]}" for row in violations if row["impact"] in ("serious", "critical")] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = page.locator("select, .hc-name, .hc-choose, .hc-mini").evaluate_all(
        "all => all.map((each) => Math.min(each.offsetWidth, each.offsetHeight)).filter((size) => size > 0)"
    )
    assert min(sizes) >= 24
    assert page.locator(".hc-plot").evaluate("plot => plot.offsetHeight") >= 420


def test_without_scripts_a_link_leads_to_every_history(opened):
    """To the list of the machine, which another machine has, too."""
    page = opened(java_script_enabled=False)
    assert page.locator(".hc-plot").count() == 0
    assert page.get_by_role("link", name="the list of all cases").is_visible()


def test_an_unpaired_release_has_no_ratio(offline, tmp_path):
    """It was measured alone, and the machine may have been slower then: neither beside the release before, nor in a comparison."""
    case = "copies.BySize.time_copy tensor 1024"
    launch_files.write(tmp_path / "results", {case: {"2.8.0": 1.0, "2.10.0": 1.0, "2.15.0": 1.1}}, launches=12)
    later = launch_files.START + 99 * launch_files.EVERY
    launch_files.write(tmp_path / "results", {case: {"2.13.0": 1.45}}, start=later, launches=4)
    site = write_pages(tmp_path / "site", render.content(shipped(), launch_files.load(tmp_path / "results")), "explorer")
    page = offline(None, 1280, 800, "light")
    for base, ratio in (("2.13.0", "not compared"), ("2.10.0", "%")):
        page.goto("about:blank")
        page.goto(f"{(site / 'history/box/index.html').as_uri()}#group=copies&numel=1024&base={base}&with=2.15.0")
        page.locator(".hc-reader[aria-valuetext]").wait_for(state="attached")
        cells = page.locator(".hc-comparison tbody tr").first.locator("td").all_inner_texts()
        assert ratio in cells[-1]
        assert ("not compared" in cells[-1]) is (base == "2.13.0")
    rows = page.locator("[aria-label='Values shown'] tbody tr").all_inner_texts()
    (row,) = [text for text in rows if text.startswith("2.13.0")]
    assert "unpaired: measured alone" in row
