"""Time methods on this machine: those that suit one request, copies or conversions over numel, or one call.

`python -m tensorcopy.worker.processes tensorcopy.worker.timing WHAT ARGUMENT` prints the result as JSON: WHAT is "request" for `tensorcopy
advise` or "sizes" for `tensorcopy plot`, with the arguments of `time_request` or `time_sizes` as a JSON object, or "call" for `tensorcopy
bisect`, with a name. The clock is `torch.utils.benchmark.Timer` on one thread, which waits for the device. Rounds are interleaved: each
times all methods in random order, so that other load on the machine affects all methods alike.
"""

from __future__ import annotations

import json
import platform
import sys
import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from random import SystemRandom
from statistics import quantiles
from timeit import default_timer
from types import ModuleType
from typing import Any

import numpy as np
import torch

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import conformance, control, declarations, devices, instruction_count
from tensorcopy.worker.methods import CONVERSIONS, COPIES, Method, code_on, exists, make_tensor
from tensorcopy.worker.own import BASELINE, find_method, groups, own_operations
from tensorcopy.worker.processes import ReportProgress, ignore_progress

try:
    from torch.utils.benchmark import Timer
except ModuleNotFoundError as missing:
    if missing.name not in ("distutils", "pkg_resources", "setuptools"):
        raise
    # up to 2.2 the Timer imports torch's C++ compiler module, which imports setuptools: it may be missing, and timing Python needs neither
    sys.modules["torch.utils.cpp_extension"] = ModuleType("torch.utils.cpp_extension")
    from torch.utils.benchmark import Timer

MAX_NUMEL = 2**30  # elements of a tensor that is timed
REQUEST_ROUNDS, SIZES_ROUNDS = 9, 7
# seconds that a sample takes at least; of a call, shorter than the time that another program gets the processor for, so that some samples
# are undisturbed
REQUEST_SAMPLE, SIZES_SAMPLE, CALL_SAMPLE = 0.006, 0.008, 0.002
CALL_SAMPLES = 150
MOVED = 2**20  # elements; allocators already return larger tensors at varying addresses
SWEEPS: Mapping[str, Mapping[str, Method]] = {"copies": COPIES, "conversions": CONVERSIONS}
MOST = 2**14  # elements, as in the article

Key = tuple[str, int]  # a method's name and the number of elements


