"""The device as an axis of the site: what changed on a GPU is in every view of the GPU, and in none of the CPU, whoever measured both."""

import json
import re
from dataclasses import dataclass, replace
from html import unescape

import feedparser
import pytest

from tensorcopy.campaign import VerdictRules
from tensorcopy.copying import recommend
from tensorcopy.copying.pages import landing
from tensorcopy.copying.shipped import shipped
from tensorcopy.judge.case_history import Age
from tensorcopy.numbers import duration
from tensorcopy.releases import release_table
from tensorcopy.report import formats, terminal
from tensorcopy.report.sentences import age_text
from tensorcopy.site import addresses, data_files, render
from tensorcopy.site.content import Content
from tests import launch_files
from tests.conftest import SHIPPED, SHIPPED_GPU
from tests.launch_files import METHODS
from tests.pages import text_of

RELEASES = [release.version for release in release_table.load()][-10:]
BEFORE, NEWEST = RELEASES[-2:]
CARD = {"accelerators": {"cuda": "Card 9000"}}
SMALL, LARGE = 16, 2**20
CODES = {name: code for name, code in METHODS.items() if "numpy" not in name}


def changed(microseconds: float, factor: float = 1.0, at: int = len(RELEASES)) -> dict[str, float]:
    """Return times by release, which change by a factor with the release at an index."""
    return {release: microseconds * (factor if place >= at else 1.0) for place, release in enumerate(RELEASES)}


CPU = {
    f"copies.BySize.time_copy clone_detach {SMALL}": changed(1.0),
    f"copies.BySize.time_copy detach_clone {SMALL}": changed(1.2, 1.3, 1),
    f"copies.BySize.time_copy clone_detach {LARGE}": changed(100.0),
    f"copies.BySize.time_copy detach_clone {LARGE}": changed(110.0),
}
CUDA = {
    f"copies.Throughput.time_copy clone_detach {SMALL} cuda": changed(8.0, 1.2, 9),
    f"copies.Throughput.time_copy detach_clone {SMALL} cuda": changed(9.0, 1.4, 4),
    f"copies.Throughput.time_copy clone_detach {LARGE} cuda": changed(20.0, 1 / 1.5, 2),
    f"copies.Throughput.time_copy detach_clone {LARGE} cuda": changed(22.0),
}
# of the planted changes: the release, and the method and its change as pages print them
ON_CUDA = [(RELEASES[9], "clone_detach", "+20"), (RELEASES[4], "detach_clone", "+40"), (RELEASES[2], "clone_detach", "−33")]
ON_CPU = [(RELEASES[1], "detach_clone", "+30")]


def write(folder, cases, machine, start=launch_files.START, counted=("cpu", "cuda")):
    """Write launches of some cases over all releases, and what methods do on some devices."""
    launch_files.write(folder, cases, machine=machine, noise=0.002, start=start, **CARD)
    seen = {name: launch_files.observed(code=code) for name, code in CODES.items()}
    methods = {name: {**row, "observed": dict.fromkeys(counted, row["observed"]["cpu"])} for name, row in seen.items()}
    launch_files.write_counts(folder, NEWEST, {}, methods=methods, machine=machine, start=start, **CARD)


@dataclass(frozen=True)
class Site:
    """A content, and its files by address."""

    content: Content
    files: dict[str, str]

    def block(self, device: str) -> str:
        """Return the block of a device on the landing page as HTML."""
        return block_of(self.files["index.html"], device)

    def regressions(self, device: str) -> str:
        """Return the part of a device on the page of regressions as HTML."""
        parts = re.split(r'(?=<h2 id="?on-)', self.files[addresses.REGRESSIONS])
        return next(part for part in parts if re.match(rf'<h2 id="?on-{device}\b', part))

    def titles(self, feed: str, device: str) -> list[str]:
        """Return the titles of the entries of a feed that have a device as their category."""
        entries = feedparser.parse(self.files[feed].encode()).entries
        return [entry.title for entry in entries if [tag.term for tag in entry.tags] == [device]]


