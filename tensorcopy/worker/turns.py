"""One side of a launch: a process that imports torch and the suites once, and answers requests in forks.

`python -m tensorcopy.worker.turns SUITES` writes {"ready": true, "suites": […], "broken": {…}}: the benchmarks as asv describes them, and
why others cannot be made. Then it reads a request from each line of standard input, and answers with a line of JSON that has the request's
number "n". `measure.process` is the other end:

{"probe": MODULE, "arguments": […]} : what the module's `main` returns: {"probe": {…}}, or {"probe": {"error": {…}}}
{"value": NAME, "index": N} : run a benchmark that is not timed: {"value": …}
{"case": NAME, "index": N, "calls": C} : set up a case for turns of C calls, 0 to calibrate: {"case": [its number K in the fork, calls]}
{"turn": K} : make new inputs for case K and time a turn: {"turn": [seconds of a call, page faults of a call]}
{"end": true} : tear the fork's cases down: {"end": true}
null : end the fork

Each request has the number "fork" of its fork, which the first of them starts. A case may answer {"skipped": reason}. A fork ends after
null, after {"failed": reason}, or when a request takes longer than its "longest" seconds; then the process ends what runs on, answers
{"ended": status, "fork": its number}, and leaves out what comes late for this fork.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import io
import json
import math
import os
import pickle
import pkgutil
import re
import shutil
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout, suppress
from functools import partial
from pathlib import Path
from time import monotonic, thread_time
from timeit import default_timer
from types import ModuleType
from typing import Any, NoReturn

from tensorcopy.errors import TensorcopyError, line_of
from tensorcopy.worker import processes

TURN_SECONDS = 0.001  # of a turn on the CPU: what disturbs a machine lasts longer, and so meets the turns of all releases
WINDOWS = 8  # of a turn, the fastest of which counts: in one of 125 µs nothing else had the core or the caches
CALIBRATION_SECONDS = 0.02
WAITS = 3  # calls that give up the core, of one that always does
LONGEST_REQUEST = 4096  # bytes: a pipe passes so many on as a whole
LONGEST_ERROR = 400  # characters of an exception: one of ours ends with what to do
# of what asv's discovery tells
DESCRIBED = ("name", "type", "unit", "version", "params", "param_names", "timeout", "setup_cache_key", "setup_cache_timeout")
# what a benchmark may replace in its fork, and the fork needs
read, write, getpid = os.read, os.write, os.getpid
encode, decode = json.JSONEncoder(default=str, ensure_ascii=False).encode, json.JSONDecoder().decode


class AsvLoop:
    """A time benchmark of any asv suite, with the interface of tensorcopy's own loops (`copying.inside.loop`).

    As with asv, setup runs before every timed call where there is one. A turn is then shorter where setup would take most of the time.
    """

    windows = WINDOWS

    def __init__(self, benchmark: Any) -> None:
        self._benchmark, self._arguments = benchmark, benchmark._build_params()
        self._each_set_up = bool(benchmark._setups) and type(benchmark).__name__ != "TimerawBenchmark"
        self.calls, self._timer = max(0, benchmark.number), getattr(benchmark, "timer", None)

    def calibrate(self, calls: int = 0) -> None:
        """Make so many calls a turn; 0 for as many as the benchmark declares, or as fill a turn."""
        declared, self.calls = self.calls, calls or self.calls or 1
        if declared:
            return
        self.seconds(1)  # the first call may import something
        end = monotonic() + CALIBRATION_SECONDS
        # a turn is long enough when two are: one may have been interrupted
        while not calls and monotonic() < end and any(self.seconds(self.calls) < TURN_SECONDS for _ in range(2)):
            self.calls *= 2
        taken: list[float] = []
        if self.calls == 1 and self._timer is default_timer:
            waits = waiting(lambda: taken.append(self.seconds(1)))
            if min(taken) > TURN_SECONDS and not waits:
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


class Suites:
    """The benchmarks of a folder, and why others cannot be made."""

    def __init__(self, folder: str) -> None:
        """Import each module and make each benchmark once, as asv's discovery does: what is shared by forks is made before them."""
        from asv_runner.discovery import _get_benchmark

        self.made: dict[str, Callable[[], Any]] = {}
        self.described: list[dict[str, Any]] = []
        self.broken: dict[str, str] = {}
        for place, *parts in self._members(Path(folder).name):
            try:
                benchmark = _get_benchmark(*parts)
            except Exception as error:  # its parameters are a number, or cannot be shown, or its class raises
                self.broken[place] = line_of(error)
                continue
            if benchmark is not None and benchmark.name not in self.made:  # of two of one name asv runs the first
                self.made[benchmark.name] = partial(_get_benchmark, *parts)
                self.described.append({name: getattr(benchmark, name, None) for name in DESCRIBED})

    def _members(self, name: str) -> Iterator[tuple[str, str, ModuleType, Any, Any]]:
        """Yield what may be a benchmark of a module, or of those below it: where it is, and what asv makes one of."""
        inside = name.partition(".")[2]
        try:
            module = importlib.import_module(name)
        except (Exception, SystemExit) as error:
            self.broken[inside or name] = line_of(error)
            return
        for attribute, value in [*module.__dict__.items()]:
            if inspect.isclass(value) and not inspect.isabstract(value) and not attribute.startswith("_"):
                for of_class, function in inspect.getmembers(value):
                    if inspect.isfunction(function) or inspect.ismethod(function):
                        yield f"{inside}.{attribute}.{of_class}", of_class, module, value, function
            elif inspect.isfunction(value) and not attribute.startswith("_"):
                yield f"{inside}.{attribute}", attribute, module, None, value
        for _, below, _ in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}."):
            yield from self._members(below)


