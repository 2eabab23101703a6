"""Which methods match a request, and which one is recommended."""

import json
from dataclasses import replace
from datetime import timedelta
from itertools import permutations

import pytest
from markupsafe import escape

from docs.tools import readme
from tensorcopy.copying import advise, recommend
from tensorcopy.copying.drawings import draw_methods
from tensorcopy.copying.inside import conformance, methods
from tensorcopy.copying.pages import article, chooser, landing, method_pages
from tensorcopy.copying.recommend import CopyRequest
from tensorcopy.copying.shipped import shipped
from tensorcopy.site import addresses, machine, render
from tests import launch_files
from tests.conftest import NEW, SHIPPED, SHIPPED_GPU, measured
from tests.launch_files import SEEN

OWN = CopyRequest(to="tensor", own=True, keeps_graph=None, requires_grad=False, device="cpu")


def recommended(times, request=OWN, **observed):
    """Return the matching methods at 16 elements, given times in nanoseconds.

    `observed` gives special behaviour by method.
    """
    result = measured(NEW, {(method, 16): time * 1e-9 for method, time in times.items()})
    for method, outcome in observed.items():
        result.methods[method] = launch_files.observed(**outcome)
    return [option.method for option in recommend.options_by_size(result, request)[16]]


def test_methods_that_do_something_else_do_not_match():
    """An independent tensor is requested: no shared storage, no error, no ndarray."""
    shares, fails, array = {"shares_storage": True}, {"raises": "RuntimeError: no"}, {"gives": "ndarray", "keeps_graph": None}
    assert recommended({"a": 300, "shares": 1, "fails": 1, "array": 1}, shares=shares, fails=fails, array=array) == ["a"]


def test_a_method_that_warns_is_not_recommended():
    """Even if it is the fastest, as long as another one matches; the others come by time."""
    assert recommended({"loud": 1000, "a": 1010, "b": 1300}, loud={"warns": "UserWarning: do not"}) == ["a", "loud", "b"]


def test_of_tied_methods_the_one_that_is_rarely_slower_is_recommended():
    """The fastest at this size is slower at the other one."""
    times = {("a", 16): 1.00e-6, ("b", 16): 1.01e-6, ("a", 128): 3e-6, ("b", 128): 1e-6}
    options = recommend.options_by_size(measured(NEW, times), OWN)[16]
    assert [option.method for option in options] == ["b", "a"]
    assert options[0].among_fastest
    assert options[1].change is None  # the fastest


@pytest.mark.parametrize(
    ("times", "first", "why"),
    [
        ({"detach_clone": 1100, "b": 1000}, "b", "reason_fastest"),  # 10 % and 100 ns faster
        ({"detach_clone": 1030, "b": 1000}, "detach_clone", "reason_usual"),  # 3 %
        ({"detach_clone": 240, "b": 200}, "detach_clone", "reason_usual"),  # 40 ns
        ({"detach_clone": 1000, "b": 1100}, "detach_clone", "reason_fastest"),
    ],
)
def test_the_usual_form_is_recommended_unless_another_is_clearly_faster(times, first, why):
    """By 5 % and 50 ns, significantly."""
    result = measured(NEW, {(method, 16): time * 1e-9 for method, time in times.items()})
    options = recommend.options_by_size(result, OWN)[16]
    assert options[0].method == first
    assert recommend.reason(OWN, options)[0] == why


def test_the_answer_does_not_change_where_the_recommended_method_was_not_timed():
    """From size to size it is that of the nearest at which it was; beside 2²⁰, where b is no faster, it is what was timed."""
    times = {("detach_clone", numel): 1.1e-6 for numel in (1, 16, 128, 2**17, 2**20)}
    times |= {("b", numel): time for numel, time in ((1, 1.0e-6), (128, 1.0e-6), (2**20, 1.2e-6))}
    by_size = recommend.options_by_size(measured(NEW, times), OWN)
    assert [options[0].method for options in by_size.values()] == ["b", "b", "b", "detach_clone", "detach_clone"]
    assert [recommend.reason(OWN, by_size[numel])[0] for numel in (16, 128)] == ["reason_other_size", "reason_fastest"]