def block_of(page: str, device: str) -> str:
    """Return the block of a device as HTML."""
    blocks = re.split(r'(?=<div class="device" data-device=)', page)
    return next(block for block in blocks if block.startswith(f'<div class="device" data-device="{device}"'))


def site_of(folder, rules: VerdictRules | None = None) -> Site:
    campaign = replace(shipped(), **({"rules": rules} if rules else {}))
    content = render.content(campaign, launch_files.load(folder))
    return Site(content, dict(render.files(content)))


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Site:
    """The site of a machine with a CPU."""
    folder = tmp_path_factory.mktemp("alone")
    write(folder, CPU, "box", counted=("cpu",))
    return site_of(folder)


@pytest.fixture(scope="module")
def beside(tmp_path_factory) -> Site:
    """The same with a machine that measured on a GPU alone, on a later day."""
    folder = tmp_path_factory.mktemp("beside")
    write(folder, CPU, "box", counted=("cpu",))
    write(folder, CUDA, "gpu", launch_files.START.replace(day=28), counted=("cuda",))
    return site_of(folder)


@pytest.fixture(scope="module")
def inside(tmp_path_factory) -> Site:
    """The site of one machine that measured the same cases on both."""
    folder = tmp_path_factory.mktemp("inside")
    write(folder, {**CPU, **CUDA}, "box")
    return site_of(folder)


@pytest.fixture(params=["beside", "inside"])
def site(request) -> Site:
    """Each of both sites."""
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize(("device", "here", "elsewhere"), [("cpu", ON_CPU, ON_CUDA), ("cuda", ON_CUDA, ON_CPU)], ids=["cpu", "cuda"])
def test_a_change_is_in_every_view_of_its_device_alone(site, device, here, elsewhere):
    """Landing page, feeds, regressions, comparisons and badge; the sizes of the planted changes of the other device are nowhere."""
    views = {
        "changes": re.search(r'<ul class="dated">.*?</ul>', site.block(device), re.DOTALL)[0],
        "feed": "\n".join(site.titles(addresses.FEED, device)),
    }
    for name, view in views.items():
        text = text_of(view).replace("\u202f", " ")
        assert all(re.search(rf"torch {re.escape(release)}\b[^\n]*{re.escape(size)}", text) for release, _, size in here), (name, text)
        assert not any(size in text for *_, size in elsewhere), (name, text)
    still = {code: size for _, code, size in here if size.startswith("+")}
    others = [size for *_, size in elsewhere if size.startswith("+")]
    for name, view in {
        "landing": re.search(r'<table class="fit open">.*?</table>', site.block(device), re.DOTALL)[0],
        "page": re.search(r'<table class="fit open">.*?</table>', site.regressions(device), re.DOTALL)[0],
    }.items():
        text = text_of(view)
        assert all(re.search(rf"{re.escape(CODES[method])}[^x]*\{size}", text) for method, size in still.items()), (name, text)
        assert not any(size in text for size in others), (name, text)
    message = data_files.open_message(site.content.devices)
    assert f"{len(still)} method{'s' if len(still) > 1 else ''} on torch {NEWEST} ({device})" in message


def headed(view: str) -> dict[str, str]:
    """Return the rows of the table of open regressions by heading, as text."""
    table = re.search(r'<table class="fit open">.*?</table>', view, re.DOTALL)[0]
    groups = re.findall(r'<tr class="section">.*?>([^<>]+)</th></tr>(.*?)</tbody>', table, re.DOTALL)
    return {heading: text_of(rows) for heading, rows in groups}


