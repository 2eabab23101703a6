"""Counting needs valgrind; where it is missing it is named."""

from __future__ import annotations

import pytest

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker.probes import instruction_count


@pytest.mark.parametrize(
    ("platform", "found", "reason"),
    [
        ("darwin", "/usr/bin/valgrind", "valgrind counts on Linux only"),
        ("linux", None, "no valgrind here: apt install valgrind, or as your system has it"),
        ("linux", "/usr/bin/valgrind", ""),
    ],
    ids=["another system", "not installed", "there"],
)
def test_what_is_missing_is_named(monkeypatch, platform, found, reason):
    """It is an optional dependency."""
    monkeypatch.setattr(instruction_count.sys, "platform", platform)
    monkeypatch.setattr(instruction_count.shutil, "which", lambda program: found)
    assert instruction_count.missing() == reason


def test_without_it_nothing_is_counted(monkeypatch):
    """One line, which the suite gives as the reason for skipping."""
    monkeypatch.setattr(instruction_count, "missing", lambda: "no valgrind here")
    with pytest.raises(TensorcopyError, match="instructions cannot be counted: got no valgrind here; allowed: valgrind"):
        instruction_count.count()
