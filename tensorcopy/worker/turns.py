"""One side of a launch: a process that imports torch and the suites once, and times one case after another in forks, turn by turn.

`python -m tensorcopy.worker.turns SUITES` reads a request from each line of standard input, and answers with a line of JSON.
`measure.side_process` sends the requests, to the processes of several releases in turn:

{"case": NAME, "indices": [N, …], "calls": C} : set up cases of a benchmark, for asv or of tensorcopy's, with C calls in a turn, 0 to
    calibrate: for each of them {"calls": …}, {"skipped": reason} or {"failed": error}
"turn K" : of case K of these, make new inputs and time a turn: {"turn": [seconds of a call, page faults]}
"end" : tear these cases down: {"done": true}
{"value": NAME, "index": N} : run a benchmark that is not timed: {"value": …}, "skipped" or "failed"
{"suites": true} : describe the benchmarks, as asv's discovery does, with the fields `DESCRIBED`: {"suites": […]}
"null" : end the fork

A fork answers the first request and those that follow, each after {"pid": …}. It ends after "null", or when a case has failed; then the
process answers {"ended": status, "left": command lines of what ran on, and was ended}, after an empty line, and the next request has a
new fork.
"""

from __future__ import annotations

import gc
import io
import json
import math
import os
import pickle
import re
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from time import monotonic, thread_time
from timeit import default_timer
from traceback import extract_tb, walk_tb
from typing import Any, TextIO

from tensorcopy.errors import line_of
from tensorcopy.worker import processes

TURN_SECONDS = 0.001  # of a turn on the CPU: what disturbs a machine lasts longer, and so meets the turns of all releases
WINDOWS = 8  # of a turn, the fastest of which counts: in one of 125 µs nothing else had the core or the caches
CALIBRATION_SECONDS = 0.02
END = "end\n"
LONGEST_ERROR = 400  # characters of an exception: one of ours ends with what to do
# of what asv's discovery tells
DESCRIBED = ("name", "type", "unit", "version", "params", "param_names", "timeout", "setup_cache_key", "setup_cache_timeout")


class AsvLoop:
    """A time benchmark of any asv suite, with the interface of tensorcopy's own loops (`copying.inside.loop`).

    As with asv, setup runs before every timed call where there is one. A turn is then shorter where setup would take most of the time.
    """

    windows = WINDOWS

    def __init__(self, benchmark: Any) -> None:
        self._benchmark, self._arguments = benchmark, benchmark._build_params()
        self._each_set_up = bool(benchmark._setups) and type(benchmark).__name__ != "TimerawBenchmark"
        self.calls, self._timer = benchmark.number, getattr(benchmark, "timer", None)
        if self.calls < 0:
            raise ValueError(f"number is {self.calls}, which is no number of calls")

    def calibrate(self, calls: int = 0) -> None:
        """Make so many calls a turn; 0 for as many as the benchmark declares, or as fill a turn."""
        self.calls = calls or self._benchmark.number or 1
        if not self._benchmark.number:
            self.seconds(1)  # the first call may import something
            start = monotonic()
            # a turn is long enough when two are: one may have been interrupted
            while (
                not calls and monotonic() - start < CALIBRATION_SECONDS and any(self.seconds(self.calls) < TURN_SECONDS for _ in range(2))
            ):
                self.calls *= 2
            taken: list[float] = []
            if self.calls == 1 and self._timer is default_timer:
                waits = waiting(lambda: taken.append(self.seconds(1)))
                if taken[0] > TURN_SECONDS and not waits:
                    self._timer = thread_time  # a call that is longer than a time slice is interrupted on any busy core

    def move(self) -> None:
        """Do nothing: the inputs are the benchmark's own."""

    def close(self) -> None:
        """Let the benchmark tear down what it has set up."""
        self._benchmark.do_teardown()

    def seconds(self, calls: int) -> float:
        """Return the seconds that `calls` calls take, without their setup."""
        self._benchmark.timer = self._timer  # each setup sets the benchmark's own again
        timer = self._benchmark._get_timer(*self._arguments)
        if not self._each_set_up:
            return float(timer.timeit(calls))
        return sum(float(timer.timeit(1)) for _ in range(calls))  # each runs setup first


def _end(*_: object) -> None:
    """End this process with all that the suites have started, as when the program that measures ends."""
    processes.end_children()
    os._exit(128 + signal.SIGTERM)


