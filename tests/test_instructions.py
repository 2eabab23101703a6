"""Counting instructions needs valgrind, and reports where it is missing."""

import pytest

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import hardware, instruction_count


@pytest.mark.parametrize(
    ("platform", "path", "reason"),
    [
        ("darwin", "/usr/bin/valgrind", "valgrind counts on Linux only"),
        ("linux", None, "no valgrind here: apt install valgrind, or your system's package"),
        ("linux", "/usr/bin/valgrind", ""),
    ],
    ids=["another system", "not installed", "installed"],
)
def test_a_missing_requirement_is_named(monkeypatch, platform, path, reason):
    """valgrind is optional."""
    monkeypatch.setattr(hardware.sys, "platform", platform)
    monkeypatch.setattr(hardware.shutil, "which", lambda program: path)
    assert hardware.missing_valgrind() == reason


def test_counting_without_valgrind_is_an_error(monkeypatch):
    """The suite uses the message as its reason for skipping."""
    monkeypatch.setattr(hardware, "missing_valgrind", lambda: "no valgrind here")
    with pytest.raises(TensorcopyError, match="instructions cannot be counted: got no valgrind here; allowed: valgrind"):
        instruction_count.count()