def test_what_changes_once_x_requires_grad_is_a_caveat():
    """It raises, warns, stays in the graph or requires grad itself; only for a request without grad."""
    result = measured(NEW, {(method, 16): 1e-6 for method in ("raises", "warns", "flows", "own", "same")})
    with_grad = {
        "raises": {"raises": "RuntimeError: Can't call numpy()"},
        "warns": {"warns": "UserWarning: no"},
        "flows": {"keeps_graph": True, "requires_grad": True, "is_leaf": False},
        "own": {"requires_grad": True},
        "same": {},
    }
    for method, outcome in with_grad.items():
        result.methods[method]["observed"]["cpu"] = {"plain": SEEN, "with_grad": {**SEEN, **outcome}}
    caveats = {option.method: option.caveats for option in recommend.options_by_size(result, OWN)[16]}
    assert caveats == {
        "raises": (("grad_raises", "RuntimeError"),),
        "warns": (("grad_warns", "UserWarning: no"),),
        "flows": (("grad_flows", ""),),
        "own": (("grad_own", ""),),
        "same": (),
    }


def test_the_answers_to_the_article_s_questions(newest):
    """An independent tensor, an independent ndarray, and shared storage."""

    def first(**request):
        answers = recommend.options_by_size(newest, CopyRequest(**{"device": "cpu", "requires_grad": True, **request}))
        return {options[0].code for options in answers.values()}

    assert first(to="tensor", own=True, keeps_graph=False) == {"x.detach().clone()"}
    assert first(to="ndarray", own=True, keeps_graph=None) == {"x.detach().numpy().copy()"}
    assert first(to="tensor", own=False, keeps_graph=False) == {"x.detach()"}
    assert first(to="tensor", own=True, keeps_graph=True) == {"x.clone()"}


def test_one_answer_is_shown_everywhere(newest):
    """Landing page, first page of the chooser, README and `advise` recommend the same code, for an independent tensor."""
    content = render.content(shipped(), (newest,))
    option = recommend.recommended(content.machine.result, recommend.common_request("tensor", "cpu"))
    landing_page = next(page for page in landing.pages(content) if page.address == addresses.LANDING)
    assert escape(option.code) in str(landing_page.values["blocks"][0]["answer"]).replace("<wbr>", "")
    first = next(page for page in chooser.pages(content) if page.address == addresses.CHOOSER)
    assert first.values["answers"][0].options[0] == option
    assert f"`{option.code}` for an independent tensor" in readme.answer(content.devices)
    request = recommend.common_request("tensor", "cpu")
    assert advise.advise(requires_grad=request.requires_grad, shipped=True).code == option.code


