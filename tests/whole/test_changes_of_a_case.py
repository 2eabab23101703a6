"""What a site says of the changes of a case is the same in its headline, chart, table, CSV, index, feed and badge."""

import csv
import re
from io import StringIO
from itertools import pairwise

import pytest
from rich.console import Console

from tensorcopy.copying.shipped import shipped
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Question
from tensorcopy.numbers import change_size, duration, signed_percent
from tensorcopy.releases import release_table
from tensorcopy.report import formats, terminal
from tensorcopy.report.sentences import step_size
from tensorcopy.results.cases import Case
from tensorcopy.site import addresses, render
from tensorcopy.site.data_files import machine_csv
from tensorcopy.site.feeds import feeds
from tensorcopy.site.machine import machines
from tensorcopy.site.page import circumstances
from tensorcopy.site.pages import histories
from tests import launch_files
from tests.conftest import measured
from tests.whole.test_claims import false_lines, holds, text_of

CSV = "data/epyc-2core.csv"
CELL = re.compile(r'<td><a href="([^"]*)">([^<]*)</a>\s*(<small.*?</small>)')  # of the index of histories
METHODS = ("detach_clone", "tensor", "detach_numpy_copy", "numpy", "cpu")
SAMPLE = 5  # one of their case pages in so many is rendered, and one comparison in so many
WORDS = {"slower": "+", "faster": "−", "more": "+", "fewer": "−"}


def of_methods(case: Case) -> bool:
    """Return whether a case is of one of `METHODS`."""
    return dict(case.parameters).get("method") in METHODS


@pytest.fixture(scope="module")
def site(shipped_content) -> dict[str, str]:
    """Return the index of histories, a sample of case pages, and the CSV of all, by address."""
    templates = render.templates_of(shipped_content)
    index = next(histories.machine_pages(shipped_content, shipped_content.machine))
    cases = [case for case in shipped_content.machine.cases if of_methods(case) and case not in shipped_content.machine.timed_by_count]
    case_pages = [histories._case_page(shipped_content, shipped_content.machine, (), case) for case in cases[::SAMPLE]]
    texts = {page.address: render.page_text(templates, page) for page in (index, *case_pages)}
    return {**texts, CSV: machine_csv(shipped_content.machine)}


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
    """Return release and size of each change in the headline or the list below it; a size lies in the interval behind it."""
    lead = next(text for text in texts_of("p", page) if "detected" in text)
    listed = re.search(r'<ul class="?changes"?>(.*?)</ul>', page, re.DOTALL)
    items = texts_of("li", listed[1]) if listed else re.findall(r"torch .*", lead)
    assert ("No change detected" in lead) is not bool(items)
    for size, low, high in re.findall(r"(?:slower|faster) by ([\d.]+) % \(([\d.]+) to ([\d.]+) %\)", " ".join(items)):
        assert float(low) <= float(size) <= float(high)
    return {(re.search(r"torch ([\d.]+\d)", item)[1], signed(item)) for item in items}


def in_chart(svg: str) -> list[str]:
    """Return the release and the size of each tick, which points up or down as its size says."""
    ticks = re.search(r'<g class="?ticks"?>(.*?)</g>', svg)
    told = re.findall(r"<title>(.*?)</title><path d=\"M\d+ \d+l3 (-?)6", ticks[1]) if ticks else []
    assert [text for text, down in told if ("−" in text) is not bool(down)] == []
    return sorted(text.removeprefix("torch ") for text, _ in told)


def in_table(page: str, number: int) -> set[tuple[str, str]]:
    """Return release and size of each change in the first or the last column of changes; in its row stands its interval, without 0."""
    head, body = re.search(r'<table class="releases.*?<thead>(.*?)<tbody>(.*?)</table>', page, re.DOTALL).groups()
    titles = texts_of("th", head)
    column = [place for place, title in enumerate(titles) if title == "change"][number]
    told = r"[▲▼] (?:\w+ )?" if number == 0 and "seen 9 in 10" in titles else ""  # of a time, the other sizes are no changes
    changes = set()
    for row in elements("tr", body):
        cells = texts_of("t[hd]", row)
        size = re.search(rf"{told}([+−][\d.]+ %\*?(?: against [\d.]+)?)(.*)", cells[column])
        if size:
            changes.add((cells[0], size[1]))
            assert not told or (size[2].strip() and holds(cells[column][0], size[1].rstrip("*") + size[2])), cells
    return changes


def in_csv(rows: list[dict[str, str]], column: str) -> set[tuple[str, str]]:
    """Return release and size of each change in the rows of a case in the CSV."""
    return {(row["torch"], signed_percent(float(row[column]))) for row in rows if row[column]}


def sizes(changes) -> set[tuple[str, str]]:
    """Return release and size of each change, without the release that it is from, its Python and its mark."""
    return {(change.release, re.match(r"[+−][\d.]+ %", change.size)[0]) for change in changes}


def in_row(changes) -> set[tuple[str, str]]:
    """Return release and size of each change as a row has it, which has a column for the Python."""
    return {(change.release, change.size.partition(" on Python ")[0]) for change in changes}


