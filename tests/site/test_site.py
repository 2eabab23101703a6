"""The site of any results: of other campaigns, of none, with failures and with hostile names. Each page is whole, and every link good."""

import json
import re
import shutil
from dataclasses import replace

import feedparser
import pytest

from tensorcopy.campaign import VerdictRules
from tensorcopy.cli import main
from tensorcopy.copying.shipped import shipped
from tensorcopy.site import build
from tests import launch_files
from tests.conftest import ROOT, lab_campaign
from tests.launch_files import START, observed
from tests.site import world
from tests.site.reading import faults, files_in, links, read, table, target
from tests.site.test_one_answer import differences
from tests.site.world import ERROR, RELEASES

STATIC = ["icon.svg", "tensorcopy.css", "page.js"]
BEFORE, NEWEST = RELEASES[-2:]
NEW = f"compare/{BEFORE}..{NEWEST}.html"
POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'"
DOCS = {name: f"# {name}\n## Huge pages" for name in ("index", "article", "measurement", "gpu-runner", "guide", "own-operation")}


def pages_of(files):
    return {address: text for address, text in files.items() if address.endswith(".html")}


# any site


BROKEN = [  # of a page, what is replaced, and by what
    (r'href="choose.html#cpu', 'href="chose.html#cpu'),
    (r'href="choose.html#cpu', 'href="choose.html#gpu'),
    (r'id="cuda"', 'id="cpu"'),
    (r"<h1>", "<h1>again</h1><h1>"),
    (r"<title>.*?</title>", "<title>Data and machines · tensorcopy</title>"),
    (r'(name="description" content=")[^"]*', r"\1"),
]


def test_every_page_has_one_heading_a_title_of_its_own_and_good_links(world_files):
    """A page that is broken is noticed."""
    assert faults(world_files, STATIC) == []
    for pattern, replacement in BROKEN:
        text, count = re.subn(pattern, replacement, world_files["index.html"], count=1)
        assert count == len(faults({**world_files, "index.html": text}, STATIC)[:1]) == 1, replacement


def test_what_other_questions_ask_for_is_one_click_from_the_first_page(world_files):
    """Which method, what a release changed, what is slower and why, what methods share, the launches of a case, how to add one."""
    reached = {target("index.html", link)[0] for link in links(read(world_files["index.html"]))}
    answers = ["choose.html", NEW, "regressions.html", "methods/index.html", "docs/own-operation.html", "docs/gpu-runner.html"]
    answers += [f"methods/{device}/detach_clone.html" for device in ("cpu", "cuda")]
    assert {*answers} - reached == set()


def test_every_page_says_until_when_was_measured(world_files):
    """On any device; and what a table says is of the day of its device."""
    english = [page for text in pages_of(world_files).values() if (page := read(text)).first("html").attributes["lang"] == "en"]
    assert {page.first("footer").text.split(" · ")[1] for page in english} == {"measured up to 2026-11-23"}
    assert "Times with torch 2.15.0 and numpy 1.26.4, 2026-11-22." in read(world_files["index.html"]).by_id("cpu").text


def test_every_page_forbids_what_it_does_not_load_itself(world_files):
    """And has no script, style or handler in its text, so that the policy hides nothing."""
    for address, text in pages_of(world_files).items():
        page = read(text)
        (policy,) = (each.attributes["content"] for each in page.all("meta") if "http-equiv" in each.attributes)
        assert policy == POLICY, address
        loaded = [each for each in page if each.tag in ("script", "img", "iframe") or each.attributes.get("rel") in ("stylesheet", "icon")]
        sources = {str(each.attributes.get("src") or each.attributes.get("href")) for each in loaded}
        assert {source.lstrip("./") for source in sources} <= {*STATIC, *(f"tensorcopy/{name}" for name in STATIC)}, address
        assert not [each for each in page if each.tag == "style" or any(name == "style" or name[:2] == "on" for name in each.attributes)]


def test_an_address_at_the_sites_root_is_known_to_machines(world_files):
    """Each page names itself, but that of missing addresses, whose links lead to the root from any depth.

    A search engine finds both orders of detach and clone.
    """
    for address, text in pages_of(world_files).items():
        links = {each.attributes.get("rel"): each.attributes.get("href") for each in read(text).all("link")}
        expected = f"https://o.github.io/tensorcopy/{address.removesuffix('index.html')}"
        assert links.get("canonical") == (expected if address != "404.html" else None)
    assert 'href="/tensorcopy/index.html"' in world_files["404.html"]
    assert "../" not in world_files["404.html"]
    assert "noindex" in world_files["404.html"]
    description = re.search(r'name="description" content="([^"]*)', world_files["index.html"])[1]
    assert {"x.detach().clone()", "x.clone().detach()"} <= {*re.findall(r"x(?:\.\w+\(\))+", description)}