def test_what_is_new_comes_before_what_is_older(site):
    """By the newest release, on the landing page and on that of regressions; the CPU has an older one alone."""
    new, recent = f"New with torch {NEWEST}", f"With the last 8 releases, before torch {NEWEST}"
    for view in (site.block("cuda"), site.regressions("cuda")):
        groups = headed(view)
        assert [*groups] == [new, recent]
        assert [CODES["clone_detach"] in rows for rows in groups.values()] == [True, False]
        assert [CODES["detach_clone"] in rows for rows in groups.values()] == [False, True]
    for view in (site.block("cpu"), site.regressions("cpu")):
        assert [*headed(view)] == ["Older"]
    for device, ages in (("cpu", "1 of 4 cases: 0 new, 0 with the last 8 releases, 1 older"), ("cuda", "2 of 4 cases: 1 new, 1 with")):
        assert f" than with an earlier release, in {ages}" in text_of(site.regressions(device))


def test_every_output_has_the_same_open_cases_in_the_same_order(site):
    """The page, the terminal and the JSON, by device and age; the landing page has the same methods."""
    for results in site.content.devices:
        document = formats.open_document(results.standings.values(), results.device)
        in_json = [(each["age"], each["method"], each["cases"][0]["since"][-1]["ratio"]) for each in document["regressions"]]
        text = terminal.open_text(results.history, all_cases=False).text
        of_ages = {age.value: age_text(age, NEWEST) for age in Age}
        printed = [line for line in text.splitlines() if line in of_ages.values() or re.match(r"\w+: .*in \d+ cases?", line)]
        expected = [line for age, method, ratio in in_json for line in (of_ages[age], f"{method}: +{100 * (ratio - 1):.1f} %")]
        assert [line.partition(" (")[0] for line in printed] == expected
        for view in (site.block(results.device), site.regressions(results.device)):
            groups = headed(view)
            assert [*groups] == [of_ages[age] for age, *_ in in_json]
            for rows, (_, method, ratio) in zip(groups.values(), in_json):
                assert rows.startswith(CODES[method])
                assert f"+{100 * (ratio - 1):.0f}" in rows.replace(".0", "") or f"+{100 * (ratio - 1):.1f}" in rows


def test_the_feed_of_new_slowdowns_has_those_of_the_newest_release(site):
    """One entry for a device, with what the release changed; none for the CPU, whose slowdown is older."""
    (entry,) = feedparser.parse(site.files[addresses.NEW_FEED].encode()).entries
    assert re.match(rf"torch {NEWEST} on cuda: 1 method slower in 1 case, up to \+(19|20)\.\d %", entry.title)
    assert f"{CODES['clone_detach']}: +" in entry.summary
    assert CODES["detach_clone"] not in entry.summary
    assert entry.link.endswith(f"{BEFORE}..{NEWEST}.html")
    assert entry.id.endswith(f"new:cuda:{NEWEST}")


PICTURE = re.compile(r'<svg[^>]*class="plot by-method".*?</svg>', re.DOTALL)
NUMBER = re.compile(r'<a href="[./]*history/\w+/[\w.]+/(\w+)-(\d+)(?:-(\w+))?\.html"><text class="\w+"[^>]*>([+−]\d+)\u202f%</text></a>')


def test_a_planted_change_is_on_the_page_of_its_release_alone(site):
    """In its picture, and in its table of changed cases; and on the page of the release on every device, which leads there."""
    drawn, listed, counts = set(), set(), {}
    for address, page in site.files.items():
        heading = re.search(r"<h1>torch ([\d.]+): what changed</h1>", page)
        if not heading:
            continue
        for picture in PICTURE.findall(page):
            drawn |= {(heading[1], device or "cpu", method, size) for method, _, device, size in NUMBER.findall(picture)}
        for row in re.findall(r'<tr class="(?:slower|faster)">.*?</tr>', page):
            method, device = re.search(r'/(\w+)-\d+(?:-(\w+))?\.html"', row).groups()
            listed.add((heading[1], device or "cpu", method, f"{float(re.search('<td>([+−][0-9.]+)', row)[1].replace('−', '-')):+.0f}"))
        if address.startswith("releases/"):
            for part in page.split("<h2>")[1:]:
                counts[heading[1], text_of(part).split(" ")[0]] = int(re.search(r"(\d+) slower", part)[1])
    planted = {(release, "cuda", method, size) for release, method, size in ON_CUDA} | {
        (release, "cpu", method, size) for release, method, size in ON_CPU
    }
    assert drawn == planted
    assert f"torch {ON_CPU[0][0]}: what changed" in text_of(site.files[addresses.HISTORIES])
    assert listed == {(release, device, method, size.replace("−", "-")) for release, device, method, size in planted}
    assert counts == {
        (release, device.upper()): sum(each[:2] == (release, device) and each[3].startswith("+") for each in planted)
        for release in RELEASES[1:]
        for device in ("cpu", "cuda")
    }


