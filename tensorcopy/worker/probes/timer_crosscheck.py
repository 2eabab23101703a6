"""Whether asv's figures agree with the best independent harness: torch's own benchmark Timer, and on CUDA the device's events.

`python -m tensorcopy.worker.probes.timer_crosscheck` runs inside a release's environment. Every case is timed through asv's runner and by the reference, by
turns, on the same tensor, in processes of their own as asv's are; a line of JSON tells each case's ratio.
"""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch

from tensorcopy.worker import devices
from tensorcopy.worker.registry.methods import METHODS, NAMES

LARGEST = 2**20  # elements; beyond, page faults decide, which no harness holds still
SECONDS = 0.005  # of a reference's measurement, as of a sample
PROCESSES, TURNS = 3, 5
TRIES = 40  # turns that may be lost to a machine that changes its pace meanwhile
STEADY = 1.1  # greatest over least reading of the control around a turn that counts
MORE = 6  # processes for a case that seems to disagree
CONFIRMATIONS = 2  # such measurements, before it does
COLD = 2.0  # times the reference, beyond which a case's very first sample has something in it that the others have not
DISAGREES = 0.08  # a case whose ratio is farther from 1


@dataclass(frozen=True)
class TimedCase:
    """A timed case as asv knows it, and what is timed.

    arguments : of `benchmarks.cases.tensor`
    each_waited_for : whether the device is waited for after each call
    """

    suite: str
    index: int
    code: str
    arguments: dict[str, Any]
    each_waited_for: bool


def found(root: Path, device: str) -> list[TimedCase]:
    """Every timed case of a method on `device`, of the suites under `root`, as asv's runner discovers them."""
    sys.path.insert(0, str(root.parent))
    from asv_runner.discovery import disc_benchmarks

    cases = []
    for benchmark in disc_benchmarks(str(root)):
        if benchmark.type != "time" or "method" not in benchmark.param_names or benchmark.name.startswith("article"):
            continue
        for index, values in enumerate(product(*benchmark._params)):
            arguments = dict(zip(benchmark.param_names, values))
            method = METHODS[arguments.pop("method")]
            if arguments.get("device", "cpu") != device or arguments["numel"] > LARGEST or "threads" in arguments:
                continue
            code = method.code if device == "cpu" else method.code_on_accelerator
            cases.append(TimedCase(benchmark.name, index, code, arguments, benchmark.name.startswith("copies.Latency")))
    return cases


def ratio(root: Path, case: TimedCase, device: str, reference: str, processes: int) -> float | None:
    """asv's time over the reference's: the median over every turn in every process; None for a case that is skipped.

    reference : "Timer", or "events" for what a CUDA device says of itself
    Raises RuntimeError where a process fails.
    """
    turns: list[float] = []
    for _ in range(processes):
        turns += _in_a_process(lambda: list(_turns(root, case, device, reference)))
    return median(turns) if turns else None


def _turns(root: Path, case: TimedCase, device: str, reference: str) -> Iterator[float]:
    """The ratio of one turn after the other."""
    from asv_runner.benchmarks.mark import SkipNotImplemented
    from asv_runner.discovery import get_benchmark_from_name

    from benchmarks import cases, control

    benchmark = get_benchmark_from_name(str(root), f"{case.suite}-{case.index}")
    torch.set_num_threads(1)
    wait = devices.waiter(device)
    code = f"{case.code}; wait()" if case.each_waited_for else case.code
    names = {**NAMES, "wait": wait}

    def by_reference() -> float:
        return by_timer(code, names, wait) if reference == "Timer" else _by_events(code, names)

    def through_asv() -> float:
        return float(median(benchmark.do_run()["samples"]))

    try:
        if benchmark.do_setup():
            return
        benchmark.repeat = 1
        first = through_asv()
    except SkipNotImplemented:
        return
    # the very tensor, for all turns: a copy into memory right behind it takes numpy up to a fifth more than one elsewhere
    ours = {"device": device, **case.arguments}
    names["x"] = cases.timed[0].names["x"] if cases.timed else cases.tensor(**ours)  # type: ignore[no-untyped-call]
    for timed in cases.timed:
        timed.moves = False
    expected = by_reference()
    if first > COLD * expected:  # a cold start in the sample, of which later ones know nothing
        yield from [first / expected] * TURNS
        return
    yield from turns(through_asv, by_reference, control.read)


