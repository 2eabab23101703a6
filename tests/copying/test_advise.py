"""`tensorcopy advise`: measured here with torch, from the shipped results without.

Both are judged by the same rules, those of the pages.
"""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from tensorcopy import cli
from tensorcopy.copying import BASELINE, advise, recommend
from tensorcopy.copying.inside import timing
from tensorcopy.copying.inside.methods import NAMES, make_tensor
from tensorcopy.copying.recommend import CopyRequest
from tensorcopy.errors import TensorcopyError
from tests import launch_files

REQUEST = CopyRequest(to="tensor", own=True, keeps_graph=None, requires_grad=False, device="cpu")


def benchmark(nanoseconds, **observed):
    """Return what `timing.time_methods` returns for methods with these times; `observed` has special behaviour by method."""
    rows = {name: launch_files.observed(code=name, **observed.get(name, {})) for name in nanoseconds}
    spread = {name: [time * 1e-9 * (1 + turn % 7 / 300) for turn in range(60)] for name, time in {**nanoseconds, BASELINE: 100}.items()}
    return {
        "torch": "2.15.0",
        "on": "a CPU",
        "day": "2026-11-22",
        "methods": rows,
        "times": {"64": spread},
        "left_out": {},
    }


def test_a_measurement_is_judged_like_a_result():
    """A part of the turns counts as a launch: methods are compared with the usual form, and each has its time over the baseline."""
    output = benchmark({"detach_clone": 200, "b": 300, "loud": 100, "shares": 1}, loud={"warns": "no"}, shares={"shares_storage": True})
    advice = recommend.answer(recommend.of_benchmark(output, REQUEST), REQUEST, 64)
    assert {name: cell.against and cell.against.word.value for name, cell in advice.column.cells.items()} == {
        "detach_clone": None,
        "b": "slower",
        "loud": "faster",
    }
    assert advice.column.cells["detach_clone"].multiple == pytest.approx(2.0)
    assert {cell.against.launches for cell in advice.column.cells.values() if cell.against} == {recommend.PARTS}
    assert advice.column.cells["b"].against.interval == pytest.approx((1.5, 1.5), rel=1e-3)
    assert (str(advice), advice.numel, advice.table.evidence.measured) == ("detach_clone", 64, "here")


def test_without_a_matching_method_there_is_no_code(capsys):
    """The reason explains that, and the command exits with 1."""
    request = replace(REQUEST, own=False)
    advice = recommend.answer(recommend.of_benchmark(benchmark({"detach_clone": 200}), request), request, 64)
    assert (advice.code, advice.column, advice.why) == ("", None, "No method in tensorcopy does this.")
    assert cli.main(["advise", "--shipped", "--shared", "--requires-grad", "--keep-graph"]) == 1
    assert capsys.readouterr().out == "Use x itself: it shares its storage and stays in the graph.\n"


def test_without_torch_the_shipped_answer_is_given(monkeypatch):
    """For the nearest size that was measured."""
    monkeypatch.setattr(advise, "find_spec", lambda name: None)
    advice = advise.advise("numpy", requires_grad=True, numel=1e5)
    assert (advice.code, advice.table.evidence.measured, advice.numel) == ("x.detach().numpy().copy()", "shipped", 2**17)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of np.array(x), which may be among the fastest
