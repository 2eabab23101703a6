"""The table of means by release and method, of the shipped results."""

import re

import numpy as np
import pytest

from tensorcopy.report import sentences
from tensorcopy.results import suite_specs
from tensorcopy.site import addresses, render
from tensorcopy.site.pages import release_pairs
from tests.pages import text_of

BY_SIZE = {device: suite_specs.timed_by_size("copy", device) for device in ("cpu", "cuda")}
TABLE = re.compile(r'<h2 id="means-([^"]*)">.*?<table class="cells means.*?<tbody>(.*?)</table>', re.DOTALL)
ROW = re.compile(r'<tr><th scope="row"><a href="([^"]*)".*?</th>(.*?)</tr>')
CELL = re.compile(r'<td(?: class="(\w+)")? title="([^"]*)" aria-label="([^"]*): \2">(.*?)</td>')


@pytest.fixture(scope="module")
def tables(shipped_content) -> dict[str, list[tuple[str, list[tuple[str, ...]]]]]:
    """Return the rows of each table: the comparison's address, and the colour, the evidence, the code and the text of each cell."""
    templates = render.templates_of(shipped_content)
    index = next(page for page in release_pairs.pages(shipped_content) if page.address == addresses.COMPARISONS)
    found = TABLE.findall(render.page_text(templates, index))
    return {
        name: [(f"compare/{link}", [tuple(map(text_of, cell)) for cell in CELL.findall(cells)]) for link, cells in ROW.findall(body)]
        for name, body in found
    }


def test_there_is_a_table_for_each_device(tables, shipped_content):
    """That of the CPU is first; every release but the first has a row, the newest first, and each method a cell."""
    assert list(tables) == ["epyc-2core-cpu", "h200-16core-cuda"]
    for (name, rows), machine in zip(tables.items(), shipped_content.by_device.values()):
        assert [shipped_content.comparisons[address].after.version for address, _ in rows] == machine.releases[:0:-1], name
        assert {len(cells) for _, cells in rows} == {9}
        assert {cells[-1][2] for _, cells in rows} == {"all copies"}


def test_a_cell_is_coloured_by_the_verdict_on_its_mean(tables):
    """And shows the size that its evidence has; no other cell is coloured."""
    coloured = []
    for _, cells in (row for rows in tables.values() for row in rows):
        for colour, evidence, _, text in cells:
            size, verdict = re.match(r"([+−]?[\d.]+ %) \([+−\d. to]+ %\), ([a-z ]+); geometric mean of \d+ cases$", evidence).groups()
            assert text.lstrip("▲▼ ") == size
            assert colour == (verdict if verdict in ("slower", "faster") else "")
            coloured.append(colour)
    assert min(coloured.count(colour) for colour in ("", "slower", "faster")) > 10


def test_a_cell_is_the_mean_over_the_sizes_of_a_method(tables, shipped_content):
    """Recomputed from the launches; a case that was not compared, such as one of two launches, is left out."""
    counts = set()
    for device, rows in zip(BY_SIZE, tables.values()):
        for address, cells in rows:
            comparison = shipped_content.comparisons[address]
            before, after = comparison.before.column, comparison.after.column
            sizes = [
                case
                for case, change in comparison.changes.items()
                if change.interval and case.suite == BY_SIZE[device] and case["method"] == "detach_clone"
            ]
            within = after.logs - before.logs
            expected = np.expm1(np.mean([np.nanmean(within[:, before.effects.cases[case]]) for case in sizes]))
            (evidence,) = [evidence for _, evidence, code, _ in cells if code == "x.detach().clone()"]
            assert evidence.endswith(f"geometric mean of {len(sizes)} cases")
            assert float(evidence.split(" %")[0].replace("−", "-")) == pytest.approx(100 * expected, abs=0.1)
            counts.add(len(sizes))
    assert counts == {8, 5}


def test_the_last_column_is_what_the_comparison_says_of_all_copies(tables, shipped_content):
    """As `tensorcopy compare` does."""
    for name, rows in tables.items():
        for address, cells in rows:
            group = "all copies" if name.endswith("cpu") else "all copies on cuda"
            assert f"{group}: {cells[-1][1]}" in sentences.mean_lines(shipped_content.comparisons[address])


def test_a_comparison_shows_its_means(shipped_content):
    """On its page, all of them."""
    address = next(reversed(shipped_content.comparisons))
    page = render.page_text(render.templates_of(shipped_content), release_pairs._comparison_page(shipped_content, address))
    lines = sentences.mean_lines(shipped_content.comparisons[address])
    assert len(lines) == 3
    assert [text_of(item) for item in re.findall(r"<li>(all .*?)</li>", page)] == lines


def test_an_index_names_the_machines_that_it_does_not_show(shipped_content):
    templates = render.templates_of(shipped_content)
    by_address = {page.address: page for page in release_pairs.pages(shipped_content)}
    for address, others in {addresses.COMPARISONS: [], addresses.of_comparisons("epyc-2core"): ["h200-16core"]}.items():
        _, _, listed = render.page_text(templates, by_address[address]).partition("<h2>Other machines</h2>")
        assert re.findall(r'<li><a href="[^"]*">(.*?)</a>', listed) == others