def test_a_gpu_answers_for_its_device_on_every_page(shipped_content):
    """Landing page, chooser, article and `advise`: the machine that measured it, beside the history of another."""
    content = shipped_content
    gpu, source = content.by_device["cuda"], "torch 2.15.0 on NVIDIA H200"
    assert (content.machine.name, gpu.name) == (SHIPPED.name, SHIPPED_GPU.name)
    landing_page = next(page for page in landing.pages(content) if page.address == addresses.LANDING)
    row = next(row for row in landing_page.values["blocks"] if row["device"] == "cuda")
    assert row["source"].startswith(source)
    assert not any(row.get("own") for row in landing_page.values["blocks"])  # each device has one machine
    code = recommend.recommended(gpu.result, recommend.common_request("tensor", "cuda")).code
    assert escape(code) in str(row["answer"]).replace("<wbr>", "")
    assert advise.advise(device="cuda", requires_grad=True, shipped=True).code == code
    request = recommend.common_request("ndarray", "cuda")
    copying = {option.method for option in recommend.options_by_size(gpu.result, request)[1] if ("device_copy", "") in option.caveats}
    assert copying == {"clone_detach_numpy", "detach_clone_numpy"}
    by_size = recommend.options_by_size(gpu.result, request)
    at_size = by_size[2**14]
    usual = next(option for option in at_size if option.usual)
    assert (usual.code, usual.rank) == ("x.detach().cpu().numpy().copy()", "slower")  # it copies once more on the host
    judged = [options for options in by_size.values() if options[0].judged]
    assert len(judged) >= 4
    assert not {options[0].method for options in judged} & copying
    assert not any(options[0].usual or not options[0].among_fastest for numel, options in by_size.items() if 2**14 <= numel < 2**24)
    shares = {option.code for option in at_size if ("shares_on_cpu", "") in option.caveats}
    assert shares == {"x.numpy(force=True)", "x.detach().cpu().numpy()"}  # the same code on the CPU gives no copy
    assert not {options[0].code for options in by_size.values()} & shares
    for to, cost in zip(("tensor", "numpy"), row["costs"]):
        code = advise.advise(to=to, device="cuda", requires_grad=True, shipped=True).code
        assert str(cost["text"]).replace("<wbr>", "").startswith(f"<code>{escape(code)}</code>")
        assert "2¹⁷ elements" in cost["text"]  # where `advise` answers without a size
        assert f"/cuda-{'tensor' if to == 'tensor' else 'ndarray'}-own-" in cost["address"]
        options = recommend.options_by_size(gpu.result, recommend.common_request("tensor" if to == "tensor" else "ndarray", "cuda"))[2**17]
        (fastest,) = (option for option in options if option.rank == "fastest")
        if fastest is not options[0]:
            low, high = (f"{ratio:.2f}" for ratio in options[0].change.interval)
            ratio = f"takes {low} to {high} × as long as <code>{escape(fastest.code)}</code>, the fastest"
            assert ratio in str(cost["text"]).replace("<wbr>", "").replace("\xa0", " ")
    twice = by_size[2**24]  # measured in two launches: there is no interval
    assert ({option.rank for option in twice}, recommend.reason(request, twice)[0]) == ({""}, "reason_few_launches")
    assert twice[0].method == by_size[2**20][0].method
    launches = [json.loads(path.read_text(encoding="utf-8")) for path in SHIPPED_GPU.glob("*.json")]
    for launch in (launch for launch in launches if launch["kind"] == "counts"):
        assert {*launch["suites"]["memory.Device.track_peak"]["values"].values()} >= {0.0, 2**22}
    answer = next(article.pages(content)).values["waste"]
    assert "takes 4 MiB there" in answer.replace("\xa0", " ")
    assert f"(measured with {source})" in answer


def test_the_time_with_grad_decides_for_a_tensor_that_requires_grad(tmp_path):
    """Without it, as on a GPU and in a quick measurement, the time without grad stands for it, which is a caveat."""
    request, release = recommend.common_request("tensor", "cpu"), "2.15.0"
    launch_files.write_counts(tmp_path, release, {}, methods={"a": launch_files.observed(), "b": launch_files.observed()})
    plain = {f"copies.BySize.time_copy {method} 16": {release: time} for method, time in (("a", 1.0), ("b", 2.0))}
    launch_files.write(tmp_path, plain)
    option = recommend.recommended(*launch_files.load(tmp_path, release), request)
    assert (option.method, option.caveats) == ("a", (("timed_without_grad", ""),))
    with_grad = {f"copies.ByGrad.time_copy {method} 16 True": {release: time} for method, time in (("a", 2.0), ("b", 1.0))}
    launch_files.write(tmp_path, {**plain, **with_grad}, start=launch_files.START + timedelta(days=1))
    option = recommend.recommended(*launch_files.load(tmp_path, release), request)
    assert (option.method, option.caveats) == ("b", ())


def test_a_method_that_was_timed_alone_is_not_the_fastest(newest):
    """x.clone(), the usual form that keeps the graph, was timed at a part of the sizes, without grad."""
    request = CopyRequest("tensor", own=True, keeps_graph=True, requires_grad=True, device="cpu")
    by_size = recommend.options_by_size(newest, request)
    assert {options[0].code for options in by_size.values()} == {"x.clone()"}
    first, *_ = by_size[2**10]
    assert (first.rank, first.caveats) == ("fastest", (("timed_without_grad", ""),))
    timed = [option for option in by_size[2**7] if option.timing]
    assert [(option.method, option.rank) for option in timed] == [("empty_like_copy", "")]
    assert recommend.reason(request, by_size[2**7])[0] == "reason_usual_unmeasured"


