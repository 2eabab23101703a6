"""Compare the suites' times with torch's benchmark Timer and with CUDA events.

`python -m docs.tools.timer_crosscheck` runs inside a release's environment. Every case is timed by its suite and by the reference in
alternating order, on the same tensor, in a forked process as in a launch. Each case's ratio is printed as a line of JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch

from tensorcopy.copying.inside.methods import METHODS, NAMES, code_on, make_tensor
from tensorcopy.errors import exception_line
from tensorcopy.worker import devices
from tensorcopy.worker.turns import WINDOWS, usual

LARGEST = 2**20  # elements; beyond, page faults dominate, and they vary with any harness
PROCESSES, TURNS = 3, 10
CALLS = 100  # in a window of a suite that has no loop of tensorcopy's
COLD = 2.0  # times the reference; a slower first sample includes the cost of a cold start


@dataclass(frozen=True)
class TimedCase:
    """A case that asv times, with the code that it times.

    index : of its parameters in asv's suite
    arguments : of `make_tensor`
    """

    suite: str
    index: int
    code: str
    arguments: dict[str, Any]


def timed_cases(root: Path, device: str) -> list[TimedCase]:
    """Return the timed cases on `device` that asv discovers under `root`."""
    sys.path.insert(0, str(root.parent))
    from asv_runner.discovery import disc_benchmarks

    cases = []
    for benchmark in disc_benchmarks(str(root)):
        if benchmark.type != "time" or "method" not in benchmark.param_names:
            continue
        for index, values in enumerate(product(*benchmark._params)):
            arguments = dict(zip(benchmark.param_names, values))
            method = METHODS.get(arguments.pop("method"))
            if method is None or arguments.get("device", "cpu") != device or arguments["numel"] > LARGEST:
                continue
            code = code_on(method, device)
            cases.append(TimedCase(benchmark.name, index, code, arguments))
    return cases


def ratio(root: Path, case: TimedCase, device: str, reference: str) -> float | None:
    """Return the suite's time over the reference's, the median over all processes; None for a case that is skipped.

    In a process both have turns of the same number of calls, and of each the fastest third counts, as in a launch.

    reference : "Timer", or "events" for CUDA's own timing
    Raises RuntimeError where a process fails.
    """
    ratios = []
    for _ in range(PROCESSES):
        if turns := _in_a_process(lambda: list(_turns(root, case, device, reference))):
            by_suite, by_reference = zip(*turns)
            ratios.append(usual(by_suite) / usual(by_reference))
    return median(ratios) if ratios else None


def _turns(root: Path, case: TimedCase, device: str, reference: str) -> Iterator[tuple[float, float]]:
    """Yield the seconds per call of each turn, by the suite and by the reference."""
    from asv_runner.benchmarks.mark import SkipNotImplemented
    from asv_runner.discovery import get_benchmark_from_name

    benchmark = get_benchmark_from_name(str(root), f"{case.suite}-{case.index}")
    torch.set_num_threads(1)
    wait = devices.waiter(device)
    names, suite = {**NAMES, "wait": wait}, benchmark.func.__self__
    loops: list[Any] = []

    def by_suite() -> float:
        return float(min(benchmark.do_run()["samples"]))

    try:
        if benchmark.do_setup():
            return
        benchmark.repeat = 1
        if hasattr(suite, "tensorcopy_loops"):
            suite.tensorcopy_loops = loops
            benchmark.func(*benchmark._build_params())
            suite.tensorcopy_loops = None
        first = by_suite()
    except SkipNotImplemented:
        return
    loop = loops[0] if loops else None
    # the same tensor in all turns: numpy takes up to 20 % longer to copy into the memory right behind the source
    names["x"] = loop.names["x"] if loop else make_tensor(**{"device": device, **case.arguments})
    code = f"{case.code}; wait()" if loop and loop.each_waited_for else case.code
    calls = max(1, loop.calls // loop.windows) if loop else CALLS  # of a window, the fastest of which is a turn
    timed = by_timer(code, names, wait, calls) if reference == "Timer" else _by_events(code, names, calls)
    if loop:
        loop.nbytes = 0  # so that it stays there
    expected = timed()
    if first > COLD * expected:  # only the first sample includes a cold start
        yield from [(first, expected)] * TURNS
        return
    for turn in range(TURNS):
        times = {function: function() for function in ((by_suite, timed) if turn % 2 else (timed, by_suite))}
        yield times[by_suite], times[timed]


def by_timer(code: str, names: dict[str, Any], wait: Callable[[], object], calls: int) -> Callable[[], float]:
    """Return a function that returns the seconds per call in the fastest of `WINDOWS` windows by torch's `Timer`.

    The clock waits for the device before it is read. calls : of a window
    """
    from torch.utils.benchmark import Timer

    def clock() -> float:
        wait()
        return perf_counter()

    timer = Timer(code, globals=names, timer=clock)
    return lambda: min(float(timer.timeit(calls).mean) for _ in range(WINDOWS))


def _by_events(code: str, names: dict[str, Any], calls: int) -> Callable[[], float]:
    """Return a function that returns the same between two events in the CUDA queue, by CUDA's clock."""
    namespace = dict(names)
    exec(f"def loop(calls):\n    for _ in range(calls):\n        {code}", namespace)

    def window() -> float:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        namespace["loop"](calls)
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3 / calls

    return lambda: min(window() for _ in range(WINDOWS))


