"""The pages as text: their content, their links and their independence of other hosts."""

import colorsys
import csv
import json
import re
from collections import Counter
from dataclasses import replace
from html import escape
from io import StringIO
from pathlib import PurePosixPath

import feedparser
import jsonschema
import pytest

from tensorcopy.copying import shipped as campaign
from tensorcopy.copying.pages import landing
from tensorcopy.copying.recommend import common_request, recommended
from tensorcopy.judge.case_history import standing
from tensorcopy.judge.comparisons import Question, between, sensitivity
from tensorcopy.numbers import duration, signed_percent
from tensorcopy.report.sentences import USUAL_SPEED
from tensorcopy.report.words import LANGUAGES, texts
from tensorcopy.results import reader, suite_specs
from tensorcopy.results.cases import Case
from tensorcopy.site import addresses, data_files, plots, publisher, render, svg, writer
from tensorcopy.site.content import Content, changes_of
from tensorcopy.site.page import circumstances, waiting
from tensorcopy.site.pages import data
from tensorcopy.site.plots import whole_percent
from tests import launch_files
from tests.conftest import NEW, OLD, ROOT, TWO, measured, with_cases
from tests.pages import Tags, follow_all_links, html, repeated_titles, resolved, site_of

SHOWN = {
    "py3.9-cuda": ("1.12.1", "1.13.1", "2.8.0"),
    "py3.11-cuda": ("2.8.0", "2.14.1", "2.15.0"),
}


EXPLAINED = ("1.13.1", "3.9")  # the release and Python whose changes have pages of functions here
SIZES = ("1", "1024", "16384", "131072")  # each size has pages from one template; the last one is that of dtypes and layouts
FEW_METHODS = ("detach_clone", "tensor", "detach_numpy_copy")  # of suites whose pages differ in the method alone
OTHER_PARAMETERS = ("ByDtype", "ByLayout")


def is_shown(case: Case) -> bool:
    """Return whether the pages of a case are written and checked here."""
    parameters = dict(case.parameters)
    if any(name in case.spec.label for name in OTHER_PARAMETERS) and parameters["method"] not in FEW_METHODS:
        return False
    return parameters.get("numel", SIZES[0]) in SIZES


MORE = r'<li><span></span><a href="([^"]*)">and (\d+) more with torch ([\d.]+)</a></li>'
NEWEST_PAIR = "compare/epyc-2core/py3.11-cuda/2.14.1..2.15.0"
SCRIPTS = {*writer.SCRIPTS, writer.UPLOT, "times.js"}
SCRIPT = "<script>alert(1)</script>"
SHORTEST_DESCRIPTION = 20  # characters


@pytest.fixture(scope="module")
def content(shipped_results) -> Content:
    """Return the content of the pages of some of the shipped results."""
    results = tuple(
        with_cases(result, is_shown) for result in shipped_results.results if result.version in SHOWN.get(result.environment, ())
    )
    assert len(results) == sum(len(releases) for releases in SHOWN.values())
    content = render.content(campaign.shipped(), results, publisher.documentation(ROOT))
    causes = content.machine.causes
    content.machine.__dict__["causes"] = {key: each for key, each in causes.items() if (each.after.version, each.after.python) == EXPLAINED}
    return content


@pytest.fixture(scope="module")
def shipped(content) -> dict[str, str]:
    """Return every page and file, by address."""
    return dict(render.files(content))


def foreign_scripts(page: Tags) -> list[dict[str, str | None]]:
    """Return the attributes of every script of a page that is neither one of the site's files nor a block of data."""
    data = {"type": "application/json"}.items()
    scripts = [attributes for tag, attributes in page.tags if tag == "script" and not data <= attributes.items()]
    return [attributes for attributes in scripts if PurePosixPath(attributes.get("src") or "").name not in SCRIPTS]


@pytest.fixture(scope="module")
def parsed(shipped) -> dict[str, Tags]:
    """Return the tags of every page, by address."""
    return html(shipped)


def test_no_two_cases_of_a_machine_have_one_name(shipped_results):
    """For readers: on a device, calls that are each waited for are another case than calls in a row, and counts another than times."""
    for machine in render.content(campaign.shipped(), shipped_results.results).machines:
        cases = dict.fromkeys([*machine.cases, *(case for result in machine.results for case in (*result.timings, *result.counts))])
        names = Counter(f"{machine.case_code(case)}, {circumstances(case)}" for case in cases)
        assert [name for name, number in names.items() if number > 1] == []


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("copies.Latency.time_copy clone_detach 1024 cuda", "2¹⁰ elements, cuda, waited for after each call"),
        ("copies.Throughput.time_copy clone_detach 1024 cuda", "2¹⁰ elements, cuda, in a row"),
        ("own.ByInputsOnDevice.time_own attend 16 cuda", "n=16, cuda, in a row"),
        ("conversions.Latency.time_conversion detach_numpy_copy 1024 cuda", "2¹⁰ elements, cuda"),
        ("floors.WaitAlone.time_wait cuda", "cuda"),
        ("copies.BySize.time_copy clone_detach 1", "2⁰ element"),
        ("memory.Device.track_peak clone_detach 1024 cuda", "2¹⁰ elements, cuda, device peak memory"),
        ("theirs.time_it device=cuda", "device=cuda"),
    ],
)
def test_a_name_says_when_a_device_is_waited_for_and_what_is_counted(case, text):
    """Nothing of it where there is one way only: a conversion ends in host memory, and the processor has no queue."""
    assert circumstances(launch_files.case(case)) == text