def test_a_feed_is_shown_once_by_a_reader(world_files, world_folder, tmp_path):
    """An entry for each device and release, whose id and day do not change when more is measured."""
    feed = feedparser.parse(world_files["slowdowns.xml"].encode())
    assert not feed.bozo
    assert [entry.id.partition("/feed/")[2] for entry in feed.entries] == ["new/cpu/2.15.0", "new/cuda/2.15.0"]
    assert [entry.updated[:10] for entry in feed.entries] == ["2026-11-21", "2026-11-23"]
    shutil.copytree(world_folder, tmp_path, dirs_exist_ok=True)
    launch_files.write(tmp_path, world.CPU, machine="box", noise=0.002, start=START.replace(day=29))
    again = feedparser.parse(world.files_of(tmp_path, source="https://github.com/o/tensorcopy")["slowdowns.xml"].encode())
    assert [(entry.id, entry.updated) for entry in again.entries] == [(entry.id, entry.updated) for entry in feed.entries]


# what a change means


def test_the_first_page_names_the_case_and_the_release_that_its_cost_is_against(world_site, world_files):
    """Of each method the case with the largest cost, which the link leads to; and its last slowdown that stays."""
    (part,) = re.findall(r'id="cpu".*?<b>Slower than it was\?</b>(.*?)</p>', world_files["index.html"], re.DOTALL)
    history, worst = world_site.answering["cpu"], {}
    for each in sorted(history.open.values(), key=lambda each: each.ratio):
        if history.is_open(each.case):
            worst[each.case.parameters[0]] = each
    shown = re.findall(
        r'href="([^"]+)".*?class="slower">([+][\d.]+).*?against ([\d.]+\d)(?:, last slowdown with ([\d.]+\d))?', part, re.DOTALL
    )
    expected = [(history.address(each.case), f"{100 * each.ratio - 100:+.1f}", each.best_release, each.release) for each in worst.values()]
    assert sorted(shown) == sorted(expected)
    assert len(shown) == 2


def test_the_first_page_has_a_method_once_among_those_that_are_slower(tmp_path):
    """By its newest slowdown, though another case of it has been slower for longer, and by more."""
    times = {f"{world.COPY} tensor {numel}": world.times(*of) for numel, of in ((128, (2, 2, 2, 2.2)), (16, (2, 2.8, 2.8, 2.8)))}
    launch_files.write(tmp_path, times, noise=0.001)
    (part,) = re.findall(r"<b>Slower than it was\?</b>(.*?)</p>", world.files_of(tmp_path)["index.html"], re.DOTALL)
    assert re.findall(r"\+\d+", part) == ["+10"]
    assert "more, with reasons" not in part


def test_a_case_that_crept_up_did_so_since_its_fastest_release(tmp_path, monkeypatch, capsys):
    """In the terminal as on the page."""
    times = world.times(1.03, 1.0, 1.015, 1.03, 1.045)
    launch_files.write(tmp_path / "results", {f"{world.COPY} tensor 128": times}, noise=0.001)
    monkeypatch.chdir(tmp_path)
    assert main(["history", "--open"]) == 0
    assert "No single slowdown: smaller changes add up." in capsys.readouterr().out
    text = read(world.files_of(tmp_path / "results")["regressions.html"]).text
    assert "no single one since 2.12.1 remains: smaller changes add up" in text


def test_the_first_page_has_the_sizes_of_slowdowns_that_would_be_noticed(world_site, world_files):
    """From the smallest to the largest of those that the comparison has by size of x."""
    shares = world_site.answering["cpu"].tallies["cpu", "2.14.1", "2.15.0"]["seen"]
    seen = sorted(float(share.rstrip("\u00a0 %")) for share, _ in shares)
    changes = world_site.answering["cpu"].compared["cpu", "2.14.1", "2.15.0"].changes.values()
    most = 100 * max(change.detectable for change in changes if change.detectable)
    said = re.search(r"9 in 10 slowdowns against 2\.14\.1 by (.*?) in the worst case", read(world_files["index.html"]).by_id("cpu").text)[1]
    assert [float(each) for each in re.findall(r"[\d.]+", said)] == [seen[0], seen[-1], pytest.approx(most, abs=0.06)]


