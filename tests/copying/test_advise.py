"""`tensorcopy advise`: measured here with torch, from the shipped results without.

Always consistent with the chooser's pages.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from tensorcopy import cli
from tensorcopy.copying import advise, recommend
from tensorcopy.copying.inside import timing
from tensorcopy.copying.inside.methods import CONVERSIONS, COPIES, LAYOUTS, NAMES, make_tensor
from tensorcopy.copying.reasons import REASONS
from tensorcopy.copying.recommend import CopyRequest
from tensorcopy.errors import TensorcopyError
from tests import launch_files

REQUEST = CopyRequest(to="tensor", own=True, keeps_graph=None, requires_grad=False, device="cpu")


def benchmark(nanoseconds, **observed):
    """Return the output of `timing.time_request` for methods with these times; `observed` has special behaviour by method."""
    rows = {name: launch_files.observed(code=name, **observed.get(name, {})) for name in nanoseconds}
    spread = {name: [time * 1e-9 * (1 + part / 300) for part in range(-4, 5)] for name, time in nanoseconds.items()}
    return {
        "torch": "2.15.0",
        "python": "3.11.7",
        "on": "a CPU",
        "day": "2026-11-22",
        "methods": rows,
        "times": spread,
        "baseline": [1e-7] * 9,
        "left_out": {},
    }


def test_a_measurement_is_judged_like_a_result():
    """The fastest match without a warning comes first; each has its verdict against the fastest and its time over the baseline."""
    times = {"a": 200, "b": 300, "loud": 100, "shares": 1}
    output = benchmark(times, loud={"warns": "no"}, shares={"shares_storage": True})
    advice = advise.of_benchmark(output, REQUEST, 64)
    assert [match.code for match in advice.choices] == ["a", "loud", "b"]
    assert [match.verdict for match in advice.choices] == ["slower", "fastest", "slower"]
    assert advice.choices[0].multiple == pytest.approx(2.0)
    assert advice.choices[2].interval[0] < 3 < advice.choices[2].interval[1]
    assert advice.choices[1].caveats == ("warns: no",)
    assert (str(advice), advice.measured, advice.numel) == ("a", "here", 64)
    assert json.loads(json.dumps(advice.document()))["code"] == "a"


def test_without_a_matching_method_there_is_no_code():
    """The reason explains that."""
    advice = advise.of_benchmark(benchmark({"a": 200}), replace(REQUEST, own=False), 64)
    assert (advice.code, advice.choices) == ("", ())
    assert advice.why == REASONS["no_match"]


def test_a_slower_method_has_the_interval_of_its_difference():
    """It is above 1; one that includes 1 is a tie."""
    judged = [choice for choice in advise.advise(shipped=True).choices if choice.interval]
    assert {choice.verdict for choice in judged} == {"slower", "tied"}
    for choice in judged:
        assert choice.interval[0] > 1 or choice.verdict == "tied"
        assert advise.against_fastest(choice).startswith(f"{choice.verdict} ")


def test_without_torch_the_shipped_answer_is_given(monkeypatch):
    """For the nearest size that was measured."""
    monkeypatch.setattr(advise, "find_spec", lambda name: None)
    advice = advise.advise("numpy", requires_grad=True, numel=1e5)
    assert (advice.code, advice.measured, advice.numel) == ("x.detach().numpy().copy()", "shipped", 2**17)


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
    monkeypatch.setattr(timing, "REQUEST_TURNS", 4)  # how fast it is, is not tested
    advice = advise.advise(to, independent=independent, requires_grad=requires_grad, keep_graph=keep_graph, numel=64)
    assert advice.measured == "here"
    assert advice.torch == torch.__version__
    x = torch.ones(4).requires_grad_(requires_grad)
    y = eval(advice.code, {**NAMES, "x": x})
    assert isinstance(y, torch.Tensor if to == "tensor" else np.ndarray)
    assert (to == "tensor" and y.requires_grad) == keep_graph
    with torch.no_grad():
        x[0] = 7.0
    value = float(y.detach()[0] if to == "tensor" else y[0])
    assert (value == 7.0) == (not independent)
    assert all(match.seconds for match in advice.choices)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"to": "list"}, "allowed: tensor or numpy"),
        ({"to": "numpy", "keep_graph": True, "requires_grad": True}, "there is no graph to keep: .*; next: leave out --keep-graph$"),
        ({"keep_graph": True}, "there is no graph to keep: .*; next: add --requires-grad, or leave out --keep-graph$"),
        ({"numel": 0}, "not a number of elements"),
        ({"numel": "2**10"}, r"not a number of elements: got '2\*\*10'"),
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


def test_the_command_says_which_size_was_measured_instead(capsys):
    assert cli.main(["advise", "--numel", "5e9", "--shipped"]) == 0
    assert "Nearest measured size: 2²⁴ elements. Times from the shipped results" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--dtype", "complex64"], "Nearest measured tensor, not the same as complex64, contiguous: int64, contiguous. Times"),
        (
            ["--dtype", "float16", "--layout", "strided", "--numel", "1e4"],
            "Nearest measured size: 2¹⁴ elements. Nearest measured tensor, not the same as float16, strided: float32, strided.",
        ),
        (["--device", "cuda", "--layout", "strided"], "not the same as float32, strided: float32, contiguous. Times"),
        (["--dtype", "int64"], "2¹⁷ int64 on cpu"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_command_says_which_tensor_was_measured_instead(capsys, arguments, told):
    """The nearest one, if its own dtype or layout was not."""
    assert cli.main(["advise", "--shipped", *arguments]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert told in printed
    assert ("Nearest measured tensor" in printed) is ("not the same" in told)


@pytest.mark.parametrize(("to", "dtype", "layout"), [("tensor", "bool", "strided"), ("numpy", "float16", "channels_last")])
def test_another_tensor_is_measured_here(worker_here, monkeypatch, to, dtype, layout):
    """Of this very dtype and layout, beside the same bytes."""
    monkeypatch.setattr(timing, "REQUEST_TURNS", 6)
    made = []
    monkeypatch.setattr(timing, "make_tensor", lambda *how: made.append(how) or make_tensor(*how))
    advice = advise.advise(to, dtype=dtype, layout=layout, numel=1024)
    assert (advice.measured, advice.request.dtype, advice.request.layout, advice.left_out) == ("here", dtype, layout, {})
    assert {how[:4] for how in made} == {(1024, "cpu", dtype, layout)}
    assert len(advice.choices) >= 5
    assert all(choice.seconds for choice in advice.choices)
    assert any(choice.multiple for choice in advice.choices)
    assert f"{layout} {dtype} on cpu" in advise.origin(advice)


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor:UserWarning")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_copy_keeps_the_strides_unless_a_caveat_says_otherwise(newest, layout):
    """Of a tensor of each layout, by the methods that are timed for it; contiguous ones have no others."""
    x = make_tensor(2048, layout=layout)
    for group, to in ((COPIES, "tensor"), (CONVERSIONS, "ndarray")):
        request = replace(REQUEST, to=to, layout=layout)
        for name, method in group.items():
            y = torch.as_tensor(method(x))
            loses = ("contiguous", "") in recommend.caveats(newest.methods[name], request)
            if layout != "contiguous":
                assert (y.stride() != x.stride()) is loses, name
            assert not loses or y.is_contiguous()


def test_numpy_has_no_bfloat16_and_the_way_round_it_is_independent():
    x = torch.ones(4, dtype=torch.bfloat16, requires_grad=True)
    with pytest.raises(TypeError):
        x.detach().numpy()
    y = x.detach().float().numpy()
    y[0] = 7
    assert x[0] == 1


def test_shipped_results_have_no_interpreter(capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.main(["advise", "--shipped", "--interpreter", "python3.11"])
    assert "not allowed with argument --shipped" in capsys.readouterr().err


def test_the_command_prints_code_reason_and_caveats(capsys):
    assert cli.main(["advise", "--to", "numpy", "--numel", "2**17", "--requires-grad", "--shipped"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Use x.detach().numpy().copy(): ")
    (caveat,) = advise.advise("numpy", requires_grad=True, shipped=True).choices[0].caveats
    assert lines[2] == f"Note: {caveat}."
    origin = " ".join("\n".join(lines).rpartition("\n\n")[2].split())
    assert origin.startswith("Times from the shipped results, not measured here: torch ")
    assert "2¹⁷ float32 on cpu, requires grad, one thread" in origin
