"""Time one call of a method, named as `instruction_count` names it.

`python -m tensorcopy.worker.processes tensorcopy.worker.probes.time_call "detach 1 float32 contiguous"` prints seconds per call as JSON,
for `tensorcopy bisect`. A process is one pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from tensorcopy.worker.methods import make_tensor
from tensorcopy.worker.own import find_method
from tensorcopy.worker.probes import instruction_count, timers
from tensorcopy.worker.processes import ReportProgress, ignore_progress

SAMPLES = 150
SAMPLE = 0.002  # seconds: shorter than the time that another program gets the processor for, so that some samples are undisturbed


def times(name: str) -> list[float]:
    """Return seconds per call, one for each sample."""
    section = next(section for section in instruction_count.all_of_them() if str(section) == name)
    method = find_method(section.method)
    x = make_tensor(section.numel, dtype=section.dtype, layout=section.layout, requires_grad=section.requires_grad)
    timer = timers.make_timer(method.code, {**method.names, "x": x}, "cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # formatting a warning is not part of the call
        calls = timers.calls_in(timer, SAMPLE)
        return [timer.timeit(calls).median for _ in range(SAMPLES)]


def main(arguments: Sequence[str], report_progress: ReportProgress = ignore_progress) -> dict[str, Any]:
    """Time the call that the first argument names."""
    report_progress(0.0, "timing")
    return {"seconds": times(arguments[0])}
