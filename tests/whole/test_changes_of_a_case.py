"""What the index of histories and the page of a case show of its changes is what its history has; `test_one_answer` has the numbers."""

import csv
import re
from io import StringIO

import pytest
from rich.console import Console
from tensorcopy.site.machine import machines
from tensorcopy.site.pages import histories

from tensorcopy.numbers import change_size, duration, signed_percent
from tensorcopy.releases import release_table
from tensorcopy.report import terminal
from tensorcopy.site import render
from tests import launch_files
from tests.conftest import measured
from tests.pages import elements, site_of, text_of, texts_of

CELL = re.compile(r'<td><a href="([^"]*)">([^<]*)</a>\s*(<small.*?</small>)')  # of the index of histories
METHODS = ("detach_clone", "tensor", "detach_numpy_copy", "numpy", "cpu")
SAMPLE = 5  # one of their case pages in so many is rendered


@pytest.fixture(scope="module")
def site(shipped_content) -> dict[str, str]:
    """Return the index of histories and a sample of case pages, by address."""
    templates, machine = render.templates_of(shipped_content), shipped_content.machine
    index = next(histories.machine_pages(shipped_content, machine))
    cases = [case for case in machine.cases if dict(case.parameters).get("method") in METHODS and case not in machine.timed_by_count]
    case_pages = [histories._case_page(shipped_content, machine, (), case) for case in cases[::SAMPLE]]
    return {page.address: render.page_text(templates, page) for page in (index, *case_pages)}


def in_chart(svg: str) -> list[str]:
    """Return the release and the size of each tick, which points up or down as its size says."""
    ticks = re.search(r'<g class="?ticks"?>(.*?)</g>', svg)
    told = re.findall(r"<title>(.*?)</title><path d=\"M\d+ \d+l3 (-?)6", ticks[1]) if ticks else []
    assert [text for text, down in told if ("−" in text) is not bool(down)] == []
    return sorted(text.removeprefix("torch ") for text, _ in told)


def counts_in_table(page: str) -> set[tuple[str, str]]:
    """Return release and size of each change in the last column of changes, which is that of the instructions."""
    head, body = re.search(r'<table class="releases.*?<thead>(.*?)<tbody>(.*?)</table>', page, re.DOTALL).groups()
    column = [place for place, title in enumerate(texts_of("th", head)) if title == "change"][-1]
    rows = [texts_of("t[hd]", row) for row in elements("tr", body)]
    sizes = {cells[0]: re.search(r"[+−][\d.]+ %\*?(?: against [\d.]+)?", cells[column]) for cells in rows}
    return {(release, size[0]) for release, size in sizes.items() if size}


def in_row(changes) -> set[tuple[str, str]]:
    """Return release and size of each change as a row has it, which has a column for the Python."""
    return {(change.release, change.size.partition(" on Python ")[0]) for change in changes}


def test_charts_and_counts_of_a_case_show_the_changes_of_its_history(site, shipped_content):
    """Release and size: a tick in the chart for each, of a time and of the instructions beside it, and these in a column of the table."""
    machine, faults, number = shipped_content.machine, [], 0
    for case, changes in machine.case_changes.items():
        page = site.get(machine.case_address(case))
        if case in machine.timed_by_count or not page:
            continue
        counted = machine.count_of(case)
        count_changes = machine.case_changes[counted] if counted else ()
        svgs = re.findall(r"<svg [^>]*class=\"plot.*?</svg>", page)
        same = [
            in_chart(svgs[0]) == sorted(f"{change.release}: {change.size}" for change in changes),
            len(svgs) == 1 or in_chart(svgs[1]) == sorted(f"{change.release}: {change.size}" for change in count_changes),
            not counted or counts_in_table(page) == in_row(count_changes),
        ]
        number += len(changes) + len(count_changes)
        faults += [f"{case.name}: {same}"] if not all(same) else []
    assert number > 20
    assert faults == []


