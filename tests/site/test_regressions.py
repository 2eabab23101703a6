"""The page of open regressions: what it lists, in which order, and where it leads; its badge and `history --open` agree."""

import re
from dataclasses import replace
from html import unescape

import pytest

from tensorcopy.cli import main
from tensorcopy.judge.case_history import LAST, Age
from tensorcopy.judge.groups import by_age
from tensorcopy.site import addresses, data_files, documents, render
from tensorcopy.site.addresses import WebAddresses
from tensorcopy.site.content import Content
from tensorcopy.site.pages import regressions
from tests.conftest import ROOT
from tests.pages import elements, text_of, texts_of
from tests.whole.test_claims import holds


def page_of(content: Content) -> str:
    """Return the page as HTML."""
    (shown,) = [each for each in regressions.pages(content) if each.address == addresses.REGRESSIONS]
    return render.page_text(render.templates_of(content), shown)


def sections_of(page: str) -> dict[str, str]:
    """Return the part of each method and age as HTML, by anchor: those of a method stand together, below one heading."""
    parts = {}
    for section in re.findall(r"<section.*?</section>", page, re.DOTALL):
        first, *others = re.split(r"(?=<h4 id)", section)
        anchors = [re.search(r'<h3 id="?([^">]+)', first)[1], *(re.match(r'<h4 id="?([^">]+)', each)[1] for each in others)]
        parts |= dict(zip(anchors, (first, *others)))
    return parts


@pytest.fixture(scope="module")
def page(shipped_content) -> str:
    return page_of(shipped_content)


@pytest.fixture(scope="module")
def sections(page) -> dict[str, str]:
    return sections_of(page)


def test_the_worst_method_of_each_age_comes_first(page, shipped_content, sections):
    """Every open case stands in one section, with a cost in its own interval; the one that its age slowed most comes first."""
    results = shipped_content.devices[0]
    table = re.search(r'<table class="fit open">.*?</table>', page, re.DOTALL)[0]
    assert sorted(re.findall(r'href="#([^"]+)"', table)) == sorted(sections)
    methods = re.findall(r"<h3 id.*?</h3>", page)
    assert len(methods) == len({*methods}) > len(results.regressions)  # with that of the closed ones
    groups, left, listed = by_age(results.regressions), dict(sections), []
    assert [*groups] == [*Age]
    places = {release: len(results.releases) - index for index, release in enumerate(results.releases)}
    within = {Age.NEW: {1}, Age.RECENT: {*range(2, LAST + 1)}, Age.OLDER: {*range(LAST + 1, len(places) + 1)}}
    for age, of_age in groups.items():
        worst = []
        for regression in of_age:
            section = left.pop(results.regression_anchor(regression))
            rows = [texts_of("t[hd]", row) for row in elements("tr", section)][1:]
            costs = [float(row[1].removesuffix(" %").removeprefix("+")) for row in rows]
            assert len(rows) == len(regression.standings)
            assert all(holds("slower", f"{row[1]} {row[2]}") for row in rows)
            slowdowns = [re.findall(r"([\d.]+) \+([\d.]+) %", row[6]) for row in rows]
            of_its_age = [[float(size) for release, size in each if places[release] in within[age]] for each in slowdowns]
            largest = [max(sizes, default=0) for sizes in of_its_age]
            ranked = costs if age is Age.OLDER else largest
            assert ranked == sorted(ranked, reverse=True)
            assert min(costs) >= 3
            assert all(re.fullmatch(r"(, )?([\d.]+ \+[\d.]+ %(, )?)+|no single release", row[6]) for row in rows)
            listed += re.findall(r'<th scope="row"><a href="([^"]+)"', section)
            worst.append(ranked[0])
            extent = re.search(
                r"(?:\+([\d.]+) % \([^)]+\) with|no single release)[^;]* in \d+ cases?.*?; (?:up to )?\+([\d.]+) %", text_of(section)
            )
            assert [float(size or 0) for size in extent.groups()] == [max(largest), max(costs)]
        assert worst == sorted(worst, reverse=True)
    assert not left
    assert len(listed) == len({*listed}) == sum(standing.is_open for standing in results.standings.values())
    assert f"in {len(listed)} of {len(results.standings)} cases" in text_of(page)
    assert "Times of an older Python are scaled to those of Python 3.11." in text_of(page)
    assert "best release" not in text_of(page)  # a level is a median, and another release may have been faster by chance


