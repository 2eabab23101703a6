"""The chooser's field for code, in Chromium: what it tells of a chain of calls is what torch does, and its times are measured ones."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from random import Random
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tensorcopy.analysis import recommend
from tensorcopy.copying.campaign import shipped
from tensorcopy.numbers import duration
from tensorcopy.results.reader import Result
from tensorcopy.site import addresses, render
from tensorcopy.site.pages import chooser
from tensorcopy.worker import files

pytestmark = pytest.mark.slow

ARGUMENTS = {
    "dtype": ("torch.float64", "torch.float16", "torch.int64", "torch.bfloat16"),
    "device": ('"cpu"',),
    "copy": ("True",),
    "non_blocking": ("True",),
    "memory_format": ("torch.contiguous_format",),
    "requires_grad": ("True", "False"),
}
PLACE = re.compile(r"(?<!\w)_(?!\w)")  # of the value in a step's code
FEW_PAIRS, FEW_CHAINS = 300, 100  # of the thousands, by chance
KINDS = ("plain", "with_grad")
# what the page's reader makes of each text: by its steps, or of the whole where it is a method of the registry; null where it knows none
READ = """([data, rows]) => {
  const reader = new tensorCode.Reader(data);
  return rows.map(([text, circumstances, whole]) => tensorCode.attempt(() => {
    const chain = reader.chain(text);
    return whole ? reader.result(chain, circumstances) : reader.values(chain, circumstances).at(-1);
  }));
}"""


@pytest.fixture
def opened(offline, published_site):
    """Return a function that opens a page of the chooser."""
    return lambda address=addresses.CHOOSER, width=1280, **options: offline(published_site / address, width, 900, **options)


def told(page, code: str) -> str:
    """Type code into the field, and return what the page tells of it."""
    page.locator(".pasted textarea").fill(code)
    text: str = page.locator(".pasted [role=status]").inner_text()
    return text.replace("\n\n", "\n")


def data_of(result: Result) -> dict[str, Any]:
    """Return what the page's reader is given of a result."""
    (machine,) = render.content(shipped(), (result,)).machines
    return chooser.code_data(dict.fromkeys(recommend.devices(result), machine), {})


def steps() -> list[str]:
    """Return every call that is known, alone and with each of its arguments, of `_`."""
    kinds = files.read_toml(chooser.STEPS).values()
    return sorted({each for kind in kinds for code, rule in kind.items() for each in _variants(code, rule)})


def _variants(code: str, rule: Mapping[str, Any]) -> Iterator[str]:
    if code != "_.astype()":  # it needs a dtype
        yield code
    by_position = code in ("_.astype()", "_.requires_grad_()")
    of_numpy = code.startswith("np.") or code == "_.astype()"
    for name in rule.get("takes", ()):
        for value in ARGUMENTS.get(name, ()):  # none for "*"
            argument = value if by_position else f"{name}={value}"
            if not (of_numpy and "bfloat16" in value):
                yield f"{code[:-1]}{'' if code.endswith('()') else ', '}{argument.replace('torch.', 'np.' if of_numpy else 'torch.')})"


def as_lines(chain: Sequence[str]) -> str:
    """Return a chain as someone may write it: a call a line."""
    return "\n".join(f"x = {PLACE.sub('x', step)}" for step in chain)


def as_expression(chain: Sequence[str]) -> str:
    """Return a chain as one expression, in which each value is computed once."""
    code = "x"
    for step in chain:
        code = f"(lambda x: {PLACE.sub('x', step)})({code})"
    return code


def differences(read: Mapping[str, Any], seen: Mapping[str, Any], transposed: bool) -> list[str]:
    """Return in what the page and an outcome differ."""
    if read["raises"] or seen["raises"]:
        same = read["raises"] and seen["raises"].startswith(read["raises"])  # releases add to the text
        return [] if same else [f"raises {read['raises'] or 'nothing'}, torch {seen['raises'] or 'nothing'}"]
    is_tensor = read["gives"] == "tensor"
    page = {
        "gives": read["gives"],
        "shares_storage": read["shares"],
        "keeps_graph": read["graph"] if is_tensor else None,
        "is_leaf": read["leaf"] if is_tensor else None,
        "requires_grad": read["grad"] if is_tensor else None,
        "dtype": "same" if read["dtype"] == "float32" else read["dtype"],
        "layout": "contiguous" if transposed and read["contiguous"] else "same",
        "warns": "; ".join(read["warns"]),
        "changes": "values" if read["rounded"] else "",
    }
    torch = {**seen, "dtype": seen["dtype"].removeprefix("torch."), "changes": seen["changes"].removesuffix("gradients").removesuffix(", ")}
    return [f"{field}: {value}, torch {torch[field]}" for field, value in page.items() if value != torch[field]]