def test_both_ways_of_waiting_have_japanese_names():
    cases = [launch_files.case(f"copies.{suite}.time_copy tensor 16 cuda") for suite in ("Latency", "Throughput")]
    assert [waiting(case, "ja") for case in cases] == ["呼び出しごとに完了を待つ", "連続呼び出し"]


def test_every_page_has_its_own_title(shipped):
    """A tab, a bookmark and a search result show nothing else."""
    assert repeated_titles({address: text for address, text in shipped.items() if address.endswith(".html")}.values()) == []


def test_every_page_has_its_own_description(parsed):
    """A sentence about its method, releases or machine, which no other page has."""
    descriptions = {
        address: [attributes["content"] for tag, attributes in page.tags if tag == "meta" and attributes.get("name") == "description"]
        for address, page in parsed.items()
    }
    assert {address: texts for address, texts in descriptions.items() if len(texts) != 1 or len(texts[0]) < SHORTEST_DESCRIPTION} == {}
    assert [text for text, number in Counter(text for (text,) in descriptions.values()).items() if number > 1] == []
    (text,) = descriptions["history/epyc-2core/copies.BySize/detach_clone-1024.html"]
    assert re.match(
        r"x\.detach\(\)\.clone\(\), 2¹⁰ elements on epyc-2core: [\d.]+ µs with torch 2\.15\.0; 5 torch releases, 1\.12\.1 to 2", text
    )


def test_every_page_is_well_formed(parsed):
    """All tags are closed, `lang` is right, and there is one h1."""
    for address, page in parsed.items():
        assert page.open == [], address
        names = [tag for tag, _ in page.tags]
        assert names.count("h1") == 1, address
        (language,) = [attributes["lang"] for tag, attributes in page.tags if tag == "html"]
        assert language == ("ja" if address.startswith("ja/") else "en")


def test_the_commands_of_a_change_s_page_run_the_script_that_it_links(shipped):
    """Under the name that a browser saves it with."""
    scripts = [address for address in shipped if address.startswith("why/") and address.endswith(".py")]
    assert scripts
    for script in map(PurePosixPath, scripts):
        page = shipped[str(script.with_suffix(".html"))]
        assert f'href="{script.name}"' in page
        commands = re.findall(r"^(?:#   |<pre[^>]*>)?(uv run --python .*)$", page + shipped[str(script)], re.MULTILINE)
        assert [command.split()[-1] for command in commands] == [script.name] * 4


def test_every_page_loads_from_its_own_site_only(parsed):
    """A strict policy forbids other hosts and inline styles and scripts, and the pages have none."""
    for address, page in parsed.items():
        policies = [attributes["content"] for tag, attributes in page.tags if attributes.get("http-equiv") == "Content-Security-Policy"]
        assert policies == [
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'"
        ]
        for tag, attributes in page.tags:
            loaded = attributes.get("src") or (attributes.get("href") if tag == "link" else "") or ""
            assert "//" not in loaded, (address, tag, attributes)
            assert "style" not in attributes, (address, tag)
            assert not [name for name in attributes if name.startswith("on")], (address, tag)
        assert foreign_scripts(page) == [], address
    css = (ROOT / "tensorcopy/site/static/tensorcopy.css").read_text()
    assert "url(" not in css
    assert "@import" not in css


def hue(colour: str) -> float:
    return colorsys.rgb_to_hsv(*(int(colour[start : start + 2], 16) for start in (1, 3, 5)))[0] * 360


def test_red_and_green_are_those_of_a_time_alone():
    """No link and no line of a method has one of them, in light and in dark."""
    css, colours = svg.STYLESHEET.read_text(encoding="utf-8"), svg.colours()
    assert re.findall(r"([^{}\n]*){[^{}]*var\(--(?:slower|faster)\)", css) == [".slower ", ".faster "]
    names = ["accent", *(f"series-{number}" for number in range(1, 6))]
    for scheme in (0, 1):
        for name in names:
            for verdict in ("slower", "faster"):
                apart = abs(hue(colours[name][scheme]) - hue(colours[verdict][scheme]))
                assert min(apart, 360 - apart) >= 25, (name, verdict, scheme)


def test_no_link_is_dead(shipped, parsed):
    """Links lead to a page, a file or an anchor of the site; links to other hosts are PyTorch's release notes or come from docs/."""
    follow_all_links(parsed, {*shipped, *writer.ASSETS})


