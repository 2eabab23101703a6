"""One side of a launch: a process that imports torch and the suites once, and times one case after another in forks, turn by turn.

`python -m tensorcopy.worker.turns SUITES` reads a request from each line of standard input, and answers with a line of JSON.
`measure.launch` sends the requests, to the processes of several releases in turn:

{"case": NAME, "index": N, "calls": C} : a fork sets up case N of a benchmark, for asv or of tensorcopy's, with C calls in a turn, 0 to
    calibrate. It answers {"pid": …}, then {"calls": …}, {"skipped": reason} or {"failed": error}
"turn" : the fork makes new inputs, times a turn and answers {"turn": [seconds, page faults, involuntary context switches]}
{"value": NAME, "index": N} : a fork runs a benchmark that is not timed and answers {"value": …}, "skipped" or "failed"
{"suites": true} : the benchmarks, as asv's discovery describes them

A fork ends after "end", or when its case was skipped or has failed; then the process answers {"ended": status}.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any

TURN_SECONDS, CALIBRATION_SECONDS = 0.001, 0.02
END = "end\n"
THREADS = "threads"  # a parameter of suites that use several
LONGEST_ERROR = 300  # characters of an exception


class AsvLoop:
    """A time benchmark of any asv suite, with the interface of tensorcopy's own loops (`worker.loop`).

    As with asv, setup runs before every timed call where there is one. A turn is then shorter where setup would take most of the time.
    """

    def __init__(self, benchmark: Any) -> None:
        self._benchmark, self._arguments = benchmark, benchmark._build_params()
        self._each_set_up = bool(benchmark._setups) and type(benchmark).__name__ != "TimerawBenchmark"
        self.calls = benchmark.number or 1
        start = monotonic()
        while not benchmark.number and self.seconds(self.calls) < TURN_SECONDS and monotonic() - start < CALIBRATION_SECONDS:
            self.calls *= 2

    def move(self) -> None:
        """Do nothing: the inputs are the benchmark's own."""

    def close(self) -> None:
        """Let the benchmark tear down what it has set up."""
        self._benchmark.do_teardown()

    def seconds(self, calls: int) -> float:
        """Return the seconds that `calls` calls take, without their setup."""
        timer = self._benchmark._get_timer(*self._arguments)
        if not self._each_set_up:
            return float(timer.timeit(calls))
        return sum(float(timer.timeit(1)) for _ in range(calls))  # each runs setup first


class Side:
    """Answers the requests of a launch."""

    def __init__(self, suites: Path, answers: int) -> None:
        self._suites, self._answers = str(suites), answers
        self._folder = tempfile.mkdtemp(prefix="tensorcopy-")

    def run(self) -> None:
        """Answer requests until the input ends."""
        self._answer(ready=True)
        for line in iter(sys.stdin.readline, ""):
            request = json.loads(line)
            process = os.fork()
            if process == 0:
                self._in_fork(request)
            _, status = os.waitpid(process, 0)
            self._answer(ended=-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))

    def _in_fork(self, request: Mapping[str, Any]) -> None:
        """Answer one request, and end the process."""
        self._answer(pid=os.getpid())
        try:
            warnings.simplefilter("ignore")  # formatting a warning is not part of a call
            os.chdir(tempfile.mkdtemp(dir=self._folder))
            if "suites" in request:
                self._answer(suites=_described(self._suites))
            elif "value" in request:
                self._answer(value=self._benchmark(request["value"], request["index"]).do_run())
            else:
                self._take_turns(self._loop(request["case"], request["index"]), request["calls"])
        except NotImplementedError as reason:  # as asv skips
            self._answer(skipped=str(reason)[:LONGEST_ERROR])
        except BaseException as error:
            text = str(error).strip().splitlines()
            self._answer(failed=": ".join([type(error).__name__, *text[:1]])[:LONGEST_ERROR])
        finally:
            os._exit(0)

    def _benchmark(self, name: str, index: int) -> Any:
        """Return a benchmark that is set up. Raises NotImplementedError where it is skipped."""
        from asv_runner.discovery import get_benchmark_from_name

        benchmark = get_benchmark_from_name(self._suites, f"{name}-{index}" if index >= 0 else name)
        if THREADS in benchmark.param_names and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, range(os.cpu_count() or 1))  # several threads need more than the core of the launch
        if benchmark.setup_cache_key is not None:
            benchmark.set_cache(self._cached(benchmark))
        if benchmark.do_setup():
            raise NotImplementedError("skipped by its setup")
        return benchmark

    def _cached(self, benchmark: Any) -> Any:
        """Return what `setup_cache` returned when it ran, once in a launch, and go to the folder where it did. Raises what it raised."""
        folder = Path(self._folder) / f"{abs(hash(benchmark.setup_cache_key)):x}"
        path = folder.with_suffix(".pickle")
        if not path.exists():
            folder.mkdir()
            os.chdir(folder)
            path.write_bytes(pickle.dumps((None, RuntimeError("setup_cache did not end"))))  # read where it is killed
            outcome: tuple[Any, Exception | None]
            try:
                outcome = benchmark.do_setup_cache(), None
            except Exception as error:
                outcome = None, RuntimeError(f"setup_cache: {type(error).__name__}: {error}")
            path.write_bytes(pickle.dumps(outcome))
        os.chdir(folder)
        value, raised = pickle.loads(path.read_bytes())  # noqa: S301 - this process wrote it
        if raised:
            raise raised
        return value

    def _loop(self, name: str, index: int) -> Any:
        """Return the loop of a time benchmark, warmed up."""
        benchmark = self._benchmark(name, index)
        suite: Any = getattr(benchmark.func, "__self__", None)
        if hasattr(suite, "loop"):
            benchmark.func(*benchmark._build_params())
            return suite.loop
        return AsvLoop(benchmark)

    def _take_turns(self, loop: Any, calls: int) -> None:
        gc.disable()
        calls = calls or loop.calls
        self._answer(calls=calls)
        for request in iter(sys.stdin.readline, ""):
            if request == END:
                break
            loop.move()
            before = interruptions()
            seconds = loop.seconds(calls)
            after = interruptions()
            self._answer(turn=[seconds / calls, after[0] - before[0], after[1] - before[1]])
        loop.close()

    def _answer(self, **document: Any) -> None:
        os.write(self._answers, f"{json.dumps(document)}\n".encode())


def _described(suites: str) -> list[dict[str, Any]]:
    from asv_runner.discovery import disc_benchmarks

    kinds = (str, int, float, list, dict, bool)
    return [
        {name: value for name, value in vars(benchmark).items() if isinstance(value, kinds) and not name.startswith("_")}
        for benchmark in disc_benchmarks(suites)
    ]


def interruptions() -> tuple[int, int]:
    """Return this process's page faults and involuntary context switches."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:  # Windows
        return 0, 0
    usage = getrusage(RUSAGE_SELF)
    return usage.ru_minflt + usage.ru_majflt, usage.ru_nivcsw


def main(suites: str) -> None:
    """Import torch and the suites in a folder, and answer requests."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what a suite prints is no answer
    import torch  # noqa: F401 - before the fork
    from asv_runner._aux import update_sys_path
    from asv_runner.discovery import disc_benchmarks

    update_sys_path(suites)
    for _ in disc_benchmarks(suites, ignore_import_errors=True):
        pass
    Side(Path(suites), answers).run()


if __name__ == "__main__":
    main(sys.argv[1])
