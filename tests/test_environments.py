"""An environment is what its label says, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import environments, uv
from tensorcopy.releases.environments import Environment, runner
from tests.conftest import NEW

GOOD = {"torch": "2.0.0+cu117", "torch_sha": NEW.sha, "build": "cuda", "numpy": "1.26.4", "asv_runner": runner()}


def verify(**provenance):
    environments.verify(Environment(Path("/place/bin/python"), {"ledger": {**GOOD, **provenance}}), NEW, build="cuda", numpy="1.26.4")


def test_what_was_wanted_and_came_is_accepted():
    """The wheel's local version does not matter, its SHA does."""
    verify()


@pytest.mark.parametrize(
    ("field", "came", "next"),
    [
        ("torch", "2.0.1+cu117", "tensorcopy releases add 2.0.0"),
        ("torch_sha", "f" * 40, "tensorcopy releases add 2.0.0"),
        ("build", "cpu", "UV_TORCH_BACKEND"),
        ("numpy", "2.1.0", "remove /place and repeat"),
        ("asv_runner", "0.2.5", "remove /place and repeat"),
    ],
)
def test_what_came_otherwise_is_refused(field, came, next):
    """With what was wanted, what came and what to do."""
    with pytest.raises(TensorcopyError, match=f"its {field} is not the table's: got .*; allowed: .*; next: .*{next}"):
        verify(**{field: came})


def test_a_torch_of_unknown_origin_is_refused_by_name():
    """A container's own build is in no row."""
    with pytest.raises(TensorcopyError, match=r"this torch is no known release: got 2.9.0a0\+nv25 built from 0000"):
        environments.released_as({"torch": "2.9.0a0+nv25", "torch_sha": "0" * 40})


@pytest.mark.parametrize(("backend", "build"), [("cpu", "cpu"), ("cu126", "cuda"), ("rocm6.4", "rocm"), ("xpu", "xpu")])
def test_the_build_is_the_one_uv_is_asked_for(monkeypatch, backend, build):
    """UV_TORCH_BACKEND is uv's own setting."""
    monkeypatch.setenv("UV_TORCH_BACKEND", backend)
    assert environments.expected_build() == build


def test_why_a_release_cannot_be_installed(monkeypatch):
    """No wheel for these Pythons, or none of the Pythons here."""
    monkeypatch.setattr(uv, "find_python", lambda python: None)
    assert environments.why_not(NEW, ["3.13"]) == "torch 2.0.0 has wheels for Python 3.9 to 3.12, not for 3.13"
    assert environments.why_not(NEW, ["3.9", "3.13"]).endswith("none of 3.9 is on this machine (uv python install 3.9)")
    monkeypatch.setattr(uv, "find_python", lambda python: Path("/python"))
    assert environments.why_not(NEW, ["3.9", "3.13"]) == ""


def test_preferred_pythons_come_first(monkeypatch):
    """Then the running one, then newer ones; only those with a wheel that are here."""
    monkeypatch.setattr(uv, "find_python", lambda python: None if python == "3.10" else Path("/python"))
    monkeypatch.setattr(environments, "this_python", lambda: "3.12")
    assert environments.pythons_for(NEW, ["3.13", "3.9"]) == ["3.9", "3.12", "3.11"]


def test_an_interpreter_without_torch_is_refused(tmp_path):
    """By name; and one that cannot import what it has, with its last word."""
    python = tmp_path / "python"
    for word, said in (
        ("ModuleNotFoundError: No module named 'torch'", "there is no torch: got .*python without"),
        ("ImportError: libcudart.so.11: no such file", "cannot import torch .* got ImportError: libcudart.so.11"),
    ):
        python.write_text(f'#!/bin/sh\necho "{word}" >&2\nexit 1\n')
        python.chmod(0o755)
        with pytest.raises(TensorcopyError, match=said):
            environments.inspected(python)
