"""The anatomy of a call: its components add up to its instructions, and each leads to its functions."""

import re
from copy import copy
from html import unescape

import pytest

from tensorcopy.copying import anatomy
from tensorcopy.copying.pages import method_pages
from tensorcopy.judge import function_changes
from tensorcopy.results import function_profiles
from tensorcopy.site import render
from tensorcopy.site.pages import histories
from tests.pages import text_of

CASES = {  # the page of the case whose anatomy a method's page has, without grad or with grad
    ("detach_clone", 0): "copies.BySize/detach_clone-1.html",
    ("clone_detach", 1): "copies.ByGrad/clone_detach-1-True.html",
    ("numpy", 0): "primitives.BySize/numpy-1.html",
}
WHOLE = "whole call"
LINK = "Where its instructions go: "
COUNTED_ONLY = "instructions.ByDtype/detach_clone-1024-bool.html"


@pytest.fixture(scope="module")
def pages(shipped_content) -> dict[str, str]:
    """Return some pages of cases, and those of methods, by the end of their address."""
    templates, machine = render.templates_of(shipped_content), shipped_content.machine
    addresses = {machine.case_address(case).removeprefix("history/epyc-2core/"): case for case in machine.cases}
    shown = [histories._case_page(shipped_content, machine, (), addresses[address]) for address in (*CASES.values(), COUNTED_ONLY)]
    of_methods = {f"methods/{method}.html" for method, _ in CASES}
    listed = [*shown, *(page for page in method_pages.pages(shipped_content) if page.address in of_methods)]
    return {page.address.removeprefix("history/epyc-2core/"): render.page_text(templates, page) for page in listed}


def section(pages: dict[str, str], method: str, number: int = 0) -> str:
    """Return an anatomy of a method: without grad, or with grad."""
    return re.findall(r'<section class="anatomy">.*?</section>', pages[f"methods/{method}.html"], re.DOTALL)[number]


def amount(text: str) -> int:
    return int(re.sub(r"\s", "", text).replace("−", "-"))


def components(html: str) -> dict[str, tuple[float, int, int, list[int]]]:
    """Return share, instructions, change, and the instructions with each release, of each component in the key, and of the whole call."""
    rows = re.findall(r"<summary>(.*?)<b>(.*?)</b><b>(.*?)</b><b>(.*?)</b></summary><p>(.*?)</p>", html)
    return {
        name: (float(share.removesuffix("\u202f%") or 100), amount(count), amount(change), [amount(value) for value in values.split(", ")])
        for name, share, count, change, values in rows
    }


