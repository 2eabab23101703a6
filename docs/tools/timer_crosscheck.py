"""Time each case by its suite and by torch's Timer, in turns and on the same tensor.

`python -m docs.tools.timer_crosscheck ROOT REGEX` prints a line of JSON for each case of the suites below ROOT whose name matches. It runs
with the variables of a launch, and each case in forked processes, as there.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch
from asv_runner.benchmarks.mark import SkipNotImplemented
from asv_runner.discovery import disc_benchmarks, get_benchmark_from_name
from torch.utils.benchmark import Timer

from tensorcopy.copying.inside.methods import METHODS, NAMES, make_tensor
from tensorcopy.worker import devices
from tensorcopy.worker.turns import WINDOWS, usual

LARGEST = 2**20  # elements; beyond, page faults dominate, and they vary with any harness
PROCESSES, TURNS = 3, 10
CALLS = 100  # in a window of a suite that has no loop of tensorcopy's
COLD = 2.0  # times the Timer's; a slower first sample includes the cost of a cold start


@dataclass(frozen=True)
class TimedCase:
    """A case that asv times, with the code that it times."""

    suite: str
    index: int  # of its parameters in asv's suite
    code: str
    arguments: dict[str, Any]  # of `make_tensor`


def timed_cases(root: Path) -> Iterator[TimedCase]:
    """Yield the cases on the CPU that asv discovers under `root`, and that time a method."""
    sys.path.insert(0, str(root.parent))
    for benchmark in disc_benchmarks(str(root)):
        if benchmark.type != "time" or "method" not in benchmark.param_names:
            continue
        for index, values in enumerate(product(*benchmark._params)):
            arguments = dict(zip(benchmark.param_names, values))
            method = METHODS.get(arguments.pop("method"))
            if method and arguments.get("device", "cpu") == "cpu" and arguments["numel"] <= LARGEST:
                yield TimedCase(benchmark.name, index, method.code, arguments)


def ratio(root: Path, case: TimedCase) -> float | None:
    """Return the suite's time over the Timer's, the median over all processes; None for a case that is skipped.

    In a process both have turns of the same number of calls, and of each the fastest third counts, as in a launch.
    """
    ratios = []
    for _ in range(PROCESSES):
        with ProcessPoolExecutor(1, get_context("fork")) as forked:
            turns = forked.submit(turns_of, root, case).result()
        if turns:
            by_suite, by_timer = zip(*turns)
            ratios.append(usual(by_suite) / usual(by_timer))
    return median(ratios) if ratios else None


def turns_of(root: Path, case: TimedCase) -> list[tuple[float, float]]:
    """Return the seconds per call of each turn, by the suite and by the Timer; none for a case that is skipped."""
    benchmark = get_benchmark_from_name(str(root), f"{case.suite}-{case.index}")
    torch.set_num_threads(1)
    suite = benchmark.func.__self__
    loops: list[Any] = []

    def by_suite() -> float:
        return float(min(benchmark.do_run()["samples"]))

    try:
        if benchmark.do_setup():
            return []
        benchmark.repeat = 1
        if hasattr(suite, "tensorcopy_loops"):
            suite.tensorcopy_loops = loops
            benchmark.func(*benchmark._build_params())
            suite.tensorcopy_loops = None
        first = by_suite()
    except SkipNotImplemented:
        return []
    loop = loops[0] if loops else None
    # the same tensor in all turns: numpy takes up to 20 % longer to copy into the memory right behind the source
    x = loop.names["x"] if loop else make_tensor(**{"device": "cpu", **case.arguments})
    calls = max(1, loop.calls // loop.windows) if loop else CALLS  # of a window, the fastest of which is a turn
    # torch's own clock asks for an accelerator, which takes as long as twenty copies
    timer = Timer(case.code, globals={**NAMES, "x": x}, timer=perf_counter)

    def by_timer() -> float:
        return min(float(timer.timeit(calls).mean) for _ in range(WINDOWS))

    if loop:
        loop.nbytes = 0  # so that it stays there
    expected = by_timer()
    if first > COLD * expected:  # only the first sample includes a cold start
        return [(first, expected)] * TURNS
    turns = []
    for turn in range(TURNS):
        times = {function: function() for function in ((by_suite, by_timer) if turn % 2 else (by_timer, by_suite))}
        turns.append((times[by_suite], times[by_timer]))
    return turns


def main(arguments: Sequence[str]) -> None:
    """Print the torch and the processor, and then each case that is not skipped with its ratio."""
    warnings.simplefilter("ignore")
    root, suites = Path(arguments[0]), re.compile(arguments[1])
    print(json.dumps({"torch": torch.__version__, "on": devices.model("cpu")}))
    for case in timed_cases(root):
        if suites.search(case.suite) and (of_case := ratio(root, case)):
            written = " ".join([case.code, *(f"{name}={value}" for name, value in case.arguments.items())])
            print(json.dumps({"suite": case.suite, "case": written, "ratio": of_case}))
            print(f"{of_case:.3f}  {case.suite} {written}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
