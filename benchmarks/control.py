"""The control: a calculation that no torch can change, timed beside each sample.

A sample is quiet when its control readings are at most 25 % above their usual minimum (`tensorcopy.worker.control`). A sample that is not
quiet is delayed or repeated, on another core where there is one, until the case has used up its patience. Patience is larger if recent
readings were quiet. The choice of samples does not depend on torch, because torch cannot change the control.

The journal records each sample's control reading, page faults and involuntary context switches, for the plugin; asv's format has samples
only.
"""

from __future__ import annotations

import os
from itertools import repeat
from pathlib import Path
from time import get_clock_info, perf_counter, process_time, sleep

from tensorcopy.worker.control import limit

try:
    from resource import RUSAGE_SELF, getrusage
except ImportError:  # Windows
    getrusage = None

JOURNAL = "TENSORCOPY_JOURNAL"  # the environment variable with the journal's path; without it nothing is recorded or delayed
COMMIT = "TENSORCOPY_COMMIT"  # the environment variable with the release and the run, which begins a line of the journal
PATIENCE = 0.04  # seconds that a case waits for a quiet core at most, if all recent readings were quiet
LATELY = 200  # recent readings that determine the patience
NAP = 0.004  # seconds to wait on a busy core
ASIDE = 1.02  # wall time over processor time from which a process was suspended
TICKS, RESOLUTION = 50, get_clock_info("process_time").resolution  # ticks of the processor-time clock that a sample needs; seconds per tick
AGAIN = 3  # repetitions for that reason, regardless of patience
REMEMBERED = 200_000  # bytes at the journal's end: about 5,000 readings

_thousand = range(1000)


def read() -> float:
    """Return the seconds that summing a thousand integers takes now."""
    calls = 48  # half a millisecond: short compared with a sample of 5 ms
    start = perf_counter()
    for _ in repeat(None, calls):
        sum(_thousand)
    return (perf_counter() - start) / calls


class Watch:
    """Takes samples of one case while the machine is quiet, and records the control."""

    def __init__(self) -> None:
        path = os.environ.get(JOURNAL)
        self._journal = Path(path) if path else None
        readings = _recent_readings(self._journal) if self._journal else []
        self._limit, recent = limit(readings), readings[-LATELY:]
        self._patience = PATIENCE * sum(reading <= self._limit for reading in recent) / max(len(recent), 1)
        self._cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []

    def sample(self, take, suite, index, *, calls=1, alone=True):
        """Return a sample, the result of `take()`, and record its control reading.

        suite, index : the suite's name and the case's number in it, for the journal
        calls : in the sample; the journal has page faults per call
        alone : whether the sample runs in one thread on the CPU. Then it may move to any core; and if other processes used the core during
            the sample, it is repeated, or its control reading is recorded as longer by the same factor as the sample.
        """
        cores = self._cores if alone else []
        repetitions = AGAIN
        while True:
            started = perf_counter()
            control = read()
            if control <= self._limit or self._patience <= 0:
                before = _interruptions()
                wall, cpu = perf_counter(), process_time()
                value = take()
                wall, cpu = perf_counter() - wall, process_time() - cpu
                after = _interruptions()
                # the clock ticks too rarely for short samples on Windows
                stretched = max(1.0, wall / cpu) if alone and cpu > TICKS * RESOLUTION else 1.0
                control = max(control, read()) * (stretched if stretched > ASIDE else 1.0)
                repetitions -= stretched > ASIDE
                if control <= self._limit or (self._patience <= 0 and (stretched <= ASIDE or repetitions < 0)):
                    break
            _change_core(cores)
            self._patience -= perf_counter() - started
        if self._journal:
            with self._journal.open("a") as lines:  # short lines, each appended in one write
                minor, major, switches = (end - start for start, end in zip(before, after))
                faults = f"{round(minor / calls)} {major} {switches}"
                lines.write(f"{os.environ.get(COMMIT, '-')} {suite} {index} {faults} {control:.4g}\n")
        return value


def _interruptions():
    """Return the process's minor and major page faults and involuntary context switches."""
    if getrusage is None:
        return 0, 0, 0
    usage = getrusage(RUSAGE_SELF)
    return usage.ru_minflt, usage.ru_majflt, usage.ru_nivcsw


def _change_core(cores):
    """Move to the next core, where there is one, and wait a moment."""
    if len(cores) > 1:
        cores.append(cores.pop(0))
        os.sched_setaffinity(0, {cores[0]})
    sleep(NAP)


def _recent_readings(journal: Path) -> list[float]:
    """Return the readings at the journal's end."""
    try:
        with journal.open("rb") as lines:
            lines.seek(max(0, journal.stat().st_size - REMEMBERED))
            return [float(line.split()[-1]) for line in lines.read().splitlines()[1:-1]]  # the first and the last line may be incomplete
    except (OSError, ValueError, IndexError):
        return []  # there is no journal before the first case
