"""What a site says of the changes of a case is the same in its headline, chart, table, CSV, index, feed and badge."""

from __future__ import annotations

import csv
import re
from html import unescape
from io import StringIO

import pytest

from tensorcopy.analysis.comparisons import case_name
from tensorcopy.numbers import change_size, signed_interval, signed_percent
from tensorcopy.releases import release_table
from tensorcopy.site import addresses, render
from tensorcopy.site.content import ComparisonTable
from tensorcopy.site.feeds import feeds
from tensorcopy.site.machine import machines
from tensorcopy.site.pages import history
from tests import launch_files
from tests.conftest import measured

SAMPLE = 20  # one case page in so many is rendered here; the slow tests render all
WORDS = {"slower": "+", "faster": "−", "more": "+", "fewer": "−"}


@pytest.fixture(scope="module")
def content(shipped_results):
    """Return the content of the shipped results, without the comparisons and functions of pages, which take long."""
    content = render.content(shipped_results.results)
    content.__dict__["comparisons"] = ComparisonTable(())
    content.machine.__dict__["causes"] = {}
    return content


@pytest.fixture(scope="module")
def site(content) -> dict[str, str]:
    """Return the index of histories and a sample of case pages with their CSV, by address."""
    templates = render.templates_of(content)
    case_pages = list(history.machine_pages(content, content.machine))
    index = [page for page in history.pages(content) if page.address == "history/index.html"]
    chosen = [page for number in range(0, len(case_pages), 2 * SAMPLE) for page in case_pages[number : number + 2]]
    return {page.address: page.text if hasattr(page, "text") else render.page_text(templates, page) for page in (*index, *chosen)}


def text_of(html: str) -> str:
    """Return the text of HTML, with plain spaces."""
    return re.sub(r"[\u202f\u2009]", " ", unescape(re.sub(r"<[^>]*>", "", html))).strip()


def elements(tag: str, html: str) -> list[str]:
    """Return what follows each start tag, up to the next one: published pages leave out optional end tags."""
    return re.split(rf"<{tag}\b[^>]*>", html)[1:]


def texts_of(tag: str, html: str) -> list[str]:
    return [text_of(element) for element in elements(tag, html)]


def signed(words: str) -> str:
    """Return the size in a sentence with the sign of its direction: "slower by 12.1 %" is "+12.1 %"."""
    by_word = re.search(r"(slower|faster) by ([\d.]+ %)", words) or re.search(r"([\d.]+ %) (more|fewer)", words)
    first, second = by_word.groups()
    return WORDS.get(first, WORDS.get(second, "")) + (second if first in WORDS else first)


def in_headline(page: str) -> set[tuple[str, str]]:
    """Return release and size of each change in the headline or the list below it."""
    lead = text_of(re.search(r'<p class="?lead"?>(.*?)</p>', page, re.DOTALL)[1])
    listed = re.search(r'<ul class="?changes"?>(.*?)</ul>', page, re.DOTALL)
    items = texts_of("li", listed[1]) if listed else re.findall(r"torch .*", lead)
    assert ("No change detected" in lead) is not bool(items)
    sizes = [re.sub(r"\(.*\)", "", item) for item in items]  # without the interval of the neighbours
    assert all(len(re.findall(r"[\d.]+ %", item)) == 1 for item in sizes)  # a second one would be another value of the same change
    return {(re.search(r"torch ([\d.]+\d)", item)[1], signed(item)) for item in items}


def in_chart(svg: str) -> list[str]:
    """Return the size in each flag."""
    flags = re.search(r'<g class="?flags"?>(.*?)</g>', svg)
    return sorted(text.split(" (")[0] for text in map(text_of, re.findall(r"<text.*?</text>", flags[1]))) if flags else []


def in_table(page: str, heading: str) -> set[tuple[str, str]]:
    """Return release and size of each change in a column."""
    head, body = re.search(r'<table class="releases.*?<thead>(.*?)<tbody>(.*?)</table>', page, re.DOTALL).groups()
    column = texts_of("th", head).index(heading)
    changes = set()
    for row in elements("tr", body):
        cells = texts_of("t[hd]", row)
        size = re.search(r"[+−][\d.]+ %", cells[column])
        if size:
            word = re.search("slower|faster|more|fewer", cells[column])
            assert not word or WORDS[word[0]] == size[0][0]
            changes.add((cells[0], size[0]))
    return changes


def in_csv(text: str, column: str) -> set[tuple[str, str]]:
    """Return release and size of each change in a CSV."""
    return {(row["torch"], signed_percent(float(row[column]))) for row in csv.DictReader(StringIO(text)) if row[column]}


