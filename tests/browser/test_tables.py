"""Tables in Chromium: they are searched and sorted, plots are read, and two releases are chosen."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

CASE = "history/epyc-2core/copies.BySize/detach_clone-16384.html"
COMPARISON = "compare/epyc-2core/py3.11-cuda/2.5.1..2.15.0.html"


@pytest.fixture
def page(offline):
    return offline()


def test_versions_and_sizes_are_sorted_as_such(page, published_site):
    """2.9 is before 2.14, and 2⁴ before 2¹⁰."""
    page.goto((published_site / "regressions/index.html").as_uri())
    page.locator("details summary").last.click()
    table = page.locator("table[data-sort]").last
    column = table.locator("thead th").all_inner_texts().index("slower with torch")
    table.locator("thead button").nth(column).click()
    texts = [text.strip() for text in table.locator(f"tbody tr:not(.section) td:nth-child({column + 1})").all_inner_texts()]
    versions = [tuple(map(int, text.split()[0].split("."))) for text in texts if text]
    assert versions == sorted(versions)
    assert len(set(versions)) > 3
    page.goto((published_site / COMPARISON).as_uri())
    page.locator("table[data-sort] thead button").first.click()
    names = page.locator("table[data-sort] tbody tr:not(.section) th").all_inner_texts()
    plain = [name for name in names if name.startswith("x.detach().numpy().copy() ") and "," not in name]
    digits = [re.search("2([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", name)[1] for name in plain]
    powers = [int("".join(str("⁰¹²³⁴⁵⁶⁷⁸⁹".index(digit)) for digit in text)) for text in digits]
    assert powers == sorted(powers)
    assert len(powers) > 1


def test_the_tally_of_a_comparison_fits_on_a_phone(page, published_site):
    """Also its columns of instructions, at the right."""
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto((published_site / COMPARISON).as_uri())
    assert "fewer" in page.locator(".tally thead").inner_text()
    assert page.locator(".tally").evaluate("tally => tally.getBoundingClientRect().right <= innerWidth")


@pytest.mark.parametrize("width", [360, 1280])
def test_every_case_is_filtered_by_method_suite_and_parameters(page, published_site, width):
    """Cases that do not match are pale; a method without a matching case is hidden, and so is a suite."""
    page.set_viewport_size({"width": width, "height": 800})
    page.goto((published_site / COMPARISON).as_uri())
    rows, tables = page.locator(".cells tbody tr:visible"), page.locator(".cells:visible")
    matching = page.locator(".cells td:not(:empty, .other):visible")
    all_rows, all_tables, all_cases = rows.count(), tables.count(), matching.count()
    search = page.get_by_placeholder(f"filter {all_cases} cases")
    search.fill("clone detach requires 2^10")
    texts = rows.all_inner_texts()
    assert all("clone" in text and "detach" in text for text in texts)
    assert all("requires" in text for text in tables.locator("caption").all_inner_texts())
    assert 0 < len(texts) == matching.count() < all_rows
    assert 0 < tables.count() < all_tables
    search.fill("improvement clone")
    assert 0 < matching.count() == page.locator(".cells .faster:not(.other)").count()
    search.fill("no such case")
    assert (rows.count(), tables.count()) == (0, 0)
    expect(page.get_by_role("status").last).to_have_text("No case matches “no such case”.")
    search.fill("")
    assert (rows.count(), tables.count(), matching.count()) == (all_rows, all_tables, all_cases)
    page.goto((published_site / "compare/epyc-2core/py3.11-cuda/2.9.1..2.10.0.html").as_uri())
    page.get_by_placeholder(re.compile(r"filter \d+ cases")).fill("regression")
    assert 0 < matching.count() == page.locator(".cells .slower").count()


@pytest.mark.parametrize(("width", "most"), [(1280, 4000), (360, 12_000)])
def test_an_index_of_histories_is_short_and_its_search_opens_folds(page, published_site, width, most):
    """A search shows the matching cases of folded suites; without one they are as before."""
    page.set_viewport_size({"width": width, "height": 800})
    for address in ("history/counts.html", "history/h200-16core/cases.html", "history/h200-16core/counts.html", "history/index.html"):
        page.goto((published_site / address).as_uri())
        assert page.evaluate("document.documentElement.scrollHeight") < most, address
    folds, matching = page.locator("details.suite"), page.locator(".suite .cells td:not(:empty, .other):visible")
    at_first = matching.count()
    search = page.get_by_placeholder(re.compile(r"filter \d+ cases"))
    search.fill("strided detach().clone() 2^17")
    assert [text.split(".")[0] for text in page.locator("details.suite:visible summary").all_inner_texts()] == ["copies", "conversions"]
    assert matching.count() == page.locator(".suite a:visible").count() - page.locator(".suite .other:visible").count() > 1
    search.fill("regression")
    assert 0 < matching.count() == page.locator(".suite small.slower").count()
    search.fill("")
    assert (matching.count(), folds.locator("visible=true").count()) == (at_first, folds.count())


def test_a_plot_shows_the_row_under_the_pointer(page, published_site):
    """A history shows its release, and a click leads to its row."""
    page.goto((published_site / CASE).as_uri())
    plot = page.locator(".plot.case").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.965, box["y"] + box["height"] / 2)
    expect(page.locator(".tip:visible")).to_contain_text("2.15.0, Python 3.11: ")
    page.mouse.click(box["x"] + box["width"] * 0.965, box["y"] + box["height"] / 2)
    page.wait_for_url("**#2.15.0")


@pytest.mark.parametrize("width", [1280, 360])
def test_a_reader_of_the_landing_page_sees_what_a_release_changed_in_one_picture(offline, published_site, width):
    """By two clicks; a number of the picture leads to its case."""
    page = offline(published_site / "index.html", width)
    page.get_by_role("link", name="torch 2.15.0: what changed").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("torch 2.15.0: what changed")
    assert page.locator(".by-method").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".by-method .sizes a").first.click()
    page.wait_for_url("**/history/epyc-2core/*/*.html")


def test_two_releases_are_chosen(page, published_site):
    """A pair with a page opens it, in the order of releases; another one opens the explorer with both marked."""
    page.goto((published_site / "compare/index.html").as_uri() + "#from=2.15.0&to=2.13.0&on=epyc-2core/py3.11-cuda")
    form = page.locator("form[data-pairs]")
    assert [form.locator(f"select[name={name}]").input_value() for name in ("from", "to")] == ["2.15.0", "2.13.0"]
    form.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/compare/epyc-2core/py3.11-cuda/2.13.0..2.15.0.html")
    page.go_back()
    form.locator("select[name=from]").select_option("2.0.1")
    form.locator("select[name=to]").select_option("2.6.0")
    expect(form.get_by_role("status")).to_contain_text("no page of its own")
    assert page.url.endswith("#from=2.0.1&to=2.6.0&on=epyc-2core/py3.11-cuda")
    form.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/history/epyc-2core/index.html#*")
    assert {"base=2.0.1", "with=2.6.0"} <= set(page.url.partition("#")[2].split("&"))
