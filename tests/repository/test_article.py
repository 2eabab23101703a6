"""docs/article.md and README's table: their values run, and their numbers follow from the launch files, by other means."""

import ast
import json
import re
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from itertools import product, takewhile

import numpy as np
import pytest
import torch
from scipy import stats

from docs.tools import article
from tensorcopy.copying.shipped import shipped
from tensorcopy.site import facts
from tests import recomputed
from tests.conftest import ROOT
from tests.recomputed import History

ARTICLE = (ROOT / "docs/article.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
PART = re.compile(r"<!-- produced by docs/tools/readme.py: (\w+) -->\n(.*?)\n<!-- end -->", re.DOTALL)
PARTS = dict(PART.findall(ARTICLE + README))
SECTIONS = [name for name, text in PARTS.items() if "what it prints" in text]
COPIES, CONVERSIONS = "copies.BySize.time_copy", "conversions.BySize.time_conversion"
SIZES = [2**exponent for exponent in range(15)]
SLOWER_BY, AS_FAST = np.log(1.03), np.log(1.1)


def rows(part):
    """Return the cells of the rows of a part's first table, without its head."""
    lines = [*takewhile(lambda line: line.startswith("|"), PARTS[part][PARTS[part].index("| ") :].splitlines())]
    return [[cell.strip().strip("`") for cell in line[1:-1].split("|")] for line in lines[2:]]


def observed(history):
    """Return how many of the article's values held on each device, by release, as the launch files of a history have them."""
    found = defaultdict(lambda: defaultdict(set))
    for path in (ROOT / "results" / history).glob("*.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        for device, values in document.get("article", {}).items():
            for side in document["sides"]:
                found[device][recomputed.releases()[side["sha"]]].add((values["hold"], values["statements"]))
    return found


@pytest.mark.parametrize(("history", "device"), [("epyc-2core", "cpu"), ("epyc-2core-py3.9", "cpu"), ("h200-16core", "cuda")])
def test_the_score_is_that_of_the_launch_files(history, device):
    """As many values as the tables print, and the releases that observed them; torch 1.9.0, with which the article was written, is one."""
    by_release = observed(history)[device]
    ((hold, total),) = {each for values in by_release.values() for each in values}
    number = len(by_release)
    releases = sorted(by_release, key=lambda name: [int(part) for part in name.split(".")])
    named = f"{number} releases, torch {releases[0]} to {releases[-1]}" if number > 2 else f"torch {' and '.join(releases)}"
    (line,) = [line for line in PARTS["article_score"].splitlines() if f"history {history}:" in line]
    assert line.endswith(f": {hold} of {total} printed values are the same with {named}.")
    seen = [(printed(row[1]), row[-2 if device == "cpu" else -1]) for part in SECTIONS for row in rows(part) if row[1]]
    assert sum(values for values, word in seen if word == "same") == total
    assert ("1.9.0" in by_release) == (history == "epyc-2core-py3.9")


def printed(text):
    """Return how many values a cell prints; a tuple that one expression returns is one, and stands in parentheses."""
    parsed = ast.parse(f"[{text}]", mode="eval").body
    return len(parsed.elts)


def _error(function):
    try:
        function()
    except (TypeError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def _descend(*parameters):
    torch.optim.SGD(parameters, lr=0.5).step()


@pytest.mark.filterwarnings("ignore::UserWarning")  # of reading .grad of a tensor that is no leaf, and of new_tensor
@pytest.mark.parametrize("part", SECTIONS)
def test_the_code_in_a_table_prints_what_stands_beside_it(part):
    """On the installed torch, up to what needs two devices, with `leaf`, `error`, `properties` and `descend` as the text explains them."""
    names = {
        "leaf": lambda value, grad=True, on="cpu": torch.tensor([value], requires_grad=grad),
        "error": _error,
        "descend": _descend,
        "properties": lambda tensor: (tensor.item(), tensor.is_leaf, tensor.requires_grad),
    }
    lines = [*takewhile(lambda row: "–" not in row, rows(part))]
    assert len(lines) > 2
    for code, value, *_ in lines:
        if not value:
            exec(code, names)
            continue
        got = eval(f"[{code}]", names)
        assert [each.item() if isinstance(each, torch.Tensor) else each for each in got] == ast.literal_eval(f"[{value}]"), code


@cache
def machine(name):
    return History(ROOT / "results" / name)


def newest(of):
    """Return the place of the newest release."""
    order = [*recomputed.releases()]
    return max(of.places, key=lambda place: order.index(place[0]))


def times(name, suite, numel, **others):
    """Return by method the log seconds of each launch with the newest release, and the seconds of the fit."""
    of = machine(name)
    place = newest(of)
    column = of.places.index(place)
    found = {}
    for (label, parameters), logs in of.logs.items():
        values = dict(parameters)
        method = values.pop("method", "")
        if label == suite and values == {"numel": str(numel), **others}:
            found[method] = logs[:, column], of.times[place, (label, parameters)]
    return found


def against(logs, recommended, among):
    """Return the word, the ratio and the interval of each method against the recommended one: Student's t, and Holm over them."""
    differences = {
        name: (logs[name] - logs[recommended])[~np.isnan(logs[name] - logs[recommended])] for name in among if name != recommended
    }
    ps = {name: stats.ttest_1samp(each, 0).pvalue for name, each in differences.items()}
    ranked = sorted(ps, key=ps.get)
    significant = [*takewhile(lambda name: ps[name] * (len(ps) - ranked.index(name)) <= 0.05, ranked)]
    found = {}
    for name, each in differences.items():
        low, high = stats.t.interval(0.95, len(each) - 1, each.mean(), stats.sem(each))
        word = "as fast" if max(-low, high) <= AS_FAST else "not told apart"
        if name in significant and abs(each.mean()) >= SLOWER_BY:
            word = "slower" if each.mean() > 0 else "faster"
        found[name] = word, float(np.exp(each.mean())), (float(np.exp(low)), float(np.exp(high)))
    return found


CODES = {
    "new_tensor": "x.new_tensor(x)",
    "clone_detach": "x.clone().detach()",
    "empty_like_copy": "torch.empty_like(x).copy_(x)",
    "tensor": "torch.tensor(x)",
    "detach_clone": "x.detach().clone()",
    "detach_numpy_copy": "x.detach().numpy().copy()",
    "clone_detach_numpy": "x.clone().detach().numpy()",
    "detach_clone_numpy": "x.detach().clone().numpy()",
}
FIGURES = {
    "copies": ("detach_clone", COPIES, "article.Copies.time_copy"),
    "conversions": ("detach_numpy_copy", CONVERSIONS, "article.Conversions.time_conversion"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_shows_the_times_of_the_launch_files(name):
    """Each point lies at the height of the logarithm of its time, within a tenth of a pixel, at all 15 sizes."""
    _, *suites = FIGURES[name]
    text = (ROOT / f"docs/{name}.svg").read_text(encoding="utf-8")
    heights, logs = [], []
    for method, code in CODES.items():
        for path in re.findall(rf'data-line="{re.escape(code)}"><path class="l" d="M(.*?)"', text):
            points = [float(point.split()[1]) for point in path.split("L")]
            assert len(points) == len(SIZES)
            heights += points
            seconds = [next(of[method][1] for suite in suites if method in (of := times("epyc-2core", suite, numel))) for numel in SIZES]
            logs += [*np.log(seconds)]
    assert len(heights) == len(SIZES) * {"copies": 5, "conversions": 3}[name]
    slope, start = np.polyfit(logs, heights, 1)
    assert slope < 0
    assert np.abs(slope * np.array(logs) + start - heights).max() < 0.1


@pytest.mark.parametrize("name", FIGURES)
def test_what_stands_below_a_figure_follows_from_the_launch_files(name):
    """How often each method is slower, as fast or not told apart, and by which factors; its title is about those that always are slower."""
    recommended, *suites = FIGURES[name]
    words, factors = defaultdict(Counter), defaultdict(list)
    for numel in SIZES:
        of = next(found for suite in suites if (found := times("epyc-2core", suite, numel)))
        for method, (word, ratio, _) in against({method: logs for method, (logs, _) in of.items()}, recommended, of).items():
            words[method][word] += 1
            factors[method] += [ratio] if word == "slower" else []
    shown = dict(rows(f"article_{name}"))
    assert shown.keys() == {CODES[method] for method in words}
    for method, counts in words.items():
        assert dict(re.findall(r"([a-z ]+) at (\d+)", shown[CODES[method]].replace(", ", ","))) == {
            word: str(n) for word, n in counts.items()
        }
        if factors[method]:
            low, high = re.search(r"× ([\d.]+) to ([\d.]+)", shown[CODES[method]]).groups()
            assert [float(low), float(high)] == pytest.approx([min(factors[method]), max(factors[method])], abs=0.006)
    always = [ratio for method, counts in words.items() if counts["slower"] == len(SIZES) for ratio in factors[method]]
    title = re.search(r"!\[(.*?)\]", PARTS[f"article_{name}"])[1]
    assert {CODES[method] for method, counts in words.items() if counts["slower"] == len(SIZES)} == set(
        title.partition(" take ")[0].split(" and ")
    )
    low, high = re.search(r"take ([\d.]+) to ([\d.]+) ×", title).groups()
    assert [float(low), float(high)] == pytest.approx([min(always), max(always)], abs=0.006)


SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3}


@pytest.mark.parametrize(
    ("recommended", "suite"), [("detach_clone", "copies.ByGrad.time_copy"), ("detach_numpy_copy", "conversions.ByGrad.time_conversion")]
)
def test_the_times_in_the_readme_follow_from_the_launch_files(recommended, suite):
    """For an x that requires grad, on the CPU: the seconds, the word and the interval of each method at two sizes."""
    table = {row[0]: row[2:] for row in rows("methods")}
    checked = 0
    for column, numel in enumerate((2**10, 2**20)):
        of = times("epyc-2core", suite, numel, requires_grad="True")
        alike = [method for method in of if method != "empty_like_copy"]  # which stays in the graph
        judged = against({method: logs for method, (logs, _) in of.items()}, recommended, alike)
        for method, (_, seconds) in of.items():
            time, unit, word, interval = re.fullmatch(r"([\d.]+) (\w+)(?: \(([a-z ]+) × (.*)\))?", table[CODES[method]][column]).groups()
            assert float(time) * SECONDS[unit] == pytest.approx(seconds, rel=0.006)
            assert word == (judged[method][0] if method in judged else None)
            if word:
                assert [float(end) for end in interval.split(" to ")] == pytest.approx(judged[method][2], abs=0.006)
            checked += 1
    assert checked == 2 * (5 if recommended == "detach_clone" else 3)


def peaks(name, suite, device):
    """Return by method the peaks in MiB that the launch files of a machine have for a tensor of 4 MiB, with their releases."""
    found = defaultdict(lambda: defaultdict(set))
    for path in (ROOT / "results" / name).glob("*.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        suite_of = document["suites"].get(suite, {})
        cases = [*product(*[[value.strip("'") for value in values] for values in suite_of.get("params", [])])]
        for index, value in suite_of.get("values", {}).items():
            method, numel, on = cases[int(index)]
            assert numel == str(2**20)
            if on == device:
                found[method][f"{value / 2**20:g}"].add(recomputed.releases()[document["sides"][0]["sha"]])
    return found


IN_TABLE = {**CODES, "detach_to_cpu_copy_numpy": 'x.detach().to("cpu", copy=True).numpy()'}


def test_the_memory_of_conversions_is_that_of_the_launch_files():
    """On the CPU that of the host; on CUDA that of the device and that of the host."""
    on_cpu, on_cuda = PARTS["article_memory"].split("\n\nCUDA")
    of_cpu = peaks("epyc-2core", "memory.Host.track_peak", "cpu")
    of_device, of_host = (peaks("h200-16core", f"memory.{where}.track_peak", "cuda") for where in ("Device", "Host"))
    checked = 0
    for method, code in IN_TABLE.items():
        if "numpy" not in method:
            continue
        on_host = re.search(rf"^\| `{re.escape(code)}` \| (.*?) \|$", on_cpu, re.MULTILINE)[1]
        assert {*re.findall(r"(\d+) MiB", on_host)} == of_cpu[method].keys()
        for amount, release in re.findall(r"(\d+) MiB with torch ([\d.]+)", on_host):
            assert of_cpu[method][amount] == {release}
        there = code if "copy=True" in code else code.replace(".numpy()", ".cpu().numpy()")
        device, host = re.search(rf"^\| `{re.escape(there)}` \| (\d+) M?i?B \| (\d+) MiB \|$", on_cuda, re.MULTILINE).groups()
        assert ({device}, {host}) == ({*of_device[method]}, {*of_host[method]})
        checked += 1
    assert checked == 4
    assert of_device["detach"].keys() == of_cpu["detach"].keys() == {"0"}


def test_a_value_that_differs_stands_beside_the_printed_one(shipped_results):
    """With its release and its device; the score counts it, and the values beside it are the same."""
    other = ["detach: w is 1.0, printed 2.0"]

    def changed(history):
        *others, newest = history.results
        differing = replace(newest, article={"cpu": {"statements": 99, "hold": 98, "fail": other}})
        return replace(history, results=(*others, differing)) if history.name == "epyc-2core" else history

    site = facts.site(shipped(), map(changed, shipped_results.histories))
    table = article.values("detach", site)
    assert "| `w, z` | `2.0, 2.0` | `w` is `1.0` with torch 2.15.0 | same |" in table.splitlines()
    assert table.count("same") == 3
    newer, older, _ = article.score(site).splitlines()
    assert "99 of 99 printed values are the same with 16 releases, torch 1.13.1 to 2.14.1" in newer
    assert "98 of 99 printed values are the same with torch 2.15.0" in newer
    assert older.endswith("99 of 99 printed values are the same with 15 releases, torch 1.9.0 to 2.8.0.")


def test_values_of_other_hardware_stand_in_no_column(shipped_results):
    """A column is of one processor: a history on another one is left out, also where it has releases that no other has."""

    def moved(history):
        results = tuple(replace(each, provenance={**each.provenance, "cpu": "Another"}) for each in history.results)
        return replace(history, results=results) if history.name == "epyc-2core-py3.9" else history

    assert "py3.9" not in article.score(facts.site(shipped(), map(moved, shipped_results.histories)))


def test_the_article_stands_without_a_gpu(shipped_results):
    """What is about two devices has a dash, and nothing names CUDA."""
    site = facts.site(shipped(), [history for history in shipped_results.histories if history.name == "epyc-2core"])
    texts = {name: part(site) for name, part in article.PARTS.items()}
    assert "– |" in texts["article_cpu"]
    assert not any("CUDA" in text for text in texts.values())