def test_a_slowdown_that_is_back_is_no_news(world_files):
    """It is told with what happened, and is in no count of new ones."""
    code = "x.new_tensor(x)"
    first = read(world_files["index.html"]).by_id("cpu").text
    lost = rf"\({re.escape(code)}\) lose what only 2\.14\.1 had gained: 3\.\d % slower than with it, as fast as with 2\.13"
    assert re.search(lost, first)
    assert "They execute no more instructions." in first
    assert "with reasons" not in first, "of the methods that are slower, none is left for the other page"
    page = read(world_files["regressions.html"]).by_id("cpu")
    assert (
        "3 of 22 cases (2 methods) are slower than with their fastest release, 2 newly with 2.15.0; 3 may be. Others only lost" in page.text
    )
    back = page.text.partition("In the last releases")[2].partition("Back to the level of 2.13.0: no news")[2]  # it stands last
    assert [each.text[0] for each in page.all("b.back")] == ["+", "+"]  # its cost, and the slowdown: neither is red
    assert "same instructions: probably the layout of the binary" in back
    assert f"{code}: 1 case" in back


def test_faster_and_slower_cases_with_the_same_instructions_are_counted(world_files):
    """Of two gains one was counted; the slowdown of the newest release executes more."""
    gains, newest = (read(world_files[address]).by_id("cpu-box-3.11").text for address in ("compare/2.13.0..2.14.1.html", NEW))
    assert re.search(
        r"2 faster, by [^.]*\.\d to [^.]*\.\d %\. 1 of these only back to an earlier level. 1 of these with the same instructions\.", gains
    )
    assert "the same instructions" not in newest


# by method and size: what its page says of the reason of its newest change
WHY = {
    "tensor": (128, "+12.0 % instructions why"),  # profiled
    "empty_like_copy": (128, "instructions not counted; not profiled"),
    "detach_clone": (131072, "instructions not counted; not profiled"),  # it changed with 2.13.0, the first release that was profiled
}


@pytest.mark.parametrize("method", WHY)
def test_each_change_has_its_instructions_and_functions_beside_it(world_files, method):
    """“Not profiled” stands only where no profile covers the release, and a link where functions are known."""
    size, why = WHY[method]
    fold = read(world_files[f"methods/cpu/{method}.html"]).by_id(f"copies.BySize-{size}")
    assert next(item.text for item in fold.all("li") if item.all("b")).endswith(f"; {why}")
    if why.endswith("why"):
        page = read(world_files[f"methods/cpu/{method}.html"])
        target = page.by_id(next(each.attributes["href"] for each in fold.all("a") if each.text == "why").partition("#")[2])
        assert "Python binding +600" in target.first("summary").text
        assert "PythonArgParser" in target.first("table").text


@pytest.mark.parametrize(("after", "is_undone"), [(1.98, True), (1.85, True), (1.7, False), (2.09, False)])
def test_a_gain_takes_back_the_slowdown_before_it_unless_it_is_more_or_less(tmp_path, after, is_undone):
    """Of a slowdown by a tenth: what is left may be 3 %, and what is gained beside it as much as was lost."""
    times = dict(zip(world.RELEASES[-3:], (2.0, 2.2, after)))
    launch_files.write(tmp_path, {f"{world.COPY} tensor {world.SMALL}": times}, machine="box", noise=0.001)
    launch_files.write_counts(tmp_path, NEWEST, {}, methods=world.methods("cpu"), machine="box")
    fold = read(world.files_of(tmp_path)["methods/cpu/tensor.html"]).by_id(f"copies.BySize-{world.SMALL}")
    assert (f"takes back the slowdown of {BEFORE}" in fold.text) is is_undone


LAYOUT = "probably the layout of the binary"