def test_a_method_is_not_tied_whose_own_interval_says_slower(tmp_path):
    """It is likely slower, in the chooser, in `advise` and in the tables of sizes alike; the usual form stays in its place."""
    slow, orders = "detach_clone", [*permutations((0.95, 1.0, 1.05))] * 8
    times = {"clone_detach": [0.99] * 3, slow: [1.1445, 1.0355, 1.09]} | {f"made_{number}": [*order] for number, order in enumerate(orders)}
    sides = {method: {"2.14.1": [1.0] * 3, "2.15.0": seconds} for method, seconds in times.items()}
    launch_files.write(tmp_path, {f"copies.BySize.time_copy {method} 16": of_method for method, of_method in sides.items()})
    launch_files.write_counts(tmp_path, "2.15.0", {}, methods={method: launch_files.observed() for method in times})
    (result,) = launch_files.load(tmp_path, "2.15.0")
    options = recommend.options_by_size(result, OWN)[16]
    assert (options[0].method, options[0].usual, options[0].rank, options[0].among_fastest) == (slow, True, "likely slower", False)
    assert {option.rank for option in options[1:]} == {"fastest", "tied"}
    (choice, *_) = advise.of_options(OWN, 16, options, "here", {"torch": "", "on": "", "day": ""}).choices
    assert advise.against_fastest(choice).startswith("likely slower +")
    table = machine.costs(result, "copy", "cpu")
    assert [row[0].among_fastest for method, row in zip(table.methods, table.costs) if method == slow] == [False]


@pytest.mark.parametrize("in_turns", [False, True])
def test_what_launches_of_one_side_leave_unknown_is_not_tied(tmp_path, in_turns):
    """A processor with two speeds takes 1.45 times as long for seconds at a time: which method it hits is chance. What is clear is said.

    Where methods took turns, it hits all of them: their differences are compared as those of sides.
    """
    times = {"detach_clone": [1.0, 1.45, 1.0, 1.0], "tensor": [1.45, 1.0, 1.0, 1.45], "new_tensor": [9.0, 9.0, 13.0, 9.0]}
    cases = {f"copies.BySize.time_copy {method} 16": {"2.15.0": seconds} for method, seconds in times.items()}
    launch_files.write(tmp_path, cases, in_turns=in_turns)
    launch_files.write_counts(tmp_path, "2.15.0", {}, methods={method: launch_files.observed() for method in times})
    (result,) = launch_files.load(tmp_path)
    ranks = {option.method: option.rank for option in recommend.options_by_size(result, OWN)[16]}
    assert ranks == {"detach_clone": "fastest", "tensor": "tied" if in_turns else "not compared", "new_tensor": "slower"}
    site = dict(render.files(render.content(shipped(), [result])))
    page = site["sizes/box/py3.11-cuda/2.15.0.html"]
    assert ("<small>not compared</small>" in page, "tied" in page) == (not in_turns, in_turns)
    assert ("Not compared: the launches had this release alone (unpaired)" in page) is not in_turns


