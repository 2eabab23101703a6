"""Each page of the chooser agrees with the results, and plain links connect all of them."""

import re
from html import unescape

import pytest

from tensorcopy.copying import recommend
from tensorcopy.copying.pages import chooser
from tensorcopy.copying.shipped import shipped
from tensorcopy.numbers import duration
from tensorcopy.results import select
from tensorcopy.site import addresses, render
from tests.conftest import SHIPPED, SHIPPED_GPU


@pytest.fixture(scope="module")
def content(newest, shipped_results):
    """Return the content of the newest release on the CPU and on a GPU, each of another machine."""
    return render.content(shipped(), (newest, select.newest(shipped_results.results, machine=SHIPPED_GPU.name)))


@pytest.fixture(scope="module")
def site(content) -> dict[str, str]:
    templates = render.templates_of(content)
    return {page.address: render.page_text(templates, page) for page in chooser.pages(content)}


def options(page: str) -> list[tuple[str, str]]:
    """Return the code and the time of each row of the table."""
    rows = re.findall(r'<tr><th scope="row"><a href="[^"]+"><code>(.*?)</code></a></th>\s*<td>(.*?)</td>', page)
    return [(unescape(code.replace("<wbr>", "")), re.sub("<.*?>", "", time)) for code, time in rows]


@pytest.mark.parametrize(("device", "machine"), [("cpu", SHIPPED.name), ("cuda", SHIPPED_GPU.name)])
def test_every_page_agrees_with_the_results(content, site, device, machine):
    """It has the matching methods, and intervals of which nine in ten hold the quotient of the printed times; it recommends the first.

    An interval is that of this release's launches, a time that at the usual speed of all launches of the machine.
    """
    result = content.by_device[device].result
    assert result.machine == machine
    combinations = [(request, numel) for request in recommend.requests(device) for numel in recommend.options_by_size(result, request)]
    assert len(combinations) >= 40
    holds = []
    for request, numel in combinations:
        page = site[chooser.of_request(request, numel)]
        expected = {}
        for name, row in result.methods.items():
            if row["code"] == "x.cpu()" or device not in row["observed"]:
                continue  # it is x itself, or on another device
            seen = row["observed"][device]["with_grad" if request.requires_grad else "plain"]
            if seen["gives"] == request.to and seen["shares_storage"] != request.own and request.keeps_graph in (None, seen["keeps_graph"]):
                parameters = {"method": name, "numel": str(numel), **({"requires_grad": "True"} if request.requires_grad else {})}
                suites = ("ByGrad",) if request.requires_grad else ("BySize",)
                if device != "cpu":
                    parameters = {"method": name, "numel": str(numel), "device": device}
                    suites = ("Throughput",) if request.to == "tensor" else ("Latency",)
                cases = [case for case in result.timings if dict(case.parameters) == parameters and case.suite.split(".")[1] in suites]
                expected[recommend.code(row, device)] = duration(result.timings[cases[0]].seconds) if cases else "not measured yet"
        offered = recommend.options_by_size(result, request)[numel]
        for option in (option for option in offered if option.change and option.change.interval):
            low, high = option.change.interval
            holds.append(low <= option.time / min(each.time for each in offered) <= high)
            assert "×\xa0" + "\xa0to\xa0".join(f"{end:.{2 if end < 9.995 else 1 if end < 99.95 else 0}f}" for end in (low, high)) in page
        rows = options(page)
        assert dict(rows) == expected, request
        assert len(rows) == len(expected)
        if not rows:
            assert ("Use x itself" if request.keeps_graph else "No method in tensorcopy does this") in page
            continue
        recommended = re.search(r'<p class="code"><code>(.*?)</code></p>', page)[1].replace("<wbr>", "")
        assert unescape(recommended) == rows[0][0]
    assert sum(holds) >= 0.9 * len(holds) > 50


def test_links_lead_to_every_page(site):
    """They start at the first page and need no script; none is dead."""
    reached, ahead = set(), [addresses.CHOOSER]
    while ahead:
        address = ahead.pop()
        if address not in reached:
            reached.add(address)
            questions = site[address].split('<div class="questions">')[1].split('<div class="recommended">')[0]
            ahead += [f"choose/{link}" for link in re.findall(r'href="([^"]+)"', questions)]
    assert reached == set(site)


def test_each_question_has_one_chosen_answer(site):
    """It is marked visibly and for screen readers."""
    for address, page in site.items():
        questions = page.split('<div class="questions">')[1].split('<div class="recommended">')[0]
        for question in questions.split('<span class="q">')[1:]:
            assert question.count('aria-current="true"') == 1, address