@pytest.mark.filterwarnings("ignore")
def test_a_chain_does_on_torch_what_the_page_tells(opened, newest):
    """Every known call with its arguments, and chains of two to four; of x with and without grad, contiguous or not.

    What was observed with the shown release is taken for the calls that the registry has, so the installed torch must be that one.
    """
    torch = pytest.importorskip("torch")
    from tensorcopy.worker import semantics
    from tensorcopy.worker.methods import make_method

    if torch.__version__ != newest.provenance["torch"]:
        pytest.skip(f"torch {torch.__version__} is installed, {newest.provenance['torch']} is shown")
    random, known = Random(0), steps()
    chains: list[Sequence[str]] = [(step,) for step in known]
    chains += random.sample(list(product(known, repeat=2)), FEW_PAIRS)
    chains += [random.choices(known, k=length) for length in (3, 4) for _ in range(FEW_CHAINS)]
    rows, outcomes = [], []
    for chain in chains:
        method = make_method("chain", as_expression(chain), since="1.9.0")
        for transposed in (False, True):
            observed = asdict(semantics.observed(method, "cpu", transposed=transposed))
            for kind in KINDS:
                circumstances = {"device": "cpu", "grad": kind == "with_grad", "contiguous": not transposed}
                rows.append([as_lines(chain), circumstances, False])
                outcomes.append((observed[kind], transposed))
    read = opened().evaluate(READ, [data_of(newest), rows])
    faults = [
        f"{row[0]!r} {row[1]}: {found}" for row, page, seen in zip(rows, read, outcomes) if page and (found := differences(page, *seen))
    ]
    assert faults == []
    assert all(any(page for row, page in zip(rows, read) if row[0] == as_lines((step,))) or "ndarray" in of(step) for step in known)
    assert sum(map(bool, read)) > len(rows) / 2


def of(step: str) -> set[str]:
    """Return what a step is called on: "tensor", "ndarray" or both."""
    return {kind for kind, known in files.read_toml(chooser.STEPS).items() for code, rule in known.items() if step in _variants(code, rule)}


def test_on_an_accelerator_the_steps_do_what_the_whole_promises(opened, newest):
    """There numpy() raises, cpu() copies, and methods have other code."""
    pytest.importorskip("torch")
    from tensorcopy.worker.methods import METHODS, promised

    data = data_of(newest)
    promises = {
        name: asdict(promise) for name, method in METHODS.items() if name in data["methods"] and (promise := promised(method, "cuda"))
    }
    for name, promise in promises.items():
        data["methods"][name]["observed"]["cuda"] = promise
    data["devices"].append("cuda")
    rows = [
        [METHODS[name].code_on_accelerator, {"device": "cuda", "grad": kind == "with_grad", "contiguous": False}, False]
        for name, kind in product(promises, KINDS)
    ]
    read = opened().evaluate(READ, [data, rows])
    for (name, kind), composed in zip(product(promises, KINDS), read):
        assert differences(composed, promises[name][kind], transposed=True) == [], (name, kind)
        if not composed["raises"]:
            seen = promises[name][kind]["device"]
            assert composed["device"] == ("cuda" if seen == "same" else seen)


def _times(result: Result, method: str) -> dict[int, float]:
    """Return the times of a method on the CPU without grad, by number of elements."""
    of_method = {case: timing for case, timing in result.timings.items() if dict(case.parameters).get("method") == method}
    return {int(case["numel"]): timing.seconds for case, timing in of_method.items() if len(case.parameters) == 2}


def test_a_method_has_its_measured_time_and_the_chooser_s_answer(opened, newest):
    """For a tensor of 2¹⁷ elements that requires grad; the answer is that of `recommend`, with the interval of the table."""
    request = recommend.common_request("tensor", "cpu")
    options = recommend.options_by_size(newest, request)[2**17]
    page = opened()
    for option in options:
        text = told(page, f"y = {option.code}")
        assert f"Time\n{duration(option.timing.seconds)}, measured\n" in text if option.timing else "Not measured" in text
        if option is options[0]:
            assert "This is the recommended form." in text
        elif option.timing and option.change:
            slower = "; your code takes {:.2f} to {:.2f}\xa0× as long".format(*option.change.interval)
            expected = ", tied with your code" if option.among_fastest else slower
            assert f"Use\n{options[0].code}\nIt does the same. It takes {duration(options[0].timing.seconds)}{expected}." in text


def test_a_chain_has_the_sum_of_its_measured_parts(opened, newest):
    """It is an estimate, and the page says how good such sums are; what was not measured is named and not estimated."""
    page = opened("choose/cpu-ndarray-own-plain-1024.html")
    parts = _times(newest, "clone")[1024], _times(newest, "numpy")[1024]
    text = told(page, "x.clone().numpy()")
    assert f"≈ {duration(sum(parts))}, an estimate: the sum of x.clone() {duration(parts[0])} + .numpy() {duration(parts[1])}." in text
    low, high = re.search(r"Such sums are (\S+) to (\S+) × the time of the whole", text).groups()
    ratios = [
        (_times(newest, "clone_detach")[numel] + _times(newest, "numpy")[1024]) / _times(newest, "clone_detach_numpy")[numel]
        for numel in (1, 1024, 2**20)
    ]
    assert float(low) - 0.01 <= min(ratios) < max(ratios) <= float(high) + 0.01
    assert 0.85 < float(low) < float(high) < 1.15
    text = told(page, "x.detach().clone().numpy().copy()")
    assert f"Not measured: .copy(). The rest: x.detach().clone().numpy() {duration(_times(newest, 'detach_clone_numpy')[1024])}." in text
    assert "independent; 2 copies: .clone(), .copy()" in text
    assert "Not measured: x.clone() (only at 2⁰, 2¹⁰, 2²⁰ elements)." in told(opened("choose/cpu-tensor-own-plain-128.html"), "x.clone()")