def test_a_method_for_accelerators_is_on_the_pages_of_its_device(tmp_path):
    """Unmeasured, it has its code and no time; measured, it is recommended with its caveat, drawn, and its pinned memory is told."""
    pinned, release, request = methods.TRANSFERS["pinned_numpy"], "2.15.0", recommend.common_request("ndarray", "cuda")
    seen = launch_files.observed("conversion", "usual", gives="ndarray", keeps_graph=None, is_leaf=None, requires_grad=None)
    outcome = {"cuda": seen["observed"]["cpu"]}
    rows = {"detach_numpy_copy": {**seen, "observed": outcome}}
    (rows["pinned_numpy"],) = conformance.observed_on([], {"transfer": {"pinned_numpy": pinned}}).values()
    assert (rows["pinned_numpy"]["devices"], rows["pinned_numpy"]["observed"]) == (["cuda"], {})
    times = {"conversions.Latency.time_conversion detach_numpy_copy 131072 cuda": {release: 80.0}}
    card = {"accelerators": {"cuda": "Card 9000"}}
    for measured_there in (False, True):
        if measured_there:
            rows["pinned_numpy"]["observed"] = outcome
            times["transfers.Latency.time_transfer pinned_numpy 131072 cuda"] = {release: 40.0}
        folder = tmp_path / str(measured_there)
        launch_files.write(folder, times, **card)
        counted = {
            "memory.Pinned.track_peak pinned_numpy 1048576 cuda": 2**22,
            f"memory.Device.track_peak {article.WASTES} 1048576 cuda": 0,
        }
        launch_files.write_counts(folder, release, counted if measured_there else {}, methods=rows, **card)
        content = render.content(shipped(), launch_files.load(folder))
        templates = render.templates_of(content)
        pages = (*method_pages.pages(content), *chooser.pages(content))
        site = {page.address: render.page_text(templates, page) for page in pages if "pinned" in page.address or "131072" in page.address}
        page = site[addresses.of_method("pinned_numpy")]
        assert escape(pinned.code) in page.replace("<wbr>", "")
        assert ("For a tensor on cuda; not observed yet." in page) is not measured_there
        assert ("pinned_numpy" in draw_methods(content.methods)) is measured_there
        option = recommend.recommended(content.by_device["cuda"].result, request)
        assert option.method == ("pinned_numpy" if measured_there else "detach_numpy_copy")
        rows_of_memory = next(article.pages(content)).values["memory"]
        assert [row[1] for row in rows_of_memory] == ["usual", pinned.code]
    assert ("pinned", "") in option.caveats
    assert "On cuda. Coloured" in page
    assert "4 MiB" in page.replace("\u202f", " ").replace("\xa0", " ")
    assert [str(text).replace("\u202f", " ").replace("\xa0", " ") for text in (rows_of_memory[1][2], rows_of_memory[1][-1])] == [
        "–",
        "4 MiB (2.15.0), pinned",
    ]
    assert "to be read only after the wait" in site[addresses.of_choice(request.name, 2**17)]


def test_methods_that_were_never_in_one_launch_are_not_judged(tmp_path):
    """As where results of partial runs were merged."""
    release = "2.15.0"
    launch_files.write_counts(tmp_path, release, {}, methods={"a": launch_files.observed(), "b": launch_files.observed()})
    for day, (method, time) in enumerate((("a", 1.0), ("b", 2.0))):
        start = launch_files.START + timedelta(days=day)
        launch_files.write(tmp_path, {f"copies.BySize.time_copy {method} 16": {release: time}}, start=start)
    options = recommend.options_by_size(*launch_files.load(tmp_path, release), OWN)[16]
    assert {option.method: (option.timing is not None, option.rank) for option in options} == {"a": (True, ""), "b": (True, "")}


TENSORS = [replace(OWN, dtype=dtype) for dtype in ("float32", "float16", "int64", "bool")] + [replace(OWN, layout="strided")]


@pytest.mark.parametrize(
    ("dtype", "layout", "nearest"),
    [
        ("int64", "contiguous", "int64"),
        ("complex64", "contiguous", "int64"),
        ("int32", "contiguous", "float32"),
        ("bfloat16", "contiguous", "float16"),
        ("uint8", "contiguous", "bool"),
        ("int64", "strided", "float32, strided"),
        ("int64", "transposed", "int64"),
    ],
)
def test_the_nearest_tensor_has_the_layout_then_the_bytes(dtype, layout, nearest):
    assert recommend.nearest_tensor(replace(OWN, dtype=dtype, layout=layout), TENSORS).tensor == nearest


def test_nothing_is_recommended_that_was_not_measured_or_does_not_match():
    assert recommend.recommended(measured(NEW, {}), OWN) is None
    assert recommend.recommended(measured(NEW, {("a", 16): 1e-6}), recommend.common_request("ndarray", "cpu")) is None