class RequestHandler:
    """Answers the requests of a launch."""

    def __init__(self, suites: Path, requests: TextIO, answers: int) -> None:
        self._suites, self._requests, self._answers = str(suites), requests, answers
        self._folder = tempfile.mkdtemp(prefix="tensorcopy-")

    def run(self) -> None:
        """Answer requests until the input ends."""
        own = processes.children()  # what a suite starts where it is imported serves all of its cases
        processes.adopt_orphans()
        signal.signal(signal.SIGTERM, _end)
        processes.end_with_parent(signal.SIGTERM)
        self._answer(ready=True)
        for line in iter(self._requests.readline, ""):
            if not line.startswith("{"):
                continue  # for a fork that has ended since its last answer
            folder = Path(self._folder) / "fork"
            process = os.fork()
            if process == 0:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.setpgid(0, 0)  # a group with what the benchmark starts, which ends with it
                processes.end_with_parent()
                self._in_fork(json.loads(line), folder)
            _, status = os.waitpid(process, 0)
            left = processes.end_children(own)
            with suppress(ProcessLookupError, PermissionError):  # nothing is left of the group
                os.killpg(process, signal.SIGKILL)
            shutil.rmtree(folder, ignore_errors=True)
            os.write(self._answers, b"\n")  # ends what a benchmark may have written there
            self._answer(ended=-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status), left=left)

    def _in_fork(self, request: Mapping[str, Any], folder: Path) -> None:
        """Answer this request and those that follow in a new folder, and end the process."""
        from asv_runner.benchmarks.mark import SkipNotImplemented

        try:
            warnings.simplefilter("ignore")  # formatting a warning is not part of a call
            folder.mkdir(exist_ok=True)
            gc.disable()
            while request:
                os.chdir(folder)
                try:
                    self._reply(request)
                except SkipNotImplemented as reason:  # a plain NotImplementedError skips in setup only, as in asv
                    self._answer(skipped=_shortened(str(reason)))
                request = json.loads(self._requests.readline() or "null")
        except BaseException as error:
            self._answer(failed=_shortened(line_of(error)))
        finally:
            os._exit(0)

    def _reply(self, request: Mapping[str, Any]) -> None:
        self._answer(pid=os.getpid())
        if "suites" in request:
            self._answer(suites=_described(self._suites))
        elif "value" in request:
            benchmark = self._benchmark(request["value"], request["index"])
            value = _number(benchmark.do_run())
            benchmark.do_teardown()
            self._answer(value=value)
        else:
            self._take_turns(request["case"], request["indices"], request["calls"])

    def _benchmark(self, name: str, index: int) -> Any:
        """Return a benchmark that is set up. Raises SkipNotImplemented where its setup or its parameters skip it."""
        from asv_runner.benchmarks.mark import SkipNotImplemented
        from asv_runner.discovery import get_benchmark_from_name

        benchmark = get_benchmark_from_name(self._suites, f"{name}-{index}" if index >= 0 else name)
        if benchmark.setup_cache_key is not None:
            benchmark.set_cache(self._cached(benchmark))
        with redirect_stdout(io.StringIO()) as printed:
            skips = benchmark.do_setup()
        if skips:
            reason = re.search(r"asv: skipped: \w+\((.*)\) $", printed.getvalue(), re.MULTILINE)
            raise SkipNotImplemented((reason[1].strip("'\"") or "by its setup") if reason else "by skip_for_params")
        return benchmark

    def _cached(self, benchmark: Any) -> Any:
        """Return what `setup_cache` returned when it ran, once in a launch, and go to the folder where it did. Raises what it raised."""
        folder = Path(self._folder) / f"{abs(hash(benchmark.setup_cache_key)):x}"
        path = folder.with_suffix(".pickle")
        if not path.exists():
            folder.mkdir()
            os.chdir(folder)
            path.write_bytes(pickle.dumps((None, RuntimeError("setup_cache did not end"))))  # read after it was killed, as for its time
            outcome: tuple[Any, Exception | None]
            try:
                outcome = benchmark.do_setup_cache(), None
            except Exception as error:
                outcome = None, RuntimeError(f"setup_cache: {line_of(error)}")
            path.write_bytes(pickle.dumps(outcome))
        os.chdir(folder)
        value, raised = pickle.loads(path.read_bytes())  # noqa: S301 - this process wrote it
        if raised:
            raise raised
        return value

    def _loop(self, name: str, index: int) -> Any:
        """Return the loop of a time benchmark, not calibrated."""
        benchmark = self._benchmark(name, index)
        suite: Any = getattr(benchmark.func, "__self__", None)
        if not hasattr(suite, "tensorcopy_loops"):
            return AsvLoop(benchmark)
        suite.tensorcopy_loops = []
        benchmark.func(*benchmark._build_params())
        return suite.tensorcopy_loops[0]

    def _take_turns(self, name: str, indices: Sequence[int], calls: int) -> None:
        from asv_runner.benchmarks.mark import SkipNotImplemented

        loops: dict[int, Any] = {}
        for number, index in enumerate(indices):
            try:
                loop = self._loop(name, index)
                loop.calibrate(calls)
            except SkipNotImplemented as reason:
                self._answer(skipped=_shortened(str(reason)))
            else:
                loops[number] = loop
                self._answer(calls=loop.calls)
        if not loops:
            return
        for request in iter(self._requests.readline, ""):
            if request == END:
                break
            loop = loops[int(request.removeprefix("turn "))]
            loop.move()
            before = page_faults()
            seconds = fastest(loop)
            self._answer(turn=[seconds, page_faults() - before])
        for loop in loops.values():
            loop.close()
        self._answer(done=True)

    def _answer(self, **document: Any) -> None:
        os.write(self._answers, f"{json.dumps(document, default=str)}\n".encode())