def test_an_accepted_slowdown_says_so_in_its_row(tmp_path):
    """On the landing page and on that of regressions, with a link to its issue; the badge does not count it."""
    write(tmp_path, CUDA, "gpu", counted=("cuda",))
    rows = ((re.compile("clone_detach"), NEWEST, "a check: pytorch#12"),)
    acknowledging = site_of(tmp_path, VerdictRules(accepted=rows, releases=tuple(release.version for release in release_table.load())))
    for view in (acknowledging.block("cuda"), acknowledging.regressions("cuda")):
        rows = re.findall(r"<tr>.*?</tr>", re.search(r'<table class="fit open">.*?</table>', view, re.DOTALL)[0])
        (row,) = [row for row in rows if 'accepted: a check: <a href="https://github.com/pytorch/pytorch/issues/12"' in row]
        assert CODES["clone_detach"] in text_of(row)
    assert "0 older; 1 accepted" in text_of(acknowledging.regressions("cuda"))
    assert data_files.open_message(acknowledging.content.devices) == f"1 method on torch {NEWEST} (cuda)"


def test_one_machine_with_both_devices_looks_like_two(beside, inside):
    """The same sections, tables, sizes and numbers of releases, and cases of the device alone."""
    for device, suites in (("cpu", "copies.BySize"), ("cuda", "copies.Throughput")):
        blocks = [site.block(device) for site in (beside, inside)]
        outlines = [re.findall(r'<h[23][^>]*>|<table class="[^"]*"|<th scope="row">.*?</th>', block) for block in blocks]
        assert outlines[0] == outlines[1]
        assert [f"<dd>{len(RELEASES)}</dd>" in block for block in blocks] == [True, True]
        for block in blocks:
            linked = set(re.findall(r'href="history/\w+/([\w.]+)/', block))
            assert linked == {suites}
    lead = f"{len(RELEASES)} torch releases timed beside each other on CPU, {len(RELEASES)} on CUDA."
    assert all(lead in site.files["index.html"] for site in (beside, inside))


def test_a_gpu_machine_changes_no_page_of_the_cpu(alone, beside):
    """But lists of machines and the day at its end: each page of a case and of a comparison, and the block of the landing page."""
    pages = [each for each in alone.files if re.match(r"(compare|sizes)/box/.+/.*\.html|history/box/.+/.*\.html", each)]
    assert len(pages) > 20
    assert [each for each in pages if len({site.files[each].partition("<footer>")[0] for site in (alone, beside)}) > 1] == []
    assert alone.block("cpu") == beside.block("cpu")
    assert alone.regressions("cpu").partition("</main>")[0] == beside.regressions("cpu")
    assert "All cases on box" in beside.files[addresses.HISTORIES]


def test_a_gpu_that_measured_more_releases_does_not_take_the_place_of_the_cpu(tmp_path):
    """The CPU comes first."""
    some = {case: dict(list(times.items())[-2:]) for case, times in CPU.items()}
    write(tmp_path, some, "box", counted=("cpu",))
    write(tmp_path, CUDA, "gpu", counted=("cuda",))
    content = render.content(shipped(), launch_files.load(tmp_path))
    assert [(each.device, each.machine.name) for each in content.devices] == [("cpu", "box"), ("cuda", "gpu")]
    assert content.machine.name == "box"


