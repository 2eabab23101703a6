"""Time methods over numel, beside the memcpy baseline, on this machine.

`python -m tensorcopy.worker.processes tensorcopy.worker.probes.size_sweep '{"what": "copies"}'` prints the result as JSON, for `tensorcopy
plot`. The clock is `torch.utils.benchmark.Timer` on one thread, which waits for the device. Rounds are interleaved: each times all methods
in random order, so that other load on the machine affects all methods alike.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from random import SystemRandom
from statistics import quantiles
from typing import Any

import numpy as np
import torch

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import control, declarations, devices
from tensorcopy.worker.methods import CONVERSIONS, COPIES, Method, code_on, exists
from tensorcopy.worker.own import BASELINE, own_operations
from tensorcopy.worker.probes import timers
from tensorcopy.worker.probes.timers import Timer
from tensorcopy.worker.processes import ReportProgress, ignore_progress

SWEEPS: Mapping[str, Mapping[str, Method]] = {"copies": COPIES, "conversions": CONVERSIONS}
MOST = 2**14  # elements, as in the article
ROUNDS = 7
SAMPLE = 0.008  # seconds that a sample takes at least

Key = tuple[str, int]  # a method's name and the number of elements


def measure(
    what: str,
    *,
    device: str = "cpu",
    most: int = MOST,
    requires_grad: bool = False,
    relative_to: str = "",
    report_progress: ReportProgress = ignore_progress,
) -> dict[str, Any]:
    """Time copies or conversions at numel = 1, 2, 4, … `most`.

    what : "copies" or "conversions"; own operations declared to be drawn beside them are included
    relative_to : a method's name or "baseline", of which the caller will show multiples; "" for none

    Returns plain values: these arguments, what `timers.measured_on` returns, "curves" with each method's "name", "code" and "points", which
    are seconds per call by "numel" ("median", and the quartiles "low" and "high"), "baseline", the curve of a copy of the same bytes into
    existing memory, by numpy on the CPU and by the device itself elsewhere, and "quiet", the share of samples beside which the machine was
    quiet.

    Each method's result is compared with its input first. Raises TensorcopyError for a device or size that cannot be used, and for a
    method whose result is not a copy, and an unknown `relative_to`.
    """
    if what not in SWEEPS:
        raise TensorcopyError("there is no such plot", got=repr(what), allowed=" or ".join(SWEEPS), next="tensorcopy plot copies")
    devices.require(device)
    timers.check_numel(most, "--max 2**14")
    numels = [2**power for power in range(most.bit_length())]
    own = [own_operations()[operation.name] for operation in declarations.operations() if operation.beside == what and not operation.inputs]
    methods = [method for method in (*SWEEPS[what].values(), *own) if exists(method)]  # own operations last
    names = [*(method.name for method in methods), BASELINE]
    if relative_to and relative_to not in names:
        raise TensorcopyError("no such method is measured", got=repr(relative_to), allowed=", ".join(names), next="one of these names")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # formatting a warning is not part of copying
        timer_by_key = _timers(methods, numels, what, device, requires_grad)
        times, readings = _times(timer_by_key, report_progress)
    return {
        "what": what,
        "device": device,
        "requires_grad": requires_grad,
        **timers.measured_on(device),
        "curves": [_curve(times, method.name, code_on(method, device), numels) for method in methods],
        "baseline": _curve(times, BASELINE, timer_by_key[BASELINE, 1]._task_spec.stmt, numels),
        "quiet": control.quiet_share(readings),
    }


def _timers(methods: Sequence[Method], numels: Sequence[int], what: str, device: str, requires_grad: bool) -> dict[Key, Timer]:
    """Return a timer for every method and the baseline at every size.

    Raises TensorcopyError for a method whose result is not a copy.
    """
    timer_by_key: dict[Key, Timer] = {}
    for numel in numels:
        x = torch.ones(numel, device=device).requires_grad_(requires_grad)
        for method in methods:
            _check_copy(method, x, device)
            timer_by_key[method.name, numel] = timers.make_timer(code_on(method, device), {**method.names, "x": x}, device)
        timer_by_key[BASELINE, numel] = _baseline_timer(x.detach(), what, device)
    return timer_by_key


def _times(timer_by_key: Mapping[Key, Timer], report_progress: ReportProgress) -> tuple[dict[Key, list[float]], list[float]]:
    """Return the seconds per call of every round, and the reading of the control after each sample.

    Calibration is reported as the first quarter of the work.
    """
    calls: dict[Key, int] = {}
    times: dict[Key, list[float]] = {key: [] for key in timer_by_key}
    for done, (key, timer) in enumerate(timer_by_key.items()):
        report_progress(done / len(timer_by_key) / 4, f"{key[0]}, numel {key[1]}")
        calls[key] = timers.calls_in(timer, SAMPLE)
    order, random, readings = list(timer_by_key), SystemRandom(), []
    for number in range(ROUNDS):
        report_progress(0.25 + 0.75 * number / ROUNDS, f"round {number + 1} of {ROUNDS}")
        random.shuffle(order)
        for key in order:
            times[key].append(timer_by_key[key].timeit(calls[key]).median)
            readings.append(control.read())
    return times, readings


def _curve(times: Mapping[Key, Sequence[float]], name: str, code: str, numels: Sequence[int]) -> dict[str, Any]:
    """Return the times of one method, or of the baseline: at each size the median and the quartiles of the rounds."""
    points = []
    for numel in numels:
        low, middle, high = quantiles(times[name, numel], n=4, method="inclusive")
        points.append({"numel": numel, "median": middle, "low": low, "high": high})
    return {"name": name, "code": code, "points": points}


def _baseline_timer(x: torch.Tensor, what: str, device: str) -> Timer:
    if device == "cpu":
        return timers.make_timer("np.copyto(out, x)", {"np": np, "x": x.numpy(), "out": np.empty(len(x), "float32")}, device)
    out = torch.empty_like(x) if what == "copies" else torch.empty(len(x))  # a conversion ends in host memory
    return timers.make_timer("out.copy_(x)", {"x": x, "out": out}, device)


def _check_copy(method: Method, x: torch.Tensor, device: str) -> None:
    try:
        y = method.on[device](x)
        values = y if isinstance(y, np.ndarray) else y.detach().cpu().numpy()
    except Exception as error:  # such as of x.numpy() where x requires grad
        raise TensorcopyError(
            f"{code_on(method, device)} cannot be plotted",
            got=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}",
            allowed="a tensor or an ndarray",
            next="tensorcopy check",
        ) from error
    if not np.array_equal(values, x.detach().cpu().numpy()):
        raise TensorcopyError(
            f"{code_on(method, device)} does not copy {len(x)} elements",
            got="other values than x has",
            allowed="the values of x",
            next="tensorcopy check",
        )


def main(arguments: Sequence[str], report_progress: ReportProgress = ignore_progress) -> dict[str, Any]:
    """Run `measure` with the JSON object in the first argument."""
    request: dict[str, Any] = json.loads(arguments[0])
    return measure(**request, report_progress=report_progress)