def _described(suites: str) -> list[dict[str, Any]]:
    """Return what asv's discovery finds. Raises ImportError, with the file of the suite, for what one cannot import."""
    from asv_runner.discovery import disc_benchmarks

    try:
        with _benchmark_named():
            return [{name: getattr(benchmark, name, None) for name in DESCRIBED} for benchmark in disc_benchmarks(suites)]
    except ImportError as error:
        files = [Path(frame.filename) for frame in extract_tb(error.__traceback__) if "importlib" not in frame.filename]
        first = max(number for number, file in enumerate(files) if "asv_runner" in file.parts) + 1
        if first == len(files):
            raise
        raise type(error)(f"in {'/'.join(files[first].parts[-2:])}: {error}") from error  # first: a long error is cut


@contextmanager
def _benchmark_named() -> Iterator[None]:
    """Raise ValueError, with the name of the benchmark, where asv cannot make one: its parameters are a number, or its class raises."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        made = [frame.f_locals for frame, _ in walk_tb(error.__traceback__) if frame.f_code.co_name == "_get_benchmark"]
        if not made:
            raise
        module, klass = made[-1]["module"].__name__.partition(".")[2], made[-1]["klass"]
        name = ".".join([module, *([klass.__name__] if klass else []), made[-1]["attr_name"]])
        raise ValueError(f"{name}: {line_of(error)}") from error


def _number(value: Any) -> float:
    """Return a value that a benchmark tracks: a number or truth value of Python, numpy or torch. Raises TypeError for another."""
    from asv_runner.benchmarks.mark import SkipNotImplemented

    if value is None or isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise TypeError(f"it returned {value!r:.60}, which is no number")
    number = float(value)
    if math.isnan(number):
        raise SkipNotImplemented("it returned nan")  # in asv a skipped case is nan
    if math.isinf(number):
        raise ValueError(f"it returned {number}, which is no finite number")
    return number


def _mem_without_pympler() -> type:
    """Return a type for mem_ benchmarks, which asv leaves out without pympler: they fail, and say so."""
    from asv_runner.benchmarks._base import Benchmark

    class Mem(Benchmark):  # type: ignore[misc] # asv_runner has no types
        name_regex = re.compile("^(Mem[A-Z_].+)|(mem_.+)$")

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.type, self.unit = "memory", "bytes"

        def run(self, *parameters: Any) -> float:
            raise ModuleNotFoundError("mem_ benchmarks need pympler: name it in `requires`")

    return Mem


def _shortened(text: str) -> str:
    """Return a text without what JSON cannot keep, cut to `LONGEST_ERROR` characters."""
    kept = text.encode(errors="replace").decode()
    return kept if len(kept) <= LONGEST_ERROR else f"{kept[: LONGEST_ERROR - 1]}…"


def fastest(loop: Any) -> float:
    """Time a turn of a loop, and return the seconds per call of its fastest window.

    What disturbs a window makes it slower, never faster.
    """
    calls = max(1, loop.calls // loop.windows)
    return float(min(loop.seconds(calls) for _ in range(max(1, loop.calls // calls))) / calls)


def usual(turns: Sequence[float]) -> float:
    """Return the seconds per call of the usual turn when nothing disturbs it: the geometric mean of the fastest third of the turns."""
    chosen = sorted(turns)[: max(1, len(turns) // 3)]
    return float(chosen[0] * math.exp(sum(math.log(each / chosen[0]) for each in chosen) / len(chosen)))


def waiting(call: Callable[[], object]) -> bool:
    """Make a call, and return whether it gives up the core, as to sleep or for another thread; True where that is unknown.

    If it does not, its time on the core is what it takes when no other program has the core.
    """
    try:
        from resource import RUSAGE_THREAD, getrusage  # type: ignore[attr-defined,unused-ignore] # Linux has it
    except ImportError:
        call()
        return True
    before = getrusage(RUSAGE_THREAD).ru_nvcsw
    call()
    return bool(getrusage(RUSAGE_THREAD).ru_nvcsw > before)


def page_faults() -> int:
    """Return this process's page faults."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:  # Windows
        return 0
    usage = getrusage(RUSAGE_SELF)
    return usage.ru_minflt + usage.ru_majflt


def main(suites: str) -> None:
    """Import torch and the suites in a folder, and answer requests."""
    processes.end_with_parent()
    requests, answers = os.fdopen(os.dup(0)), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what a suite reads is no request
    os.dup2(2, 1)  # what it prints is no answer
    import torch  # noqa: F401 - before the fork
    from asv_runner._aux import update_sys_path
    from asv_runner.benchmarks import benchmark_types
    from asv_runner.discovery import disc_benchmarks

    if not any(each.__name__ == "MemBenchmark" for each in benchmark_types):
        benchmark_types.append(_mem_without_pympler())
    update_sys_path(suites)
    with _benchmark_named():
        for _ in disc_benchmarks(suites, ignore_import_errors=True):
            pass
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for output in (1, 2):  # what benchmarks print is read by nobody
        os.dup2(nowhere, output)
    RequestHandler(Path(suites), requests, answers).run()


if __name__ == "__main__":
    main(sys.argv[1])