def releases(html: str) -> list[str]:
    """Return the names below the bars."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", re.search(r'<g class="n".*?</g>', html)[0])


def table(html: str) -> dict[str, list[str]]:
    """Return the texts of each row of a table by its first cell; of several rows those of the first."""
    rows: dict[str, list[str]] = {}
    for row in re.findall(r"<tr[^>]*>(.*?)</tr>", html, re.DOTALL):
        name, *cells = [text_of(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        rows.setdefault(name, cells)
    return rows


@pytest.mark.parametrize(("method", "number"), CASES)
def test_the_shares_add_up_to_the_count_of_the_history(pages, method, number):
    """In the sentence, and with each release, whose total agrees with the column of the releases on the page of the case."""
    html, page = section(pages, method, number), pages[CASES[method, number]]
    assert f'{CASES[method, number]}">' in html
    parts = components(html)
    share, total, change, totals = parts.pop(WHOLE)
    assert total == amount(re.search(r"Of ([\d ]+) instructions", text_of(html))[1]) == totals[-1]
    assert share == 100 == pytest.approx(sum(share for share, *_ in parts.values()), abs=0.05 * len(parts))
    assert change == pytest.approx(sum(change for _, _, change, _ in parts.values()), abs=len(parts))
    columns = list(zip(*(values for *_, values in parts.values()), strict=True))
    assert [sum(column) for column in columns] == pytest.approx(totals, abs=len(parts))
    assert [count for _, count, _, _ in parts.values()] == list(columns[-1])
    rows = table(re.search(r'<table class="releases.*?</table>', page, re.DOTALL)[0])
    column = rows["torch"].index("instructions")
    of_release = dict(zip(releases(html), totals, strict=True))
    counted = {release: amount(cells[column]) for release, cells in rows.items() if release in of_release and cells[column]}
    assert len(counted) >= 7
    assert list(counted.values()) == pytest.approx([of_release[release] for release in counted], rel=0.02)


def test_the_table_of_a_method_has_the_numbers_of_its_key(pages):
    """A row for each release, the newest first."""
    html = section(pages, "clone_detach")
    parts, rows = components(html), table(html)
    whole = parts.pop(WHOLE)
    assert rows.pop("torch") == ["instructions", *parts]
    assert list(rows) == releases(html)[::-1]
    by_release = list(zip(whole[3], *(values for *_, values in parts.values()), strict=True))
    assert [tuple(map(amount, cells)) for cells in rows.values()] == by_release[::-1]


@pytest.mark.parametrize(("method", "number"), CASES)
def test_a_component_leads_to_its_functions(shipped_content, pages, method, number):
    """To the heaviest ones of the newest release, each of which belongs to it."""
    html = section(pages, method, number)
    listed = re.findall(r'<details class="p\d+"><summary>(.*?)<b>.*?</p><ul>(.*?)</ul>', html)
    assert len(listed) == len(components(html)) - 1 >= 10
    for component, rows in listed:
        costs = [(amount(own), unescape(name)) for own, name in re.findall(r"<li><b>(.*?)</b>(.*?)</li>", rows)]
        assert costs == sorted(costs, key=lambda row: -row[0])
        assert 0 < sum(own for own, _ in costs) <= components(html)[component][1] + len(costs)
        known = {
            name
            for profiles in shipped_content.machine.profiles.values()
            for library, name in map(tuple, profiles.functions)
            if function_changes.group_of((library, name)) == component
        }
        assert {name for _, name in costs} - {function_changes.LEFT_OUT} <= known


def test_a_change_is_that_of_each_python_for_itself(shipped_content, pages):
    """Another Python takes other instructions for its own part of a call."""
    html = section(pages, "numpy")
    totals = {
        (series.environment, result.version): profiles.cases["numpy 1 float32 contiguous"].instructions
        for series in shipped_content.machine.series
        for result in series.results
        if (profiles := shipped_content.machine.profiles.get(result.place))
    }
    newer, older = ([total for (environment, _), total in totals.items() if environment == each] for each in ("py3.11-cuda", "py3.9-cuda"))
    change = newer[-1] - newer[0] + older[-1] - older[0]
    assert components(html)[WHOLE][2] == round(change)
    assert amount(re.search(r"Since torch 1.12.1, ([\d ]+) more: ", text_of(html))[1]) == round(change)


def test_a_release_without_functions_is_a_gap(shipped_content, pages):
    """It has no bar, and a label says why; the bars stand on each other without a hole."""
    html = section(pages, "detach_clone")
    counted = {result.version for result in shipped_content.machine.results if result.place in shipped_content.machine.profiles}
    names = releases(html)
    assert names == [release for release in shipped_content.machine.releases if release in counted]
    assert html.count(">not counted</text>") == 4
    ends: dict[int, int] = {}
    for path in re.findall(r'<path class="p\d+" d="M?(.*?)"/>', html):
        x = y = 0
        for across, down, height in re.findall(r"(-?\d+) ?(-?\d+)v(-\d+)", path):
            x, y = x + int(across), y + int(down)
            assert ends.get(x, y) == y
            ends[x] = y = y + int(height)
    assert len(ends) == len(names)


def test_a_case_without_functions_shows_nothing(shipped_content):
    """Nor do those of another case stand in its place, and no page of a case leads to them."""
    machine = copy(shipped_content.machine)
    case = next(case for case in machine.cases if function_profiles.name_of(case))
    templates = render.templates_of(shipped_content)

    def page() -> str:
        return render.page_text(templates, histories._case_page(shipped_content, machine, (), case))

    assert anatomy.of_case(machine, case)
    assert LINK in page()
    machine.__dict__["profiles"] = {}  # of the copy alone
    del machine.__dict__["counted_methods"]
    assert anatomy.of_case(machine, case) is None
    assert LINK not in page()


def test_a_counted_case_leads_to_the_page_of_its_method(pages):
    """There stands what its instructions are spent on; the case has its counts, whether it was timed or not."""
    for address, method in ((COUNTED_ONLY, "detach_clone"), (CASES["numpy", 0], "numpy")):
        page = pages[address]
        assert page.count('class="plot') == 1
        assert 'class="anatomy"' not in page
        assert f'{LINK}<a href="../../../methods/{method}.html">' in page
