"""The page of the article's questions, and every value that the article prints, checked with the installed torch."""

import re
from html import unescape
from itertools import combinations

import pytest
import torch

from benchmarks.cases import NUMELS, ON_DEVICE
from tensorcopy.copying.inside import conformance, printed
from tensorcopy.copying.pages import article, method_pages
from tensorcopy.copying.shipped import shipped
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Question
from tensorcopy.results.cases import Case
from tensorcopy.site import render
from tensorcopy.site.page import translator
from tensorcopy.worker import devices
from tests import launch_files
from tests.conftest import NEW, OLD, SHIPPED_GPU, measured


@pytest.fixture(scope="module")
def content(shipped_results):
    return render.content(shipped(), [result for result in shipped_results.results if result.version in ("1.9.0", "2.8.0", "2.15.0")])


@pytest.fixture(scope="module")
def site(content) -> dict[str, str]:
    templates = render.templates_of(content)
    return {page.address: render.page_text(templates, page) for page in article.pages(content)}


@pytest.mark.parametrize("device", devices.available())
def test_the_article_s_values_are_reproduced(device):
    """On every available device; claims about two devices need an accelerator."""
    assert [claim for claim in conformance.claims(device) if not claim.holds] == []


def test_the_name_of_grad_fn_that_differs_is_told(site):
    """It is compared without its last character, so the page says what it is today."""
    name = type(torch.ones(1, requires_grad=True).clone().grad_fn).__name__
    assert name.rstrip("0") == "CloneBackward" != name
    assert all(name in page for page in site.values())


def test_every_value_is_checked(content):
    """As many on the CPU as when the shipped results were measured: a line of several values cannot lose one."""
    claims = conformance.claims("cpu")
    assert len(claims) == content.machine.result.article["cpu"]["statements"]
    assert {claim.section for claim in claims} == set(printed.SECTIONS)
    assert {type(claim.got) for claim in claims if claim.expression.endswith(".grad")} == {type(None), float}


def test_a_value_that_differs_is_named(monkeypatch):
    """Otherwise the tests above would pass whatever torch does."""
    monkeypatch.setitem(printed.SECTIONS, "detach", "w = leaf(1.0)\nw.detach() is w, w -> True, 1.0")
    failed = [claim for claim in conformance.claims("cpu") if not claim.holds]
    assert failed == [("detach", "w.detach() is w", False, True)]


def test_every_value_that_the_article_prints_belongs_to_a_question():
    """The names of the checked sections are those of the worker."""
    claimed = [name for question in article.questions() for name in question.get("claims", ())]
    assert set(claimed) == set(printed.SECTIONS)


def by_device(content):
    return {device: machine.by_release for device, machine in content.by_device.items()}


def test_every_statement_was_observed_on_every_shipped_release(shipped_results):
    """On the CPU and on the H200; the page says so, and a release that differs would be named."""
    results = by_device(render.content(shipped(), shipped_results.results))
    rows = [statement for answer in article.answers(results, "en") for statement in answer.statements]
    assert len(rows) > 30
    assert [row.text for row in rows if not row.holds] == []
    releases = [result.version for result in results["cpu"]]
    seen = [result.version for result in results["cuda"] if "cuda" in result.article]
    on_cpu, on_cuda = (
        f"on the CPU: all {len(releases)} releases, {releases[0]} to {releases[-1]}",
        f"on CUDA (NVIDIA H200): {' and '.join(seen)}",
    )
    assert {str(row.where) for row in rows} == {on_cpu, on_cuda, f"{on_cpu}; {on_cuda}"}