def test_the_index_shows_where_each_case_stands(site, shipped_content):
    """What it costs against the best one where that is slower, or else its newest change; no other is coloured."""
    machine, page = shipped_content.machine, site["history/index.html"]
    cells = {link: (text_of(value), text_of(state), state) for link, value, state in CELL.findall(page)}
    timed = [case for case in machine.cases if case.spec.timed]
    assert len(cells) == len(timed)
    told = []
    for case in timed:
        standing, changes = machine.standings[case], machine.case_changes[case]
        value, state, markup = cells[machine.case_address(case).removeprefix("history/")]
        assert value == duration(standing.history.measured[standing.newest])
        if standing.is_open:
            told.append("open")
            assert state == f"open: {signed_percent(standing.cost.ratio)}"
        else:
            unchanged = "?" if machine.history[case].unknown else "="
            told.append("changed" if changes else unchanged)
            sign = f"{'▲' if changes[-1].step.ratio > 1 else '▼'} {changes[-1].size} {changes[-1].release}" if changes else unchanged
            assert state == sign
        assert ("slower" in markup) is standing.is_open
    assert set(told) == {"open", "changed", "?", "="}


RELEASES = release_table.load()[-8:]


def on_two_pythons(newer: list[float], older: list[float]):
    """Return the machine of one case with times on Python 3.12 and 3.9, each release in turn."""
    pythons = {"3.12": newer, "3.9": older}
    results = [
        measured(release, {("a", 16): time * 1e-6}, python=python)
        for python, times in pythons.items()
        for release, time in zip(RELEASES, times)
    ]
    (machine,) = machines(results)
    return machine


STEP, FLAT = [1.0] * 4 + [1.5] * 4, [1.0] * 8


@pytest.mark.parametrize(
    ("newer", "older", "number"),
    [(STEP, STEP, 1), (STEP, FLAT, 1), (FLAT, STEP, 1), (FLAT, FLAT, 0), (STEP, FLAT[:3], 1)],
    ids=["both", "newer", "older", "neither", "not measured on the older"],
)
def test_a_newer_python_decides_from_its_first_release_on(newer, older, number):
    """What only the older one shows says so; pages have no change that `tensorcopy history` does not print."""
    machine = on_two_pythons(newer, older)
    changes = next(changes for case, changes in machine.case_changes.items() if case.spec.timed)
    assert len(changes) == number
    on = " on Python 3.9 only" if newer is FLAT else ""
    assert all(change.size == f"+50.0 %{on}" and change.release == RELEASES[4].version for change in changes)
    assert [change.environment for change in changes] == [f"py{'3.9' if on else '3.12'}-cuda"] * number
    (history,) = [history for case, history in machine.history.items() if case.spec.timed]
    console = Console(file=StringIO(), width=200)
    console.print(terminal.case_table(history))
    assert re.findall("^torch .*: (.*)", console.file.getvalue(), re.MULTILINE) == [change.text for change in changes]


def test_the_size_of_a_change_is_that_of_the_release_against_the_one_before(tmp_path):
    """With its interval, by which a reader of the history sees how sure it is; the level after it is another value."""
    case = "copies.BySize.time_copy clone_detach 16"
    times = [1.0, 1.0, 1.0, 1.0, 1.5, 1.52, 1.54, 1.56]
    launch_files.write(tmp_path, {case: {release.version: time for release, time in zip(RELEASES, times)}})
    (machine,) = machines(launch_files.load(tmp_path))
    ((change,),) = machine.case_changes.values()
    low, high = change.step.interval
    assert low < change.step.ratio < high
    assert low < 1.5 < high < 1.52
    assert change.text == f"slower by {change_size(change.step.ratio)} ({100 * (low - 1):.1f} to {100 * (high - 1):.1f} %)"


def test_a_change_after_a_release_without_the_case_has_its_interval(tmp_path):
    """It is that of the release before which has the case; no comparison with the one between shows it."""
    times, versions = (1.0, 1.0, None, 1.5), [release.version for release in RELEASES[:4]]
    some = {version: time for version, time in zip(versions, times) if time}
    cases = {"copies.BySize.time_copy clone_detach 16": some, "copies.BySize.time_copy tensor 16": dict.fromkeys(versions, 1.0)}
    launch_files.write(tmp_path, cases)
    site = site_of(launch_files.load(tmp_path))
    page = site["history/box/copies.BySize/clone_detach-16.html"]
    row = text_of(re.search(rf'<tr id="?{versions[3]}.*?</tr>', page, re.DOTALL)[0])
    assert re.search(rf"slower \+(49|50).\d % against {versions[1]} \+4\d.\d to \+5\d.\d %", row)
    assert re.search(rf"slower by [\d.]+ % \([\d.]+ to [\d.]+ %\) than {versions[1]}\.", text_of(page).replace("\u202f", " "))
    rows = csv.DictReader(StringIO(site["data/box.csv"]))
    assert [(row["torch"], row["from"]) for row in rows if row["from"]] == [(versions[3], versions[1])]
