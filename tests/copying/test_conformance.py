"""`tensorcopy check`: promised semantics against the installed torch."""

import json
import re
from dataclasses import replace

import pytest

from tensorcopy.cli import main
from tensorcopy.copying.inside import conformance
from tensorcopy.copying.inside.methods import METHODS, why_not
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import interpreters


@pytest.fixture(scope="module")
def report():
    """The report of this torch, as the probe returns it."""
    return conformance.main(["cpu"])


def test_the_installed_torch_keeps_every_promise(report):
    """For every method that applies, with a plain tensor and with a leaf that requires grad; of the others the reason is told."""
    assert {row["method"] for row in report["checked"]} == {name for name, method in METHODS.items() if not why_not(method, "cpu")}
    assert "pinned_numpy is for a tensor on cuda" in report["not_applicable"]["cpu"]
    assert [row for row in report["checked"] if row["kept"] is not True] == []
    assert len(report["checked"]) == 2 * len({row["method"] for row in report["checked"]})


def test_a_broken_promise_is_reported():
    """A wrong promise for clone() is broken; without a promise nothing is."""
    (row,) = [row for row in conformance.check("cpu") if (row.method, row.of) == ("clone", "with_grad")]
    wrong, none = replace(row, promised=replace(row.promised, keeps_graph=False)), replace(row, promised=None)
    assert (row.kept, wrong.kept, none.kept) == (True, False, None)


def test_the_command_prints_differences_and_exits_with_1(report, monkeypatch, capsys):
    """Field by field, with the method's code."""
    monkeypatch.setenv("COLUMNS", "1000")
    changed = json.loads(json.dumps(report))
    (row,) = [row for row in changed["checked"] if (row["method"], row["of"]) == ("clone", "with_grad")]
    row["promised"]["keeps_graph"], row["kept"] = False, False
    monkeypatch.setattr(interpreters, "run_probe", lambda *_, **__: changed)
    assert main(["check"]) == 1
    output = capsys.readouterr().out
    assert "✗ x.clone() on cpu, a leaf that requires grad: keeps_graph: False promised, True observed" in output
    assert re.findall(r"^✗ (x.*?)  ", output, re.MULTILINE) == ["x.clone(), plain tensor", "x.clone(), requires grad"]
    assert re.search(r": 1 of \d+ documented behaviours differ\n", output)


def test_the_command_prints_torch_s_own_texts(report, monkeypatch, capsys):
    """Warnings and errors are printed word for word, with the codes that cause them."""
    monkeypatch.setattr(interpreters, "run_probe", lambda *_, **__: report)
    assert main(["check"]) == 0
    output = capsys.readouterr().out
    assert "torch.tensor(x): UserWarning: To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone()" in output
    assert "x.numpy(), np.array(x): RuntimeError: Can't call numpy() on Tensor that requires grad." in output
    assert "\nnot applicable on cpu: pinned_numpy is for a tensor on cuda\n" in output
    assert f"torch {report['torch']}, Python {report['python']}, numpy {report['numpy']}: every documented behaviour holds\n" in output


def test_a_device_that_is_not_there_is_not_checked():
    with pytest.raises(TensorcopyError, match="xpu cannot be used on this machine"):
        conformance.check("xpu")
