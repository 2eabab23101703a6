"""Counting instructions needs valgrind, and reports where it is missing."""

import pytest

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import hardware, instruction_count


def test_a_missing_valgrind_is_an_error_that_names_it(monkeypatch):
    """valgrind is optional, and counts on Linux only; the suite uses the message as its reason for skipping."""
    monkeypatch.setattr(hardware.sys, "platform", "linux")
    monkeypatch.setattr(hardware.shutil, "which", lambda program: None)
    with pytest.raises(TensorcopyError, match=r"instructions cannot be counted: got no valgrind here: apt install valgrind, .*; allowed: "):
        instruction_count.count()
    monkeypatch.setattr(hardware.sys, "platform", "darwin")
    assert hardware.missing_valgrind() == "valgrind counts on Linux only"
