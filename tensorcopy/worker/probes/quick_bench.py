"""Observe and time every method that suits one request, on this machine.

`python -m tensorcopy.worker.processes tensorcopy.worker.probes.quick_bench '{"to": "ndarray", "device": "cpu", "numel": 131072,
"requires_grad": true}'` prints the result as JSON, for `tensorcopy advise`. The clock is `torch.utils.benchmark.Timer` on one thread, which
waits for the device. Rounds are interleaved: each times all methods in random order, on a tensor at another address.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from random import SystemRandom
from typing import Any

import torch

from tensorcopy.worker import control, devices, provenance
from tensorcopy.worker.methods import code_on
from tensorcopy.worker.own import BASELINE, find_method
from tensorcopy.worker.probes import timers
from tensorcopy.worker.probes.timers import Timer
from tensorcopy.worker.processes import ReportProgress, ignore_progress

ROUNDS = 9
SAMPLE = 0.006  # seconds that a sample takes at least
MOVED = 2**20  # elements; allocators already return larger tensors at varying addresses


def benchmark(
    *, to: str, device: str, numel: int, requires_grad: bool, report_progress: ReportProgress = ignore_progress
) -> dict[str, Any]:
    """Observe every method on `device`, and time those that return `to`.

    to : "tensor" or "ndarray"
    report_progress : called with the share that is done (0 to 1) and the current step

    Returns plain values: "torch", "python", "on", "day", "methods" as `provenance.observed_on` returns them, "rounds" with each method's
    seconds per call by round, "baseline" with those of the memcpy baseline, and "quiet", the share of quiet samples. Raises TensorcopyError
    for a device or size that cannot be used.
    """
    devices.require(device)
    timers.check_numel(numel, "--numel 2**17")
    methods = provenance.observed_on([device])
    kind = "with_grad" if requires_grad else "plain"
    names = [name for name, row in methods.items() if row["observed"] and row["observed"][device][kind]["gives"] == to]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # formatting a warning is not part of copying
        rounds, readings = _rounds(names, to, device, numel, requires_grad, report_progress)
    return {
        **timers.measured_on(device),
        "methods": methods,
        "baseline": rounds.pop(BASELINE),
        "rounds": rounds,
        "quiet": control.quiet_share(readings),
    }


def _rounds(
    names: list[str], to: str, device: str, numel: int, requires_grad: bool, report_progress: ReportProgress
) -> tuple[dict[str, list[float]], list[float]]:
    """Return seconds per call, by method and round, and the reading of the control after each sample.

    The baseline is one of the names.
    """
    rounds: dict[str, list[float]] = {name: [] for name in (*names, BASELINE)}
    calls: dict[str, int] = {}
    readings: list[float] = []
    random, kept_alive = SystemRandom(), []  # tensors kept alive, so that the next one gets another address
    for number in range(ROUNDS):
        report_progress(number / ROUNDS, f"round {number + 1} of {ROUNDS}")
        x = torch.ones(numel, device=device).requires_grad_(requires_grad)
        if numel <= MOVED:
            kept_alive.append(x)
        order = list(rounds)
        random.shuffle(order)
        for name in order:
            if name == BASELINE:
                timer = _baseline_timer(x.detach(), to, device)
            else:
                method = find_method(name)
                timer = timers.make_timer(code_on(method, device), {**method.names, "x": x}, device)
            if name not in calls:
                calls[name] = timers.calls_in(timer, SAMPLE)
            timer.timeit(1 + calls[name] // 10)  # warm up: this tensor is not in the caches yet
            rounds[name].append(timer.timeit(calls[name]).median)
            readings.append(control.read())
    return rounds, readings


def _baseline_timer(x: torch.Tensor, to: str, device: str) -> Timer:
    """Return a timer of the memcpy baseline, which copies the same bytes.

    On the CPU numpy copies into newly allocated memory; an accelerator copies into existing memory.
    """
    if device == "cpu":
        return timers.make_timer("x.copy()", {"x": x.numpy()}, device)
    out = torch.empty_like(x) if to == "tensor" else torch.empty(len(x))  # an ndarray is in host memory
    return timers.make_timer("out.copy_(x)", {"x": x, "out": out}, device)


def main(arguments: Sequence[str], report_progress: ReportProgress = ignore_progress) -> dict[str, Any]:
    """Run `benchmark` with the JSON object in the first argument."""
    request: dict[str, Any] = json.loads(arguments[0])
    return benchmark(**request, report_progress=report_progress)