def disagreements(site: dict[str, str], machine) -> list[str]:
    """Return the case pages on which two places differ from the changes of the model."""
    faults = []
    for case, changes in machine.case_changes.items():
        address = machine.case_address(case)
        if case in machine.timed_by_count or address not in site:
            continue
        page, expected = site[address], {(change.release, change.size) for change in changes}
        counted = machine.count_of(case)
        count_changes = machine.case_changes[counted] if counted else ()
        expected_counts = {(change.release, change.size) for change in count_changes}
        svgs = re.findall(r"<svg [^>]*class=\"plot.*?</svg>", page)
        text = site[address.replace(".html", ".csv")]
        same = [
            in_headline(page) == expected,
            in_chart(svgs[0]) == sorted(change.size for change in changes),
            in_table(page, "change detected") == expected,
            in_csv(text, "change") == expected,
            not counted or in_chart(svgs[1]) == sorted(change.size for change in count_changes),
            not counted or in_table(page, "change") == expected_counts,
            in_csv(text, "instructions_change") == expected_counts,
            all(change.text in text_of(page) for change in changes),
            not re.search(r"slower|faster", text_of(page).replace("“Change detected”", "")) or bool(changes),
        ]
        faults += [f"{case_name(case)}: {same}"] if not all(same) else []
    return faults


def test_every_place_of_a_case_shows_the_same_changes(site, content):
    """Release and size; the words slower and faster stand only where the history changed."""
    assert len(site) > 40
    assert any(changes for case, changes in content.machine.case_changes.items() if content.machine.case_address(case) in site)
    assert disagreements(site, content.machine) == []


def test_the_index_shows_the_last_change_of_each_case(site, content):
    """With the number of its changes."""
    machine = content.machine
    rows = re.findall(r'<tr><th><a href="([^"]*)">.*?</tr>', site["history/index.html"], re.DOTALL)
    timed = [case for case in machine.cases if case.spec.timed]
    assert len(rows) == len(timed)
    for case in timed:
        link = machine.case_address(case).removeprefix("history/")
        row = re.search(rf'<tr><th><a href="{re.escape(link)}">.*?</tr>', site["history/index.html"], re.DOTALL)[0]
        cells = [text_of(cell) for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)]
        changes = machine.case_changes[case]
        assert cells[2] == (str(len(changes)) if changes else "")
        assert not changes or (changes[-1].size in cells[3] and changes[-1].release in cells[4])


def test_the_feed_repeats_the_changes_of_cases(content):
    """An entry's largest changes are those of the cases' own histories."""
    machine, text = content.machine, dict(feeds(content))[addresses.FEED]
    entries = re.findall(r"<title>torch ([\d.]+): .*?largest: (.*?)</summary>", text, re.DOTALL)
    by_name = {case_name(case): changes for case, changes in machine.case_changes.items()}
    assert entries
    for release, largest in entries:
        for item in filter(None, largest.split(", ")):
            name, size = re.match(r"(.*) ([+−][\d.]+ %)$", item).groups()
            assert size in [change.size for change in by_name[name] if change.release == release]


RELEASES = release_table.load()[-8:]


def on_two_pythons(newer: list[float], older: list[float]):
    """Return the changes of one case with times on Python 3.12 and 3.9, each release in turn."""
    pythons = {"3.12": newer, "3.9": older}
    results = [
        measured(release, {("a", 16): time * 1e-6}, python=python)
        for python, times in pythons.items()
        for release, time in zip(RELEASES, times)
    ]
    (machine,) = machines(results)
    return next(changes for case, changes in machine.case_changes.items() if case.spec.timed)


STEP, FLAT = [1.0] * 4 + [1.5] * 4, [1.0] * 8


@pytest.mark.parametrize(
    ("newer", "older", "where"),
    [
        (STEP, STEP, [""]),
        (STEP, FLAT, ["on Python 3.12 only"]),
        (FLAT, STEP, ["on Python 3.9 only"]),
        (FLAT, FLAT, []),
        (STEP, FLAT[:3], [""]),
    ],
    ids=["both", "newer", "older", "neither", "not measured on the older"],
)
def test_a_change_on_one_python_is_said_to_be_its_own(newer, older, where):
    """If the other measured the same releases and is flat there; where it was not measured, nothing is said."""
    changes = on_two_pythons(newer, older)
    assert [change.where for change in changes] == where
    assert all(change.size == "+50.0 %" and change.release == RELEASES[4].version for change in changes)


def test_a_change_has_the_interval_of_the_neighbours_alone(tmp_path):
    """By which a reader of the history sees how sure it is."""
    case = "copies.BySize.time_copy clone_detach 16"
    launch_files.write(tmp_path, {case: {release.version: 1.0 if number < 4 else 1.5 for number, release in enumerate(RELEASES)}})
    (machine,) = machines(launch_files.load(tmp_path))
    ((change,),) = machine.case_changes.values()
    low, high = change.interval
    assert 1.45 < low < 1.5 < high < 1.55
    assert change.text == f"slower by {change_size(change.step.ratio)} ({signed_interval(change.interval)} against the release before)"