def test_a_release_that_differs_is_named():
    """Both a method's behaviour and a value that the article prints, in the statement and in the table of values."""
    old, new = measured(OLD, {("detach", 16): 1e-6}), measured(NEW, {("detach", 16): 1e-6})
    number = sum(
        bool(value.expression) and not value.on_accelerator for name in printed.SECTIONS for value in printed.session(name, "cuda:0")
    )
    for result, shares in ((old, True), (new, False)):
        result.methods["detach"] = launch_files.observed(shares_storage=shares)
        result.article["cpu"]["statements"] = number
    new.article["cpu"]["fail"] = ["detach: z.grad is 1.5, printed None"]
    answers = {answer.name: answer for answer in article.answers({"cpu": [old, new]}, "en")}
    shared, cut, *_, told = answers["detach"].statements
    assert (shared.holds, str(shared.where)) == (False, "on the CPU: 1 of 2 releases; not 2.0.0")
    assert (told.holds, str(told.where)) == (False, "on the CPU: 1 of 2 releases; not 2.0.0")
    assert (cut.holds, str(cut.where)) == (True, "on the CPU: 1.0.0 and 2.0.0")
    assert str(answers["clone"].statements[0].where) == "not observed yet"
    assert not answers["clone"].statements[0].holds
    values = {value.expression: (value.printed, *map(str, value.seen)) for value in answers["detach"].values if value.expression}
    assert values.pop("z.grad") == ("None", "same; 1.5 (2.0.0)")
    assert {seen for _, seen in values.values()} == {"same"}


def test_values_that_another_program_checked_are_not_called_the_same():
    """Of a result with another number of values, it is not known which of them it saw."""
    result = measured(NEW, {("detach", 16): 1e-6})
    assert result.article["cpu"]["statements"] < 99
    (answer,) = [answer for answer in article.answers({"cpu": [result]}, "en") if answer.name == "graph"]
    assert (answer.statements, answer.devices) == ((), ())


def test_the_page_has_every_value_that_the_article_prints(site, content):
    """Each with its expression and with what the CPU and the H200 were seen to print, and the lines of code between them."""
    cell = '<td class="w">(.*?)</td>'
    for page in site.values():
        rows = re.findall(
            rf'<tr><th scope="row"><code>(.*?)</code></th><td class="w"><code>(.*?)</code></td>{cell}{cell}</tr>',
            page,
        )
        article_rows = [
            (value.expression, repr(value.value), value.on_accelerator)
            for question in article.questions()
            for name in question.get("claims", ())
            for value in printed.session(name, "cuda:0")
            if value.expression
        ]
        assert [(unescape(expression), unescape(value), not cpu) for expression, value, cpu, _ in rows] == article_rows
        assert len({(cpu, cuda) for *_, cpu, cuda in rows}) == 2
        assert article.answers(by_device(content), "en")[0].devices == ("the CPU", "CUDA (NVIDIA H200)")
        assert "<code>y = x * w + b</code>" in page


def test_the_first_graph_is_drawn_with_the_gradients_that_backward_leaves(site):
    """As torch has them here: w and b are reached, x is cut, and y keeps none."""
    names = {claim.expression: claim.got for claim in conformance.claims("cpu") if claim.section == "graph"}
    label = ", ".join(f"{name}.grad {names[f'{name}.grad']}".removesuffix(".0") for name in "xwby")
    values = {"x": 2, "w": 1, "b": 3, "y": 5}
    (drawing,) = re.findall(rf'<svg[^>]*aria-label="y = x\*w \+ b: {label}".*?</svg>', site["article.html"])
    assert re.findall(r">(\w = [^<]*)<", drawing) == [
        f"{name} = {values[name]}, .grad {names[f'{name}.grad']}".removesuffix(".0") for name in "xwby"
    ]
    assert (drawing.count('class="head"'), drawing.count('class="cut"')) == (2, 1)


def test_both_languages_answer_the_same_questions(site):
    """They have the same sections, statements and pictures."""
    for pattern in (r'<h2 id="(.*?)"', r'<li class="(holds|fails)"', "<svg", r"<figcaption>(?:<a[^>]*>)?torch ([\d.]+)"):
        assert re.findall(pattern, site["article.html"]) == re.findall(pattern, site["ja/article.html"]) != []
    text = re.sub(r"<(code|pre|small)[^>]*>.*?</\1>|<.*?>", "", site["ja/article.html"].split("<main")[1], flags=re.DOTALL)
    assert len(re.findall("[ぁ-んァ-ン一-龥]", text)) > 1500


def test_the_key_of_the_pictures_is_in_the_language_of_the_page(site):
    """Its lines are named by code, and the baseline by a word."""
    assert ["memcpy baseline" in site[name] for name in ("article.html", "ja/article.html")] == [True, False]
    assert "</svg>memcpy 基準</li>" in site["ja/article.html"]