@pytest.mark.parametrize(
    ("to", "independent", "requires_grad", "keep_graph"),
    [
        ("tensor", True, True, False),
        pytest.param("tensor", True, True, True, marks=pytest.mark.slow),
        pytest.param("tensor", False, True, False, marks=pytest.mark.slow),
        pytest.param("numpy", True, False, False, marks=pytest.mark.slow),
        ("numpy", False, True, False),
    ],
)
def test_the_recommended_code_does_what_was_requested(worker_here, monkeypatch, to, independent, requires_grad, keep_graph):
    """It is run with the torch that it was measured with."""
    monkeypatch.setattr(advise, "TURNS", 4)  # how fast it is, is not tested
    advice = advise.advise(to, independent=independent, requires_grad=requires_grad, keep_graph=keep_graph, numel=64)
    assert (advice.table.evidence.measured, advice.table.evidence.torch) == ("here", torch.__version__)
    x = torch.ones(4).requires_grad_(requires_grad)
    y = eval(advice.code, {**NAMES, "x": x})
    assert isinstance(y, torch.Tensor if to == "tensor" else np.ndarray)
    assert (to == "tensor" and y.requires_grad) == keep_graph
    with torch.no_grad():
        x[0] = 7.0
    value = float(y.detach()[0] if to == "tensor" else y[0])
    assert (value == 7.0) == (not independent)
    assert {*advice.column.cells} == {row.method for row in advice.table.rows}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"to": "list"}, "allowed: tensor or numpy"),
        ({"to": "numpy", "keep_graph": True, "requires_grad": True}, "there is no graph to keep: got an ndarray; "),
        ({"keep_graph": True}, "there is no graph to keep: got an x that requires no grad; "),
        ({"numel": 0}, "not a number of elements"),
        ({"numel": 2**31}, r"not a number of elements: got 2147483648; allowed: 1 to 2\*\*30"),
        ({"numel": 2**63, "shipped": True}, r"not a number of elements: got 9223372036854775808; allowed: 1 to 2\*\*62"),
        ({"device": "xpu"}, "xpu cannot be used on this machine"),
        ({"device": "xpu", "shipped": True}, "no results were shipped for xpu: .*; next: tensorcopy advise --shipped --device cpu$"),
        ({"device": "xpo", "shipped": True}, "unknown device: got 'xpo'; allowed: cpu, cuda, "),
        ({"dtype": "float8"}, "unknown dtype: got 'float8'; allowed: float32, float16, "),
        ({"layout": "sparse"}, "unknown layout: got 'sparse'; allowed: contiguous, transposed, "),
        ({"dtype": "bool", "requires_grad": True}, "only floating and complex numbers require grad: got bool that requires grad; "),
        ({"to": "numpy", "dtype": "bfloat16", "shipped": True}, r"numpy has no bfloat16: .*; next: x\.detach\(\)\.float\(\)\.numpy\(\)"),
        ({"layout": "transposed", "numel": 1500}, "a transposed x of another size is not measured: .*; next: --numel 1024$"),
    ],
)
def test_an_impossible_request_is_an_error(worker_here, arguments, text):
    with pytest.raises(TensorcopyError, match=text):
        advise.advise(**arguments)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--numel", "5e9"], "2²⁴ float32 on cpu, no grad"),
        (["--dtype", "float16", "--layout", "strided", "--numel", "1e4"], "2¹⁴ strided float32 on cpu, no grad"),
        (["--device", "cuda", "--layout", "strided"], "2¹⁷ float32 on cuda, no grad"),
        (["--dtype", "int64"], "2¹⁷ int64 on cpu, no grad"),
    ],
)
def test_the_command_says_what_was_measured_instead(capsys, arguments, told):
    """The nearest tensor, where that one was not."""
    assert cli.main(["advise", "--shipped", *arguments]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert told in printed
    assert ("Not measured with this tensor, but with the nearest. Times from" in printed) is (arguments != ["--dtype", "int64"])


@pytest.mark.parametrize(
    ("to", "dtype", "layout"), [("tensor", "bool", "strided"), pytest.param("numpy", "float16", "channels_last", marks=pytest.mark.slow)]
)
def test_another_tensor_is_measured_here(worker_here, monkeypatch, to, dtype, layout):
    """Of this very dtype and layout, beside the same bytes."""
    monkeypatch.setattr(advise, "TURNS", 6)
    made = []
    monkeypatch.setattr(timing, "make_tensor", lambda *how: made.append(how) or make_tensor(*how))
    copied, memcpy = [], timing.loop.memcpy
    monkeypatch.setattr(timing.loop, "memcpy", lambda *what, **how: copied.append((what, how)) or memcpy(*what, **how))
    advice = advise.advise(to, dtype=dtype, layout=layout, numel=1024)
    assert copied == [((1024, 1 if dtype == "bool" else 2), {"step": 2 if layout == "strided" else 1})]
    timed, evidence = advice.table.timed, advice.table.evidence
    assert (evidence.measured, timed.dtype, timed.layout, evidence.left_out) == ("here", dtype, layout, {})
    assert {how[:4] for how in made} == {(1024, "cpu", dtype, layout)}
    assert len(advice.column.cells) == len(advice.table.rows) >= 4
    assert all(cell.multiple for cell in advice.column.cells.values())
    assert f"{layout} {dtype} on cpu" in advise.origin(advice)


def test_the_command_prints_code_reason_and_caveats(monkeypatch, capsys):
    """The methods follow, the recommended one first, each with its verdict and its caveats."""
    monkeypatch.setenv("COLUMNS", "1000")
    assert cli.main(["advise", "--to", "numpy", "--numel", "2**17", "--requires-grad", "--shipped"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Use x.detach().numpy().copy(): ")
    advice = advise.advise("numpy", requires_grad=True, shipped=True)
    assert lines[1].strip() == advice.why
    assert lines[2] == f"Note: {advice.table.rows[0].caveats[0]}."
    rows = [re.split("  +", line.strip()) for line in lines[5:9]]
    assert [row[0] for row in rows[:3]] == ["x.detach().numpy().copy()", "x.detach().clone().numpy()", "x.clone().detach().numpy()"]
    assert re.fullmatch(r"slower × 1\.\d\d \(1\.\d\d to 1\.\d\d\)", rows[1][2])
    assert rows[0][-1] == advice.table.rows[0].caveats[0]
    origin = " ".join("\n".join(lines).rpartition("\n\n")[2].split())
    assert origin.startswith("Times from the shipped results, not measured here: torch ")
    assert "2¹⁷ float32 on cpu, requires grad, one thread" in origin