def time_request(
    *, to: str, device: str, numel: int, requires_grad: bool, report_progress: ReportProgress = ignore_progress
) -> dict[str, Any]:
    """Observe every method on `device`, and time those that return `to`.

    to : "tensor" or "ndarray"
    report_progress : called with the share that is done (0 to 1) and the current step

    Returns plain values: "torch", "python", "on", "day", "methods" as `conformance.observed_on` returns them, "rounds" with each method's
    seconds per call by round, "baseline" with those of the memcpy baseline, and "quiet", the share of quiet samples. Raises TensorcopyError
    for a device or size that cannot be used.
    """
    devices.require(device)
    _check_numel(numel, "--numel 2**17")
    methods = conformance.observed_on([device], groups())
    kind = "with_grad" if requires_grad else "plain"
    names = [name for name, row in methods.items() if row["observed"] and row["observed"][device][kind]["gives"] == to]
    rounds: dict[str, list[float]] = {name: [] for name in (*names, BASELINE)}
    calls: dict[str, int] = {}
    readings: list[float] = []
    random, kept_alive = SystemRandom(), []  # tensors kept alive, so that the next one gets another address
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # formatting a warning is not part of copying
        for number in range(REQUEST_ROUNDS):
            report_progress(number / REQUEST_ROUNDS, f"round {number + 1} of {REQUEST_ROUNDS}")
            x = torch.ones(numel, device=device).requires_grad_(requires_grad)
            if numel <= MOVED:
                kept_alive.append(x)
            order = list(rounds)
            random.shuffle(order)
            for name in order:
                if name == BASELINE:
                    timer = _baseline_timer("x.copy()", x.detach(), device, to_host=to == "ndarray")
                else:
                    timer = _method_timer(find_method(name), x, device)
                if name not in calls:
                    calls[name] = _calls_in(timer, REQUEST_SAMPLE)
                timer.timeit(1 + calls[name] // 10)  # warm up: this tensor is not in the caches yet
                rounds[name].append(timer.timeit(calls[name]).median)
                readings.append(control.read())
    return {
        **_measured_on(device),
        "methods": methods,
        "baseline": rounds.pop(BASELINE),
        "rounds": rounds,
        "quiet": control.quiet_share(readings),
    }


def time_sizes(
    *,
    what: str,
    device: str = "cpu",
    most: int = MOST,
    requires_grad: bool = False,
    relative_to: str = "",
    report_progress: ReportProgress = ignore_progress,
) -> dict[str, Any]:
    """Time copies or conversions at numel = 1, 2, 4, … `most`.

    what : "copies" or "conversions"; own operations declared to be drawn beside them are included
    relative_to : a method's name or "baseline", of which the caller will show multiples; "" for none

    Returns plain values: these arguments, "torch", "python", "on" and "day", "curves" with each method's "name", "code" and "points", which
    are seconds per call by "numel" ("median", and the quartiles "low" and "high"), "baseline", the curve of a copy of the same bytes into
    existing memory, by numpy on the CPU and by the device itself elsewhere, and "quiet", the share of samples beside which the machine was
    quiet.

    Each method's result is compared with its input first. Raises TensorcopyError for a device or size that cannot be used, and for a
    method whose result is not a copy, and an unknown `relative_to`.
    """
    if what not in SWEEPS:
        raise TensorcopyError("there is no such plot", got=repr(what), allowed=" or ".join(SWEEPS), next="tensorcopy plot copies")
    devices.require(device)
    _check_numel(most, "--max 2**14")
    numels = [2**power for power in range(most.bit_length())]
    own = [own_operations()[operation.name] for operation in declarations.operations() if operation.beside == what and not operation.inputs]
    methods = [method for method in (*SWEEPS[what].values(), *own) if exists(method)]  # own operations last
    names = [*(method.name for method in methods), BASELINE]
    if relative_to and relative_to not in names:
        raise TensorcopyError("no such method is measured", got=repr(relative_to), allowed=", ".join(names), next="one of these names")
    timers: dict[Key, Timer] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # formatting a warning is not part of copying
        for numel in numels:
            x = torch.ones(numel, device=device).requires_grad_(requires_grad)
            for method in methods:
                _check_copy(method, x, device)
                timers[method.name, numel] = _method_timer(method, x, device)
            timers[BASELINE, numel] = _baseline_timer("np.copyto(out, x)", x.detach(), device, to_host=what == "conversions")
        calls: dict[Key, int] = {}
        times: dict[Key, list[float]] = {key: [] for key in timers}
        for done, (key, timer) in enumerate(timers.items()):  # reported as the first quarter of the work
            report_progress(done / len(timers) / 4, f"{key[0]}, numel {key[1]}")
            calls[key] = _calls_in(timer, SIZES_SAMPLE)
        order, random, readings = list(timers), SystemRandom(), []
        for number in range(SIZES_ROUNDS):
            report_progress(0.25 + 0.75 * number / SIZES_ROUNDS, f"round {number + 1} of {SIZES_ROUNDS}")
            random.shuffle(order)
            for key in order:
                times[key].append(timers[key].timeit(calls[key]).median)
                readings.append(control.read())

    def curve(name: str, code: str) -> dict[str, Any]:
        points = []
        for numel in numels:
            low, middle, high = quantiles(times[name, numel], n=4, method="inclusive")
            points.append({"numel": numel, "median": middle, "low": low, "high": high})
        return {"name": name, "code": code, "points": points}

    return {
        "what": what,
        "device": device,
        "requires_grad": requires_grad,
        **_measured_on(device),
        "curves": [curve(method.name, code_on(method, device)) for method in methods],
        "baseline": curve(BASELINE, timers[BASELINE, 1]._task_spec.stmt),
        "quiet": control.quiet_share(readings),
    }


def time_call(name: str) -> dict[str, Any]:
    """Return the "seconds" per call of each sample. The process is one pass.

    name : of a method and its tensor, as `instruction_count` prints it: "detach 1 float32 contiguous"
    """
    section = next(section for section in instruction_count.all_of_them() if str(section) == name)
    x = make_tensor(section.numel, dtype=section.dtype, layout=section.layout, requires_grad=section.requires_grad)
    timer = _method_timer(find_method(section.method), x, "cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # formatting a warning is not part of the call
        calls = _calls_in(timer, CALL_SAMPLE)
        return {"seconds": [timer.timeit(calls).median for _ in range(CALL_SAMPLES)]}


def main(arguments: Sequence[str], report_progress: ReportProgress = ignore_progress) -> dict[str, Any]:
    """Time what the first argument says."""
    what, argument = arguments
    if what == "call":
        report_progress(0.0, "timing")
        return time_call(argument)
    request: dict[str, Any] = json.loads(argument)
    if what == "sizes":
        return time_sizes(**request, report_progress=report_progress)
    return time_request(**request, report_progress=report_progress)


def make_timer(code: str, names: Mapping[str, Any], device: str) -> Timer:
    """Return a timer of `code`, an expression of `names`, whose clock waits for `device`.

    torch's own clock waits for CUDA only, and for other accelerators in recent releases: else it reads how fast they queue work.
    """
    if device == "cpu":
        return Timer(code, globals=dict(names), num_threads=1, timer=default_timer)
    wait = devices.waiter(device)

    def clock() -> float:
        wait()
        return default_timer()

    return Timer(code, globals=dict(names), num_threads=1, timer=clock)


def _calls_in(timer: Timer, seconds: float) -> int:
    """Return how many calls take `seconds`, at least one. Warms up, too."""
    number = 1
    while (elapsed := min(timer.timeit(number).median, timer.timeit(number).median) * number) < seconds / 4:
        number *= 4
    return max(1, int(number * seconds / elapsed))


def _method_timer(method: Method, x: torch.Tensor, device: str) -> Timer:
    return make_timer(code_on(method, device), {**method.names, "x": x}, device)


def _baseline_timer(on_cpu: str, x: torch.Tensor, device: str, *, to_host: bool) -> Timer:
    """Return a timer of the memcpy baseline, which copies the same bytes: by numpy on the CPU, by the device itself elsewhere.

    on_cpu : the code there, into newly allocated or existing memory; an accelerator copies into existing memory
    """
    if device == "cpu":
        return make_timer(on_cpu, {"np": np, "x": x.numpy(), "out": np.empty(len(x), "float32")}, device)
    out = torch.empty(len(x)) if to_host else torch.empty_like(x)
    return make_timer("out.copy_(x)", {"x": x, "out": out}, device)


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


def _check_numel(numel: int, next: str) -> None:
    """Raise TensorcopyError unless `numel` is between 1 and `MAX_NUMEL`."""
    if not 1 <= numel <= MAX_NUMEL:
        raise TensorcopyError(
            "the number of elements is out of range", got=str(numel), allowed=f"1 to 2**{MAX_NUMEL.bit_length() - 1}", next=next
        )


def _measured_on(device: str) -> dict[str, str]:
    """Return the release of torch, the Python, the name of the device and the day."""
    return {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "on": devices.model(device),
        "day": datetime.now(timezone.utc).date().isoformat(),
    }