def test_the_slowdown_of_a_row_is_of_its_age(page, shipped_content):
    """Of the newest release, of another of the last eight, or earlier; or of no single release, but older."""
    table = re.search(r'<table class="fit open">.*?</table>', page, re.DOTALL)[0]
    releases, ages = shipped_content.devices[0].releases, []
    for body in elements("tbody", table):
        rows = [texts_of("t[hd]", row)[1] for row in elements("tr", body)[1:]]
        ages.append([len(releases) - releases.index(release) for row in rows for release in re.findall(r" with ([\d.]+)", row)])
    new, recent, older = ages
    assert {*new} == {1}
    assert recent
    assert all(1 < age <= LAST for age in recent)
    assert min(older) > LAST


def test_a_row_is_explained_by_slowdowns_that_are_open_in_it(page, sections):
    """Finding, functions and issue are of the slowdown that is named at them; where the largest has none, the row says so."""
    table = re.search(r'<table class="fit open">.*?</table>', page, re.DOTALL)[0]
    explained, rows = {}, [row for row in elements("tr", table)[1:] if "<td" in row]
    for row in rows:
        anchor = re.search(r'href="#([^"]+)"', row)[1]
        section, (_, largest, _, why) = sections[anchor], texts_of("t[hd]", row)
        since = [release for case in elements("tr", section)[1:] for release in re.findall(r"([\d.]+) \+", texts_of("t[hd]", case)[6])]
        explained[anchor] = re.findall(r"of ([\d.]+)", why)
        release = next(iter(re.findall(r" with ([\d.]+)", largest)), "")
        assert set(explained[anchor]) <= set(since)
        assert why.startswith("not profiled") == (release in since and release not in explained[anchor])
        assert re.findall(r"→ torch ([\d.]+)", text_of(section).partition("Issue")[0]) == explained[anchor][:1]
        issues = re.findall(r"Issue for PyTorch about ([\d.]+).*?since torch ([\d.]+)", section, re.DOTALL)
        assert all(named == release in explained[anchor] for named, release in issues)
    assert explained["numpy_from_dlpack"] == ["2.9.1"]


def test_a_regression_leads_to_its_functions_its_finding_and_an_issue(shipped_content, sections):
    """Where these are known: of `x.numpy()`, which became slower where one Python ends and another begins, all are.

    A finding is a section of a file of the repository; where that is unknown, it is text.
    """
    published = replace(shipped_content, web=WebAddresses("https://example.org/t"))
    in_repository = sections_of(page_of(published))
    known = {finding.code: finding for finding in documents.findings(published)}
    for anchor, code in (("numpy", "x.numpy()"), ("cpu", "x.cpu()"), ("numpy_from_dlpack", "np.from_dlpack(x)")):
        finding = known[code]
        assert finding.address.startswith("https://example.org/t/blob/HEAD/docs/findings.md#")
        assert f'href="{finding.address}"' in in_repository[anchor]
        assert f"Finding: {finding.title}" in unescape(sections[anchor])
        assert all(f'href="{address}"' in sections[anchor] for _, address in finding.pulls)
        assert "All functions" in sections[anchor]
        assert '<pre class="issue"' in sections[anchor]