@pytest.mark.parametrize(
    ("time", "instructions", "why"),
    [
        (2.2, 5000, f"same instructions: {LAYOUT}"),
        (2.2, 5100, f"+2.0 % instructions, which do not explain it: {LAYOUT}"),
        (2.2, 5220, "+4.4 % instructions why"),  # as many as the time has nanoseconds, and a tenth
        (2.2, 6300, "+26.0 % instructions"),  # the functions have less than half of them
        (1.8, 5600, f"+12.0 % instructions, which do not explain it: {LAYOUT}"),
    ],
)
def test_instructions_explain_a_change_in_their_direction_and_size(tmp_path, time, instructions, why):
    """Functions that cost more are no reason where all cost the same, little more, or where the time fell.

    A case that requires grad has other instructions: those without grad are said to be.
    """
    cases = f"{world.COPY} tensor {world.SMALL}", f"{world.GRAD} tensor {world.SMALL} True"
    launch_files.write(tmp_path, {case: {BEFORE: 2.0, NEWEST: time} for case in cases}, machine="box", noise=0.002)
    for release, of_all, parsing in ((BEFORE, 5000, 1000.0), (NEWEST, instructions, 1600.0)):
        counts = {f"instructions.BySize.track_instructions tensor {world.SMALL} False": of_all}
        launch_files.write_counts(tmp_path, release, counts, methods=world.methods("cpu"), machine="box")
        world.write_profile(tmp_path / "box", release, {f"tensor {world.SMALL} float32 contiguous": parsing})
    plain, with_grad = (fold.first("li").text for fold in read(world.files_of(tmp_path)["methods/cpu/tensor.html"]).all("details")[:2])
    assert plain.endswith(f"; {why}")
    assert with_grad.endswith("why, without grad (+12.0 % instructions)") is (time > 2)


def test_what_is_not_known_is_said_and_first_where_it_is_most(world_files, tmp_path):
    tally = read(world_files[NEW]).first("p.tally").text
    number, unknown = re.search(r"(\d+) unchanged · (\d+) not decided", tally).groups()
    assert f"{number} of 22 unchanged, {unknown} undecided." in read(world_files["index.html"]).by_id("cpu").text
    launch_files.write(tmp_path, world.NOISY, launches=3, noise=0.3)
    launch_files.write(tmp_path, {f"{world.COPY} tensor 1": world.times(2.0, 2.0)}, launches=2, start=START.replace(day=29))
    files = world.files_of(tmp_path)
    assert re.search(
        r"Against the fastest earlier release of each, [1-4] of 4 cases may: too few or too different launches to tell\.",
        read(files["regressions.html"]).text,
    )
    first = read(files["index.html"]).text.partition("Is torch 2.15.0 slower")[2]
    assert "Not known for most cases: against 2.14.1, 4 of 4 are undecided" in first.partition("No case is known to be slower")[0]
    assert re.search(r"\b3 launches of each release: .* 1 cases have fewer\.", first)


def test_the_first_chart_is_of_calls_in_a_row_and_with_grad(world_files, tmp_path):
    """As the answers above it are, where that was timed. Calls that are waited for may be of a size nearer to the usual one."""
    cases = {f"copies.Throughput.time_copy {name} 128 cuda": world.times(8.0, 8.1) for name in ("detach_clone", "tensor")}
    cases |= {f"copies.Latency.time_copy {name} {2**14} cuda": world.times(9.0, 9.1) for name in ("detach_clone", "tensor")}
    launch_files.write(tmp_path, cases, **world.CARD)
    assert "requires grad" in read(world_files["index.html"]).by_id("cpu").first("figcaption").text
    files = world.files_of(tmp_path)
    assert "2⁷ elements (called in a row)" in read(files["index.html"]).by_id("cuda").first("figcaption").text
    drawn = [each for each in read(files["history.html"]).all("details") if "data-first" in each.attributes]
    assert [each.first("figcaption").text.count("(called in a row)") for each in drawn] == [1]


def test_two_tables_of_a_section_have_different_headings():
    suites = {"BySize": [""], "ByLayout": [" strided", " contiguous"], "ByDtype": [" int64", " bool"]}
    names = [f"copies.{suite}.time_copy tensor {world.LARGE}{value}" for suite, values in suites.items() for value in values]
    titles = [grid.title for grid in world.facts.grids(dict.fromkeys(map(launch_files.case, names)))]
    assert sorted(titles) == ["Copies", "Copies, by dtype, 2¹⁷ elements", "Copies, by layout, 2¹⁷ elements"]


# failures


def test_a_failure_stands_first_with_what_was_raised(world_files):
    """And a case that a release skips is no failure."""
    page = read(world_files[NEW])
    section = page.first("section")
    assert section.first("p.tally").text.startswith("1 fail · ")
    failing = next(each.text for each in section.all("p") if each.text.startswith("fails"))
    assert failing == f"fails x.detach().clone().numpy() 2⁷ elements: {ERROR}"
    assert "1 of 22 cases fail with 2.15.0." in read(world_files["index.html"]).by_id("cpu").text
    assert "fails" in [cell.text for cell in section.all("table.grid td")]
    assert "Not measured with some releases: not here" in read(world_files["methods/cpu/tensor.html"]).text
    assert "<b>this</b>" not in "".join(pages_of(world_files).values())


