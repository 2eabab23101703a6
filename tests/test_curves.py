"""`tensorcopy plot`: measured here, told in a table, drawn for a slide."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import warnings
from dataclasses import asdict
from statistics import median
from xml.etree import ElementTree

import matplotlib
import pytest
import torch
from torch.utils.benchmark import Timer

import tensorcopy
from tensorcopy.cli import main
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import interpreters
from tensorcopy.report.local import sweep, sweep_plot, sweep_table
from tensorcopy.worker.probes import size_sweep
from tensorcopy.worker.registry.methods import CONVERSIONS, COPIES
from tests.conftest import ROOT

matplotlib.use("agg")


@pytest.fixture(scope="module")
def found():
    """Really measured, at five sizes."""
    return asdict(size_sweep.measured("copies", most=16))


def known(what="copies", **times):
    """Curves of known seconds at 1, 2 and 4 elements."""

    def curve(name, *seconds):
        points = [{"numel": 2**power, "median": one, "low": 0.9 * one, "high": 1.2 * one} for power, one in enumerate(seconds)]
        return {"name": name, "code": f"code of {name}", "points": points}

    rows = [curve(name, *seconds) for name, seconds in times.items()]
    head = {"what": what, "device": "cpu", "requires_grad": False, "torch": "2.15.0", "python": "3.11.7", "on": "Box", "day": "2026-11-21"}
    return {**head, "curves": rows, "floor": curve("floor", 1e-7, 1e-7, 1e-7)}


KNOWN = known(fast=(1e-6, 1e-6, 2e-6), slow=(2e-6, 4e-6, 4e-6))


def test_every_method_is_measured_at_every_size(found):
    """In the order of the registry, beside the floor."""
    assert [curve["name"] for curve in found["curves"]] == list(COPIES)
    for curve in [*found["curves"], found["floor"]]:
        assert [point["numel"] for point in curve["points"]] == [1, 2, 4, 8, 16]
        assert all(0 < point["low"] <= point["median"] <= point["high"] < 1 for point in curve["points"])
    assert found["torch"] == torch.__version__


def test_what_copies_nothing_is_not_timed(monkeypatch):
    """Before anything is measured."""
    wrong = type("Wrong", (), {"name": "zeros", "code": "x * 0", "since": "1.9.0", "on": {"cpu": lambda x: x * 0}})()
    monkeypatch.setattr(size_sweep, "GROUPS", {"copies": {"zeros": wrong}})
    with pytest.raises(TensorcopyError, match=r"x \* 0 gives no copy of numel 1"):
        size_sweep.measured("copies", most=4)


def test_a_leaf_that_requires_grad_and_conversions_are_measured_too():
    one = size_sweep.measured("conversions", most=1, requires_grad=True)
    assert [curve.name for curve in one.curves] == list(CONVERSIONS)
    assert one.requires_grad


def test_times_are_told_as_multiples():
    """Of a method's at each size."""
    assert sweep_table.divisors(KNOWN["curves"], "fast") == {1: 1e-6, 2: 1e-6, 4: 2e-6}
    assert sweep_table.divisors(KNOWN["curves"], "") == {1: 1.0, 2: 1.0, 4: 1.0}
    with pytest.raises(TensorcopyError, match="no such method was measured: got 'faster'; allowed: fast, slow"):
        sweep_table.divisors(KNOWN["curves"], "faster")