def test_the_landing_page_answers_for_the_newest_release(shipped, content):
    """It names the copy and the conversion with their costs for the tensor of the request, and how to measure a device without data."""
    page = shipped["index.html"]
    answer = Tags(re.search(r'<p class="answer">(.*?)</p>', page, re.DOTALL)[1]).text
    assert answer == "Use x.detach().clone() for an independent tensor, x.detach().numpy().copy() for an independent ndarray."
    for to in ("tensor", "ndarray"):
        option = recommended(content.machine.result, common_request(to, "cpu"))
        assert f"</code>: {duration(option.time)} for 2¹⁷ elements, x requires grad" in page
    assert re.search(r"torch 2\.15\.0 on [^,<]+, 20\d\d-\d\d-\d\d", page)
    assert "Time, torch 2.15.0 against 2.14.1: " in page
    for device in ("cuda", "mps", "xpu"):
        panel = re.search(rf'<div class="device" data-device="{device}">(.*?)</div>', page, re.DOTALL)[1]
        assert f"Not measured on {device} yet" in panel
        commands = re.search(r"<pre[^>]*>(.*?)</pre>", panel, re.DOTALL)[1].splitlines()
        assert commands[0].startswith("git clone https://")
        assert commands[1:] == ["pip install uv", "uv run tensorcopy dashboard"]


def test_the_landing_page_has_a_cell_for_every_method_and_size(shipped, content):
    """It has the newest time, and what that costs against the best of the last releases, and leads to the history.

    The fastest of each size is marked.
    """
    page = shipped["index.html"]
    cells = re.findall(r'<td(?: class="(\w+)")?><a href="(history/[^"]+)" aria-label="([^"]+)">(.*?)</a></td>', page)
    assert len(cells) == (5 + 3) * len(SIZES)
    assert [rank for rank, *_ in cells].count("fastest") == 2 * len(SIZES)
    histories = {addresses.of_case(content.machine.name, case): each for case, each in content.machine.history.items()}
    for _, address, label, text in cells:
        value, cost = re.fullmatch(r"<svg.*</svg>(\S+ \S+)(?: <small class=\"slower\">(.+)</small>)?", text).groups()
        assert f": {value}" in label
        assert f"{value}</td>" in shipped[address] or f"{value} " in shipped[address]
        where = standing(histories[address], landing.LAST)
        assert bool(cost) is where.is_open
        assert not cost or f", {whole_percent(where.cost.ratio)} against {where.history.releases[where.best]}" in label


def test_the_landing_page_tells_what_an_upgrade_changes(shipped, content):
    """Copies and conversions are counted apart, as on the page of the comparison; every release is in the page, against the newest."""
    page = shipped["index.html"]
    data = json.loads(re.search(r'<script type="application/json" id="upgrades">(.*?)</script>', page)[1])
    upgrades = data["upgrades"]
    assert list(upgrades) == list(dict.fromkeys(release for releases in SHOWN.values() for release in releases))[:-1]
    *numbers, address = upgrades["2.8.0"]
    assert address == "compare/epyc-2core/py3.11-cuda/2.8.0..2.15.0.html"
    changes = content.comparisons[address].changes
    for kind, (slower, faster, cases) in (("copies", numbers[:3]), ("conversions", numbers[3:])):
        verdicts = [change.verdict.value for case, change in changes.items() if case.spec.module == kind]
        assert (slower, faster, cases) == (verdicts.count("slower"), verdicts.count("faster"), len(verdicts))
    assert "Before 2.8.0: Python 3.9, without the change of Python." in page
    counted = next(iter(upgrades.values()))
    copies = "Time of copies: {} slower, {} faster of {}.".format(*counted[:3])
    conversions = "Time of conversions: {} slower, {} faster of {}.".format(*counted[3:6])
    assert f"{copies} {conversions}" in " ".join(Tags(page).text.split())


def test_a_change_on_the_landing_page_names_its_methods(shipped):
    """And in how many cases each changed. A slowdown has its interval."""
    assert re.search(r"\+\d+\u202f%</b> <small>\+\d+ to \+\d+\u202f%, [\d.]+, \d+\xa0cases?</small></td>", shipped["index.html"])
    for text in re.findall(r"<li><time.*?</li>", shipped["index.html"]):
        assert re.search(r"</a>: \w+ .* (faster|slower).*[:;] ?.*<code>.*</code> [+−]\d+\u202f% in \d+ cases?", text), text


def test_the_landing_page_leaves_out_no_change_of_a_release_in_silence(shipped, content):
    """All changes of a release are listed, or the number of the others with a link to the page that has them."""
    block = re.split(r'(?=<div class="device" data-device=)', shipped["index.html"])[1]
    listed = re.search(r'<ul class="dated">.*?</ul>', block, re.DOTALL)[0]
    shown = Counter(re.findall(r"<time.*?>torch (?:[\d.]+ → )?([\d.]+)</a>:", listed))
    more = {release: (address, int(number)) for address, number, release in re.findall(MORE, listed)}
    known = {spec.module for spec in suite_specs.table().values() if spec.landing}
    every = [each for each in changes_of(content, content.machine) if each.change.group.module in known and each.change.is_certain]
    for release, number in shown.items():
        assert number + more.get(release, ("", 0))[1] == sum(each.release == release for each in every)
    assert more
    assert {address for address, _ in more.values()} <= {each.comparison_address for each in every}


