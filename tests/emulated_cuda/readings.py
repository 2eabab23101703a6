"""Print what the suites of the current folder's checkout read on the CUDA device.

`python readings.py CASE …` prints [CASE, ROW] for each case, such as "copies.Latency.time_copy('tensor', 1024, 'cuda')". The row has the
value that asv's runner reads, the first sample of the process, and the seconds between CUDA's events around the same code; or an
error. As with asv's fork server, a process imports the suites, and a process forked from it measures each case.
"""

import ast
import json
import os
import sys
import warnings
from itertools import product
from pathlib import Path

RUNS = 3  # of three samples each; the fastest counts, since another program can only add time
CALLS = 20  # between events


def reading(text):
    """Return the row of one case."""
    from asv_runner.discovery import get_benchmark_from_name

    name, _, parameters = text.partition("(")
    values = ast.literal_eval(f"({parameters[:-1]},)")
    suites = str(Path("benchmarks").absolute())
    index = list(product(*get_benchmark_from_name(suites, name)._params)).index(values)
    benchmark = get_benchmark_from_name(suites, f"{name}-{index}")
    benchmark.repeat = 3
    assert not benchmark.do_setup(), "skipped"
    if benchmark.type == "track":
        return {"value": benchmark.do_run()}
    suite = benchmark.func.__self__
    suite.tensorcopy_loops = []
    benchmark.func(*values)
    (loop,), suite.tensorcopy_loops = suite.tensorcopy_loops, None
    first = benchmark.do_run()
    fastest = min(sample for _ in range(RUNS) for sample in benchmark.do_run()["samples"])
    return {"value": fastest, "first": first["samples"][0], "events": seconds_by_events(values[0], loop)}


def seconds_by_events(method, loop):
    """Return the seconds per call that CUDA's events measure around the code of the loop that was timed last."""
    import torch

    from tensorcopy.copying.inside.methods import METHODS, NAMES, code_on

    code = code_on(METHODS[method], "cuda") if method in METHODS else "out.copy_(x)"
    names = {**NAMES, **loop.names}
    exec(f"def repeated():\n    for _ in range({CALLS}):\n        {code}", names)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    runs = []
    for _ in range(RUNS):
        torch.cuda.synchronize()
        start.record()
        names["repeated"]()
        end.record()
        end.synchronize()
        runs.append(start.elapsed_time(end) / 1e3 / CALLS)
    return min(runs)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(Path.cwd()))
    __import__("benchmarks.copies")  # this touches no device
    for case in sys.argv[1:]:
        if os.fork() == 0:
            try:
                row = reading(case)
            except BaseException as error:
                row = {"error": f"{type(error).__name__}: {error}"}
            sys.stdout.write(json.dumps([case, row]) + "\n")
            sys.stdout.flush()
            os._exit(0)
        os.wait()