class Fork:
    """A fork, which answers requests."""

    def __init__(self, suites: Suites, folder: Path) -> None:
        self._suites, self._folder = suites, folder
        self._loops: list[tuple[Any, Path]] = []  # of the cases that it has set up, each with the folder in which it was

    def answer(self, request: Any) -> dict[str, Any]:
        """Return the answer to a request. Raises SkipNotImplemented where a case skips, and what a benchmark raises."""
        if "turn" in request:
            loop, place = self._loops[request["turn"]]
            os.chdir(place)
            loop.move()
            before = page_faults()
            seconds = fastest(loop)
            return {"turn": [seconds, (page_faults() - before) / loop.calls]}
        if "case" in request:
            benchmark = self._benchmark(request["case"], request["index"])
            suite: Any = getattr(benchmark.func, "__self__", None)
            if own := hasattr(suite, "tensorcopy_loops"):
                suite.tensorcopy_loops = []
                benchmark.func(*benchmark._build_params())  # appends its own loop
            loop = suite.tensorcopy_loops[0] if own else AsvLoop(benchmark)
            loop.calibrate(request["calls"])
            self._loops.append((loop, Path.cwd()))
            return {"case": [len(self._loops) - 1, loop.calls]}
        if "value" in request:
            benchmark = self._benchmark(request["value"], request["index"])
            value = benchmark.do_run()
            if not math.isfinite(value):  # raises TypeError for what is no number of Python, numpy or torch
                raise ValueError(f"it returned {value}, which is no finite number")
            benchmark.do_teardown()
            return {"value": float(value)}
        if "probe" in request:
            try:
                return {"probe": importlib.import_module(request["probe"]).main(request["arguments"])}
            except TensorcopyError as error:
                return {"probe": {"error": error.document()}}
        while self._loops:
            loop, place = self._loops.pop()
            os.chdir(place)
            loop.close()
        return {"end": True}

    def _benchmark(self, name: str, index: int) -> Any:
        """Return a benchmark that is set up; index : of the case, -1 where it has no parameters.

        Raises SkipNotImplemented where its setup or its parameters skip it.
        """
        from asv_runner.benchmarks.mark import SkipNotImplemented

        benchmark = self._suites.made[name]()
        if index >= 0:
            benchmark.set_param_idx(index)
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
        folder = self._folder / f"{abs(hash(benchmark.setup_cache_key)):x}"
        path = folder.with_suffix(".pickle")
        if not path.exists():
            folder.mkdir(exist_ok=True)
            os.chdir(folder)
            path.write_bytes(pickle.dumps((None, "setup_cache did not end")))  # read after it was killed, as for its time
            try:
                outcome = benchmark.do_setup_cache(), ""
            except Exception as error:
                outcome = None, f"setup_cache: {line_of(error)}"
            path.write_bytes(pickle.dumps(outcome))
        os.chdir(folder)
        value, reason = pickle.loads(path.read_bytes())  # noqa: S301 - this process wrote it
        if reason:
            raise RuntimeError(reason)
        return value