def test_the_pictures_show_the_newest_release_and_torch_1_9(site):
    """Of conversions and of copies; the newest has a link to the page with all its times."""
    captions = re.findall(r"<figcaption>(?:<a href=\"sizes/epyc-2core/py3.11-cuda/([\d.]+).html\">)?torch ([\d.]+)", site["article.html"])
    assert captions == [("2.15.0", "2.15.0"), ("", "1.9.0")] * 2


def test_the_fastest_and_the_article_s_conclusion_are_those_of_the_table():
    """At one size the three are faster than both others, at the second they are not, at the third launches cannot tell.

    What is the fastest at the article's sizes may be slower at a larger one, which the conclusion leaves out.
    """
    times = {
        "clone_detach": (1e-6, 1e-6, 1e-6, 3e-6),
        "empty_like_copy": (1.5e-6, 1e-6, 1e-6, 2e-6),
        "detach_clone": (1e-6, 2e-6, 1e-6, 9e-6),
    }
    times |= {"new_tensor": (3e-6, 1.5e-6, 4e-6, 9e-6), "tensor": (4e-6, 4e-6, 1.01e-6, 9e-6)}
    numels = (1, 2, 4, 2**17)
    content = render.content(
        shipped(), [measured(NEW, {(name, numel): time for name, row in times.items() for numel, time in zip(numels, row)})]
    )
    ((shown,),) = article.times(content.by_device, "copy").values()
    told = re.sub("<.*?>", "", str(article.fastest(shown, translator("en"))))
    told, low, high = re.fullmatch(r"(.*) takes (\S+) to (\S+)\s× as long as code of empty_like_copy.", told).groups()
    named = "torch 2.0.0: code of clone_detach, fastest or tied with the fastest at 3 of 3 sizes up to 2² elements."
    assert told == f"{named} For 2¹⁷ elements, code of clone_detach"
    assert 1.4 < float(low) < 1.5 < float(high) < 1.6
    concluded = str(article.conclusion(shown, translator("en")))
    pattern = r"faster than both others at (\d) of (\d) sizes, and the three differ .* up to ×\s(\S+) \(intervals up to ×\s(\S+)\)\.$"
    apart, sizes, ratio, end = re.search(pattern, concluded).groups()
    assert (apart, sizes, ratio) == ("1", "3", "2.00")
    assert 2.0 < float(end) < 2.1  # of the interval of the largest difference


def test_all_sizes_of_the_article_are_shown_on_each_device(tmp_path):
    """Where launches of the newest release have those between the suites' own; each is judged. Otherwise the page says which it has."""
    newest, old, card = "2.15.0", "2.8.0", {"accelerators": {"cuda": "Card 9000"}}
    text = {}
    for folder in ("some", "all"):
        cases = {}
        for device, suites in (("cpu", ("copies.BySize", "article.Copies")), ("cuda", ("copies.Throughput", "article.CopiesOnDevice"))):
            own = NUMELS if device == "cpu" else ON_DEVICE
            for numel in (numel for numel in {*own, *article.ARTICLE_NUMELS} if folder == "all" or numel in own):
                of_article = numel not in own
                for method, factor in (("new_tensor", 3), ("clone_detach", 1), ("empty_like_copy", 1), ("tensor", 3), ("detach_clone", 1)):
                    name = f"{suites[of_article]}.time_copy {method} {numel}{'' if device == 'cpu' else ' cuda'}"
                    cases[name] = {newest: 2.0 * factor, **({} if of_article else {old: 2.0 * factor})}
        launch_files.write(tmp_path / folder, cases, noise=0.001, **card)
        launch_files.write_counts(tmp_path / folder, newest, {}, methods={name: launch_files.observed() for name in article.THREE}, **card)
        content = render.content(shipped(), launch_files.load(tmp_path / folder))
        templates = render.templates_of(content)
        page = next(page for page in article.pages(content) if page.address == "article.html")
        text[folder] = re.sub("<.*?>", "", render.page_text(templates, page)).replace("\xa0", " ")
        for device, rows in article.times(content.by_device, "copy").items():
            numels = (
                set(article.ARTICLE_NUMELS)
                if folder == "all"
                else {*article.ARTICLE_NUMELS} & {*(NUMELS if device == "cpu" else ON_DEVICE)}
            )
            assert {*rows[0].table.numels} == numels
            assert [row.result.version for row in rows] == [newest, old][: 2 if device == "cpu" else 1]
    for device, where in (("cpu", newest), ("cuda", f"{newest}, CUDA (Card 9000)")):
        assert f"torch {where}: all 15 sizes of the article, 2⁰ to 2¹⁴." in text["all"]
        assert re.search(rf"torch {re.escape(where)}: .* fastest or tied with the fastest at 15 of 15 sizes", text["all"]), device
        assert f"torch {where}: each of the three is faster than both others at 15 of 15 sizes" in text["all"]
    assert "torch 2.8.0: 5 of the article’s 15 sizes, 2⁰ to 2¹⁴, were measured: 2⁰, 2⁴, 2⁷, 2¹⁰, 2¹⁴." in text["all"]
    assert "torch 2.15.0, 2.8.0: 5 of the article’s 15 sizes, 2⁰ to 2¹⁴, were measured" in text["some"]
    assert "torch 2.15.0, CUDA (Card 9000): 3 of the article’s 15 sizes" in text["some"]
    assert [text[folder].count("The others are measured with the newest release only") for folder in ("some", "all")] == [0, 1]