def disagreements(site: dict[str, str], machine) -> list[str]:
    """Return the case pages on which two places differ from the changes of the model."""
    faults, rows = [], {}
    for row in csv.DictReader(StringIO(site[CSV])):
        rows.setdefault((row["case"], row["metric"]), []).append(row)
    for case, changes in machine.case_changes.items():
        address = machine.case_address(case)
        if case in machine.timed_by_count or address not in site:
            continue
        page = site[address]
        counted = machine.count_of(case)
        count_changes = machine.case_changes[counted] if counted else ()
        svgs = re.findall(r"<svg [^>]*class=\"plot.*?</svg>", page)
        of_case = rows[case.name, case.spec.metric]
        same = [
            in_headline(page) == sizes(changes),
            in_chart(svgs[0]) == sorted(f"{change.release}: {change.size}" for change in changes),
            in_table(page, 0) == in_row(changes),
            in_csv(of_case, {"time": "time_ratio", "instructions": "instructions_ratio"}.get(case.spec.metric, "change")) == sizes(changes),
            len(svgs) == 1 or in_chart(svgs[1]) == sorted(f"{change.release}: {change.size}" for change in count_changes),
            not counted or in_table(page, -1) == in_row(count_changes),
            not counted or in_csv(of_case, "instructions_ratio") == sizes(count_changes),
            all(change.text in text_of(page) for change in changes),
            not re.search(r"slower|faster", text_of(re.sub('<p class="note">.*?</p>', "", page))) or bool(changes),
        ]
        faults += [f"{case.name}: {same}"] if not all(same) else []
    return faults


def test_every_place_of_a_case_shows_the_same_changes(site, shipped_content):
    """Release and size; the words slower and faster stand only where the history changed."""
    assert len(site) > 20
    assert any(
        changes for case, changes in shipped_content.machine.case_changes.items() if shipped_content.machine.case_address(case) in site
    )
    assert disagreements(site, shipped_content.machine) == []


def test_the_csv_names_the_release_that_each_change_is_from(site, shipped_content):
    """The one before it, or an earlier one where those between were not measured."""
    rows, machine = csv.DictReader(StringIO(site[CSV])), shipped_content.machine
    expected = {
        (case.name, case.spec.metric, change.release): change.step.against
        or machine.history[case].releases[machine.history[case].releases.index(change.release) - 1]
        for case, changes in machine.case_changes.items()
        for change in changes
    }
    by_row = {(row["case"], row["metric"], row["torch"]): row for row in rows if row["time_verdict"] or row["change"]}
    assert len(by_row) > 10
    assert {key: row["from"] for key, row in by_row.items()} == {key: expected[key] for key in by_row}


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


def test_the_feed_repeats_the_changes_of_cases(shipped_content):
    """An entry's largest changes are those of the cases' own histories."""
    text = dict(feeds(shipped_content))[addresses.FEED]
    entries = re.findall(r"<title>torch ([\d.]+) on \w+: .*?largest: (.*?)</summary>", text, re.DOTALL)
    by_name: dict[str, list] = {}
    for each in shipped_content.machines:
        for case, changes in each.case_changes.items():
            by_name.setdefault(f"{each.case_code(case)}, {circumstances(case)}", []).extend(changes)
    assert entries
    for release, largest in entries:
        for item in filter(None, largest.split("; ")):
            name, size = re.match(r"(.*?) ([+−][\d.]+ %.*)$", item).groups()
            assert size in [step_size(change.step, change.unit, within=True) for change in by_name[name] if change.release == release]


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
    page = dict(render.files(render.content(shipped(), launch_files.load(tmp_path))))["history/box/copies.BySize/clone_detach-16.html"]
    row = text_of(re.search(rf'<tr id="?{versions[3]}.*?</tr>', page, re.DOTALL)[0])
    assert re.search(rf"slower \+(49|50).\d % against {versions[1]} \+4\d.\d to \+5\d.\d %", row)
    assert re.search(rf"slower by [\d.]+ % \([\d.]+ to [\d.]+ %\) than {versions[1]}\.", text_of(page).replace("\u202f", " "))


def test_the_terminal_calls_no_time_slower_or_faster_without_evidence(shipped_content):
    """In the histories of all cases, in what is open, and in comparisons of releases with the one before, as text and Markdown."""
    by_case = {case: history for case, history in shipped_content.machine.history.items() if case.spec.timed and of_methods(case)}
    console = Console(file=StringIO(), width=200)
    console.print(terminal.summary_text(by_case, all_cases=True))
    for history in list(by_case.values())[::SAMPLE]:
        console.print(terminal.case_table(history))
    pairs = [pair for series in shipped_content.machine.series for pair in pairwise(series.results)]
    neighbours = [comparisons.between(Question(*pair)) for pair in pairs[::SAMPLE]]
    texts = [terminal.open_text(by_case, all_cases=True).text, *map(formats.markdown, neighbours)]
    texts += [terminal.overview(comparison, all_cases=True, width=80).text for comparison in neighbours]
    assert false_lines("\n".join([console.file.getvalue(), *texts]), 1500) == []