EXAMPLES: Iterable[tuple[str, str, list[str]]] = [
    (
        "",
        "x.clone().detach().cpu().numpy()",
        ["an ndarray", "independent", "none: an ndarray has no graph", "Warnings\nnone", "x.detach().numpy().copy()", "It does the same."],
    ),
    ("", "torch.tensor(x)", ["a tensor", "UserWarning: To copy construct from a tensor", "x.detach().clone()"]),
    ("", "x.numpy()", ["raises RuntimeError: Can't call numpy()", "If x requires no grad\nan ndarray", "It does not raise."]),
    ("", "out = model(x)\nout.detach().cpu().numpy()", ["x stands for out.", "shared with x, writing to one changes the other"]),
    ("", "x.contiguous().detach()", ["shared with x", "If x is not contiguous\nMemory: independent"]),
    ("", "copy.deepcopy(x)", ["the copy is a leaf that requires grad", "x.detach().clone().requires_grad_()"]),
    ("", "x.half().float()", ["values rounded", "2 copies"]),
    ("", "x.cpu()", ["x itself: nothing is copied", "Gradient to x\nflows"]),
    ("", "foo(x)", ["foo() is not known here"]),
    ("", "x.clone().foo()", [".foo() is not known here"]),
    ("", "x.to(device)", ["device is not known here as an argument of .to()"]),
    ("", "x.to('cuda')", [".to() of cuda is not known here"]),
    ("", "x.numpy(force=True).clone()", [".clone() of ndarray is not known here"]),
    ("", "x * 2", ["* is not read here"]),
    ("", "x.requires_grad_()\ny = x.clone()", ["x.requires_grad_() is not read here"]),
    ("", "self.w[0].new_tensor(self.w[1])", [".new_tensor() is not known here"]),
    ("", f"{'(' * 500}x", ["… is not read here"]),
    ("ja/", "x.clone().detach().cpu().numpy()", ["ndarray", "独立", "推定値", "同じことができます。"]),
    ("ja/", "foo(x)", ["foo() には対応していません。"]),
]


@pytest.mark.parametrize(("language", "code", "texts"), EXAMPLES, ids=[f"{language}{code[:30]}" for language, code, _ in EXAMPLES])
def test_the_page_tells_of_code(opened, language, code, texts):
    """What is known of it, or what of it is not known."""
    text = told(opened(f"{language}choose/index.html"), code)
    for each in texts:
        assert each in text


def test_code_becomes_text(opened):
    """Whatever it has: it makes no element, and loads nothing."""
    page = opened()
    elements = page.locator("*").count()
    for hostile in (
        "<img src=x onerror=alert(1)>.clone()",
        "x['<script>alert(1)</script>'].clone()",
        "__proto__.clone(constructor=1)",
        "\ud800",
    ):
        told(page, hostile)
    assert page.locator("[role=status] :is(img, script)").count() == 0
    told(page, "")
    assert page.locator("*").count() == elements


def test_code_stays_when_another_tensor_is_chosen(opened):
    """It is in the address, which can be passed on; an example fills the field."""
    page = opened()
    page.get_by_role("button", name="torch.tensor(x)").click()
    page.get_by_role("link", name="no", exact=True).click()
    page.get_by_role("link", name="2¹⁰").click()
    expect(page.locator(".pasted textarea")).to_have_value("torch.tensor(x)")
    expect(page.locator(".pasted [role=status]")).to_contain_text("x.clone()")
    page.get_by_role("link", name="All matching methods").click()
    assert page.url.endswith("choose/cpu-tensor-own-plain-1024.html#code=torch.tensor(x)")
    page.get_by_role("link", name="日本語").click()
    expect(page.locator(".pasted [role=status]")).to_contain_text("同じことができます。")


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1280, "dark")])
def test_an_answer_fits_and_is_accessible(opened, width, scheme):
    """With a long warning and the list of what is known."""
    page = opened("choose/index.html", width, scheme=scheme)
    told(page, "torch.tensor(x).clone().detach().cpu().numpy()")
    page.get_by_text("What is known here").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    problems = Axe().run(page, options={"preload": False, "resultTypes": ["violations"]}).response["violations"]
    assert [row["id"] for row in problems if row["impact"] != "minor"] == []


def test_without_scripts_a_link_leads_to_what_every_method_does(opened):
    """The field is not there."""
    page = opened(java_script_enabled=False)
    assert not page.locator(".pasted").is_visible()
    assert page.locator("noscript a").get_attribute("href") == "../semantics.html"