def test_the_sizes_of_the_article_alone_change_no_other_page(tmp_path):
    """But that of time over size: they are in no comparison, mean, history or explorer, although the reference has them, too."""
    case = {release: 1.0 + number / 10 for number, release in enumerate(("2.8.0", "2.14.1", "2.15.0"))}
    own = {f"copies.BySize.time_copy {method} 16": case for method in ("clone_detach", "detach_clone")}
    between = {f"article.Copies.time_copy {method} 32": {"2.8.0": 1.0, "2.15.0": 2.0} for method in ("clone_detach", "detach_clone")}
    files = {}
    for folder in (tmp_path / "without", tmp_path / "with"):
        launch_files.write(folder, own)
        launch_files.write_counts(folder, "2.15.0", {}, methods={name: launch_files.observed() for name in article.THREE})
        if folder.name == "with":
            launch_files.write(folder, between)
        results = launch_files.load(folder)
        files[folder.name] = dict(render.files(render.content(shipped(), results)))
        for before, after in combinations(results, 2):
            comparison = comparisons.between(Question(before, after))
            assert {each.suite for each in comparison.changes} == {"copies.BySize.time_copy"}
            assert comparison.compared == 2
            assert [len(mean.cases) for mean in comparisons.group_means(comparison)] == [2]
    assert any("article.Copies" in str(each.timings) for each in results)
    differing = {name for name in files["with"] if files["with"][name] != files["without"].get(name)}
    assert files["with"].keys() == files["without"].keys()
    shown = {"article.html", "ja/article.html", "sizes/box/py3.11-cuda/2.15.0.html"}
    assert shown <= differing <= {*shown, "machines/box.html", "data/box.csv"}


def test_the_open_question_is_answered_with_the_counted_bytes(content, site):
    """They are those of the newest result."""
    counted = {
        method: content.machine.result.counts[Case("memory.Counted.track_peak", (("method", method), ("numel", str(2**20))))]
        for method in ("detach_clone_numpy", "detach_numpy_copy")
    }
    assert counted == {"detach_clone_numpy": 2**22, "detach_numpy_copy": 0}
    measured = content.by_device["cuda"].result
    assert (measured.version, measured.machine) == ("2.15.0", SHIPPED_GPU.name)
    text = re.sub("<.*?>", "", site["article.html"])
    assert "x.detach().clone().cpu().numpy() takes 4 MiB there and x.detach().cpu().numpy().copy() takes 0 B (measured" in text
    assert "On the host they take 4 MiB and 8 MiB, of which the ndarray itself is 4 MiB." in text
    row = site["article.html"].rsplit("<table", 1)[1].split("<tr>")[4]  # of x.detach().cpu().numpy().copy()
    told = [re.sub("<.*?>", "", cell).replace("\u202f", " ") for cell in re.findall("<td.*?</td>", row)]
    assert told[1:] == ["0 B (2.8.0 to 2.15.0)", "0 B (2.15.0)", "8 MiB (2.15.0)"]
    assert "counted without a device" in text
    assert f"measured on {measured.hardware('cuda')}" in text


