"""The control beside every sample: what is noted, what is put off, what is taken again."""

from __future__ import annotations

import sys

import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT))
from benchmarks import control

QUIET, BUSY = 8.5e-6, 16e-6


@pytest.fixture
def journal(tmp_path, monkeypatch):
    """A journal that remembers a quiet machine."""
    path = tmp_path / "py3.11-cuda"
    path.write_text(f"d0f2af8b copies.BySize 0 {QUIET}\n" * 300)
    monkeypatch.setenv(control.JOURNAL, str(path))
    monkeypatch.setattr(control, "NAP", 0.0)
    monkeypatch.setattr(control.os, "sched_setaffinity", lambda *_: None, raising=False)
    return path


def reading(monkeypatch, *values):
    """Let the control read these values, then the last one for ever."""
    left = list(values)
    monkeypatch.setattr(control, "read", lambda: left.pop(0) if len(left) > 1 else left[0])


def noted(journal):
    return [line.split()[1:] for line in journal.read_text().splitlines()[300:]]


def test_each_sample_is_noted_with_the_greater_control_beside_it(monkeypatch, journal):
    """Under its suite and its number in it."""
    reading(monkeypatch, QUIET, 1.05 * QUIET)
    assert control.Watch().sample(lambda: 0.5, "copies.BySize", 7, alone=False) == 0.5
    assert noted(journal) == [["copies.BySize", "7", f"{1.05 * QUIET:.4g}"]]


def test_a_disturbed_sample_is_taken_again(monkeypatch, journal):
    """The machine slowed down during the first; the second is kept, and it alone is noted."""
    reading(monkeypatch, QUIET, BUSY, QUIET)
    taken = iter([2.0, 1.0])
    assert control.Watch().sample(lambda: next(taken), "s", 0, alone=False) == 1.0
    assert noted(journal) == [["s", "0", f"{QUIET:.4g}"]]


def test_patience_ends(monkeypatch, journal):
    """A machine that never becomes quiet is measured as it is, and said so."""
    reading(monkeypatch, BUSY)
    watch = control.Watch()
    watch._patience = 0.001
    monkeypatch.setattr(control, "NAP", 0.002)
    assert watch.sample(lambda: 2.0, "s", 0, alone=False) == 2.0
    assert noted(journal) == [["s", "0", f"{BUSY:.4g}"]]


def test_a_machine_that_was_never_quiet_lately_is_not_waited_for(monkeypatch, journal):
    """Patience goes with the share of quiet readings."""
    journal.write_text(journal.read_text() + f"d0f2af8b copies.BySize 0 {BUSY}\n" * (control.LATELY + 1))
    assert control.Watch()._patience == 0.0


def test_a_process_that_was_put_aside_is_seen(monkeypatch, journal):
    """Wall time without processor time: the sample is taken again, and at last noted as disturbed by as much."""
    walls, cpus = iter(range(0, 1000)), iter(x / 2 for x in range(0, 1000))
    monkeypatch.setattr(control, "perf_counter", lambda: float(next(walls)))
    monkeypatch.setattr(control, "process_time", lambda: float(next(cpus)))
    reading(monkeypatch, QUIET)
    watch, taken = control.Watch(), []
    watch._patience = 0.0
    watch.sample(lambda: taken.append(None) or 1.0, "s", 0)
    assert len(taken) == 1 + control.AGAIN
    assert float(noted(journal)[0][2]) > 1.5 * QUIET


def test_without_a_journal_nothing_is_noted_and_nothing_put_off(monkeypatch):
    """As when a suite is tried by hand."""
    monkeypatch.delenv(control.JOURNAL, raising=False)
    reading(monkeypatch, BUSY)
    assert control.Watch().sample(lambda: 3.0, "s", 0, alone=False) == 3.0


def test_the_control_is_microseconds():
    """A sum over a thousand integers."""
    assert 1e-6 < control.read() < 1e-3
