"""README's table: its times follow from the launch files, by other means. docs/article.md: what stands beside the printed values."""

import re
from dataclasses import replace
from functools import cache
from itertools import takewhile

import numpy as np
import pytest
from scipy import stats

from docs.tools import article
from tensorcopy.copying.inside.methods import METHODS
from tensorcopy.copying.shipped import shipped
from tensorcopy.site import facts
from tests import recomputed
from tests.conftest import ROOT
from tests.recomputed import History

PART = re.compile(r"<!-- produced by docs/tools/readme.py: (\w+) -->\n(.*?)\n<!-- end -->", re.DOTALL)
PARTS = dict(PART.findall((ROOT / "README.md").read_text(encoding="utf-8")))
SLOWER_BY, AS_FAST = np.log(1.03), np.log(1.1)
SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3}


def rows(part):
    """Return the cells of the rows of a part's first table, without its head."""
    lines = [*takewhile(lambda line: line.startswith("|"), PARTS[part][PARTS[part].index("| ") :].splitlines())]
    return [[cell.strip().strip("`") for cell in line[1:-1].split("|")] for line in lines[2:]]


@cache
def cpu():
    return History(ROOT / "results" / "epyc-2core")


def times(suite, numel, **others):
    """Return by method the log seconds of each launch with the newest release on the CPU, and the seconds of the fit."""
    of, order, found = cpu(), [*recomputed.releases()], {}
    place = max(of.places, key=lambda each: order.index(each[0]))
    for (label, parameters), logs in of.logs.items():
        values = dict(parameters)
        method = values.pop("method", "")
        if label == suite and values == {"numel": str(numel), **others}:
            found[method] = logs[:, of.places.index(place)], of.times[place, (label, parameters)]
    return found


def against(logs, recommended):
    """Return the word and the interval of each method against the recommended one: Student's t, and Holm over them."""
    differences = {name: each - logs[recommended] for name, each in logs.items() if name != recommended}
    differences = {name: each[~np.isnan(each)] for name, each in differences.items()}
    ps = {name: stats.ttest_1samp(each, 0).pvalue for name, each in differences.items()}
    ranked = sorted(ps, key=ps.get)
    significant = [*takewhile(lambda name: ps[name] * (len(ps) - ranked.index(name)) <= 0.05, ranked)]
    found = {}
    for name, each in differences.items():
        low, high = stats.t.interval(0.95, len(each) - 1, each.mean(), stats.sem(each))
        word = "as fast" if max(-low, high) <= AS_FAST else "not told apart"
        if name in significant and abs(each.mean()) >= SLOWER_BY:
            word = "slower" if each.mean() > 0 else "faster"
        found[name] = word, (float(np.exp(low)), float(np.exp(high)))
    return found


@pytest.mark.parametrize(
    ("recommended", "suite"), [("detach_clone", "copies.ByGrad.time_copy"), ("detach_numpy_copy", "conversions.ByGrad.time_conversion")]
)
def test_the_times_in_the_readme_follow_from_the_launch_files(recommended, suite):
    """For an x that requires grad, on the CPU: the seconds, the word and the interval of each method at two sizes."""
    table = {row[0]: row[2:] for row in rows("methods")}
    checked = 0
    for column, numel in enumerate((2**10, 2**20)):
        of = times(suite, numel, requires_grad="True")
        out_of_the_graph = {method: logs for method, (logs, _) in of.items() if method not in ("empty_like_copy", "clone")}
        judged = against(out_of_the_graph, recommended)
        for method, (_, seconds) in of.items():
            cell = table[METHODS[method].code][column]
            time, unit, word, interval = re.fullmatch(r"([\d.]+) (\w+)(?: \(([a-z ]+) × (.*)\))?", cell).groups()
            assert float(time) * SECONDS[unit] == pytest.approx(seconds, rel=0.006)
            assert word == (judged[method][0] if method in judged else None)
            if word:
                assert [float(end) for end in interval.split(" to ")] == pytest.approx(judged[method][1], abs=0.006)
            checked += 1
    assert checked == 2 * (6 if recommended == "detach_clone" else 3)


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
    assert "99 of 99 printed values are the same with " in newer
    assert "98 of 99 printed values are the same with torch 2.15.0" in newer
    assert "98" not in older


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
