"""The anatomy of a call in Chromium: a component opens to its functions, and a bar tells its numbers."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

METHOD = "methods/numpy.html"
OPACITIES = """(section) => [...section.querySelectorAll(".bars path")]
  .map((path) => [path.classList[0], Number(getComputedStyle(path).opacity)])"""
END = """(path) => { // of the newest bar's part, whose path ends at its top
  const end = path.getPointAtLength(path.getTotalLength()).matrixTransform(path.getScreenCTM());
  return [end.x, end.y + 2];
}"""


@pytest.mark.parametrize("scripts", [True, False])
def test_a_component_opens_to_its_functions(offline, published_site, scripts):
    """A click on its name, or Enter, is enough; the drawing then shows where it is in every release."""
    page = offline(published_site / METHOD, java_script_enabled=scripts)
    row = page.locator(".anatomy details", has_text="dispatcher").first
    functions = row.locator("li")
    expect(functions.first).not_to_be_visible()
    row.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(functions.first).to_be_visible()
    expect(functions.first).to_contain_text(re.compile(r"\d+\s*(c10|at)::"))
    if scripts:
        shown = dict(page.locator(".anatomy").first.evaluate(OPACITIES))
        colour = row.get_attribute("class")
        assert shown.pop(colour) == 1
        assert max(shown.values()) < 0.5
    page.locator(".anatomy > details > summary").first.click()
    expect(page.locator(".anatomy table").first).to_be_visible()


def test_a_bar_tells_its_numbers_and_opens_its_component(offline, published_site):
    """Those of its release, under the pointer; a click on a part opens its functions."""
    page = offline(published_site / METHOD)
    part = page.locator(".anatomy .bars .p4").first  # the dispatcher
    part.scroll_into_view_if_needed()
    x, y = part.evaluate(END)
    page.mouse.move(x, y)
    rows = (
        page.locator(".anatomy")
        .first.locator(".key summary")
        .evaluate_all("rows => rows.map(row => [row.firstChild.textContent, row.querySelectorAll('b')[1].textContent])")
    )
    expected = ["torch 2.15.0", *(" ".join(row) for row in rows)]
    expect(page.locator(".tip:visible")).to_have_text("\n".join(expected))
    page.mouse.click(x, y)
    expect(page.locator(".anatomy details.p4 li").first).to_be_visible()