def test_an_accepted_slowdown_says_why_and_is_not_in_the_badge(world_folder):
    rules = VerdictRules(accepted=((re.compile("BySize tensor "), NEWEST, "the price of a <check>"),), releases=tuple(RELEASES))
    files = world.files_of(world_folder, replace(shipped(), rules=rules))
    assert "1 method on torch 2.15.0 (cpu)" in files["regressions.svg"]
    assert "the price of a <check>" in read(files["regressions.html"]).by_id("cpu").text
    assert "the price of a <check>" in read(files[NEW]).text
    assert "the price" not in world.files_of(world_folder)["regressions.html"]


# whose results


def test_this_machine_is_named_only_where_it_publishes(world_folder, tmp_path, monkeypatch):
    """`dashboard` passes its name to `asv publish`: else a machine has its name alone."""
    results = shutil.copytree(world_folder, tmp_path / "results")
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    slower = {f"{world.GRAD} detach_clone {world.SMALL} True": {BEFORE: 2.0, NEWEST: 3.0}}  # open in the first history of a device alone
    launch_files.write(results, slower, machine="vm", cpu="Laptop 1")
    launch_files.write_counts(results, NEWEST, {}, methods=world.methods("cpu"), machine="vm", cpu="Laptop 1")
    monkeypatch.chdir(tmp_path)
    for own, marks in (("", 0), ("box", 1), ("vm", 1)):
        monkeypatch.setenv(build.OWN, own)
        problems, _ = build.publish(shipped(), results, tmp_path / f"of {own}")
        assert problems == ()
        data, first = (read((tmp_path / f"of {own}" / name).read_text()) for name in ("data.html", "index.html"))
        assert sum(f"({own}, this machine)" in heading.text for heading in data.all("h2")) == marks
        assert ("his machine" in first.text) == bool(marks)
        assert ("This machine:" in first.text) == (own == "vm")
        assert ("not compared with these: " in first.text) == (own != "vm")
    files = files_in(tmp_path / "of vm")
    assert {"methods/cpu/detach_clone.html", "methods/cpu-vm/detach_clone.html", "data/cpu-vm/detach_clone.json"} <= files.keys()
    assert differences(world.site_of(results), files) == []
    spans = {"cpu-vm": f"{BEFORE} to {NEWEST}, Python 3.11", "cpu": f"{RELEASES[0]} to {NEWEST}, Python 3.11"}
    for own, other in (("cpu", "cpu-vm"), ("cpu-vm", "cpu")):  # two histories of a device lead to each other
        note = read(files[f"methods/{own}/detach_clone.html"]).first("p.note")
        assert note.text == f"torch {spans[own]}; another history: {spans[other]}"
        assert note.href == f"../../methods/{other}/detach_clone.html"
    compared = read(files["regressions.html"]).by_id("cpu").first("p")
    assert compared.text == f"Compared: torch {spans['cpu']}. Another history, not compared here: {spans['cpu-vm']}."
    assert compared.href == "history.html#vm-cpu"
    headings = [each.text for each in read(files["history.html"]).all("h2")]
    assert [span in heading for span, heading in zip((spans["cpu"], "Python", spans["cpu-vm"]), headings)] == [True] * 3
    answer = read((tmp_path / "of vm" / "index.html").read_text()).by_id("cpu").first("table.answers tr").all("small")
    costs = next(each for each in answer if each.text.startswith("This machine:"))
    assert costs.first("b").text.startswith(("2.9", "3.0")), "it takes 3 µs there"
    assert costs.text.endswith("for 2⁷ elements."), "of the case above it, and of no other size"


def test_without_any_result_the_pages_say_so():
    files = dict(build.files(world.facts.site(shipped(), (), docs=DOCS)))
    assert faults(files, STATIC) == []
    names = "index.html ja/index.html choose.html methods/index.html history.html regressions.html compare/index.html"
    for address in names.split():
        assert "Nothing is measured yet" in files[address] or "まだ何も測定されていません" in files[address], address
        assert "measured up to" not in files[address]
        assert "まで" not in read(files[address]).first("footer").text
    assert "nothing measured yet" in files["regressions.svg"]
    assert feedparser.parse(files["slowdowns.xml"].encode()).entries == []


