"""Print what the suites of checkouts read on the CUDA device.

`python readings.py REQUEST`, with a JSON list of [ROOT, [CASE, …], VARIABLES] for each checkout, prints [ROOT, CASE, ROW] for each case,
such as "copies.Latency.time_copy('tensor', 1024, 'cuda')". The row has the value that asv's runner reads, and the seconds between CUDA's
events around the same code. A ROOT may be a copy of the checkout with a planted mistake.

As with asv's fork server, a process imports the suites of a checkout, and a process forked from it measures each case.
"""

from __future__ import annotations

import ast
import json
import os
import struct
import sys
import warnings
from itertools import product
from pathlib import Path

RUNS = 3  # of three samples each
CALLS, CALLS_EMULATED = 200, 20  # between events; a real device's first ones are slower
COUNTERS = ("contexts", "copies", "kernels", "waits", "allocations")  # in the order of cuda_runtime.c


def counters():
    """Return the emulated device's counters; {} on a real one."""
    path = os.environ.get("EMULATED_CUDA_COUNTERS")
    return dict(zip(COUNTERS, struct.unpack(f"{len(COUNTERS)}Q", Path(path).read_bytes()))) if path else {}


def reading(root, text):
    """Return the row of one case: "value", "skipped" or "error"."""
    from asv_runner.benchmarks.mark import SkipNotImplemented
    from asv_runner.discovery import get_benchmark_from_name

    name, _, parameters = text.partition("(")
    values = ast.literal_eval(f"({parameters[:-1]},)")
    if name == "peak":
        return {"value": peak(*values)}
    suites = str(Path(root) / "benchmarks")
    index = list(product(*get_benchmark_from_name(suites, name)._params)).index(values)
    benchmark = get_benchmark_from_name(suites, f"{name}-{index}")
    benchmark.repeat = 3
    try:
        skips = benchmark.do_setup()
        first = None if skips else benchmark.do_run()
    except SkipNotImplemented as reason:
        return {"skipped": str(reason)}
    if benchmark.type == "track":
        return {"value": first}
    fastest = min(sample for _ in range(RUNS) for sample in benchmark.do_run()["samples"])  # another program can only add time
    before = counters()
    benchmark.do_run()
    after = counters()
    counted = {key: after[key] - before[key] for key in after}
    # the first sample of a process is asv's, too: nothing that happens once may be in it
    return {"value": fastest, "first": first["samples"][0], "counted": counted, "events": seconds_by_events(values[0])}


def peak(method, device):
    """Return the bytes that a method holds on a device at most, after much more has been allocated and freed there."""
    import torch

    from tensorcopy.worker.methods import METHODS
    from tensorcopy.worker.probes import allocations

    torch.empty(2**26, device=device)
    return allocations.on_device(METHODS[method].on["cuda"], torch.empty(2**20, device=device)).peak


def seconds_by_events(method):
    """Return the seconds per call that CUDA's events measure around the code of the case that was timed last: the fastest of some runs."""
    import torch

    from benchmarks import cases
    from tensorcopy.worker.methods import METHODS, NAMES

    code = METHODS[method].code_on_accelerator if method in METHODS else "out.copy_(x)"
    calls = CALLS_EMULATED if counters() else CALLS
    names = {**NAMES, **cases.timed[0].names}
    exec(f"def loop():\n    for _ in range({calls}):\n        {code}", names)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    runs = []
    for _ in range(RUNS):
        torch.cuda.synchronize()
        start.record()
        names["loop"]()
        end.record()
        end.synchronize()
        runs.append(start.elapsed_time(end) / 1e3 / calls)
    return min(runs)


def in_a_process(function):
    """Return the list that `function()` returns in a forked process."""
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        with os.fdopen(write_end, "w") as pipe:
            json.dump(function(), pipe)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        return json.load(pipe)


def row(root, case):
    """Return the row of one case, measured in a forked process."""

    def measured():
        try:
            return reading(root, case)
        except BaseException as error:
            return {"error": f"{type(error).__name__}: {error}"}

    return {"value": None, "first": None, **in_a_process(measured)}


def rows(root, cases, variables):
    """Return [ROOT, CASE, ROW] of all cases, with the suites of `root`."""
    os.environ.update(variables)
    sys.path.insert(0, root)
    __import__("benchmarks.copies")
    return [[root, case, row(root, case)] for case in cases]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    __import__("torch")  # once for all checkouts; this touches no device
    for request in json.loads(sys.argv[1]):
        for line in in_a_process(lambda request=request: rows(*request)):
            sys.stdout.write(json.dumps(line) + "\n")
