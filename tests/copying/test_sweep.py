"""`tensorcopy plot`: the size sweep, its table and its picture."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

import tensorcopy
from tensorcopy.cli import main
from tensorcopy.copying import BASELINE, sweep
from tensorcopy.copying.inside import timing
from tensorcopy.copying.inside.methods import CONVERSIONS, Method, Promise
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import interpreters
from tests import launch_files


@pytest.fixture(autouse=True)
def few_turns(monkeypatch):
    """How fast a method is, is not tested, and no window is opened."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(sweep, "TURNS", 4)
    monkeypatch.setattr(sweep, "NUMELS", [1, 2, 4])


def turns(*seconds: float) -> dict[str, list[float]]:
    """Return four turns at 1, 2 and 4 elements, of which the usual one takes these seconds."""
    return {str(2**power): [time, 1.1 * time, 1.2 * time, 1.3 * time] for power, time in enumerate(seconds)}


CODES = {"tensor": "code of fast", "detach_clone": "code of slow"}
TURNS = {"tensor": turns(1e-6, 1e-6, 2e-6), "detach_clone": turns(2e-6, 4e-6, 4e-6), BASELINE: turns(1e-7, 1e-7, 1e-7)}


@pytest.fixture
def known(monkeypatch):
    """A process that returns what `timing.time_methods` does, for two methods whose times are known."""
    document = {
        "torch": "2.15.0",
        "on": "Box",
        "day": "2026-11-21",
        "methods": {name: launch_files.observed(code=code) for name, code in CODES.items()},
        "baseline": "code of baseline",
        "times": {numel: {name: of[numel] for name, of in TURNS.items()} for numel in ("1", "2", "4")},
        "left_out": {"relu": "does not copy 1 elements"},
    }
    monkeypatch.setattr(interpreters, "run_probe", lambda *_, **__: document)


def test_every_method_has_a_curve_of_every_size(worker_here, monkeypatch):
    """Of copies or conversions, in the order of the registry, and the baseline last, which is timed among them."""
    shares, asked, time_methods = list[float](), [], timing.time_methods
    monkeypatch.setattr(timing, "time_methods", lambda **how: asked.append(how["requires_grad"]) or time_methods(**how))
    measured = sweep.measure("conversions", requires_grad=True, report_progress=lambda share, _: shares.append(share))
    assert shares == sorted(shares)
    assert 0.6 < shares[-1] < 1
    assert [*measured.turns] == [*(method.code for method in CONVERSIONS.values()), "memcpy baseline: x.copy()"]
    for turns_of in measured.turns.values():
        assert [len(each) for each in turns_of] == [4, 4, 4]
        assert all(0 < seconds < 1 for each in turns_of for seconds in each)
    assert f"torch {torch.__version__}, " in measured.origin
    assert (measured.left_out, asked) == ({}, [True])


def test_what_does_not_copy_is_left_out_with_the_reason(monkeypatch):
    """It is observed to give a tensor, and its result has other values, or it raises at a size."""
    codes = {"copied": "x.clone()", "relu": "torch.relu(x)", "at_four": "x.clone() if len(x) != 4 else 1 / 0"}
    made = {name: Method("copy", name, code, (Promise("1.9.0", None, None),)) for name, code in codes.items()}
    monkeypatch.setattr(timing, "METHODS", made)
    document = timing.time_methods(to="tensor", device="cpu", numels=[1, 4], turns=2)
    assert document["left_out"] == {
        "relu": "does not copy 1 elements",
        "at_four": "ZeroDivisionError: division by zero, with 4 elements",
    }
    assert [[*of_size] for of_size in document["times"].values()] == [["copied", "at_four", BASELINE], ["copied", BASELINE]]
    monkeypatch.setattr(timing.loop, "take_turns", lambda *_: pytest.fail("measured"))
    with pytest.raises(TensorcopyError, match=r"the method is not drawn: got at_four: Zero.*; allowed: copied, relu, baseline"):
        timing.time_methods(to="tensor", device="cpu", numels=[1, 4], turns=2, needed="at_four")


def test_the_table_has_bars_and_some_times(known, capsys):
    """The bars have eight heights, from the least to the greatest time."""
    assert main(["plot", "copies"]) == 0
    output = capsys.readouterr().out
    rows = (
        r"code of fast +▁▁▅ +1.00 µs +1.00 µs +2.00 µs",
        r"code of slow +▅██ +2.00 µs +4.00 µs +4.00 µs",
        r"memcpy baseline: code of baseline +▁▁▁ +100 ns",
    )
    assert re.search(r"[^\n]*\n".join(rows), output)
    assert "Copies of a float32 tensor on cpu" in output
    assert "torch 2.15.0, Box, one thread, 2026-11-21" in output
    assert main(["plot", "copies", "--relative-to", "tensor"]) == 0
    assert re.search(r"code of slow +\S+ +2.00× +4.00× +2.00×", capsys.readouterr().out)


def test_a_picture_is_labelled(known, tmp_path, capsys):
    """With every method's code, torch, the machine and the day, as text."""
    path = tmp_path / "copies.svg"
    assert main(["plot", "copies", "-o", str(path), "--relative-to", "baseline"]) == 0
    assert str(path) in capsys.readouterr().out
    words = " ".join(ElementTree.parse(path).getroot().itertext())
    how = "torch 2.15.0, Box, one thread, 2026-11-21"
    for word in ("code of fast", "code of slow", "memcpy baseline: code of baseline", how, "Left out: relu.", "relative time"):
        assert word in words


def test_the_function_returns_axes(known):
    """For a notebook, or a figure of the caller; its legend has the slowest first."""
    from matplotlib import pyplot  # here, since importing it takes a part of a second

    axes = tensorcopy.plot("copies")
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    drawn = [text.get_text() for text in axes.get_legend().get_texts()]
    assert drawn == ["code of slow", "code of fast", "memcpy baseline: code of baseline"]
    pyplot.close(axes.figure)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "tpu"], "tpu cannot be used on this machine: got tpu; allowed: cpu"),
        (["-o", "copies.bmp"], "unknown kind of picture: got copies.bmp; allowed: .svg, .png, .pdf"),
        (["-o", "no such/folder/a.svg"], "got no folder no such/folder; allowed: an existing folder; next: mkdir -p 'no such/folder'\n"),
        (
            ["--relative-to", "nothing"],
            "the method is not drawn: got nothing: it makes no tensor on cpu; allowed: new_tensor, clone_detach",
        ),
    ],
)
def test_an_impossible_request_is_an_error_in_one_line(worker_here, arguments, message, capsys):
    assert main(["plot", "copies", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_picture_that_cannot_be_written_is_refused_before_anything_is_timed(tmp_path, monkeypatch, capsys):
    """A folder has its name, or its folder or the file that is there may not be written."""
    monkeypatch.setattr(sweep, "measure", lambda *_, **__: pytest.fail("methods are timed"))
    picture, is_asked = tmp_path / "copies.svg", list[Path]()
    monkeypatch.setattr(sweep.os, "access", lambda path, mode: is_asked.append(path))
    for make in (lambda: None, picture.touch):
        make()
        assert main(["plot", "-o", str(picture)]) == 2
    picture.unlink()
    picture.mkdir()
    assert main(["plot", "-o", str(picture)]) == 2
    assert capsys.readouterr().err.count(f"the picture cannot be written: got {picture}; allowed: a file that you may write; next: ") == 3
    assert is_asked == [tmp_path, picture]