def cells(row: str) -> list[str]:
    return [unescape(re.sub("<.*?>", "", cell)).replace("\u202f", " ") for cell in re.findall("<t[hd].*?</t[hd]>", row)]


@pytest.fixture(scope="module")
def memory_of(content):
    """Return the sentences about memory on a method's page, and the peaks of its table by memory and device."""
    templates = render.templates_of(content)
    pages = {page.address: page for page in method_pages.pages(content)}

    def of_method(method: str) -> tuple[str, dict[tuple[str, ...], str]]:
        html = render.page_text(templates, pages[f"methods/{method}.html"]).partition('id="memory"')[2].partition('class="note"')[0]
        sentences, _, table = html.partition("<table")
        rows = {re.match(r"(\w+), x on ([a-z]+)", head).groups(): peak for head, peak in map(cells, table.split("<tr>")[2:])}
        return unescape(re.sub("<.*?>", "", sentences)), rows

    return of_method


def test_the_page_of_a_method_has_the_memory_that_the_article_has(content, site, memory_of):
    """Of each device that was measured, of the device and of the host, with the same releases."""
    rows = site["article.html"].rsplit("<table", 1)[1].split("<tr>")[2:]
    hrefs = [re.search(r"methods/(\w+)\.html", row)[1] for row in rows]
    assert len(hrefs) == 4
    for method, row in zip(hrefs, rows):
        _, host, _, of_device, host_of_device = cells(row)
        assert memory_of(method)[1] == {("host", "cpu"): host, ("device", "cuda"): of_device, ("host", "cuda"): host_of_device}


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("detach_clone_numpy", "x.detach().clone().cpu().numpy() takes 4 MiB of device memory that x.detach().to"),
        ("detach_numpy_copy", "x.detach().cpu().numpy().copy() takes 4 MiB of host memory that x.detach().to"),
        ("detach_to_cpu_copy_numpy", "no other conversion takes less memory than x.detach().to"),
        ("clone_detach", "no other copy takes less memory than x.clone().detach()."),
    ],
)
def test_the_page_of_a_method_says_whether_it_wastes_memory(memory_of, method, more):
    """Against the method with the same outcome that takes least; the CPU wastes none."""
    said, _ = memory_of(method)
    assert f"On cuda, {more}" in said
    assert re.search(r"On cpu, no other \w+ takes less memory than x\.", said)


def test_a_call_that_raises_has_no_memory(memory_of):
    """Such as `x.numpy()` of a tensor on a GPU, which took none."""
    assert [*memory_of("numpy")[1]] == [("host", "cpu")]
    assert [*memory_of("detach_cpu_numpy")[1]] == [("device", "cuda"), ("host", "cuda")]


@pytest.mark.parametrize(("method", "listed"), [("detach_clone_numpy", True), ("detach_clone", False), ("detach_cpu_numpy", False)])
def test_only_a_method_of_the_article_s_table_of_memory_links_to_it(content, method, listed):
    page = next(page for page in method_pages.pages(content) if page.address == f"methods/{method}.html")
    text = render.page_text(render.templates_of(content), page)
    assert "Peak above an input of 4 MiB" in text.replace("\xa0", " ")
    assert ("All conversions" in text) is listed


def test_the_page_of_a_method_tells_where_a_device_differs(content):
    """`.cpu()` returns x itself on the CPU alone; its release is the first that was observed, and no change."""
    pages = {page.address: page.values for page in method_pages.pages(content)}
    assert pages["methods/detach_cpu_numpy.html"]["lead"].endswith("requires grad: shares storage; on cuda: independent.")
    assert "on cuda" not in pages["methods/detach_clone.html"]["lead"]
    assert not any(any(row["changed"]) for row in pages["methods/detach_cpu_numpy.html"]["releases"])
