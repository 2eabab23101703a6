"""Take a launch: processes of several sides, on one core, that time each case in turns of a millisecond. Of one side, its methods do so.

What disturbs a machine for longer than a turn meets all sides, and cancels in their ratios. What is left is the layout of each process in
memory, which the next launch draws anew: the launch is the independent unit. The state of the page cache is drawn anew, too: otherwise it
would be common to all launches of an hour, and shift the difference of two releases by 1 to 4 %.
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from hashlib import sha256
from itertools import product
from math import exp, log, prod
from pathlib import Path
from random import SystemRandom
from statistics import fmean, median, median_high
from time import monotonic
from types import MappingProxyType
from typing import Any, TypeVar

from msgspec import UNSET, structs

from tensorcopy.errors import NOWHERE, CannotRun, TensorcopyError, exception_line, of_text
from tensorcopy.files import kernel_text
from tensorcopy.results import launches, suite_specs
from tensorcopy.results.cases import beside, device_of
from tensorcopy.results.launches import ALL, TIMED, UNIT, Launch, Row, Side, Suite
from tensorcopy.worker.devices import ACCELERATORS
from tensorcopy.worker.operations import FILE
from tensorcopy.worker.processes import ReportProgress, ignore_progress
from tensorcopy.worker.turns import usual

# Of a case and side, of which the fastest third counts. Variance times cost is least with 6 to 10: a case's setup costs as much as three
TURNS, FEWEST_TURNS = 10, 6
SIDE_SECONDS = 0.2  # that a side's turns of a case take, unless they are the fewest
SIDE_WALL_SECONDS = 1.0  # the same with their setup, which asv runs before each call
# Bytes of the largest tensor whose case is timed in a fork that takes other cases, too. A larger one may lie in memory that they freed, and
# is then copied without page faults: 2^24 float32 in a third of the time
LARGEST_SHARED = 4 * 2**20
RETAKES = 2  # of a case whose sides differ in page faults
MANY_FAULTS = 64  # in a call: 256 KiB of new memory
LONGEST_CASE = 60.0  # seconds that a side may take to set up a case, or for a turn, as with asv
LONGEST_START = 600.0  # seconds to import torch and the suites, from a disk that is busy
LONGEST_VALUE = 1800.0  # seconds of a benchmark that counts, or of a setup_cache
LONGEST_END = 10.0  # seconds until a process that has closed its output ends
LONGEST_CLOSE = 2.0  # seconds until a process that is asked to end is killed
LONGEST_ANSWER = 2**26  # bytes: the names of all cases have a few millions
LONGEST_PARAMETER = 200  # characters of a parameter's text, which is in the name of each case; of a longer one the first, and a digest
ANOTHER = -2  # in place of a case's number, of a side that has another version of the benchmark
PADDING = 4096  # bytes, at most, of an environment variable that moves the stack
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # in the text of an object that has no other name
chance = SystemRandom()

T = TypeVar("T")
ReportLeft = Callable[[str, str], object]  # a benchmark, and the command line of a process that it has left running, and that was ended


@dataclass(frozen=True)
class LocalSide:
    """One side of a launch.

    sha : of torch; environment : its name in results; revision : of the project, "" for what is checked out
    python : the interpreter; suites : the folder of benchmarks that it imports
    variables : the environment variables of its process
    torch : the folder of its torch, whose libraries are dropped from the page cache
    provenance : as `worker.provenance` collects it
    """

    sha: str
    environment: str
    provenance: Mapping[str, Any]
    python: Path = Path()
    suites: Path = Path()
    variables: Mapping[str, str] = field(default_factory=dict)
    torch: Path = Path()
    revision: str = ""

    def __str__(self) -> str:
        return f"{self.environment} ({self.revision[:8]})" if self.revision else self.environment

    @property
    def benchmarks(self) -> Hashable:
        """What its benchmarks come from: sides that are equal in it have the same."""
        return self.suites, self.variables.get("PYTHONPATH", ""), self.revision  # which has operations and a package of its own


@dataclass(frozen=True)
class Turns:
    """What turns gave: of one case by the number of the side, or of one side by the number of the case.

    seconds : a call's, by turn
    calls : in a turn, the same for all sides
    faults : page faults in a call, of the turn with the fewest: a heap that grows has some in others
    skipped, failed : reasons
    parts : where a call's time goes, as `launches.Parts`; nothing on the CPU
    in_turns : whether it is one of several cases of a side that took turns
    """

    seconds: Mapping[int, Sequence[float]]
    calls: Mapping[int, int]
    faults: Mapping[int, float] = field(default_factory=dict)
    skipped: Mapping[int, str] = field(default_factory=dict)
    failed: Mapping[int, str] = field(default_factory=dict)
    parts: Mapping[int, Sequence[float | None]] = field(default_factory=dict)
    in_turns: bool = False

    def of_case(self, number: int) -> Turns:
        """Return the turns of one of several cases of a side, as of a case with one side."""

        def own(values: Mapping[int, T]) -> Mapping[int, T]:
            return {0: values[number]} if number in values else {}

        return Turns(own(self.seconds), own(self.calls), own(self.faults), own(self.skipped), own(self.failed), own(self.parts), True)


class SideFailed(CannotRun):
    """A side that cannot import torch, or its suites, or whose process ends before its launch does."""

    def __init__(self, side: LocalSide, what: str, **parts: str) -> None:
        super().__init__(what, **parts)
        self.side = side


def cannot_import(side: LocalSide, got: str) -> SideFailed:
    """Return the error of a side that cannot import torch or its suites."""
    command = [str(side.python), "-m", "tensorcopy.worker.turns", str(side.suites)]
    following = f"PYTHONPATH={shlex.quote(side.variables.get('PYTHONPATH', ''))} {shlex.join(command)} shows the full error"
    if missing := re.search(r"No module named '(\w+)", got):
        package = f'requires = ["{missing[1]}"] in [project] of {FILE}, or the package that has it'
        is_own = side.environment.endswith(launches.OF_INTERPRETER)
        following = f"uv pip install --python {shlex.quote(str(side.python))} {missing[1]}" if is_own else package
    what, allowed = f"the suites cannot be imported in {side}", "torch, numpy, and what the suites import"
    return SideFailed(side, what, got=got, allowed=allowed, next=following)


class _SideProcess:
    """The process of one side, see `worker.turns`."""

    def __init__(self, side: LocalSide, folder: str) -> None:
        own = {"TENSORCOPY_PADDING": "x" * chance.randrange(PADDING), "PYTHONHASHSEED": str(chance.randrange(2**32)), "TMPDIR": folder}
        self._side, self._buffer, self._fork = side, b"", 0
        self._benchmark = ""  # that its fork has run last
        self._left: list[str] = []  # command lines of what its forks have left running
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - of an import; later nothing is written
        try:
            self._process = subprocess.Popen(
                [str(side.python), "-m", "tensorcopy.worker.turns", str(side.suites)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**side.variables, **own},
                cwd=folder,
                bufsize=0,
                start_new_session=True,  # Ctrl-C at a terminal does not reach it
            )
        except OSError as error:  # another program may have removed the environment
            self._errors.close()
            raise cannot_import(side, str(error)) from error

    def pin(self, cores: Collection[int]) -> None:
        """Let the process and its forks run on these cores only."""
        os.sched_setaffinity(self._process.pid, cores)

    def begin(self, request: Mapping[str, Any]) -> None:
        """Let its fork, or a new one, answer a request. Raises SideFailed where the process has ended."""
        self._benchmark = request.get("case") or request.get("value", "")
        self.send(request)
        answer = self.answer()
        if "ended" in answer:  # its fork was killed since its last answer
            answer = self.answer()
        if "pid" not in answer:
            raise self.ended()
        self._fork = answer["pid"]

    def end_fork(self) -> None:
        """End its fork, if there is one."""
        if self._fork:
            self.send("null")
            self.reason(self.answer())

    def send(self, request: Mapping[str, Any] | str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the answer tells that it has ended
            self._process.stdin.write(f"{request if isinstance(request, str) else json.dumps(request)}\n".encode())

    def answer(self, timeout: float = LONGEST_CASE) -> dict[str, Any]:
        """Return the next answer; {"timeout": seconds} where there is none, {"closed": True} where the process has ended.

        {"garbled": True} where a benchmark has written among the answers.
        """
        assert self._process.stdout is not None
        end = monotonic() + timeout
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, end - monotonic()))
            data = os.read(self._process.stdout.fileno(), 65536) if ready else b""
            if not data:
                return {"closed": True} if ready else {"timeout": timeout}
            self._buffer = (self._buffer + data).lstrip(b"\n")  # a line end comes before what tells of an end
            if len(self._buffer) > LONGEST_ANSWER:
                self._buffer = b""
                return {"garbled": True}
        line, _, rest = self._buffer.partition(b"\n")
        self._buffer = rest.lstrip(b"\n")
        try:
            document = json.loads(line)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            return {"garbled": True}
        if "ended" in document:
            self._fork = 0
            self._left += document["left"]
        return document

    def report_left(self, name: str, report: ReportLeft) -> None:
        """Report what its forks have left running since the last call; name : of the benchmark that they have run."""
        while self._left:
            report(name, self._left.pop())

    def reason(self, answer: Mapping[str, Any]) -> str:
        """Return why the fork has no turn, and wait until it has ended unless it has skipped the case.

        Raises SideFailed where the process has ended, too.
        """
        if "skipped" in answer:
            return str(answer["skipped"])
        if answer.keys() & {"timeout", "garbled"} and self._fork:
            with suppress(ProcessLookupError):
                os.kill(self._fork, signal.SIGKILL)
        last = answer
        while "ended" not in last:  # a turn may have ended just before it was killed
            last = self.answer()
            if last.keys() & {"closed", "timeout"}:
                raise self.ended()
        if "timeout" in answer:
            return f"took more than {answer['timeout']:g} s"
        if "garbled" in answer:
            return "wrote to a file descriptor of the process that measures it"
        status = last["ended"]
        ending = f"ended by signal {-status}" if status < 0 else f"ended with exit code {status}"
        return str(answer.get("failed", ending))

    def ended(self) -> SideFailed:
        """Return the error of a process that has ended, as where memory is short, or does not answer."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LONGEST_END)
        status = self._process.returncode
        got = "no answer" if status is None else signal.Signals(-status).name if status < 0 else f"exit code {status}"
        return SideFailed(
            self._side,
            f"the process of {self._side} ended during a launch",
            got=f"{got}{f' while it ran {self._benchmark}' if self._benchmark else ''}",
            allowed="a process that runs until its launch has ended",
            next="free some memory, or leave out a benchmark that ends it, then repeat: finished launches are kept",
        )

    def errors(self) -> str:
        """Return what the process has written to standard error before it was ready."""
        self._errors.seek(0)
        return self._errors.read()

    def close(self) -> None:
        """End the process and its fork, each with what it has started; it ends what has left their groups."""
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LONGEST_CLOSE)
        for group in filter(None, (self._process.pid, self._fork)):
            with suppress(ProcessLookupError, PermissionError):  # macOS refuses where all of them have ended
                os.killpg(group, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            assert stream is not None
            stream.close()


@contextmanager
def started(sides: Sequence[LocalSide], core: int | None = None, *, draws_pages: bool = True) -> Iterator[list[_SideProcess]]:
    """Yield a process of each side that has imported torch and the suites.

    core : to which they are pinned then; they import on all cores of its memory
    draws_pages : whether the page cache is drawn anew, for what is measured

    Raises SideFailed for a side that cannot import them.
    """
    folders = {side.torch.resolve() for side in sides}
    if draws_pages and (len(sides) == 1 or len(folders) > 1):  # what the page cache does with one torch, it does to all sides
        for folder in folders:
            forget_pages(folder)
    by_number: dict[int, _SideProcess] = {}
    # what a killed benchmark has started may still write into the folder
    with tempfile.TemporaryDirectory(prefix="tensorcopy-", ignore_cleanup_errors=True) as temporary:
        try:
            for number in _shuffled(range(len(sides))):
                by_number[number] = _SideProcess(sides[number], temporary)
                if core is not None:
                    by_number[number].pin(_cores_beside(core))
            processes = [by_number[number] for number in range(len(sides))]
            for side, process in zip(sides, processes):
                if "ready" not in process.answer(LONGEST_START):
                    raise cannot_import(side, exception_line(process.errors()) or "no output")
                if core is not None:
                    process.pin({core})
            yield processes
        finally:
            for process in by_number.values():
                process.close()


def usable_cores() -> list[int | None]:
    """Return the cores that this process may use; None for one that cannot be chosen."""
    return [*sorted(os.sched_getaffinity(0))] if hasattr(os, "sched_getaffinity") else [None]


def _cores_beside(core: int) -> set[int]:
    """Return the cores of this process that have the same memory as a core: elsewhere, what a process imports would be far from it."""
    usable = os.sched_getaffinity(0)
    for path in Path("/sys/devices/system/node").glob("node*/cpulist"):
        parts = [part.partition("-") for part in kernel_text(path).split(",")]
        of_node = {number for first, _, last in parts if first for number in range(int(first), int(last or first) + 1)}
        if core in of_node:
            return usable & of_node
    return usable


def forget_pages(folder: Path) -> None:
    """Drop the libraries of a torch from the page cache, where no process maps them."""
    if not hasattr(os, "posix_fadvise"):
        return
    for path in (*folder.glob("lib/*.so*"), *folder.glob("*.so")):
        with suppress(OSError), path.open("rb") as library:
            os.posix_fadvise(library.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def take(
    sides: Sequence[LocalSide],
    machine: str,
    *,
    selection: str = "",
    newest: bool = False,
    reference: int | None = None,
    core: int | None = None,
    report_progress: ReportProgress = ignore_progress,
    report_left: ReportLeft = lambda name, command: None,
) -> Launch:
    """Let all sides time the cases of a selection in turns, and return the launch.

    With one side, its methods take turns: so they can be compared with each other, where no other side can.

    machine : its name in results
    selection : a regular expression on asv's names, such as "copies.BySize.time_copy('clone', 1024)"; "" for every timed case
    newest : as for `selected`
    reference : the number of the side that every launch of the machine has
    core : to which all sides are pinned; by default one that this process may use, at random, on a system that can

    The cases are those that any of the sides has. Raises TensorcopyError where nothing was timed, and SideFailed.
    """
    core = chance.choice(usable_cores()) if core is None else core
    now = datetime.now(timezone.utc)
    with started(sides, core) as processes:
        suites, of_side = _suites(sides, processes)
        suites = selected(suites, selection, devices_of(sides), newest=newest)
        by_case: dict[tuple[str, int], Turns] = {}
        jobs = _jobs(suites, of_side)
        of_all = sum(len(job.cases) for of_device in jobs for job in of_device)
        for of_device in jobs:
            for job in of_device:
                report_progress(len(by_case) / of_all, job.suite)
                suite = suites[job.suite]
                for text, turns in _time_job(processes, job, suite, of_side).items():
                    by_case[job.suite, suite["selected"][text]] = turns
                    if full := of_text(" ".join(turns.failed.values()), NOWHERE):
                        raise full  # the case is not at fault
                for process in processes:
                    process.report_left(job.suite, report_left)
            for process in processes:
                process.end_fork()  # no other device's cases run beside this one's context
    if not any(each.seconds for each in by_case.values()):
        reasons = dict.fromkeys(reason for each in by_case.values() for reason in (*each.failed.values(), *each.skipped.values()))
        raise TensorcopyError(
            "nothing was timed",
            got="; ".join([*reasons][:3]) or f"no case that matches {selection!r}",
            allowed="a timed case that can run here",
            next="correct what fails, or select other cases with --bench",
        )
    return document(sides, suites, by_case, machine=machine, reference=reference, **_times(now))


@dataclass(frozen=True)
class _Job:
    """A case by name, which all sides time in turns; or several of one side, which take turns.

    alone : whether it has a fork for itself: of an unknown suite, and of large tensors. The others of a device share one.
    """

    suite: str
    cases: list[str]
    alone: bool


def _jobs(suites: Mapping[str, Mapping[str, Any]], of_side: Sequence[Mapping[str, int]]) -> list[list[_Job]]:
    """Return the selected cases that a side has, by device, in random order."""
    jobs: dict[str, dict[Hashable, _Job]] = {}
    for name, suite in suites.items():
        for (text, nbytes), values in zip(sizes_of(name, suite).items(), product(*suite["params"])):
            if text in suite["selected"] and any(text in places for places in of_side):
                parameters, alone = dict(zip(suite["param_names"], values)), has_own_fork(name) or nbytes > LARGEST_SHARED
                together = (name, text) if alone or len(of_side) > 1 else beside(name, parameters)
                of_device = jobs.setdefault(device_of(name, parameters), {})
                of_device.setdefault(together, _Job(name, [], alone)).cases.append(text)
    return [chance.sample([*of_device.values()], len(of_device)) for of_device in chance.sample([*jobs.values()], len(jobs))]


def _time_job(
    processes: Sequence[_SideProcess], job: _Job, suite: Mapping[str, Any], of_side: Sequence[Mapping[str, int]]
) -> dict[str, Turns]:
    """Return the turns of the cases of a job by name."""
    longest = LONGEST_VALUE if suite["setup_cache_key"] else suite["timeout"] or LONGEST_CASE
    in_parts = suite_specs.find(job.suite).in_parts
    if len(job.cases) > 1:
        turns = time_methods(processes[0], job.suite, [of_side[0][text] for text in job.cases], longest, in_parts=in_parts)
        return {text: turns.of_case(number) for number, text in enumerate(job.cases)}
    (text,) = job.cases
    indices = [of_one.get(text) for of_one in of_side]
    if "refused" in suite:
        there = [number for number, index in enumerate(indices) if index is not None]
        return {text: Turns({}, {}, failed=dict.fromkeys(there, suite["refused"]))}
    return {text: time_case(processes, job.suite, indices, longest, alone=job.alone, in_parts=in_parts)}


def has_own_fork(suite: str) -> bool:
    """Return whether each case of a suite has a fork for itself: all but those of the table of suites, which leave nothing behind.

    These share one: a fork takes 30 ms, as long as the turns of a case or a count, and a CUDA context ten times as long.
    """
    return not suite_specs.find(suite).shipped


def sizes_of(name: str, suite: Mapping[str, Any]) -> dict[str, int]:
    """Return the bytes of the tensors of a benchmark's cases, as of float32, by the name of the case; 0 where no parameter tells them."""
    sizes = {}
    for text, values in zip(names_of(name, suite["params"]), product(*suite["params"])):
        of_case = dict(zip(suite["param_names"], values))
        numel, nbytes = (of_case.get(key, "") for key in ("numel", "nbytes"))
        sizes[text] = 4 * int(numel) if numel.isdecimal() else int(nbytes) if nbytes.isdecimal() else 0
    return sizes


def count(
    side: LocalSide,
    machine: str,
    *,
    selection: str = "",
    observed: Mapping[str, Any] = MappingProxyType({}),
    report_progress: ReportProgress = ignore_progress,
    report_left: ReportLeft = lambda name, command: None,
) -> Launch:
    """Run every benchmark of a selection that counts something, once, and return the launch. Raises SideFailed.

    observed : the report of the environment's probe, with what its methods were observed to do
    """
    now = datetime.now(timezone.utc)
    stored: dict[str, Suite] = {}
    with started([side]) as (process,):
        suites = selected(_suites([side], [process])[0], selection, devices_of([side]), timed=False)
        jobs = [(name, index) for name, suite in suites.items() for index in suite["selected"].values()]
        for done, (name, index) in enumerate(jobs):
            report_progress(done / len(jobs), name)
            suite = stored.setdefault(name, described(suites[name]))
            if reason := suites[name].get("refused"):
                suite.failed[str(index)] = {ALL: reason}
                continue
            process.begin({"value": name, "index": index if suite.params else -1})
            answer = process.answer(LONGEST_VALUE if suites[name]["setup_cache_key"] else suites[name]["timeout"] or LONGEST_VALUE)
            if "value" in answer and launches.can_hold(answer["value"]):
                suite.values[str(index)] = answer["value"]
            elif "value" in answer:
                suite.failed[str(index)] = {ALL: f"it returned {answer['value']:g}, beyond {launches.LARGEST_VALUE:g} or its inverse"}
            else:
                (suite.skipped if "skipped" in answer else suite.failed)[str(index)] = {ALL: process.reason(answer)}
            if has_own_fork(name):
                process.end_fork()
                process.report_left(name, report_left)
    taken = document([side], {}, {}, machine=machine, **_times(now))
    return structs.replace(taken, kind="counts", suites=stored, methods=observed.get("methods", {}), article=observed.get("article", {}))


def suites_of(side: LocalSide) -> dict[str, dict[str, Any]]:
    """Return the benchmarks of a side by name, as asv describes them."""
    with started([side], draws_pages=False) as processes:
        return _suites([side], processes)[0]


def selected(
    suites: Mapping[str, dict[str, Any]], selection: str, devices: Collection[str], *, timed: bool = True, newest: bool = False
) -> dict[str, dict[str, Any]]:
    """Return the benchmarks with selected cases, each with the numbers of these by name under "selected".

    selection : a regular expression on the names of cases, as asv writes them
    devices : the accelerators that are there; cases that name another one are left out
    timed : whether to return those that are timed, or those that count something
    newest : whether to return those with which only the newest release is timed, or the others
    """
    absent = "|".join(device for device in ACCELERATORS if device not in devices)
    pattern, chosen = re.compile(rf"(?!.*'({absent})').*?(?:{selection})" if absent else f".*?(?:{selection})"), {}
    for name, suite in suites.items():
        cases = {text: index for index, text in enumerate(names_of(name, suite["params"])) if pattern.match(text)}
        if cases and (suite["type"] in TIMED, suite_specs.find(name).newest) == (timed, newest):
            chosen[name] = {**suite, "selected": cases}
    return chosen


def devices_of(sides: Iterable[LocalSide]) -> set[str]:
    """Return the accelerators that any of the sides can use."""
    return {device for side in sides for device in side.provenance.get("accelerators", ())}


def _times(start: datetime) -> dict[str, Any]:
    """Return what a launch that began then and has ended says about its time."""
    ended = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"id": launches.new_id(start), "started": start.isoformat(timespec="seconds"), "ended": ended}


def _suites(sides: Sequence[LocalSide], processes: Sequence[_SideProcess]) -> tuple[dict[str, dict[str, Any]], list[dict[str, int]]]:
    """Return the benchmarks of all sides by name, as asv describes them, and for each side the number of each of its cases by name.

    Two revisions may have other benchmarks, or the same with other parameters; a later side describes what both have. Of another version of
    a benchmark, whose values cannot be compared, an earlier side has `ANOTHER` in place of its case's number. Sides of the same suites are
    asked once. Raises SideFailed for one whose suites cannot be imported.
    """
    suites: dict[str, dict[str, Any]] = {}
    of_place: dict[Hashable, dict[str, int]] = {}
    places = [side.benchmarks for side in sides]
    for number in sorted({place: number for number, place in enumerate(places)}.values()):
        process = processes[number]
        process.begin({"suites": True})
        answer = process.answer(LONGEST_START)
        if "suites" not in answer:
            raise cannot_import(sides[number], process.reason(answer))
        process.end_fork()
        indices = of_place[places[number]] = {}
        described = {each["name"]: each for each in map(_kept, reversed(answer["suites"]))}  # of two of one name asv runs the first
        for name, suite in reversed(described.items()):
            params, known = suite["params"], suites.get(name)
            if known and known["version"] != suite["version"]:
                for text, earlier in product(names_of(name, known["params"]), of_place.values()):
                    if text in earlier:
                        earlier[text] = ANOTHER
                known = None
            indices.update({text: index if params else -1 for index, text in enumerate(names_of(name, params))})
            if known and known["param_names"] == suite["param_names"]:
                params = [[*dict.fromkeys([*new, *old])] for new, old in zip(params, known["params"])]
            suites[name] = {**suite, "params": params}
    return suites, [of_place[place] for place in places]


def _kept(suite: Mapping[str, Any]) -> dict[str, Any]:
    """Return a benchmark as asv describes it, as a launch can keep it: with texts of limited length, and without addresses in memory.

    An address is another one in each process: no launch would have a case of the one before. One with too many cases, or with two of one
    name, is one case, which fails for the reason under "refused".
    """

    def text(value: object, longest: int = LONGEST_PARAMETER) -> str:
        kept = ADDRESS.sub("", str(value).encode(errors="replace").decode())
        digest = f"… {sha256(kept.encode()).hexdigest()[:8]}"
        return kept if len(kept) <= longest else f"{kept[: longest - len(digest)]}{digest}"

    own = {name: text(suite[name], launches.LONGEST_NAME) for name in ("name", "type", "unit", "version")}
    params, timeout = [list(map(text, values)) for values in suite["params"]], suite["timeout"]
    timeout = timeout if isinstance(timeout, (int, float)) and timeout > 0 else 0.0  # none declared
    kept = {**suite, **own, "params": params, "param_names": [*map(text, suite["param_names"])], "timeout": timeout}
    refused = ""
    if (cases := prod(map(len, params))) > launches.MOST_CASES:
        refused = f"it has {cases:,} cases: {launches.MOST_CASES:,} are allowed"
    for given, values in zip(suite["params"], params):
        alike = [name for name in values if len({str(text) for text, kept_text in zip(given, values) if kept_text == name}) > 1]
        if alike:
            refused = f"parameters that differ in their addresses alone, which are others in each process: {alike[0]}"
    return {**kept, "params": [], "param_names": [], "refused": refused} if refused else kept


def names_of(name: str, params: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of a benchmark's cases, as asv writes them."""
    return [f"{name}({', '.join(values)})" if values else name for values in product(*params)]


def time_case(
    processes: Sequence[_SideProcess],
    name: str,
    indices: Sequence[int | None],
    longest: float = LONGEST_CASE,
    *,
    alone: bool = True,
    in_parts: bool = False,
) -> Turns:
    """Let all sides time one case in turns, in random order.

    indices : of the case in each side's benchmark: -1 where it has no parameters, None where it lacks the case, `ANOTHER`
    longest : seconds that a side may take to set it up
    alone : whether it has forks for itself
    in_parts : whether each side tells where the time of a call goes, after its turns

    Where sides differ in page faults, the memory of one may have been there before: such a case is taken again in new forks. If it differs
    in the same way, that is how these sides copy; if never twice, the sides that differ have failed.
    """
    for process in processes if alone else ():
        process.end_fork()
    turns = _turns(processes, name, indices, longest, in_parts)
    different = differing_in_faults(turns.faults)
    for _ in range(RETAKES):
        if not different:
            break
        for process in processes:
            process.end_fork()
        earlier, turns = different, _turns(processes, name, indices, longest, in_parts)
        different = differing_in_faults(turns.faults)
        if different == earlier:
            break
    else:
        if different:
            middle = median(turns.faults.values())
            reasons = {
                number: f"its page faults in a call differ from those of the others, {turns.faults[number]:.0f} from {middle:.0f}"
                for number in different
            }
            kept = {number: times for number, times in turns.seconds.items() if number not in different}
            turns = replace(turns, seconds=kept, failed={**turns.failed, **reasons})
    for process in processes if alone else ():
        process.end_fork()
    return turns


def time_methods(
    process: _SideProcess, name: str, indices: Sequence[int], longest: float = LONGEST_CASE, *, in_parts: bool = False
) -> Turns:
    """Let the cases of several methods take turns in a fork of one side, in random order.

    name, longest, in_parts : as for `time_case`; indices : of the cases

    One that fails ends the fork: the others are taken again without it.
    """
    left: list[int | None] = [*indices]
    skipped: dict[int, str] = {}
    failed: dict[int, str] = {}
    while True:
        turns = _turns([process], name, left, longest, in_parts)
        skipped.update(turns.skipped)
        failed.update(turns.failed)
        left = [None if number in skipped or number in failed else index for number, index in enumerate(indices)]
        if turns.seconds or not any(index is not None for index in left):
            return replace(turns, skipped=skipped, failed=failed)


def differing_in_faults(faults: Mapping[int, float]) -> set[int]:
    """Return the sides whose page faults in a call are less than half of those of the median side, or more than twice as many."""
    if not faults:
        return set()
    middle = median_high(faults.values())
    return {number for number, own in faults.items() if abs(own - middle) > MANY_FAULTS and not middle / 2 <= own <= middle * 2}


def _turns(processes: Sequence[_SideProcess], name: str, indices: Sequence[int | None], longest: float, in_parts: bool) -> Turns:
    """Let the fork of each side time one case in turns, or the fork of one side several cases; these have no times where one fails."""
    calls: dict[int, int] = {}  # in a turn: the first side that can run the case calibrates it for all, and of several cases each itself
    skipped = {number: launches.OTHER_VERSION for number, index in enumerate(indices) if index == ANOTHER}
    failed: dict[int, str] = {}
    there = _shuffled(number for number, index in enumerate(indices) if index not in (None, ANOTHER))
    one_side = len(processes) == 1
    forks: dict[int, tuple[_SideProcess, int]] = {}  # what runs a case, and the place of the case among those that it runs
    for numbers in [there] if one_side else [[number] for number in there]:
        process, known = (processes[0], 0) if one_side else (processes[numbers[0]], next(iter(calls.values()), 0))
        process.begin({"case": name, "indices": [indices[number] for number in numbers], "calls": known})
        for place, number in enumerate(numbers):
            answer = process.answer(longest)
            if "calls" in answer:
                calls[number] = answer["calls"]
                forks[number] = process, place
                continue
            (skipped if "skipped" in answer else failed)[number] = process.reason(answer)
            if one_side and failed:
                return Turns({}, {}, skipped=skipped, failed=failed)
    seconds: dict[int, list[float]] = {number: [] for number in forks}
    faults: dict[int, list[int]] = {number: [] for number in forks}
    began = monotonic()
    for turn in range(TURNS):
        taken = max([calls[number] * sum(times) for number, times in seconds.items()] or [0.0])
        if turn >= FEWEST_TURNS and (taken > SIDE_SECONDS or monotonic() - began > SIDE_WALL_SECONDS * len(seconds)):
            break
        for number in _shuffled(forks):
            process, place = forks[number]
            process.send(f"turn {place}")
            answer = process.answer(longest)
            if "turn" in answer:
                of_call, of_turn = answer["turn"]
                seconds[number].append(of_call)
                faults[number].append(of_turn)
                continue
            (skipped if "skipped" in answer else failed)[number] = process.reason(answer)
            if one_side:
                return Turns({}, {}, skipped=skipped, failed=failed)
            del forks[number], seconds[number]
    parts: dict[int, list[float | None]] = {}
    for number in _shuffled(forks) if in_parts else ():
        process, place = forks[number]
        process.send(f"parts {place}")
        answer = process.answer(longest)
        if "parts" in answer:
            parts[number] = answer["parts"]
            continue
        failed[number] = process.reason(answer)
        if one_side:
            return Turns({}, {}, skipped=skipped, failed=failed)
        del forks[number]
    ending = dict.fromkeys(process for process, _ in forks.values())
    for process in ending:
        process.send("end")
    for process in ending:
        answer = process.answer(longest)
        if "done" not in answer:  # its teardown fails, and so does the case, as in asv
            failed.update(dict.fromkeys((number for number, fork in forks.items() if fork[0] is process), process.reason(answer)))
    for number in forks.keys() - failed.keys():
        if strange := [each for each in seconds[number] if not launches.SHORTEST < each < launches.LONGEST]:
            failed[number] = f"its own timer gave {strange[0]:g} s for a call"
    seconds = {number: times for number, times in seconds.items() if number not in failed}
    of_call = {number: min(faults[number]) / calls[number] for number, times in seconds.items() if times}
    return Turns(seconds, calls, of_call, skipped, failed, parts)


def _shuffled(numbers: Iterable[int]) -> list[int]:
    order = list(numbers)
    return chance.sample(order, len(order))


def document(
    sides: Sequence[LocalSide],
    suites: Mapping[str, Mapping[str, Any]],
    by_case: Mapping[tuple[str, int], Turns],
    *,
    machine: str,
    id: str,
    started: str,
    ended: str,
    reference: int | None = None,
) -> Launch:
    """Return the launch of these turns."""
    shared, own = launches.shared_provenance([side.provenance for side in sides])
    stored: dict[str, Suite] = {}
    for (name, index), turns in sorted(by_case.items()):
        suite = stored.setdefault(name, described(suites[name]))
        for reasons, place in ((turns.skipped, suite.skipped), (turns.failed, suite.failed)):
            if reasons:
                texts = set(reasons.values())
                everywhere = len(reasons) == len(sides) and len(texts) == 1
                place[str(index)] = {ALL: texts.pop()} if everywhere else {str(number): text for number, text in reasons.items()}
        if turns.seconds and all(turns.seconds.values()):
            suite.rows[str(index)] = _row(turns, len(sides))
    return Launch(
        version=launches.VERSION,
        kind="times",
        id=id,
        started=started,
        ended=ended,
        machine=machine,
        sides=[Side(sha=side.sha, environment=side.environment, revision=side.revision, provenance=each) for side, each in zip(sides, own)],
        reference=UNSET if reference is None else reference,
        provenance=shared,
        suites=stored,
    )


def described(suite: Mapping[str, Any]) -> Suite:
    """Return a suite as a launch stores it, still without times; suite : as `suites_of` returns it."""
    return Suite(
        version=str(suite["version"]),
        param_names=[str(name) for name in suite["param_names"]],
        params=[list(values) for values in suite["params"]],
        unit=str(suite.get("unit", "seconds")),
        type=str(suite.get("type", "time")),
    )


def _row(turns: Turns, sides: int) -> Row:
    """Return a case's row: the mean of all sides, and by how much each differs from it."""
    logs = {number: log(usual(times)) for number, times in turns.seconds.items()}
    mean = fmean(logs.values())
    return Row(
        seconds=float(f"{exp(mean):.6g}"),
        calls=next(turns.calls[number] for number in turns.seconds),
        turns=len(next(iter(turns.seconds.values()))),
        effects=[round((logs[number] - mean) * UNIT) if number in logs else None for number in range(sides)],
        parts=[_parts(turns.parts.get(number)) if number in logs else None for number in range(sides)] if turns.parts else [],
        in_turns=turns.in_turns,
    )


def _parts(seconds: Sequence[float | None] | None) -> launches.Parts | None:
    """Return the parts of a call as a side answers them, with four digits."""
    if seconds is None:
        return None
    empty, returned, whole, on_device = (None if each is None else float(f"{each:.4g}") for each in seconds)
    assert returned is not None
    assert whole is not None
    return launches.Parts(empty, returned, whole, on_device)