@pytest.mark.parametrize(
    ("heading", "title", "anchor"),
    [
        ("A *slow* copy", "A slow copy", "a-slow-copy"),
        ("torch &amp; numpy", "torch & numpy", "torch--numpy"),
        ("`x` is slow", "x is slow", "x-is-slow"),
    ],
)
def test_the_heading_of_a_finding_is_text(shipped_content, heading, title, anchor):
    """Whatever its markup: the address is that of the section."""
    docs = {"findings": f"# Findings\n\n## {heading}\n\n`x.clone()`, torch 2.5.1 → 2.6.0, slower.\n"}
    (finding,) = documents.findings(replace(shipped_content, docs=docs, web=WebAddresses("https://example.org/t")))
    assert finding.title == title
    assert finding.address == f"https://example.org/t/blob/HEAD/docs/findings.md#{anchor}"


@pytest.mark.parametrize(
    ("before", "after", "is_about"),
    [("2.9.1", "2.10.0", True), ("2.5.1", "2.15.0", True), ("2.8.0", "2.9.1", False), ("2.10.0", "2.9.1", False)],
)
def test_a_finding_is_about_the_releases_between_which_the_change_came(shipped_content, before, after, is_about):
    """Another change of the same method has another cause."""
    (finding,) = [each for each in documents.findings(shipped_content) if each.title.startswith("detach() makes one TensorImpl")]
    assert finding.is_about("x.detach()", before, after) is is_about
    assert not finding.is_about("x.clone()", before, after)


@pytest.mark.slow
def test_the_commands_have_the_methods_and_the_issues_of_the_page(shipped_content, monkeypatch, capsys):
    """An issue is of the change whose functions are shown, also where those are of another case than the largest slowdown."""
    monkeypatch.chdir(ROOT)
    assert main(["history", "--open", "--machine", shipped_content.machine.name]) == 0
    shown = re.findall(r"^(\w+): (?:up to |\+|no single release)", capsys.readouterr().out, re.MULTILINE)
    of_page = [part.method for of_age in by_age(shipped_content.devices[0].regressions).values() for part in of_age]
    assert shown == of_page
    sections = sections_of(page_of(shipped_content))
    for method, before, after in (("numpy", "1.12.1@3.9", "1.13.1@3.9"), ("cpu", "2.9.1", "2.10.0")):
        assert main(["why", method, before, after, "--machine", shipped_content.machine.name, "--issue"]) == 0
        issue = capsys.readouterr().out
        shown = re.search(r'<pre class="issue"[^>]*>(.*?)</pre>', sections[method], re.DOTALL)[1]
        assert unescape(shown).strip() == issue.strip()
        assert re.search(r"and [\d.]+ % more time \(95 % interval \+[\d.]+ to", issue)


def test_a_closed_slowdown_is_not_open(page, shipped_content):
    """Each is listed with the release that took it back; the same one is not open in part."""
    standings = shipped_content.machine.standings.values()
    closed = sum(len(standing.closed) for standing in standings)
    table = page.partition('id="fixed"')[2]
    rows = [texts_of("t[hd]", row) for row in elements("tr", table)][1:]
    assert sum(int(row[4]) for row in rows) == closed > 0
    for row in rows:
        change, low, high = (float(text.replace("−", "-")) for text in re.findall(r"[+−][\d.]+", f"{row[2]} {row[3]}"))
        assert low <= change <= high
        assert change > 0
    assert all(step.until is None for standing in standings for step in standing.open)


def test_the_badge_has_the_methods_of_the_page(shipped_content, sections):
    """Some are in several sections, one for each age of their cases."""
    machine, devices = shipped_content.machine, shipped_content.devices
    number = len(machine.regressions)
    message = f"{number} methods on torch {machine.newest.version} (cpu), 0 methods on torch 2.15.0 (cuda)"
    assert data_files.open_message(devices) == message
    newest = {devices[0].regression_anchor(next(iter(each.by_age.values()))) for each in machine.regressions}
    assert newest <= sections.keys()
    assert len(newest) == number < len(sections)