def test_of_several_machines_the_longest_history_stands_for_a_device(tmp_path):
    """Whatever the machine has measured on other devices, and whichever measured last."""
    some = {case: dict(list(times.items())[-2:]) for case, times in CUDA.items()}
    write(tmp_path, CPU, "box")
    write(tmp_path, some, "box", launch_files.START.replace(day=27))
    write(tmp_path, CUDA, "gpu", counted=("cuda",))
    site = site_of(tmp_path)
    assert [(each.device, each.machine.name) for each in site.content.devices] == [("cpu", "box"), ("cuda", "gpu")]
    assert "regressions/box.html" in site.files  # with what the GPU of box has
    assert 'id="on-cuda"' in site.files["regressions/box.html"]


def test_a_device_that_lags_behind_keeps_its_block(tmp_path):
    """Releases that were timed on the CPU alone are none of its history: its newest release is judged, and its slowdowns are open."""
    earlier = {case: {release: time for release, time in times.items() if release != NEWEST} for case, times in CUDA.items()}
    write(tmp_path, CPU, "box")
    write(tmp_path, earlier, "box", launch_files.START.replace(day=27))
    site = site_of(tmp_path)
    cuda = site.content.devices[1]
    assert (cuda.newest.version, cuda.releases[-1], len(cuda.releases)) == (BEFORE, BEFORE, len(RELEASES) - 1)
    assert {addresses.of_sizes(each.result) for each in site.content.devices} <= site.files.keys()
    assert [each.method for each in cuda.regressions] == ["detach_clone"]
    for device, sides in (("cuda", (BEFORE, RELEASES[-3])), ("cpu", (NEWEST, BEFORE))):
        assert re.search(r"Time, torch {} against {}: \d+ un\w+, \d+ un\w+\.".format(*sides), site.block(device))


def test_the_date_of_an_answer_is_that_of_its_own_launches(tmp_path):
    """Not of a later launch of the same release, which timed another device or cases that the answer does not show."""
    newest = {case: {each: time[each] for each in (BEFORE, NEWEST)} for case, time in CUDA.items()}
    wait = {"floors.WaitAlone.time_wait cuda": {BEFORE: 1.0, NEWEST: 1.0}}
    other = {f"copies.ByDtype.time_copy detach_clone {SMALL} float64": {BEFORE: 1.0, NEWEST: 1.0}}
    of_article = {f"article.Copies.time_copy detach_clone {2 * SMALL}": {BEFORE: 1.0, NEWEST: 1.0}}
    for day, cases in ((10, CPU), (20, CUDA), (24, other), (25, of_article), (27, newest), (28, wait)):
        write(tmp_path, cases, "box", launch_files.START.replace(day=day))
    site = site_of(tmp_path)
    for device, day in (("cpu", "10"), ("cuda", "27")):
        assert re.findall(r"\d{4}-\d\d-(\d\d)</p>", site.block(device)) == [day]
        chooser = site.files[f"choose/{device}-tensor-own-cut-grad-{SMALL}.html"]
        assert re.search(r"measured on \S+-(\d\d)\.", text_of(chooser))[1] == day
    tiles = [re.search(r"Last measured.*?\d-\d\d-(\d\d)", " ".join(text_of(site.block(device)).split()))[1] for device in ("cpu", "cuda")]
    assert tiles == ["25", "28"]
    (sizes,) = (text_of(page) for address, page in site.files.items() if address.startswith("sizes/box/"))
    assert re.search(r"\d{4}-\d\d-(\d\d) · one thread", sizes)[1] == "27"


def test_the_times_of_a_device_say_how_its_calls_are_timed(shipped_results):
    """Queued in a row, beside the time of a call that is waited for; a recommended method that its table lacks stands below it."""
    results = [each for each in shipped_results.results if (each.machine, each.version) == (SHIPPED_GPU.name, NEWEST)]
    content = render.content(shipped(), results)
    (result,) = (each.result for each in content.devices)
    page = next(each for each in landing.pages(content) if each.address == addresses.LANDING)
    text = text_of(block_of(render.page_text(render.templates_of(content), page), "cuda"))
    waited = result.timings[launch_files.case("copies.Latency.time_copy detach_clone 131072 cuda")]
    assert f"calls queued in a row; waited for after each call: {duration(waited.seconds)}" in text
    assert "the article’s five copies, in a row" in text
    option = recommend.recommended(result, recommend.common_request("ndarray", "cuda"))
    assert f"Recommended, and not among these: {option.code}: {duration(option.time)} for 2¹⁷ elements" in text
    assert text.count("not among these") == 1  # the recommended copy is in its table


