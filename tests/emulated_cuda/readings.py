"""Print what the suites of a checkout read on the CUDA device.

`python readings.py ROOT CASE…` prints a line of JSON for each case, such as "copies.Latency.time_copy('tensor', 1024, 'cuda')": the value
that asv's runner reads in a forked process, and the seconds between CUDA's events around the same code. ROOT may be a copy of the checkout
with a planted mistake.
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

COUNTERS = ("contexts", "copies", "kernels", "waits", "allocations")  # in the order of cuda_runtime.c


def counters():
    """Return the emulated device's counters; {} on a real one."""
    path = os.environ.get("EMULATED_CUDA_COUNTERS")
    if not path:
        return {}
    return dict(zip(COUNTERS, struct.unpack(f"{len(COUNTERS)}Q", Path(path).read_bytes())))


def reading(root, text):
    """Return what asv's runner reads of one case.

    "value" is None for a case that is skipped, with the reason; an exception is the value of "error".
    """
    from asv_runner.benchmarks.mark import SkipNotImplemented
    from asv_runner.discovery import get_benchmark_from_name

    name, _, parameters = text.partition("(")
    benchmark = get_benchmark_from_name(str(root / "benchmarks"), name)
    values = ast.literal_eval(f"({parameters[:-1]},)")
    index = list(product(*benchmark._params)).index(values)
    benchmark = get_benchmark_from_name(str(root / "benchmarks"), f"{name}-{index}")
    try:
        if benchmark.do_setup():
            return {"skipped": "by its set-up"}
        if benchmark.type == "track":
            return {"value": benchmark.do_run()}
        benchmark.repeat = 3
        before = counters()
        benchmark.do_run()  # the case is made, calibrated and timed
        fastest = min(benchmark.do_run()["samples"])  # another program can only add time
        after = counters()
    except SkipNotImplemented as reason:
        return {"skipped": str(reason)}
    counted = {key: after[key] - before[key] for key in after}
    return {"value": fastest, "counted": counted, "events": seconds_by_events(values[0])}


def seconds_by_events(method, calls=20):
    """Return the seconds per call that CUDA's events measure around the code of the case that was timed last."""
    import torch

    from benchmarks import cases
    from tensorcopy.worker.registry.methods import METHODS, NAMES

    code = METHODS[method].code_on_accelerator if method in METHODS else "out.copy_(x)"
    names = {**NAMES, **cases.timed[0].names}
    exec(f"def loop():\n    for _ in range({calls}):\n        {code}", names)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    names["loop"]()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3 / calls


def in_a_process(root, text):
    """Return `reading` of a forked process."""
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        with os.fdopen(write_end, "w") as pipe:
            try:
                result = reading(root, text)
            except BaseException as error:
                result = {"error": f"{type(error).__name__}: {error}"}
            json.dump(result, pipe)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        return {"value": None, **json.load(pipe)}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    checkout = Path(sys.argv[1])
    sys.path.insert(0, str(checkout))

    for case in sys.argv[2:]:
        print(json.dumps({"case": case, **in_a_process(checkout, case)}), flush=True)
