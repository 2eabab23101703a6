"""The anatomy of a call on a device: where its time goes over the releases, and which part changed."""

import json
import re

import pytest

from tensorcopy import cli
from tensorcopy.copying.pages import method_pages
from tensorcopy.copying.shipped import shipped
from tensorcopy.results.call_parts import CALL, COPY, DEVICE, LAUNCH, PARTS, WAIT
from tensorcopy.site import render
from tensorcopy.site.pages import histories
from tests import launch_files
from tests.copying.test_anatomy import releases, section, table
from tests.pages import text_of

RELEASES = ["2.9.1", "2.10.0", "2.11.0", "2.13.0", "2.14.1", "2.15.0"]
CHANGED, NOT_PROFILED = "2.11.0", "2.13.0"
MORE = 1.2  # microseconds that the launch takes from one release on
SMALL, LARGE = (f"copies.Latency.time_copy clone_detach {numel} cuda" for numel in (1024, 2**20))
CONVERSION = "conversions.Latency.time_conversion detach_numpy_copy 1024 cuda"
OTHER = "copies.Latency.time_copy detach_clone 1024 cuda"
IN_A_ROW = "copies.Throughput.time_copy clone_detach 1024 cuda"


def more(release: str) -> float:
    return MORE if RELEASES.index(release) >= RELEASES.index(CHANGED) else 0.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A machine whose launches tell the parts of two methods with all releases but one, and of another one none."""
    folder = tmp_path_factory.mktemp("device") / "results"
    times = {SMALL: 15.0, LARGE: 18.0, CONVERSION: 40.0, OTHER: 15.0, IN_A_ROW: 8.0}
    by_release = {case: {each: time + more(each) * (case == SMALL) for each in RELEASES} for case, time in times.items()}
    parts = {
        SMALL: {each: (2.0, 8.0 + more(each), 15.0 + more(each), 3.0) for each in RELEASES if each != NOT_PROFILED},
        LARGE: dict.fromkeys(RELEASES, (2.0, 8.0, 18.0, 6.0)),
        CONVERSION: dict.fromkeys(RELEASES, (4.0, 40.0, 41.0, None)),
    }
    card = {"accelerators": {"cuda": "Card 9000"}}
    launch_files.write(folder, by_release, parts=parts, noise=0.0005, common=0.0, **card)
    seen = {name: launch_files.observed("conversion" if "numpy" in name else "copy", code) for name, code in launch_files.METHODS.items()}
    seen["detach_numpy_copy"]["code_on_accelerator"] = "x.detach().cpu().numpy()"
    launch_files.write_counts(folder, RELEASES[-1], {}, methods=seen, **card)
    return folder


@pytest.fixture(scope="module")
def content(folder):
    return render.content(shipped(), launch_files.load(folder))


@pytest.fixture(scope="module")
def pages(content) -> dict[str, str]:
    templates = render.templates_of(content)
    return {page.address: render.page_text(templates, page) for page in method_pages.pages(content) if page.address.startswith("methods/")}


def seconds(text: str) -> float:
    number, unit = text.replace("−", "-").split()
    return float(number) * {"ns": 1e-9, "µs": 1e-6}[unit]


def test_the_bars_of_a_release_are_its_parts(pages):
    """In the table and in the drawing; a release whose launches do not tell them is a gap, and not one of length 0."""
    html = section(pages, "clone_detach")
    rows = table(html)
    assert rows.pop("torch") == ["time", CALL, LAUNCH, DEVICE, WAIT]
    assert list(rows) == releases(html)[::-1] == [each for each in RELEASES[::-1] if each != NOT_PROFILED]
    for release, (whole, *parts) in rows.items():
        assert [1e6 * seconds(part) for part in parts] == pytest.approx([2, 6 + more(release), 3, 4], rel=0.01)
        assert sum(map(seconds, parts)) == pytest.approx(seconds(whole), rel=0.01)
    assert html.count(">not profiled</text>") == 1
    assert re.findall(r'<path class="p(\d+)"', html) == [
        re.search(rf'class="p(\d+)"><summary>{name}<', html)[1] for name in (WAIT, DEVICE, LAUNCH, CALL)
    ]


def test_a_change_is_explained_by_the_part_that_changed(pages):
    """And by no other: what did not change the time is not told."""
    text = " ".join(text_of(section(pages, "clone_detach")).split())
    assert re.search(
        rf"Where do 16\.2 µs go on cuda\? Of 16\.2 µs with torch 2\.15\.0: {LAUNCH} 44 %, {WAIT} 25 %, {DEVICE} 19 %, {CALL} 12 %\.", text
    )
    assert re.search(rf"With torch {CHANGED}, \+[78]\.\d %: {LAUNCH} \+1\.2 µs\. Time per call, by part; ", text)
    assert "With torch" not in text_of(section(pages, "clone_detach", 1))


def test_each_part_says_what_it_is(pages):
    for number, method in ((0, "clone_detach"), (1, "clone_detach"), (0, "detach_numpy_copy")):
        html = section(pages, method, number)
        shown = dict(re.findall(r"<summary>([^<]*)<b>.*?</p><p>(.*?)</p></details>", html))
        assert list(shown.items()) == [(name, PARTS[name].replace("'", "&#39;")) for name in PARTS if name in shown]
        assert len(shown) >= 2


def test_a_conversion_shows_the_code_that_was_called(pages):
    """It waits itself, so that what it waits for is one part."""
    html = section(pages, "detach_numpy_copy")
    assert "of <code>x.detach().cpu().numpy()</code>" in html.replace("<wbr>", "")
    assert table(html)["torch"] == ["time", CALL, COPY]


def test_what_no_launch_tells_is_not_profiled_yet(content, pages):
    assert 'class="anatomy"' not in pages["methods/detach_clone.html"]
    assert re.search(r"cuda: where its time goes is not profiled yet \(2¹⁰ elements", text_of(pages["methods/detach_clone.html"]))
    assert "not profiled yet" not in pages["methods/clone_detach.html"]


@pytest.mark.parametrize(("case", "leads"), [(SMALL, True), (OTHER, False), (IN_A_ROW, False)])
def test_a_case_with_parts_leads_to_them(content, case, leads):
    templates = render.templates_of(content)
    page = render.page_text(templates, histories._case_page(content, content.machine, (), launch_files.case(case)))
    assert ('Where its time goes: <a href="../../../methods/clone_detach.html">' in page) is leads


@pytest.fixture
def why(folder, monkeypatch, capsys):
    """Return what `tensorcopy why` exits with and prints of the device."""
    monkeypatch.chdir(folder.parent)

    def printed(*arguments: str):
        code = cli.main(["why", *arguments, "--device", "cuda"])
        out, err = capsys.readouterr()
        return code, " ".join(out.split()), err

    return printed


def test_why_tells_the_parts_of_the_page(why, pages):
    """In its words, of the smallest tensor of a method."""
    code, out, _ = why("clone_detach", "2.10.0", "2.15.0")
    assert code == 0
    assert out.startswith("x.clone().detach(), copies.Latency clone_detach numel=1024 device=cuda, on Card 9000 (box, cuda) torch 2.10.0")
    page = " ".join(text_of(section(pages, "clone_detach")).split())
    shares, change = re.search(r"2\.15\.0: (.*?)\. With .*? %: (.*?\d µs)\.", page).groups()
    answer = rf"Of 16\.2 µs with torch 2\.15\.0\S*: {shares}\. Since torch 2\.10\.0\S*: {re.escape(change)}\."
    assert re.search(rf"{answer} Time per call: 15\.0 µs → 16\.2 µs \(", out)


def test_why_names_no_part_of_a_time_that_did_not_change(why):
    _, out, _ = why("clone_detach.*1048576", "2.9.1", "2.15.0")
    assert re.search(rf"Of 18\.0 µs with torch \S+: {LAUNCH} 33 %, {DEVICE} 33 %, {WAIT} 22 %, {CALL} 11 %\. Time per call: ", out)
    assert "unchanged" in out


def test_why_tells_parts_as_json(why):
    code, out, _ = why("clone_detach", "2.10.0", "2.11.0", "--format", "json")
    assert code == 0
    parts = json.loads(out)["parts"]
    assert [*parts["before"]] == [*parts["after"]]
    assert parts["after"][LAUNCH] - parts["before"][LAUNCH] == pytest.approx(1e-6 * MORE, rel=0.05)


@pytest.mark.parametrize(("case", "release"), [("clone_detach.*1024 ", NOT_PROFILED), ("detach_clone", "2.14.1")])
def test_why_names_no_parts_that_are_not_stored(why, case, release):
    """Of a release without them on one side, and of a method without any."""
    code, out, err = why(case, release, "2.15.0")
    assert (code, out) == (2, "")
    assert "do not tell the parts of such a call on cuda" in err
    assert "clone_detach numel=1048576 device=cuda" in err