def test_another_campaign_has_its_values_and_nothing_about_copies(tmp_path):
    """Its benchmarks are named as asv does, with their module. One fails, and a tracked value is zero."""
    times = {f"bench.Sort.time_sort n={n}": {BEFORE: 5.0, NEWEST: newest} for n, newest in ((10, 6.0), (20, ERROR))}
    launch_files.write(tmp_path, times, noise=0.002)
    for release, values in ((BEFORE, [0.0, 0.0, 0.0, 0.0]), (NEWEST, [2.0, 2.01, 1.99, 2.0])):
        launch_files.write_counts(tmp_path, release, {"bench.Sort.track_score": values}, units={"bench.Sort.track_score": "points"})
    site = world.site_of(tmp_path, lab_campaign(tmp_path))
    files = dict(build.files(site))
    assert faults(files, STATIC) == []
    assert differences(site, files) == []
    assert read(files["index.html"]).first("h1").text == "A lab"
    assert not [address for address in files if address.startswith(("choose", "docs/", "ja/", "methods/index"))]
    assert not [address for address, text in pages_of(files).items() if re.search(r"detach|clone|ndarray|article|copy a tensor", text)]
    assert [link.text for link in read(files["index.html"]).first("header").all("a")] == ["lab", "History", "Compare", "Slower now", "Data"]
    page = next(read(text) for address, text in files.items() if address.startswith("methods/cpu/bench.Sort.time_sort"))
    assert (page.first("h1").text.partition(" on CPU")[0], page.first("caption").text) == ("bench.Sort.time_sort", "bench.Sort.time_sort")
    assert "bench.Sort.time_sort (n=10) is" in read(files["history.html"]).text
    section = read(files[NEW]).first("section")
    tracked = next(table(each) for each in section.all("table.fit") if table(each)[0].get("value"))
    assert [cell.text for cell in tracked[0].values()] == ["bench.Sort.track_score", "higher", "0 points", "2 points"]
    assert "1 fail · 1 slower (" in section.first("p.tally").text
    assert ERROR in section.text


# names that a suite or a file may have


def test_hostile_names_stay_text_and_give_files_that_every_disk_takes(tmp_path):
    """HTML, quotes, control characters, long names, and names that are equal but for case."""
    times = {BEFORE: 5.0, NEWEST: 6.0}
    suites = [*(f"bench.{name}.time_x" for name in ("Sort", "sort", "Sört", "Särt", "L" * 270)), f"bench.{'L' * 270}.time_y"]
    names = ["<b>n", '"quoted"', "a&b", "\x1b[31m\x00", "../../up", "x" * 280, "X" * 280, "%2e", " ", "a-b", "c\u202ed"]
    cases = {f"{suite} n={number}": times for number, suite in enumerate(suites)}
    launch_files.write(tmp_path, cases, noise=0.002)
    for path in tmp_path.rglob("*.json"):
        document = json.loads(path.read_text())
        suite = document["suites"]["bench.Sort.time_x"]
        suite["params"] = [[f"'{name}'" for name in names]]
        suite["rows"] = dict.fromkeys(map(str, range(len(names))), *suite["rows"].values())
        path.write_text(json.dumps(document))
    site = world.site_of(tmp_path, replace(lab_campaign(tmp_path), title='<i>A</i> & "lab"'))
    files = dict(build.files(site))
    assert faults(files, STATIC) == []
    assert len({address.lower() for address in files}) == len(files)
    assert len([address for address in files if address.startswith("methods/")]) == len(suites)
    build.write(site, tmp_path / "site")
    written = {path.relative_to(tmp_path / "site").as_posix(): path.read_text() for path in (tmp_path / "site").rglob("*.html")}
    assert written.keys() == pages_of(files).keys()
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", "".join(written.values()))
    assert not re.search(r"<(b|i)>(n|A)", "".join(written.values()))
    assert "<b>n" in read(written["history.html"]).text
    assert read(written["index.html"]).first("h1").text == '<i>A</i> & "lab"'


def test_a_method_with_html_in_its_code_and_what_it_raises_stays_text(tmp_path):
    launch_files.write(tmp_path, {f"{world.COPY} {name} 128": {BEFORE: 1.0, NEWEST: 1.2} for name in ("detach_clone", "tensor")})
    rows = {name: observed("copy", f"<img src=x>{name}", warns="<u>careful</u>\x07") for name in ("detach_clone", "tensor")}
    launch_files.write_counts(tmp_path, NEWEST, {}, methods=rows)
    files = world.files_of(tmp_path, docs=DOCS)
    assert faults(files, STATIC) == []
    assert not [address for address, text in files.items() if re.search(r"<img|<u>", text)]
    assert "<img src=x>tensor" in read(files["choose.html"]).text
