"""`tensorcopy check`: every promise against what the installed torch does."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import tensorcopy
from tensorcopy.cli import main
from tensorcopy.releases import interpreters
from tensorcopy.worker import devices
from tensorcopy.worker.probes import conformance
from tensorcopy.worker.registry.methods import METHODS, exists


@pytest.fixture(scope="module")
def found():
    """What this torch does, as the program hands it on."""
    return conformance.document(tensorcopy.check(["cpu"]))


def test_every_promise_is_kept_here(found):
    """Of every method that this torch has, of a plain tensor and of a leaf that requires grad."""
    assert {row["method"] for row in found["checked"]} == {name for name, method in METHODS.items() if exists(method)}
    assert [row for row in found["checked"] if row["kept"] is not True] == []
    assert len(found["checked"]) == 2 * len({row["method"] for row in found["checked"]})


def test_a_promise_that_is_not_kept_is_seen(monkeypatch):
    """Where somebody would promise that clone() cuts the graph; and where nobody promised, nothing is broken."""
    before = conformance.promised

    def otherwise(method, device):
        promise = before(method, device)
        if method.name == "clone":
            return replace(promise, with_grad=replace(promise.with_grad, keeps_graph=False))
        return None if method.name == "cpu" else promise

    monkeypatch.setattr(conformance, "promised", otherwise)
    rows = {(row.method, row.of): row.kept for row in conformance.check(["cpu"])}
    assert {row for row, kept in rows.items() if kept is False} == {("clone", "with_grad")}
    assert {row for row, kept in rows.items() if kept is None} == {("cpu", "plain"), ("cpu", "with_grad")}


def test_the_program_tells_what_differs_and_exits_with_1(found, monkeypatch, capsys):
    """Field by field, beside the code."""
    spoilt = json.loads(json.dumps(found))
    (row,) = [row for row in spoilt["checked"] if (row["method"], row["of"]) == ("clone", "with_grad")]
    row["promised"]["keeps_graph"], row["kept"] = False, False
    monkeypatch.setattr(interpreters, "asked", lambda *_: spoilt)
    assert main(["check"]) == 1
    said = capsys.readouterr().out
    assert "✗ x.clone() on cpu, of a leaf that requires grad: keeps_graph: False promised, True observed" in said
    assert "promises are NOT kept" in said
    assert main(["check", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == spoilt


def test_the_program_says_what_torch_says(found, monkeypatch, capsys):
    """The advice of torch.tensor(x) and the error of numpy(), word for word, and whose they are."""
    monkeypatch.setattr(interpreters, "asked", lambda *_: found)
    assert main(["check"]) == 0
    said = capsys.readouterr().out
    assert "torch.tensor(x): UserWarning: To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone()" in said
    assert "x.numpy(), np.array(x): RuntimeError: Can't call numpy() on Tensor that requires grad." in said
    assert f"torch {found['torch']}, Python {found['python']}, numpy {found['numpy']}: every promise is kept\n" in said


@pytest.mark.parametrize("device", [device for device in ("cuda", "mps", "xpu") if device not in devices.available()])
def test_a_device_that_is_not_there_is_one_line(device, capsys):
    """In another process, and as if it were in this one."""
    assert main(["check", "--device", device]) == 2
    assert capsys.readouterr().err == (
        f"tensorcopy: there is no {device} here: got {device}; allowed: {', '.join(devices.available())}; "
        "next: a torch that is built for it, and its driver\n"
    )


@pytest.mark.slow
def test_the_oldest_release_keeps_its_promises(workshop):
    """By the program, in an interpreter that knows nothing of it."""
    from tests.test_true_numbers import OLDEST

    built = workshop.run("tensorcopy", "measure", OLDEST.version, "--passes", "1", "--machine", "before", "--bench", "^floors.Control")
    assert built.returncode == 0, built.stderr
    (python,) = (workshop.root / ".asv" / "env").glob(f"{OLDEST.version}-*/bin/python")
    done = workshop.run("tensorcopy", "check", "--interpreter", str(python), "--json")
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["torch_sha"] == OLDEST.sha
