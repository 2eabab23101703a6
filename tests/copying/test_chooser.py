"""Each page of the chooser agrees with the results, and plain links connect all of them."""

import re
from html import unescape

import pytest

from tensorcopy.copying import advise, recommend
from tensorcopy.copying.pages import chooser
from tensorcopy.copying.shipped import shipped
from tensorcopy.numbers import duration
from tensorcopy.report.words import translate
from tensorcopy.results import select
from tensorcopy.site import addresses, render
from tests.conftest import SHIPPED, SHIPPED_GPU
from tests.pages import text_of


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


def questions_of(page: str) -> str:
    """Return the questions of a page as HTML."""
    return re.search(r'<div class="questions">.*?</div>\s*</div>', page, re.DOTALL)[0]


def test_every_page_has_the_day_of_the_newest_launch_of_all(content, site):
    """Below it; that of its own times is beside them."""
    newest = max(launch for machine in content.machines for result in machine.results for launch in result.launches)
    days = [re.search(r"from results up to ([\d-]+)", page)[1] for address, page in site.items() if address.startswith("choose/")]
    assert {*days} == {newest[:10]}


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
        page = site[addresses.of_choice(request.name, numel)]
        expected = {}
        for name, row in result.methods.items():
            if row["code"] == "x.cpu()" or device not in row["observed"]:
                continue  # it is x itself, or on another device
            seen = row["observed"][device]["with_grad" if request.requires_grad else "plain"]
            if seen["gives"] == request.to and seen["shares_storage"] != request.own and request.keeps_graph in (None, seen["keeps_graph"]):
                with_grad = request.requires_grad and request.own and not request.keeps_graph  # of the others, the usual form was not
                parameters = {"method": name, "numel": str(numel), **({"requires_grad": "True"} if with_grad else {})}
                suites = ("ByGrad",) if with_grad else ("BySize",)
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
            assert ("Use x itself" if request.keeps_graph else "No ndarray shares memory with a tensor on cuda") in page
            continue
        recommended = re.search(r'<p class="code"><code>(.*?)</code></p>', page)[1].replace("<wbr>", "")
        assert unescape(recommended) == rows[0][0]
        untimed = [time == "not measured yet" for _, time in rows]
        counted = re.search(r"possibly faster: (\d+) of", page)
        assert (int(counted[1]) if counted else 0) == (0 if all(untimed) else sum(untimed[1:]))  # the reason tells of the first
    assert sum(holds) >= 0.9 * len(holds) > 50


def test_links_lead_to_every_page(site):
    """They start at the first page and need no script; none is dead."""
    reached, ahead = set(), [addresses.CHOOSER]
    while ahead:
        address = ahead.pop()
        if address not in reached:
            reached.add(address)
            for link, anchor in re.findall(r'href="([^"#]+)(?:#([^"]+))?"', questions_of(site[address])):
                ahead.append(f"choose/{link}")
                assert not anchor or f'id="{anchor}"' in site[f"choose/{link}"].replace(f"id={anchor}", f'id="{anchor}"'), (address, anchor)
    assert reached == set(site)


def test_each_question_has_one_chosen_answer(site):
    """It is marked visibly and for screen readers."""
    for address, page in site.items():
        for question in questions_of(page).split('<span class="q">')[1:]:
            assert question.count('aria-current="true"') == 1, address


def sections(page: str) -> list[str]:
    """Return the parts of a page that recommend something, each with its table."""
    return re.split(r'(?=<div class="recommended">)', page)[1:]


def test_nothing_is_recommended_that_its_table_calls_slower_without_the_reason(site):
    """On any page: it is the usual form, or what is faster warns or takes memory on the device."""
    judged = 0
    for address, page in site.items():
        for section in sections(page):
            rows = [
                re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)
                for row in re.findall(r'<tr><th scope="row">.*?</tr>', section, re.DOTALL)
            ]
            ranks = [text_of(rank) for _, _, _, rank, _ in rows]
            judged += any("fastest" in rank for rank in ranks)
            if rows and "slower" in ranks[0] and translate("reason_usual") not in text_of(section):
                better = [caveats for rank, (*_, caveats) in zip(ranks, rows) if rank.startswith(("fastest", "tied"))]
                assert all("warns:" in caveats or translate("device_copy") in caveats for caveats in better), address
    assert judged > len(site) / 2


def test_every_answer_by_dtype_and_layout_is_that_of_its_cases_and_of_advise(content, site):
    """The times of the suites by dtype and by layout; the command says the same for the same tensor. Each request has each once."""
    result, answered = content.by_device["cpu"].result, 0
    for request in recommend.requests("cpu"):
        others = recommend.of_other_tensors(result, request)
        if not others:
            assert addresses.of_choice(request.name, "tensors") not in site
            continue
        parts = iter(sections(site[addresses.of_choice(request.name, "tensors")]))
        expected = ["float16", "bfloat16", *([] if request.requires_grad else ["int64", "bool"]), "transposed", "strided", "channels_last"]
        assert [each.dtype if each.layout == "contiguous" else each.layout for each in others] == expected
        for other in others:
            for numel in [2**17] if other.layout == "contiguous" else [2**14, 2**17]:
                section, answered = next(parts), answered + 1
                if (request.to, other.dtype) == ("ndarray", "bfloat16"):
                    assert "numpy has no bfloat16" in section
                    continue
                axis = ("dtype", other.dtype) if other.layout == "contiguous" else ("layout", other.layout)
                name = f"By{axis[0].capitalize()}"
                times = {
                    result.methods[case["method"]]["code"]: duration(timing.seconds)
                    for case, timing in result.timings.items()
                    if case.suite.split(".")[1] == name and case.parameters[1:] == (("numel", str(numel)), axis)
                }
                rows = options(section)
                assert {code: time for code, time in rows if "not measured" not in time} == {
                    code: times[code] for code, _ in rows if code in times
                }
                assert len(rows) >= 2
                to = {"ndarray": "numpy"}.get(request.to, request.to)
                tensor = {"dtype": other.dtype, "layout": other.layout, "numel": numel, "requires_grad": request.requires_grad}
                advice = advise.advise(to, **tensor, keep_graph=bool(request.keeps_graph), shipped=True)
                assert [choice.code for choice in advice.choices] == [code for code, _ in rows]
                assert advice.why in unescape(section)
                assert (advice.request, advice.numel) == (other, numel)
        assert next(parts, None) is None
    assert answered == 5 * 8 + 2 + 2  # two dtypes and six of a layout, and those that need no grad


def test_what_was_not_timed_has_the_nearest_case(site):
    """On the page by dtype and layout; on a device without one each page says so, and leads to the other device's."""
    text = text_of(site["choose/cpu-tensor-own-plain-tensors.html"])
    for line in (
        "float64, complex64 (8 B an element): int64 (8 B",
        "int32 (4 B an element): float32 (4 B",
        "uint8 (1 B an element): bool (1 B",
    ):
        assert line in text
    assert "float64, complex64 (8 B an element): float32 (4 B" in text_of(site["choose/cpu-tensor-own-cut-grad-tensors.html"])
    for address, page in site.items():
        untimed = re.search(r"(cuda|shared)", address)
        assert (translate("only_common_tensor") in page) is bool(untimed), address
        assert ("some others were timed" in text_of(page)) is ("cuda" in address and "own" in address), address