def test_the_table_is_a_course_and_some_times(monkeypatch, capsys):
    """From the least to the greatest, in eight steps."""
    monkeypatch.setattr(interpreters, "asked", lambda *_, **__: KNOWN)
    assert main(["plot", "copies"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"code of fast +▁▁▅ +1.00 µs +1.00 µs +2.00 µs", said)
    assert re.search(r"code of slow +▅██ +2.00 µs +4.00 µs +4.00 µs", said)
    assert re.search(r"floor: code of floor +▁▁▁ +100 ns", said)
    assert "torch 2.15.0, Box, float32 on cpu, one thread, 2026-11-21" in said
    assert main(["plot", "copies", "--relative-to", "fast"]) == 0
    assert re.search(r"code of slow +\S+ +2.00× +4.00× +2.00×", capsys.readouterr().out)
    assert main(["plot", "copies", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == KNOWN


@pytest.mark.parametrize("options", [[], ["--no-logx", "--no-logy"], ["--relative-to", "floor"]], ids=["log", "linear", "relative"])
def test_a_picture_says_what_it_shows(monkeypatch, tmp_path, capsys, options):
    """As text: every method's code, torch, the machine and the day."""
    monkeypatch.setattr(interpreters, "asked", lambda *_, **__: KNOWN)
    path = tmp_path / "copies.svg"
    assert main(["plot", "copies", "-o", str(path), *options]) == 0
    assert str(path) in capsys.readouterr().out
    words = " ".join(ElementTree.parse(path).getroot().itertext())
    for word in ("code of fast", "code of slow", "floor: code of floor", "torch 2.15.0, Box, one thread, 2026-11-21"):
        assert word in words
    assert ("times as long" in words) == ("--relative-to" in options)


def test_labels_do_not_lie_on_each_other(tmp_path):
    """Where lines end at one height, their names are moved apart."""
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    sweep_plot.drawn(known(**{f"m{number}": (1e-6, 1e-6, 1e-6 + number * 1e-12) for number in range(5)}), axes)
    heights = sorted(text.xy[1] for text in axes.texts if hasattr(text, "xy"))
    assert all(after - before > 0.9 * sweep_plot.NEAREST for before, after in zip(heights, heights[1:]))


def test_in_python_it_is_an_axes(monkeypatch):
    """In a notebook, or on a figure of one's own."""
    monkeypatch.setattr(sweep, "measure", lambda *_, **__: KNOWN)
    axes = tensorcopy.plot("copies")
    assert [line.get_label() for line in axes.get_lines()] == ["code of fast", "code of slow", "code of floor"]
    assert axes.get_yscale() == "log"
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--device", "tpu"], "there is no tpu here: got tpu; allowed: cpu"),
        (["--max", "2**31"], "no number of elements: got 2147483648; allowed: 1 to 2**30"),
        (["-o", "copies.bmp"], "no such kind of picture: got copies.bmp; allowed: .svg, .png, .pdf"),
        (["-o", "no/such/folder/copies.svg"], "the picture cannot be written: got no folder no/such/folder"),
        (["--relative-to", "nothing", "--max", "1"], "no such method was measured: got 'nothing'; allowed: new_tensor, clone_detach"),
    ],
)
def test_what_cannot_be_is_one_line(arguments, said, capsys):
    assert main(["plot", "copies", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "-1", "many", "2**", "1e400"])
def test_a_number_that_is_none_is_named(text, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["plot", "copies", f"--max={text}"])
    assert f"got {text!r}; allowed: 1 or more" in capsys.readouterr().err


def test_without_matplotlib_it_is_said_before_anything_is_measured():
    """A table needs none."""
    code = (
        "import sys; sys.modules['matplotlib'] = None; from tensorcopy.cli import main; sys.exit(main(['plot', 'copies', '-o', 'a.svg']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "matplotlib is not installed: got none" in done.stderr


@pytest.mark.slow
def test_the_articles_grid_is_a_picture_in_seconds_and_agrees_with_torchs_own_clock(tmp_path):
    """15 s by themselves on two quiet cores; the medians within 5 % of blocked_autorange's."""
    begun = time.monotonic()
    assert main(["plot", "copies", "-o", str(tmp_path / "copies.svg")]) == 0
    assert time.monotonic() - begun < 30  # neighbours may take half
    assert any(agrees() for _ in range(3))  # neighbours may disturb a try


def agrees() -> bool:
    """Whether the median over cases is within 5 % of that of torch's own blocks."""
    measured = size_sweep.measured("copies", most=2**10)
    ratios = []
    for numel in (1, 2**6, 2**10):
        x = torch.ones(numel)
        for curve in measured.curves:
            timer = Timer(curve.code, globals={"x": x, "torch": torch}, num_threads=1)
            (point,) = [point for point in curve.points if point.numel == numel]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # here they are errors
                ratios.append(point.median / timer.blocked_autorange(min_run_time=0.2).median)
    return abs(median(ratios) - 1) < 0.05
