"""`tensorcopy advise`: measured here where torch is, as shipped where it is not; and never otherwise than the chooser's pages."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from tensorcopy import cli
from tensorcopy.analysis import recommend
from tensorcopy.analysis.recommend import CopyRequest
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import interpreters
from tensorcopy.report.local import advise
from tensorcopy.results import load
from tensorcopy.site import render
from tensorcopy.worker.registry.methods import NAMES
from tests.conftest import ROOT, SEEN

REQUEST = CopyRequest(to="tensor", own=True, keeps_graph=None, requires_grad=False, device="cpu")


def trial(rounds, **seen):
    """What `quick_bench` would find of methods that take so many nanoseconds; `seen` is what is special of each."""
    rows = {
        name: {
            "group": "copy",
            "code": name,
            "code_on_accelerator": name,
            "since": "1.9.0",
            "observed": {"cpu": {"plain": {**SEEN, **seen.get(name, {})}}},
        }
        for name in rounds
    }
    spread = {name: [time * 1e-9 * (1 + part / 300) for part in range(-4, 5)] for name, time in rounds.items()}
    return {
        "torch": "2.15.0",
        "python": "3.11.7",
        "on": "a CPU",
        "day": "2026-11-22",
        "methods": rows,
        "rounds": spread,
        "floor": [1e-7] * 9,
    }


def test_what_was_measured_here_is_judged_as_results_are():
    """The fastest that does as asked and does not warn; the others beside it, each with its verdict; times over the floor."""
    found = advise.of_trial(
        trial({"a": 200, "b": 300, "loud": 100, "shares": 1}, loud={"warns": "no"}, shares={"shares_storage": True}), REQUEST, 64
    )
    assert [choice.code for choice in found.choices] == ["a", "b", "loud"]
    assert [choice.verdict for choice in found.choices] == ["slower", "slower", "fastest"]
    assert found.choices[0].multiple == pytest.approx(2.0)
    assert found.choices[1].ratio == pytest.approx(3.0)
    assert found.choices[2].caveats == ("warns: no",)
    assert (str(found), found.measured, found.numel) == ("a", "here", 64)
    assert json.loads(json.dumps(found.document()))["code"] == "a"


def test_where_nothing_does_as_asked_that_is_said():
    found = advise.of_trial(trial({"a": 200}), replace(REQUEST, own=False), 64)
    assert (found.code, found.choices) == ("", ())
    assert found.why == "No method that tensorcopy knows does this."


@pytest.fixture(scope="module")
def content():
    return render.content(load.load_results(ROOT / "results").results)


def test_what_is_shipped_is_what_the_chooser_s_pages_say(content):
    """Every wish at every size: the same methods in the same order, and the same reason."""
    asked = 0
    for device in recommend.devices(content.machine.result):
        for request in recommend.requests(device):
            for numel, options in recommend.advised(content.machine.result, request, content.machine.series[0].results).items():
                found = advise._as_shipped(request, numel)
                assert (found.numel, [choice.code for choice in found.choices]) == (numel, [option.code for option in options])
                assert found.why == advise._why(options)
                asked += 1
    assert asked >= 40


def test_without_torch_the_shipped_answer_is_given(monkeypatch):
    """At the nearest size that was measured, and it says so."""
    monkeypatch.setattr(advise, "find_spec", lambda name: None)
    monkeypatch.setattr(interpreters, "asked", lambda *_, **__: pytest.fail("there is no torch to be asked"))
    found = advise.advise("numpy", requires_grad=True, numel=1e5)
    assert (found.code, found.measured, found.numel) == ("x.detach().numpy().copy()", "shipped", 2**17)


@pytest.mark.parametrize(
    ("to", "independent", "requires_grad", "keep_graph"),
    [
        ("tensor", True, True, False),
        ("tensor", True, True, True),
        ("tensor", False, True, False),
        ("numpy", True, False, False),
        ("numpy", False, True, False),
    ],
)
def test_the_code_does_as_asked(to, independent, requires_grad, keep_graph):
    """Run on this torch, on which it was measured a moment before."""
    found = advise.advise(to, independent=independent, requires_grad=requires_grad, keep_graph=keep_graph, numel=64)
    assert found.measured == "here"
    assert found.torch == torch.__version__
    x = torch.ones(4).requires_grad_(requires_grad)
    y = eval(found.code, {**NAMES, "x": x})
    assert isinstance(y, torch.Tensor if to == "tensor" else np.ndarray)
    assert (to == "tensor" and y.requires_grad) == keep_graph
    with torch.no_grad():
        x[0] = 7.0
    seen = float(y.detach()[0] if to == "tensor" else y[0])
    assert (seen == 7.0) == (not independent)
    assert all(choice.seconds for choice in found.choices)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"to": "list"}, "allowed: tensor or numpy"),
        ({"to": "numpy", "keep_graph": True, "requires_grad": True}, "there is no graph to keep"),
        ({"keep_graph": True}, "there is no graph to keep"),
        ({"numel": 0}, "no number of elements"),
        ({"device": "xpu"}, "there is no xpu here"),
        ({"device": "xpu", "shipped": True}, "nothing was shipped for xpu"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked, text):
    with pytest.raises(TensorcopyError, match=text):
        advise.advise(**asked)


def test_the_command_says_what_to_type_why_and_what_to_beware_of(capsys):
    assert cli.main(["advise", "--to", "numpy", "--numel", "2**17", "--requires-grad", "--shipped"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("take    x.detach().numpy().copy()   ")
    assert lines[2] == "beware  strides are not kept: it is laid out contiguously"
    assert lines[-1].startswith("as shipped, not measured here: torch ")
    assert "2¹⁷ float32 on cpu, a leaf that requires grad, one thread" in lines[-1]


def test_the_command_gives_everything_as_json(capsys):
    assert cli.main(["advise", "--numel", "64", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["measured"] == "here"
    assert found["code"] == found["choices"][0]["code"]
