"""The control: which readings are recorded, and which samples are repeated."""

from __future__ import annotations

import sys

import pytest

from tensorcopy.worker import control as worker_control
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT))
from benchmarks import cases

QUIET, BUSY = 8.5e-6, 16e-6


@pytest.fixture
def journal(tmp_path, monkeypatch):
    """A journal with readings of a quiet machine."""
    path = tmp_path / "py3.11-cuda"
    path.write_text(f"d0f2af8b copies.BySize 0 {QUIET}\n" * 300)
    monkeypatch.setenv(cases.JOURNAL, str(path))
    monkeypatch.setattr(cases, "NAP", 0.0)
    monkeypatch.setattr(cases.os, "sched_setaffinity", lambda *_: None, raising=False)
    return path


def set_readings(monkeypatch, *values):
    """Make the control read these values; the last one repeats."""
    remaining = list(values)
    monkeypatch.setattr(cases, "read", lambda: remaining.pop(0) if len(remaining) > 1 else remaining[0])


def recorded(journal):
    """Return suite, case and control of each line; page faults and context switches depend on the machine."""
    lines = [line.split() for line in journal.read_text().splitlines()[300:]]
    return [[*words[1:3], words[-1]] for words in lines]


def test_the_greater_of_both_control_readings_is_recorded(monkeypatch, journal):
    """With the suite and the case's number in it."""
    set_readings(monkeypatch, QUIET, 1.05 * QUIET)
    assert cases.Watch().sample(lambda: 0.5, "copies.BySize", 7, alone=False) == 0.5
    assert recorded(journal) == [["copies.BySize", "7", f"{1.05 * QUIET:.4g}"]]


def test_a_disturbed_sample_is_repeated(monkeypatch, journal):
    """Only the second sample, during which the machine was quiet, is recorded."""
    set_readings(monkeypatch, QUIET, BUSY, QUIET)
    samples = iter([2.0, 1.0])
    assert cases.Watch().sample(lambda: next(samples), "s", 0, alone=False) == 1.0
    assert recorded(journal) == [["s", "0", f"{QUIET:.4g}"]]


def test_a_machine_that_is_never_quiet_is_measured_all_the_same(monkeypatch, journal):
    """The journal records that it was not quiet."""
    set_readings(monkeypatch, BUSY)
    watch = cases.Watch()
    watch._patience = 0.001
    monkeypatch.setattr(cases, "NAP", 0.002)
    assert watch.sample(lambda: 2.0, "s", 0, alone=False) == 2.0
    assert recorded(journal) == [["s", "0", f"{BUSY:.4g}"]]


def test_without_recent_quiet_readings_there_is_no_waiting(monkeypatch, journal):
    """Patience is proportional to the share of quiet readings."""
    journal.write_text(journal.read_text() + f"d0f2af8b copies.BySize 0 {BUSY}\n" * (cases.LATELY + 1))
    assert cases.Watch()._patience == 0.0


def test_a_suspended_process_is_detected(monkeypatch, journal):
    """Where wall time exceeds processor time, the sample is repeated."""
    walls, cpus = iter(range(0, 1000)), iter(x / 2 for x in range(0, 1000))
    monkeypatch.setattr(cases, "perf_counter", lambda: float(next(walls)))
    monkeypatch.setattr(cases, "process_time", lambda: float(next(cpus)))
    set_readings(monkeypatch, QUIET)
    watch, samples = cases.Watch(), []
    watch._patience = 0.0
    watch.sample(lambda: samples.append(None) or 1.0, "s", 0)
    assert len(samples) == 1 + cases.AGAIN
    assert float(recorded(journal)[0][-1]) > 1.5 * QUIET


def test_without_a_journal_nothing_is_recorded_or_delayed(monkeypatch):
    """As when a suite is run by hand."""
    monkeypatch.delenv(cases.JOURNAL, raising=False)
    monkeypatch.setattr(cases, "sleep", lambda seconds: pytest.fail("has waited"))
    set_readings(monkeypatch, BUSY)
    samples = []
    assert cases.Watch().sample(lambda: samples.append(None) or 3.0, "s", 0, alone=False) == 3.0
    assert len(samples) == 1


def test_the_share_of_quiet_readings():
    """Of too few there is no limit, and all count."""
    assert worker_control.quiet_share([1.0] * 30 + [2.0] * 10) == 0.75
    assert worker_control.quiet_share([1.0, 9.0]) == 1.0
    assert worker_control.read() > 0
