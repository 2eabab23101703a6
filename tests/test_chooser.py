"""The chooser's pages: each combination says what the results say, and leads to every other by plain links."""

from __future__ import annotations

import re
from html import unescape

import pytest

from tensorcopy.analysis import recommend
from tensorcopy.report.units import duration
from tensorcopy.results import load, select
from tensorcopy.site import addresses, render
from tensorcopy.site.pages import chooser
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def content():
    """Of the newest release alone: the chooser speaks of no other."""
    found = load.load_results(ROOT / "results").results
    return render.content((select.newest(found),))


@pytest.fixture(scope="module")
def site(content) -> dict[str, str]:
    templates = render._templates(content)
    return {page.address: render._page(templates, page) for page in chooser.pages(content)}


def options(page: str) -> list[tuple[str, str]]:
    """Each row of the table: the method's code and its time."""
    rows = re.findall(r'<tr><th scope="row"><a href="[^"]+"><code>(.*?)</code></a></th>\s*<td>(.*?)</td>', page)
    return [(unescape(code.replace("<wbr>", "")), re.sub("<.*?>", "", time)) for code, time in rows]


def test_every_combination_says_what_the_results_say(content, site):
    """The methods that were seen to do as asked and no other, each with its median; the first is the one that is advised."""
    result = content.machine.result
    combinations = [(request, numel) for request in recommend.requests("cpu") for numel in recommend.numels(result, request)]
    assert len(combinations) >= 40
    for request, numel in combinations:
        page = site[addresses.of_request(request, numel)]
        fit = {}
        for name, row in result.methods.items():
            seen = row["observed"]["cpu"]["with_grad" if request.requires_grad else "plain"]
            if seen["gives"] == request.to and seen["shares_storage"] != request.own and request.keeps_graph in (None, seen["keeps_graph"]):
                told = {"method": name, "numel": str(numel), **({"requires_grad": "True"} if request.requires_grad else {})}
                suites = ("ByGrad",) if request.requires_grad else ("BySize",)
                cases = [case for case in result.timings if dict(case.parameters) == told and case.suite.split(".")[1] in suites]
                fit[row["code"]] = duration(result.timings[cases[0]].median) if cases else "not measured yet"
        told = options(page)
        assert dict(told) == fit, request
        assert len(told) == len(fit)
        advised = re.search(r'<p class="code"><code>(.*?)</code></p>', page)[1].replace("<wbr>", "")
        assert unescape(advised) == told[0][0]


def test_every_combination_is_reached_by_links(site):
    """From the first page, without a script; and nothing leads out of the chooser but to what is there."""
    reached, ahead = set(), [addresses.CHOOSER]
    while ahead:
        address = ahead.pop()
        if address not in reached:
            reached.add(address)
            asked = site[address].split('<div class="asked">')[1].split('<div class="take">')[0]
            ahead += [f"choose/{link}" for link in re.findall(r'href="([^"]+)"', asked)]
    assert reached == {address for address in site if not address.startswith("ja/")}


def test_each_question_has_one_answer_here(site):
    """Which is marked, for the eye and for a screen reader."""
    for address, page in site.items():
        asked = page.split('<div class="asked">')[1].split('<div class="take">')[0]
        for question in asked.split('<span class="q">')[1:]:
            assert question.count('aria-current="true"') == 1, address


def test_japanese_pages_say_the_same(site):
    """The same code and times, in other words."""
    for address, page in site.items():
        if not address.startswith("ja/"):
            there = [(code, "" if "測定" in time else time) for code, time in options(site[f"ja/{address}"])]
            assert there == [(code, "" if time == "not measured yet" else time) for code, time in options(page)]