def test_the_landing_page_tells_what_would_have_been_seen(shipped, content):
    """Of small tensors, in one tile; the page of the newest pair has every size."""
    compared = Tags(shipped[f"{NEWEST_PAIR}.html"]).text.replace("\u202f", " ")
    by_size = sensitivity(between(Question(*content.machine.series[0].results[-2:])).changes)
    assert len(by_size) > 1
    every = re.search(r"Smallest slowdown seen 9 times in 10: (.*?)\.\s", compared)[1]
    assert all(f"{100 * seen:.1f} % ({name}" in every for name, seen in by_size.items())
    seen = f"{100 * by_size['≤ 2¹⁴']:.1f} %"
    tiles = re.findall(r"<dt>(Smallest slowdown seen.*?)</dt><dd>(.*?)</dd>", shipped["index.html"])
    assert tiles == [(f"Smallest slowdown seen 9 times in 10, {escape('≤ 2¹⁴')} elements", seen)]
    assert f'<a href="{NEWEST_PAIR}.html">Smallest slowdowns of other sizes</a>' in shipped["index.html"]


def test_the_landing_page_is_small(shipped, tmp_path):
    """It has at most 100 kB with the chart's data, and 320 kB with all scripts."""
    writer.write_assets(tmp_path)
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    for language in ("", "ja/"):
        page = shipped[f"{language}index.html"].encode()
        assert len(page) <= 100_000
        own = len(page) + sum(sizes[name] for name in ("tensorcopy.css", "page.js", "chart.js", "explorer.js"))
        assert own + sum(sizes[name] for name in (writer.UPLOT, writer.UPLOT_CSS)) <= 320_000
    assert max(len(text.encode()) for address, text in shipped.items() if address.endswith(".html")) <= 400_000


def test_published_addresses_exist(shipped):
    """Other sites link to them."""
    listed = """
        index.html ja/index.html choose/index.html choose/cpu-tensor-own-cut-grad-131072.html
        choose/cpu-ndarray-own-plain-1024.html history/index.html history/epyc-2core/copies.BySize/detach_clone-1024.html
        history/epyc-2core/conversions.ByLayout/detach_numpy_copy-131072-strided.html compare/index.html
        compare/epyc-2core/py3.11-cuda/2.14.1..2.15.0.html
        sizes/index.html sizes/epyc-2core/py3.11-cuda/2.15.0.html methods/detach_clone.html semantics.html article.html ja/article.html
        machines.html glossary.html ja/glossary.html docs/index.html docs/guide.html ja/docs/guide.html data.html
        data/epyc-2core.csv launch.schema.json changes.xml slowdowns.xml regressions.svg
    """
    assert set(listed.split()) <= set(shipped)


def test_a_comparison_counts_and_shows_every_case(shipped, content):
    """The totals of time and of work are those of the verdicts, every case that changed has a row, and each case has one anchor."""
    changes = content.comparisons[f"{NEWEST_PAIR}.html"].changes.values()
    page = shipped[f"{NEWEST_PAIR}.html"]
    tally = re.search(r'<table class="tally.*?</table>', page, re.DOTALL)[0]
    counts = {
        re.sub("<.*?>", "", name): [int(number) for number in re.findall(r"<td>(\d+)(?: <small>.*?</small>)?</td>", cells)]
        for name, cells in re.findall(r"<tr><th>(.*?)</th>(.*?)</tr>", tally)
    }
    assert list(counts) == ["Copies", "Conversions", "Primitives", "Alternatives", "all"]
    times, work = counts["all"][:4], counts["all"][4:]
    assert times == [sum(change.verdict.value == verdict for change in changes) for verdict in ("slower", "faster", "unchanged", "unknown")]
    assert sum(work) == sum(change.count is not None for change in changes)
    assert counts["all"] == [sum(numbers) for numbers in zip(*list(counts.values())[:-1])]
    assert sum(times) > 100
    assert len(re.findall("<small>[+−]", tally)) == sum(number > 0 for row in list(counts.values())[:-1] for number in row[:2])
    assert work[1] > sum(times[:2]) > 0
    for number, verdict in enumerate(("slower", "faster")):
        assert len(re.findall(rf'<tr class="{verdict}">', page)) == times[number]
        assert len(re.findall(rf'<td class="{verdict}"', page)) == times[number]
    assert [len(re.findall(rf"<td[^>]*>[^<]*<small>{sign}", page)) for sign in "△▽"] == work[:2]
    assert "2.14.1@3.11@epyc-2core 2.15.0@3.11@epyc-2core" in page  # the command for more evidence: there may be several machines


