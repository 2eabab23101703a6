"""What a stranger asks is answered at most two clicks away from the landing page, by the page alone, on a desk and on a phone."""

import re
from collections import Counter
from collections.abc import Mapping

import pytest
from playwright.sync_api import expect

from tensorcopy.numbers import duration, signed_percent, size
from tensorcopy.results import select
from tensorcopy.results.cases import memory_case
from tests import recompute
from tests.conftest import SHIPPED, SHIPPED_GPU

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("width", [1280, 360])]

INTERVAL = r"[+−]\d[\d.]*\s%\s+[+−]\d[\d.]* to [+−]\d[\d.]*\s%"
QUESTIONS = {  # with the clicks, the part of the page, and what it says
    "is a slowdown still open, since when, whose fault, and how is it reproduced?": (
        [".open tbody a:has-text('np.from_dlpack(x)')", "section:has(#numpy_from_dlpack) summary:has-text('Issue')"],
        "section:has(#numpy_from_dlpack)",
        [INTERVAL, r"\d+\.\d+\.\d+ [+]\d", r"[Ff]unctions.* instructions|pytorch/pytorch#\d+", r"import torch"],
    ),
    "did 2.5 to 2.15 make x.detach().clone() with grad at 2^14 slower?": (
        ["a[href$='2.5.1..2.15.0.html']:visible"],
        "tr:has-text('x.detach().clone()'):has-text('2¹⁴ elements, requires grad')",
        [rf"(slower|faster|unchanged|unknown)\s+{INTERVAL}", r"\d µs\s+\d"],
    ),
    "can +3 % be trusted?": (
        [".news a"],
        "main",
        [r"seen 9 times in 10.*: \d", r"Unchanged: the whole interval lies within ±3"],
    ),
    "since when is x.numpy() slower, by which function and pull request?": (
        [".open tbody a:has-text('x.numpy()')"],
        "section:has(#numpy)",
        [r"1\.13\.1 [+]4\d\d", r"1\.12\.1.*→.*1\.13\.1.*instructions.*\w+::\w+", r"pytorch/pytorch#\d+"],
    ),
    "where do the microseconds of a call go?": (
        [".grid a:has-text('x.detach().clone()')"],
        "main",
        [
            r"Where do [\d.]+ µs go\?",
            *(rf"{part}\s+\d[\d.]*\s?%\s+[+−]?\d" for part in ("interpreter", "dispatcher", "allocator", "kernel")),
        ],
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_in_two_clicks(offline, published_site, question, width):
    clicks, part, answers = QUESTIONS[question]
    assert len(clicks) <= 2
    page = offline(published_site / "index.html", width)
    for link in clicks:
        page.locator(link).first.click()
    text = page.locator(part).first.inner_text()
    assert [answer for answer in answers if not re.search(answer, text, re.DOTALL)] == [], text


@pytest.fixture(scope="module")
def cpu() -> recompute.Machine:
    """The shipped results on the CPU, read by other means than the program."""
    return recompute.machine_in(SHIPPED)


@pytest.fixture(scope="module")
def gpu() -> recompute.Machine:
    """The same on CUDA."""
    return recompute.machine_in(SHIPPED_GPU)


@pytest.fixture
def walk(offline, published_site, width):
    """Return a function that clicks links and tabs by the text that is seen, from the landing page on; no page scrolls sideways."""

    def walk_along(*texts: str):
        assert len(texts) <= 2
        page = offline(published_site / "index.html", width)
        for text in texts:
            assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url
            seen = page.locator("a, label").filter(has_text=re.compile(rf"^\s*{re.escape(text)}\s*$"))
            seen.locator("visible=true").first.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url
        return page

    return walk_along


def plain(text: str) -> str:
    """Return a text with usual spaces."""
    return re.sub(r"\s+", " ", text).strip()


def side(machine: recompute.Machine, version: str) -> recompute.Place:
    """Return where a machine measured a release, on the newest of its Pythons."""
    places = [place for place in machine.places if recompute.releases()[place[0]] == version]
    return max(places, key=lambda place: (-place[1].count("-"), recompute.python_of(place)))  # of the build without a suffix


def changed(machine: recompute.Machine, before: str, after: str) -> Mapping[recompute.Case, recompute.Judged]:
    """Return the verdict of every case of a release against the one before it."""
    return machine.compared(side(machine, before), side(machine, after))


@pytest.mark.parametrize(
    ("number", "suites"),
    [
        (0, ["copies.Throughput.time_copy"]),
        (1, ["conversions.Latency.time_conversion", "transfers.Latency.time_transfer"]),
    ],
    ids=["tensor", "ndarray"],
)
def test_what_to_type_on_a_gpu_and_what_it_costs_beside_the_alternatives(walk, gpu, number, suites):
    """The code is the tab's, and its time and those of all others that do the same are a click away."""
    page = walk("cuda")
    code = page.locator(".answer:visible > code").nth(number).inner_text()
    cost = plain(page.locator(".costs:visible li").nth(number).inner_text())
    page.locator(".costs:visible li").nth(number).get_by_role("link", name="every method").click()
    expect(page.locator(".recommended")).to_be_in_viewport()
    assert page.locator(".recommended .code").inner_text() == code
    rows = [[plain(cell) for cell in row.locator("th, td").all_inner_texts()[:2]] for row in page.locator("main tbody tr").all()]
    methods = next(each["methods"] for each in reversed(gpu.documents) if each.get("methods"))
    newest, expected = side(gpu, "2.15.0"), {}
    for (place, (suite, parameters)), seconds in gpu.times.items():
        method, numel = dict(parameters).get("method", ""), dict(parameters).get("numel")
        if (
            place == newest
            and suite in suites
            and numel == str(2**17)
            and not methods[method]["observed"]["cuda"]["with_grad"]["keeps_graph"]
        ):
            expected[methods[method]["code_on_accelerator"]] = duration(seconds)
    assert {code: time for code, time in rows if "not measured" not in time} == expected
    assert len(expected) >= 4
    assert cost.startswith(f"{code}: {expected[code]} for 2¹⁷ elements")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_whether_2_14_helped_on_a_gpu(walk, cpu, gpu):
    """The page of a release says of each device how many cases became slower and faster."""
    page = walk("cuda", "2.14.1")
    expect(page.get_by_role("heading", level=1)).to_have_text("torch 2.14.1: what changed")
    expect(page.locator("h2:text-matches('^CUDA') + p")).to_be_in_viewport()
    of_cpu, of_gpu = page.locator("main").inner_text().split("\nCUDA")
    for text, machine in ((of_cpu, cpu), (of_gpu, gpu)):
        told = {word: int(number) for number, word in re.findall(r"(\d+) (slower|faster|unchanged|unknown)", text)}
        number = Counter(each.verdict for each in changed(machine, "2.13.0", "2.14.1").values())
        assert told == {word: number[word] for word in ("slower", "faster", "unchanged", "unknown")}


def test_whether_cloning_wastes_memory_of_a_gpu_and_of_its_host(walk, shipped_results):
    """The expression holds a second tensor on the device; on the host it holds the ndarray alone, and its alternative twice as much."""
    page = walk("The article, answered", "Does x.detach().clone().numpy() waste GPU memory?")
    answer = page.locator("section:has(#memory) strong")
    expect(answer).to_be_in_viewport(ratio=1)
    newest = select.newest(shipped_results.results, machine=SHIPPED_GPU.name)
    device, host = (
        [int(newest.counts[memory_case(metric, method, "cuda")]) for method in ("detach_clone_numpy", "detach_numpy_copy")]
        for metric in ("device_peak", "peak")
    )
    assert plain(answer.inner_text()) == (
        f"For a tensor of {size(2**22)} on a CUDA device, x.detach().clone().cpu().numpy() takes {size(device[0])} there and "
        f"x.detach().cpu().numpy().copy() takes {size(device[1])} (measured with torch {newest.version} on NVIDIA H200). "
        f"On the host they take {size(host[0])} and {size(host[1])}, of which the ndarray itself is {size(2**22)}."
    )


def test_which_slowdowns_are_new_on_each_device(walk, cpu, gpu):
    """Those that the newest release brought; they are open, because the release before it had a lower level."""
    page = walk("Open regressions")
    told = page.locator("p:has-text('New slowdowns:')")
    expect(told).to_be_in_viewport(ratio=1)
    numbers = dict(re.findall(r"(\w+), (\w+) with torch 2\.15\.0", plain(told.inner_text())))
    table = page.locator("table:has-text('New with torch 2.15.0') tbody").first
    for device, machine in (("CPU", cpu), ("CUDA", gpu)):
        judged = changed(machine, "2.14.1", "2.15.0").items()
        slower = Counter(dict(parameters)["method"] for (_, parameters), each in judged if each.verdict == "slower")
        assert numbers[device] == (str(slower.total()) if slower else "none")
        codes = {row["code"]: name for each in machine.documents for name, row in each.get("methods", {}).items()}
        rows = table.locator("tr:not(.section)").all() if device == "CPU" else []
        listed = {codes[row.locator("th").inner_text()]: int(re.search(r"in (\d+) case", row.inner_text())[1]) for row in rows}
        assert listed == slower


def test_what_2_14_changed_in_one_picture(walk, cpu):
    """Each number in it is the change of a case that became slower or faster, and the last column counts the others."""
    page = walk("2.14.1", "What changed, with every case")
    expect(page.locator("figure:has(.by-method)")).to_be_in_viewport()
    drawn = {
        link.get_attribute("href").partition(f"{SHIPPED.name}/")[2]: plain(link.text_content())
        for link in page.locator(".by-method .sizes a:visible").all()
    }
    expected, others = {}, Counter()
    for (suite, parameters), each in changed(cpu, "2.13.0", "2.14.1").items():
        if each.verdict in ("slower", "faster"):
            if [name for name, _ in parameters] == ["method", "numel"]:
                address = f"{suite.rpartition('.')[0]}/{'-'.join(value for _, value in parameters)}.html"
                expected[address] = signed_percent(each.ratio, 0)
            else:
                others[each.verdict] += 1
    assert drawn == expected
    counted = [plain(text) for text in page.locator(".by-method .sizes > text").all_text_contents()]
    assert {
        word: sum(int(text.split(" ")[1]) for text in counted if text.startswith(sign)) for word, sign in (("slower", "▲"), ("faster", "▼"))
    } == {word: others[word] for word in ("slower", "faster")}
    assert len(expected) > 20