def turns(one: Callable[[], float], other: Callable[[], float], control: Callable[[], float]) -> Iterator[float]:
    """`one` over `other`, `TURNS` times, each first by turns; what the control saw the machine change its pace in is taken again."""
    taken = 0
    for attempt in range(TRIES):
        order = (one, other) if attempt % 2 else (other, one)
        readings = [control()]
        times = {}
        for act in order:
            times[act] = act()
            readings.append(control())
        if max(readings) <= min(readings) * STEADY or attempt >= TRIES - TURNS + taken:
            yield times[one] / times[other]
            taken += 1
        if taken == TURNS:
            return


def by_timer(code: str, names: dict[str, Any], wait: Callable[[], object]) -> float:
    """Seconds per call by `torch.utils.benchmark.Timer.blocked_autorange`, on a clock that waits for the device before it is read.

    The median of its blocks, as a sample is the median of its stretches.
    """
    from torch.utils.benchmark import Timer

    def clock() -> float:
        wait()
        return perf_counter()

    return float(Timer(code, globals=names, timer=clock).blocked_autorange(min_run_time=SECONDS).median)


def _by_events(code: str, names: dict[str, Any]) -> float:
    """Seconds per call between two events in the device's own queue. CUDA's clock, not the host's."""
    world = dict(names)
    exec(f"def loop(calls):\n    for _ in range(calls):\n        {code}", world)  # noqa: S102 - a method's own text
    calls = max(1, int(SECONDS / by_timer(code, names, names["wait"])))
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    world["loop"](calls)
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / 1e3 / calls


def _in_a_process(act: Callable[[], list[Any]]) -> list[Any]:
    """What `act` gives in a forked process, as asv forks for every case: this one never touches a device.

    In this one where nothing can be forked, or must not be, as with Apple's GPU.
    """
    if not sys.platform.startswith("linux"):
        return act()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            with os.fdopen(writing, "w") as pipe:
                json.dump(act(), pipe)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if status != 0 or not text:
        raise RuntimeError(f"a timing process ended with {status}")
    return list(json.loads(text))


def main(arguments: Sequence[str]) -> None:
    """`ROOT DEVICE REGEX`: a line of JSON for each case whose suite the expression finds; the first says how many there are.

    A case that is skipped here has no ratio.
    """
    warnings.simplefilter("ignore")
    import torch.utils.benchmark

    root, device, wanted = Path(arguments[0]), arguments[1], re.compile(arguments[2])
    cases = [case for case in found(root, device) if wanted.search(case.suite)]
    references = ["Timer", "events"] if device == "cuda" else ["Timer"]
    print(
        json.dumps(
            {"cases": len(cases) * len(references), "torch": torch.__version__, "on": _in_a_process(lambda: [devices.model(device)])[0]}
        ),
        flush=True,
    )
    doubtful = []
    for reference, case in product(references, cases):
        value = ratio(root, case, device, reference, PROCESSES)
        if value is not None and abs(value - 1) > DISAGREES:
            doubtful.append((reference, case))  # measured again when all else is done: a neighbour has gone by then, an error has not
        else:
            _tell(case, reference, value)
    for reference, case in doubtful:
        for _ in range(CONFIRMATIONS):
            value = ratio(root, case, device, reference, MORE)
            if value is None or abs(value - 1) <= DISAGREES:
                break
        _tell(case, reference, value)


def _tell(case: TimedCase, reference: str, value: float | None) -> None:
    row = {"suite": case.suite, "code": case.code, "arguments": case.arguments, "reference": reference, "ratio": value}
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