def test_a_release_is_one_picture_of_what_it_changed(shipped, content):
    """A row for each method: its change at each size, of a significant one as a number that leads to the case; others are counted."""
    comparison, page = content.comparisons[f"{NEWEST_PAIR}.html"], shipped[f"{NEWEST_PAIR}.html"]
    assert "<h1>torch 2.15.0: what changed</h1>" in page
    assert "<title>torch 2.15.0: what changed on epyc-2core, Python 3.11, cuda build" in page
    assert page.count("<svg") == 1
    drawn = re.search(r"<svg xmlns.*?</svg>", page)[0]
    by_size = {case: change for case, change in comparison.changes.items() if plots.size_parameter(case) and change.interval}
    dots = sum(path.count("h0") for path in re.findall(r'class="dot" d="(.*?)"', drawn))
    assert dots == len(by_size) > 50
    numbers = re.findall(r'<a href="\.\./\.\./\.\./([^"]*)"><text class="(\w+)"[^>]*>([^<]*)</text></a>', drawn)
    assert sorted(numbers) == sorted(
        (content.machine.case_address(case), change.verdict.value, signed_percent(change.size, 0).replace(" ", "\u202f"))
        for case, change in by_size.items()
        if change.verdict.value in ("slower", "faster")
    )
    for verdict, sign in (("slower", "▲"), ("faster", "▼")):
        others = sum(change.verdict.value == verdict for case, change in comparison.changes.items() if case not in by_size)
        assert sum(map(int, re.findall(rf"{sign}\u202f(\d+)</text>", drawn))) == others
    names = re.search(r'<g class="code">(.*?)</g>', drawn)[1]
    assert set(re.findall(r"<text[^>]*>(.*?)</text>", names)) == {escape(content.machine.case_code(case), quote=False) for case in by_size}


def test_the_changed_cases_of_a_comparison_are_sorted_by_their_factor(shipped, content):
    """Of each section, the slower ones and then the faster ones; it is the change over the smallest detectable one."""
    changes = content.comparisons[f"{NEWEST_PAIR}.html"].changes.values()
    table = re.search(r'<table class="judged.*?</table>', shipped[f"{NEWEST_PAIR}.html"], re.DOTALL)[0]
    order = []
    for section in table.split("<tbody>")[1:]:
        rows = re.findall(r'<tr class="(slower|faster)">.*?<td>([+−][\d.]+)\u202f%</td>.*? to .*?</td><td>([\d.]+)</td>', section)
        assert rows == sorted(rows, key=lambda row: (row[0] != "slower", -float(row[2])))
        order += rows
    expected = Counter(
        (signed_percent(change.ratio), f"{change.factor:.1f}") for change in changes if change.verdict.value in ("slower", "faster")
    )
    assert Counter((f"{size} %", factor) for _, size, factor in order) == expected
    sizes = [abs(float(size.replace("−", "-"))) for _, size, _ in order]
    assert sizes != sorted(sizes, reverse=True)


def test_every_plot_has_a_table_and_data(shipped):
    """The index of histories, the article and the methods have no data file; the pages of cases and of sizes, to which they link, have."""
    exceptions = (addresses.HISTORIES, addresses.ARTICLE, addresses.translated(addresses.ARTICLE, "ja"))
    plotted = {
        address: text for address, text in shipped.items() if address.endswith(".html") and re.search(r'<svg [^>]*class="plot\b', text)
    }
    assert {address.split("/")[0] for address in plotted} >= {"index.html", "article.html", "history", "compare", "sizes"}
    for address, text in plotted.items():
        assert "<table" in text, address
        assert re.search(r'href="[^"]+\.csv"', text) or address in exceptions or address.startswith("methods/"), address


