"""The control: an act that no torch can change, on either side of every sample.

A sample is quiet when the controls beside it read no more than a quarter above the least that they usually read (`control`).
One that is not is put off, or taken again, on another core where there is one, until this case's patience is spent; of that it has the
more, the quieter it was lately. torch has no say in that choice: it cannot move the control.

The journal is where the plugin learns which control stands beside which sample; asv has room for the samples only.
"""

from __future__ import annotations

import os
from itertools import repeat
from pathlib import Path
from time import get_clock_info, perf_counter, process_time, sleep

from tensorcopy.worker.control import limit

JOURNAL = "TENSORCOPY_JOURNAL"  # the environment's variable with the journal's path; without one nothing is noted and nothing put off
COMMIT = "TENSORCOPY_COMMIT"  # and the one with the release's SHA, as it stands in the journal
PATIENCE = 0.04  # seconds that a case waits at most for a quiet core, where quiet can be had
LATELY = 200  # readings that tell how likely that is
NAP = 0.004
ASIDE = 1.02  # wall time over processor time, beyond which a process was put aside
TICKS, RESOLUTION = 50, get_clock_info("process_time").resolution  # of the processor's clock, in seconds
AGAIN = 3  # samples that are taken again for that, patience or not
REMEMBERED = 200_000  # bytes of the journal's end: some 6,000 readings

_thousand = range(1000)


def read() -> float:
    """Seconds that the control takes now: a sum over a thousand integers in the interpreter."""
    acts = 48  # half a millisecond: short beside a sample of 5 ms
    start = perf_counter()
    for _ in repeat(None, acts):
        sum(_thousand)
    return (perf_counter() - start) / acts


class Watch:
    """Takes samples of one case while the machine is quiet, as far as patience goes, and notes the control beside each."""

    def __init__(self) -> None:
        path = os.environ.get(JOURNAL)
        self._journal = Path(path) if path else None
        readings = _remembered(self._journal) if self._journal else []
        self._limit, lately = limit(readings), readings[-LATELY:]
        self._patience = PATIENCE * sum(reading <= self._limit for reading in lately) / max(len(lately), 1)
        self._cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []

    def sample(self, take, suite, index, *, alone=True):
        """One sample as `take()` gives it; its control is noted under the suite's name and the case's number in it.

        alone : whether it is one thread's work on the CPU. Then it may be done on any core; and where other processes had the core
        meanwhile, it is taken again as well, or its control is noted as so much longer as the sample was.
        """
        cores = self._cores if alone else []
        again = AGAIN
        while True:
            begun = perf_counter()
            control = read()
            if control <= self._limit or self._patience <= 0:
                wall, cpu = perf_counter(), process_time()
                value = take()
                wall, cpu = perf_counter() - wall, process_time() - cpu
                # a clock that ticks too rarely, as on Windows, cannot tell
                stretched = max(1.0, wall / cpu) if alone and cpu > TICKS * RESOLUTION else 1.0
                control = max(control, read()) * (stretched if stretched > ASIDE else 1.0)
                again -= stretched > ASIDE
                if control <= self._limit or (self._patience <= 0 and (stretched <= ASIDE or again < 0)):
                    break
            _elsewhere(cores)
            self._patience -= perf_counter() - begun
        if self._journal:
            with self._journal.open("a") as lines:  # short lines, appended whole
                lines.write(f"{os.environ.get(COMMIT, '-')} {suite} {index} {control:.4g}\n")
        return value


def _elsewhere(cores):
    """Move to the next core, where there is one, and give it a moment."""
    if len(cores) > 1:
        cores.append(cores.pop(0))
        os.sched_setaffinity(0, {cores[0]})
    sleep(NAP)


def _remembered(journal: Path) -> list[float]:
    """The readings at the journal's end."""
    try:
        with journal.open("rb") as lines:
            lines.seek(max(0, journal.stat().st_size - REMEMBERED))
            return [float(line.split()[-1]) for line in lines.read().splitlines()[1:-1]]  # the first and the last may be cut
    except (OSError, ValueError, IndexError):
        return []  # the first case of all
