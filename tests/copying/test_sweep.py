"""`tensorcopy plot`: the size sweep, its table and its picture."""

import json
import re
from xml.etree import ElementTree

import matplotlib
import pytest
import torch

import tensorcopy
from tensorcopy.cli import main
from tensorcopy.copying import sweep
from tensorcopy.copying.inside import timing
from tensorcopy.copying.inside.methods import CONVERSIONS, COPIES, make_method
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import interpreters
from tests import worker_in_process

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def few_turns(monkeypatch):
    """How fast a method is, is not tested."""
    monkeypatch.setattr(sweep, "TURNS", 4)


def curve(name: str, *seconds: float) -> dict[str, object]:
    """Return the curve of a method with these seconds at 1, 2 and 4 elements."""
    points = [{"numel": 2**power, "usual": time, "low": 0.9 * time, "high": 1.2 * time} for power, time in enumerate(seconds)]
    return {"name": name, "code": f"code of {name}", "points": points}


KNOWN = {
    "left_out": {},
    "what": "copies",
    "device": "cpu",
    "requires_grad": False,
    "torch": "2.15.0",
    "python": "3.11.7",
    "on": "Box",
    "day": "2026-11-21",
    "curves": [curve("fast", 1e-6, 1e-6, 2e-6), curve("slow", 2e-6, 4e-6, 4e-6)],
    "baseline": curve("baseline", 1e-7, 1e-7, 1e-7),
}


BAD = {
    "relu": ("torch.relu(x)", "does not copy 1 elements"),
    "rows": ("x.reshape(-1, 2).clone()", "RuntimeError: shape '[-1, 2]' is invalid for input of size 1, with 1 elements"),
    "at_four": ("x.clone() if len(x) != 4 else 1 / 0", "ZeroDivisionError: division by zero, with 4 elements"),
    "listed": ("x.tolist()", "returns a list"),
    "exits": ("exit()", "SystemExit: None, with 1 elements"),
}


def test_every_method_that_copies_has_a_curve_of_every_size(undeclared, tmp_path):
    """In the order of the registry, and the baseline; the picture names those that do not copy."""
    worker_in_process.declare(json.dumps([{"name": name, "code": code} for name, (code, _) in BAD.items()]))
    document = timing.time_sizes(what="copies", most=4)
    assert [curve["name"] for curve in document["curves"]] == list(COPIES)
    for curve in [*document["curves"], document["baseline"]]:
        assert [point["numel"] for point in curve["points"]] == [1, 2, 4]
        assert all(0 < point["low"] <= point["usual"] <= point["high"] < 1 for point in curve["points"])
    assert document["torch"] == torch.__version__
    assert document["left_out"] == {name: reason for name, (_, reason) in BAD.items()}
    sweep.save(document, tmp_path / "copies.svg")
    words = " ".join(ElementTree.parse(tmp_path / "copies.svg").getroot().itertext())
    assert "Left out: relu, rows, listed, exits, at_four." in words


def test_nothing_to_plot_is_an_error(monkeypatch):
    """Also where the divisor is left out."""
    bad = {"rows": make_method("rows", BAD["rows"][0], since="1.9.0")}
    for methods, relative_to in ((bad, ""), (bad, "baseline"), ({**bad, **COPIES}, "rows")):
        monkeypatch.setattr(timing, "SWEEPS", {"copies": methods})
        with pytest.raises(TensorcopyError, match="rows cannot be plotted: got RuntimeError: shape"):
            timing.time_sizes(what="copies", most=4, relative_to=relative_to)


def test_a_leaf_that_requires_grad_and_conversions_are_measured_too():
    conversions = timing.time_sizes(what="conversions", most=1, requires_grad=True)
    assert [curve["name"] for curve in conversions["curves"]] == list(CONVERSIONS)
    assert conversions["requires_grad"]


@pytest.fixture
def known(monkeypatch):
    """A process whose times are known."""
    monkeypatch.setattr(interpreters, "run_probe", lambda *_, **__: KNOWN)


def test_the_table_has_bars_and_some_times(known, capsys):
    """The bars have eight heights, from the least to the greatest time."""
    assert main(["plot", "copies"]) == 0
    output = capsys.readouterr().out
    assert re.search(r"code of fast +▁▁▅ +1.00 µs +1.00 µs +2.00 µs", output)
    assert re.search(r"code of slow +▅██ +2.00 µs +4.00 µs +4.00 µs", output)
    assert re.search(r"memcpy baseline: code of baseline +▁▁▁ +100 ns", output)
    assert "torch 2.15.0, Box, float32 on cpu, one thread, 2026-11-21" in output
    assert main(["plot", "copies", "--relative-to", "fast"]) == 0
    assert re.search(r"code of slow +\S+ +2.00× +4.00× +2.00×", capsys.readouterr().out)


def test_json_is_alone_on_stdout(known, tmp_path, capsys):
    """Also where a picture is drawn: a program reads it."""
    assert main(["plot", "copies", "--json", "-o", str(tmp_path / "copies.svg")]) == 0
    assert json.loads(capsys.readouterr().out) == KNOWN
    assert (tmp_path / "copies.svg").exists()


@pytest.mark.parametrize("options", [["--no-logx", "--no-logy"], ["--relative-to", "baseline"]], ids=["linear", "relative"])
def test_a_picture_is_labelled(known, tmp_path, capsys, options):
    """With every method's code, torch, the machine and the day, as text; a linear scale begins at 0."""
    path = tmp_path / "copies.svg"
    assert main(["plot", "copies", "-o", str(path), *options]) == 0
    assert str(path) in capsys.readouterr().out
    words = " ".join(ElementTree.parse(path).getroot().itertext())
    for word in ("code of fast", "code of slow", "memcpy baseline: code of baseline", "torch 2.15.0, Box, one thread, 2026-11-21"):
        assert word in words
    assert ("relative time" in words) == ("--relative-to" in options)
    is_linear = "--no-logx" in options
    assert ("2.5" in words, " 0 s" in words) == (is_linear, is_linear)


def test_the_function_returns_axes(known):
    """For a notebook, or a figure of the caller."""
    axes = tensorcopy.plot("copies")
    assert [line.get_label() for line in axes.get_lines()] == ["code of fast", "code of slow", "code of baseline"]
    assert axes.get_yscale() == "log"
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "tpu"], "tpu cannot be used on this machine: got tpu; allowed: cpu"),
        (["--max", "2**31"], "the number of elements is out of range: got 2147483648; allowed: 1 to 2**30"),
        (["-o", "copies.bmp"], "unknown kind of picture: got copies.bmp; allowed: .svg, .png, .pdf"),
        (["-o", "no/such/folder/copies.svg"], "the picture cannot be written: got no folder no/such/folder"),
        (["--relative-to", "nothing", "--max", "2**30"], "no such method is measured: got 'nothing'; allowed: new_tensor, clone_detach"),
    ],
)
def test_an_impossible_request_is_an_error_in_one_line(worker_here, arguments, message, capsys):
    assert main(["plot", "copies", *arguments]) == 2
    assert message in capsys.readouterr().err