def test_data_files_agree_with_the_pages(shipped):
    """The CSV has the time on the page, and a launch satisfies the schema."""
    rows = list(csv.DictReader(StringIO(shipped["data/epyc-2core.csv"])))
    (row,) = [
        row
        for row in rows
        if row["torch"] == "2.15.0" and row["case"] == "conversions.BySize detach_numpy_copy numel=1024" and "3.11" in row["environment"]
    ]
    assert f"{float(row['value']) * 1e6:.2f} µs" in shipped["index.html"]
    smallest = min((ROOT / "results" / "epyc-2core").glob("*[0-9a-f].json"), key=lambda path: path.stat().st_size)
    launch = json.loads(smallest.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(json.loads(shipped["launch.schema.json"])).validate(launch)


def test_languages_have_the_same_texts():
    """Every text exists in both languages, with the same placeholders, or in English alone."""
    for name, by_language in texts().items():
        assert set(by_language) in (set(LANGUAGES), {"en"}), name
        placeholders = [set(re.findall(r"{(\w+)}", text)) for text in by_language.values()]
        assert placeholders[0] == placeholders[-1], name


def test_a_site_without_results_explains_how_to_measure():
    """Every page of the navigation exists and shows the command."""
    empty = site_of(())
    indices = ("index.html", "choose/index.html", "history/index.html", "compare/index.html", "sizes/index.html")
    for address in (*indices, "semantics.html", "article.html"):
        assert "Nothing is measured yet" in empty[address]
        assert "uv run tensorcopy dashboard" in empty[address]
    assert all(page.open == [] for page in html(empty).values())
    assert not feedparser.parse(empty["changes.xml"].encode()).bozo


def test_a_site_with_one_release_has_no_comparisons():
    """The landing page says so."""
    one = site_of((measured(NEW, {("a", 2**10): 1e-6, ("b", 2**10): 2e-6}),))
    assert "nothing to compare yet" in one["index.html"]
    assert all("No two releases could be compared." in one[f"{page}index.html"] for page in ("", "history/", "regressions/"))
    assert not any("No change" in text or "No method is" in text for text in one.values())
    assert "<title>code of a: with torch 2.0.0, 1.00 µs</title>" in one["history/index.html"]  # a line of one point is not seen
    assert {address for address in one if address.startswith("compare/")} == {"compare/index.html", "compare/box/index.html"}
    assert all(page.open == [] for page in html(one).values())


def test_an_accelerator_has_its_own_answer(tmp_path):
    """It has its name, code and history; a time without grad stands for one with grad, and the page says so."""
    names = {"copies.Throughput.time_copy a": 1.0, "copies.Throughput.time_copy b": 2.0, "conversions.Latency.time_conversion a_numpy": 3.0}
    card = {"accelerators": {"cuda": "Card 9000"}}
    launch_files.write(tmp_path, {f"{name} 1024 cuda": dict.fromkeys(("1.0.0", "2.0.0"), time) for name, time in names.items()}, **card)
    seen = {name: launch_files.observed(gives="ndarray" if name == "a_numpy" else "tensor") for name in ("a", "b", "a_numpy")}
    seen["c"] = {**launch_files.observed(gives="error", raises="TypeError: not for {device}"), "devices": ["cuda"]}
    methods = {
        name: {**row, "code_on_accelerator": f"code of {name} there", "observed": {"cuda": row["observed"]["cpu"]}}
        for name, row in seen.items()
    }
    for release in ("1.0.0", "2.0.0"):
        launch_files.write_counts(tmp_path, release, {}, methods=methods, **card)
    site = site_of(launch_files.load(tmp_path, releases=TWO))
    answer = Tags(re.search(r'<p class="answer">(.*?)</p>', site["index.html"], re.DOTALL)[1]).text
    uses = "code of a there for an independent tensor, code of a_numpy there for an independent ndarray"
    assert answer == f"Use {uses}."
    assert "torch 2.0.0 on Card 9000, " in site["index.html"]
    history = site["history/box/copies.Throughput/a-1024-cuda.html"]
    assert "<title>code of a there, 2¹⁰ elements, cuda, in a row on box · tensorcopy</title>" in history
    assert "timed for a tensor that requires no grad" in site["choose/cuda-tensor-own-cut-grad-1024.html"]
    assert re.search(r"(1\.0\d µs|99\d ns)", site["choose/cuda-tensor-own-plain-1024.html"])
    for address in ("semantics.html", "methods/c.html"):
        assert "TypeError: not for cuda:0" in site[address]
    follow_all_links(html(site), {*site, *writer.ASSETS})


def test_a_partly_measured_release_removes_no_page(tmp_path):
    """Cases, methods and links of other releases stay; a case may have no method."""
    both = {"1.0.0": 1.0, "2.0.0": 1.0}
    times = {
        "copies.BySize.time_copy a 16": both,
        "copies.BySize.time_copy a 1": {"1.0.0": 1.0, "2.0.0": "KeyError: 3"},
        "copies.BySize.time_copy b 16": {"1.0.0": 2.0},
        "retired.Suite.time_copy numel=16": both,
    }
    launch_files.write(tmp_path / "whole", times)
    for release, names in (("1.0.0", "ab"), ("2.0.0", "a")):
        launch_files.write_counts(tmp_path / "whole", release, {}, methods={name: launch_files.observed() for name in names})
    site = site_of(launch_files.load(tmp_path / "whole", releases=TWO))
    assert {"history/box/copies.BySize/b-16.html", "methods/b.html", "history/box/retired.Suite.time_copy/16.html"} <= set(site)
    assert "Time, torch 2.0.0 against 1.0.0: 2 unchanged, 1 unknown." in site["index.html"]
    assert "Of 4 cases: 0 slower, 0 faster, 1 failed." in site["index.html"]
    follow_all_links(html(site), {*site, *writer.ASSETS})
    launch_files.write(tmp_path / "part", {"retired.Suite.time_copy numel=16": {"2.0.0": 1.0}})
    site = site_of(launch_files.load(tmp_path / "part", releases=TWO))
    assert "Nothing is measured yet" in site["choose/index.html"]
    follow_all_links(html(site), {*site, *writer.ASSETS})


def test_a_change_of_the_machine_is_no_change_of_torch():
    """The row of its release names it as the reason; nothing says that torch became slower there."""
    table = tuple(replace(NEW, version=f"2.{minor}.0", sha=f"{minor:x}" * 40) for minor in range(1, 9))
    results = [
        measured(row, {("a", 16): 2e-6 if index > 3 else 1e-6}, hugepages="always" if index > 3 else "never")
        for index, row in enumerate(table)
    ]
    site = site_of(results)
    assert "unknown: measured under different conditions (hugepages: never → always)" in site["history/box/copies.BySize/a-16.html"]
    assert site["changes.xml"].count("<entry>") == site["slowdowns.xml"].count("<entry>") == 0
    assert "No change detected" in site["history/index.html"]


def test_a_custom_build_of_a_releases_commit_is_that_release():
    """Its version string does not matter."""
    results = [measured(OLD, {("a", 16): 1e-6}), measured(NEW, {("a", 16): 1e-6}, hugepages="always")]
    results[1].provenance["torch"] = "2.0.0a0+git1234"
    assert "compare/box/py3.11-cuda/1.0.0..2.0.0.html" in site_of(results)


def test_a_comparison_without_intervals_has_no_plot(tmp_path):
    """Of single launches, as after the first measurement of a machine; its tables have the cases all the same."""
    times = {"2.14.1": 1.0, "2.15.0": 1.1}
    launch_files.write(tmp_path, {f"copies.BySize.time_copy {name} 16": times for name in ("clone_detach", "tensor")}, launches=1)
    site = site_of(reader.load_results(tmp_path).results)
    page = site["compare/box/py3.11-cuda/2.14.1..2.15.0.html"]
    assert "Time: 2 unknown, 0 unchanged." in page
    assert "<svg" not in page
    assert "Holm" not in page
    assert page.count('class="unknown"') == 2


def test_text_from_results_is_escaped(tmp_path):
    """Names of machines, processors and methods, parameters and reasons are untrusted, including control characters."""
    hostile = f'">{SCRIPT}\x00\x1b[31m../../x'
    times = {("a", 2**10): 1e-6, ("</script><b onclick=x>", 2**10): 2e-6}
    results = [measured(release, times, machine=hostile, cpu="<i>cpu</i>") for release in (OLD, NEW)]
    reasons = {"1.0.0": 1.0, "2.0.0": SCRIPT}
    cases = {f"other.time_it kind={SCRIPT}": {"1.0.0": 1.0, "2.0.0": 1.2}, "copies.BySize.time_copy a 16": reasons}
    launch_files.write(tmp_path, cases, cpu=SCRIPT, driver=SCRIPT)
    site = site_of([*results, *launch_files.load(tmp_path, releases=TWO)])
    assert len(site) > 20
    for address, text in site.items():
        assert not {"", ".", ".."} & set(address.split("/")), address
        assert re.fullmatch(r"[A-Za-z0-9._/-]+", address), address
        if address.endswith(".html"):
            page = Tags(text)
            assert page.open == []
            assert "\x00" not in text
            assert "\x1b" not in text
            assert foreign_scripts(page) == []
            assert not [tag for tag, attributes in page.tags if tag == "i" or "onclick" in attributes]


def test_times_and_errors_without_the_launch_s_part_are_called_so(shipped):
    """Beside the launches of a case, whose times no clock has read, and where the CSV's error is explained."""
    case = shipped["history/epyc-2core/copies.BySize/detach_clone-1024.html"]
    assert USUAL_SPEED in case
    assert "<th>launches, at the usual speed</th>" in case
    assert USUAL_SPEED in shipped["data.html"]


def test_counts_have_a_page_of_their_own(shipped):
    """It lists every counted case and the changes by release; one that belongs to a time leads to its page."""
    page, times = shipped["history/counts.html"], shipped["history/index.html"]
    assert "fewer instructions in" in page
    assert len(re.findall(r'<td><a href="epyc-2core/', page)) > 150
    assert "counts.html" in times
    assert 'href="epyc-2core/copies.BySize/detach_clone-1024.html#instructions"' in page
    assert 'id="instructions"' in shipped["history/epyc-2core/copies.BySize/detach_clone-1024.html"]
    assert "history/epyc-2core/instructions.BySize/detach_clone-1024-False.html" not in shipped
    assert "history/epyc-2core/instructions.ByDtype/detach_clone-1024-float16.html" in shipped  # not timed


@pytest.mark.parametrize(("family", "hypervisor"), [("6", "none"), ("", "unknown")], ids=["x86", "ARM"])
def test_bare_metal_has_no_hypervisor(tmp_path, family, hypervisor):
    """On x86, whose flags would say that there is one; of ARM it is unknown."""
    hardware = {**launch_files.PROVENANCE["hardware"], "family": family, "hypervisor": ""}
    launch_files.write(tmp_path, {"copies.BySize.time_copy tensor 16": {"2.15.0": 1.0}}, launches=1, hardware=hardware)
    content = render.content(campaign.shipped(), launch_files.load(tmp_path))
    (page,) = [each for each in data.pages(content) if each.address == addresses.of_machine("box")]
    assert dict(page.values["provenance"])["hypervisor"] == hypervisor


def test_a_whole_number_of_a_data_file_has_no_point():
    assert [str(data_files.six_digits(number)) for number in (-5.0, 0.0, 5.0, 0.5)] == ["-5", "0", "5", "0.5"]


def test_the_index_has_a_row_for_each_method_and_kind_and_a_column_for_each_size(shipped):
    """A suite with a kind beside the size has a row for each; all but the first suite of a section are folded."""
    suites = re.findall(
        r'<details class="suite"( open)?>\s*<summary>(.*?)</summary>.*?<table(.*?)</table>', shipped["history/index.html"], re.DOTALL
    )
    tables = {re.sub("<.*?>", "", title).split()[0]: table for _, title, table in suites}
    sections = [name.split(".")[0] for name in tables]
    assert [bool(is_open) for is_open, *_ in suites] == [name not in sections[:number] for number, name in enumerate(sections)]
    assert len({*sections}) < len(sections)
    heads, rows = (re.findall(f'<th scope="{scope}">(.*?)</th>', tables["copies.ByLayout"]) for scope in ("col", "row"))
    assert len(heads) == 3
    assert len(rows) == len({*rows}) == 4 * len({row.partition("</code>")[0] for row in rows})


def test_every_machine_has_an_index_of_its_cases(tmp_path):
    """Of its counts, too, whatever was counted; every page of a case is linked there, and not by a script alone."""
    for machine in ("box", "other"):
        launch_files.write(tmp_path, {"copies.BySize.time_copy a 16": {"1.0.0": 1.0, "2.0.0": 1.0}}, machine=machine)
        counts = {"memory.Host.track_peak a 1048576 cpu": 64}
        launch_files.write_counts(tmp_path, "2.0.0", counts, methods={"a": launch_files.observed()}, machine=machine)
    site = site_of(launch_files.load(tmp_path, releases=TWO))
    pages = {address for address in site if re.fullmatch(r"history/\w+/[^/]+/[^/]+\.html", address)}
    assert len(pages) == 4
    indices = [address for address in site if re.search(r"^history/.*(index|cases|counts)\.html$", address)]
    assert {"history/index.html", "history/counts.html"} < set(indices)
    linked = {resolved(index, link) for index in indices for link in re.findall(r'href="([^"#]*)', site[index])}
    assert pages <= linked


def test_a_history_leads_to_the_explorer_and_to_its_comparisons(shipped):
    """The explorer in the same state; without scripts, the page has its own plot, and a change leads to the comparison that shows it."""
    page = shipped["history/epyc-2core/copies.BySize/detach_clone-131072.html"]
    assert 'href="../index.html#group=copies&amp;method=detach_clone&amp;numel=131072">Open in the explorer</a>' in page
    assert 'class="plot case"' in page
    changes = re.findall(r'<td><a class="v \w+" href="([^"]+)">', page)
    assert changes
    assert {resolved("history/epyc-2core/copies.BySize/", link) for link in changes} <= shipped.keys()


def test_without_scripts_the_explorer_has_the_table_of_its_times(shipped):
    """Landing and the pages of methods lead there; with scripts the chart is all."""
    page = shipped[addresses.of_explorer("epyc-2core")]
    shown = re.search("<noscript>(.*?)</noscript>", page, re.DOTALL)[1]
    linked = {resolved("history/epyc-2core/", link) for link in re.findall(r'<td><a href="([^"#]*)"', shown)}
    assert linked == {resolved("history/", link) for link in re.findall(r'<td><a href="([^"#]*)"', shipped["history/index.html"])}
    assert len(linked) > 100
    assert "<table" not in page.replace(shown, "")


def test_two_releases_can_be_chosen_without_scripts(shipped):
    """Every comparison is a link of the index, and the number of cases stands beside it."""
    page = shipped["compare/index.html"]
    linked = {
        resolved("compare/index.html", link) for link in re.findall(r'href="([^"#]*\.\.[^"#]*\.html)"', page) if not link.startswith("..")
    }
    assert linked == {address for address in shipped if address.startswith("compare/") and ".." in address and address.endswith(".html")}
    assert "hidden" in re.search("<form.*?>", page)[0]  # the script shows it


def test_no_page_grows_with_the_number_of_machines():
    """The indices of histories and comparisons have a line, a choice and a link for each other machine."""
    times = {(method, numel): 1e-6 for method in ("a", "b", "a_numpy") for numel in (16, 1024)}
    sizes = []
    for machines in (2, 3):
        results = [measured(release, times, machine=f"box{number:02}") for number in range(machines) for release in (OLD, NEW)]
        site = site_of(results)
        sizes.append({address: len(text) for address, text in site.items()})
    for address in ("history/index.html", "compare/index.html", "history/box01/copies.BySize/a-16.html", "compare/box01/index.html"):
        assert sizes[1][address] - sizes[0][address] < 600, address