def _in_a_process(function: Callable[[], list[Any]]) -> list[Any]:
    """Return `function()`, called in a forked process, as asv forks for every case.

    This process never touches a device, which a forked one could not use then. Outside Linux the function is called in this process: macOS
    and Apple's GPU do not support forking.

    Raises RuntimeError with the last line of the forked process's traceback, which is printed.
    """
    if not sys.platform.startswith("linux"):
        return function()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            with os.fdopen(writing, "w") as pipe:
                json.dump(_result_or_traceback(function), pipe)
            status = 0
        finally:
            os._exit(status)  # without Python's cleanup, which is the parent's
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if status != 0 or not text:
        raise RuntimeError(f"a timing process exited with status {status}")
    document = json.loads(text)
    if "traceback" in document:
        print(document["traceback"], file=sys.stderr)
        raise RuntimeError(exception_line(document["traceback"]))
    return list(document["result"])


def _result_or_traceback(function: Callable[[], list[Any]]) -> dict[str, Any]:
    """Return `{"result": …}`, or `{"traceback": …}` of what the function raises."""
    try:
        return {"result": function()}
    except Exception:
        return {"traceback": traceback.format_exc()}


def main(arguments: Sequence[str]) -> None:
    """Print a line of JSON for each case whose suite matches REGEX.

    arguments : ROOT DEVICE REGEX

    The first line has the number of cases. A case that is skipped on this machine has the ratio null.
    """
    warnings.simplefilter("ignore")
    root, device, suites = Path(arguments[0]), arguments[1], re.compile(arguments[2])
    if device == "cpu":
        # imported once, for all processes. It queries CUDA, which a parent of processes that use CUDA must not do
        importlib.import_module("torch.utils.benchmark")
    cases = [case for case in timed_cases(root, device) if suites.search(case.suite)]
    references = ["Timer", "events"] if device == "cuda" else ["Timer"]
    (model,) = _in_a_process(lambda: [devices.model(device)])
    print(json.dumps({"cases": len(cases) * len(references), "torch": torch.__version__, "on": model}), flush=True)
    for reference, case in product(references, cases):
        _print_ratio(case, reference, ratio(root, case, device, reference))


def _print_ratio(case: TimedCase, reference: str, value: float | None) -> None:
    row = {"suite": case.suite, "code": case.code, "arguments": case.arguments, "reference": reference, "ratio": value}
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