def _in_fork(fork: Fork, line: str, requests: int, answers: int, folder: Path) -> NoReturn:
    """Answer a request and those that follow in a new folder, and end the process."""
    from asv_runner.benchmarks.mark import SkipNotImplemented

    own, number = getpid(), 0
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setpgid(0, 0)  # a group with what the benchmark starts, which ends with it
    processes.end_with_parent()

    def reply(**answer: Any) -> None:
        if getpid() != own:  # a benchmark has forked, and its other half comes back, too
            _write(answers, n=number, failed="it returned in two processes")
            os.kill(own, signal.SIGKILL)
            os._exit(0)
        _write(answers, n=number, **answer)

    try:
        warnings.simplefilter("ignore")  # formatting a warning is not part of a call
        gc.disable()
        while request := decode(line):
            number = request["n"]
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends the process, whatever it does
            signal.setitimer(signal.ITIMER_REAL, request.get("longest", 0))
            folder.mkdir(parents=True, exist_ok=True)  # the benchmark before may have removed it
            os.chdir(folder)
            try:
                answer = fork.answer(request)
            except SkipNotImplemented as reason:  # a plain NotImplementedError skips in setup only, as in asv
                answer = {"skipped": str(reason)[:LONGEST_ERROR]}
            signal.setitimer(signal.ITIMER_REAL, 0)
            reply(**answer)
            line = _line(requests) or "null"
    except BaseException as error:
        reply(failed=line_of(error)[:LONGEST_ERROR])
    finally:
        os._exit(0)


def _line(requests: int) -> str:
    """Return the next request, a line that is written at once; "" at their end. One before it was for a fork that has ended."""
    os.set_blocking(requests, True)  # a benchmark may have changed that, also for the process that it was forked from
    return read(requests, LONGEST_REQUEST).decode().rstrip().rpartition("\n")[2]


def _write(answers: int, **document: Any) -> None:
    """Write an answer, after the end of a line that a benchmark may have begun."""
    os.set_blocking(answers, True)
    write(answers, f"\n{encode(document)}\n".encode(errors="replace"))


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

    If it does not, its time on the core is what it takes when no other program has the core. One that does is made again, since the first
    call may wait for a page of a library: its side would be timed by the clock, and on a busy core read twice as slow as the others.
    """
    if not sys.platform.startswith("linux"):  # nothing tells
        call()
        return True
    from resource import RUSAGE_THREAD, getrusage  # type: ignore[attr-defined,unused-ignore]

    for _ in range(WAITS):
        before = getrusage(RUSAGE_THREAD).ru_nvcsw
        call()
        if getrusage(RUSAGE_THREAD).ru_nvcsw == before:
            return False
    return True


def page_faults() -> int:
    """Return this process's page faults."""
    from resource import RUSAGE_SELF, getrusage  # Windows, where methods are timed without this process, has no such module

    usage = getrusage(RUSAGE_SELF)
    return usage.ru_minflt + usage.ru_majflt


def _end(*_: object) -> None:
    """End this process with all that the suites have started, as when the program that measures ends."""
    processes.end_children()
    os._exit(128 + signal.SIGTERM)


def main(suites: str) -> None:
    """Import torch and the suites in a folder, and answer requests until the input ends."""
    processes.end_with_parent()
    requests, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what a suite reads is no request
    os.dup2(2, 1)  # what it prints is no answer
    import torch  # noqa: F401 - before the fork
    from asv_runner._aux import update_sys_path

    update_sys_path(suites)
    found = Suites(suites)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for output in (1, 2):  # what benchmarks print is read by nobody
        os.dup2(nowhere, output)
    kept = processes.children()  # what a suite starts where it is imported serves all of its cases
    processes.adopt_orphans()
    signal.signal(signal.SIGTERM, _end)
    processes.end_with_parent(signal.SIGTERM)
    own = Path(os.environ["TMPDIR"])
    folder = own / "fork"
    _write(answers, ready=True, suites=found.described, broken=found.broken)
    last = 0
    while line := _line(requests):
        request = decode(line)
        if not request or request["fork"] <= last:
            continue  # for a fork that has ended since its last answer
        last, process = request["fork"], os.fork()
        if process == 0:
            _in_fork(Fork(found, own), line, requests, answers, folder)
        _, status = os.waitpid(process, 0)
        processes.end_children(kept)
        with suppress(ProcessLookupError, PermissionError):  # nothing is left of the group
            os.killpg(process, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)
        ended = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        _write(answers, ended=ended, fork=last)


if __name__ == "__main__":
    main(sys.argv[1])