def test_a_device_alone_is_shown_first(tmp_path):
    """Its anchors are plain, and the CPU has the commands."""
    write(tmp_path, CUDA, "gpu", counted=("cuda",))
    site = site_of(tmp_path)
    assert re.search(r'value="cuda" checked', site.files["index.html"])
    assert '<h2 id="open">' in site.block("cuda")
    assert "Not measured on cpu yet" in site.block("cpu")
    assert f"{len(RELEASES)} torch releases timed beside each other on CUDA." in site.files["index.html"]


def test_the_index_of_comparisons_has_every_device(site):
    """The pair of the newest releases has the slower case of the GPU, and none of the CPU."""
    text = text_of(site.files[addresses.COMPARISONS])
    assert "CPU: Box 9000" in text
    assert "CUDA: Card 9000" in text
    rows = [text_of(row) for row in re.findall(r"<tr><th>.*?</tr>", site.files[addresses.COMPARISONS])]
    newest = [row for row in rows if row.startswith(f"{NEWEST}{BEFORE} ")]
    if len(site.content.machines) > 1:
        assert [("no change" in row, "▲1" in row) for row in newest] == [(True, False), (False, True)]
    else:
        (row,) = newest
        assert re.search(r"cpu no change +cuda +▲1", row)


@pytest.fixture(scope="module")
def landing_page(shipped_content) -> str:
    """The landing page of the shipped results."""
    page = next(page for page in landing.pages(shipped_content) if page.address == addresses.LANDING)
    return render.page_text(render.templates_of(shipped_content), page)


@pytest.mark.slow
def test_the_shipped_gpu_tells_its_newest_release_with_an_interval(landing_page, shipped_results):
    """Its block has the costs of 2.15.0, the change of its copy with the interval, and a chart of all releases of its machine."""
    block = block_of(landing_page, "cuda")
    releases = [each.version for each in shipped_results.results if each.machine == SHIPPED_GPU.name]
    assert "torch 2.15.0 on NVIDIA H200, " in text_of(block)
    assert "Time, torch 2.15.0 against 2.14.1: " in text_of(block)
    told = text_of(block).replace("\u202f", " ")
    verdict = "(?:likely )?(?:slower|faster|unchanged|unknown)"
    assert re.search(rf"x\.detach\(\)\.clone\(\), 2¹⁷ elements: {verdict}, [+−]?[\d.]+ % \([+−]?[\d.]+ to [+−]?[\d.]+ %\)", told)
    assert re.search(r"Smallest slowdown seen 9 times in 10, ≤ 2¹⁴ elements\s*[\d.]+ %", told)
    drawn = re.findall(r"<text[^>]*>([\d.]+)</text>", re.search(r'<svg[^>]* class="plot.*?</svg>', block, re.DOTALL)[0])
    assert [release for release in releases if release in drawn] == releases
    assert len(releases) == 7
    (data,) = json.loads(unescape(re.search(r'<script type="application/json" id="history-cuda">(.*?)</script>', block)[1]))
    assert data == {"machine": SHIPPED_GPU.name, "script": f"history/{SHIPPED_GPU.name}/times.js"}


def test_the_blocks_of_the_shipped_results_have_cases_of_their_device_alone(landing_page):
    """The CPU's lead to the pages of one machine, the GPU's to those of the other."""
    for device, machine in (("cpu", SHIPPED.name), ("cuda", SHIPPED_GPU.name)):
        assert {*re.findall(r'href="history/([\w-]+)/', block_of(landing_page, device))} - {"index"} == {machine}
    assert "22 torch releases timed beside each other on CPU, 7 on CUDA." in landing_page
