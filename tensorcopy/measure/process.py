"""The processes of a launch: where they run, a request and its answer, and how they end; see `worker.turns` for the other end.

Each process lies elsewhere in memory, and so does what it imports: the stack and the state of the page cache are drawn anew for each.
Otherwise the page cache would be common to all launches of an hour, and shift the difference of two releases by 1 to 4 %.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from random import SystemRandom
from time import monotonic
from typing import Any

import msgspec
import psutil
from msgspec import Struct

from tensorcopy.errors import TensorcopyError, exception_line
from tensorcopy.files import kernel_text
from tensorcopy.results.launches import MOST_CASES, OF_INTERPRETER, Place
from tensorcopy.results.suite_specs import NO_TABLE, SuiteTable

LONGEST_START = 600.0  # seconds to import torch and the suites, from a disk that is busy
LONGEST_END = 10.0  # seconds, besides its own, until a request is answered that the kernel ends
LONGEST_CLOSE = 2.0  # seconds until a process that is asked to end is killed
LONGEST_ANSWER = 2**26  # bytes: the names of all cases have a few millions
PADDING = 4096  # bytes, at most, of an environment variable that moves the stack
PREFIX = "tensorcopy-"  # of the folders of processes, in that of temporary files; the number of the program follows
NODES = Path("/sys/devices/system/node")  # a folder for the cores of each memory
chance = SystemRandom()


class Reply(Struct, frozen=True):
    """What a process answers. What a benchmark has written in its place has another form or number than the request."""

    n: int = 0
    fork: int = 0
    case: tuple[int, int] | None = None
    turn: tuple[float, float] | None = None
    value: float | None = None
    probe: dict[str, Any] | None = None
    skipped: str | None = None
    failed: str | None = None
    ready: bool = False
    suites: list[dict[str, Any]] = []
    broken: dict[str, str] = {}
    ended: int | None = None


@dataclass(frozen=True)
class Program:
    """What a process of a side runs, and what it has told."""

    place: Place  # of the side
    python: Path
    suites: Path  # the folder of benchmarks that it imports
    variables: Mapping[str, str] = field(default_factory=dict)  # of its environment
    torch: Path = Path()  # the folder whose libraries are dropped from the page cache
    specs: SuiteTable = NO_TABLE  # what its suites are
    provenance: Mapping[str, Any] = field(default_factory=dict)  # as `worker.provenance` collects it
    observed: Mapping[str, Any] = field(default_factory=dict)  # what the campaign's observers tell: "methods", "article"
    benchmarks: Sequence[Mapping[str, Any]] = ()  # as asv describes them
    broken: Mapping[str, str] = field(default_factory=dict)  # why modules and benchmarks cannot be made

    def __str__(self) -> str:
        return f"{self.place[1]} ({self.place[2][:8]})" if self.place[2] else self.place[1]


class SideFailed(TensorcopyError):
    """A side whose process cannot import torch."""

    def __init__(self, program: Program, got: str) -> None:
        is_own = program.place[1].endswith(OF_INTERPRETER)
        folder, shown = program.python.parent.parent, f"{program.python} -c 'import torch, numpy' shows why"
        following = shown if is_own else f"remove {folder}, it is built anew"
        allowed = "an environment as it was installed, with torch and numpy"
        super().__init__(f"the process of {program} does not start", got=got, allowed=allowed, next=following)
        self.program = program


class Process:
    """The process of a side. One that a benchmark ends is started again."""

    def __init__(self, program: Program, folder: Path, core: int | None = None) -> None:
        """Start it; folder : for its temporary files, a new one; core : on which it will be timed. Raises SideFailed."""
        self.program, self._folder, self._core = program, folder, core
        self._number, self._fork = 0, 0  # of requests and forks
        self._start()

    def _start(self) -> None:
        self._has_fork = False
        self._folder.mkdir(parents=True, exist_ok=True)
        own = {"TENSORCOPY_PADDING": "x" * chance.randrange(PADDING), "PYTHONHASHSEED": str(chance.randrange(2**32))}
        self._buffer, self._errors = b"", tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                [str(self.program.python), "-m", "tensorcopy.worker.turns", str(self.program.suites)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**self.program.variables, **own, "TMPDIR": str(self._folder)},
                cwd=self._folder,
                bufsize=0,
                start_new_session=True,  # Ctrl-C at a terminal does not reach it
            )
        except OSError as error:  # another program may have removed the environment
            self._errors.close()
            raise SideFailed(self.program, str(error)) from error
        if self._core is not None:
            os.sched_setaffinity(self._process.pid, cores_beside(self._core))

    def wait(self) -> None:
        """Wait until it has imported torch and the suites, and pin it to its core, with its forks. Raises SideFailed."""
        answer = self._answer(LONGEST_START)
        self._errors.seek(0)
        if answer is None or not answer.ready:
            raise SideFailed(self.program, exception_line(self._errors.read()) or "no output")
        cases = {each["name"]: prod(map(len, each["params"])) for each in answer.suites}
        too_many = {name: f"it has {number:,} cases: {MOST_CASES:,} are allowed" for name, number in cases.items() if number > MOST_CASES}
        benchmarks = [each for each in answer.suites if each["name"] not in too_many]
        self.program = replace(self.program, benchmarks=benchmarks, broken={**answer.broken, **too_many})
        if self._core is not None:
            os.sched_setaffinity(self._process.pid, {self._core})

    def ask(self, longest: float, **request: Any) -> Reply:
        """Return the answer to a request, `failed` with the reason where it has none.

        longest : seconds that it may take
        request : see `worker.turns`

        Raises SideFailed where a benchmark has ended the process, and it does not start again.
        """
        self._fork += not self._has_fork
        self._has_fork = True
        answer = self._answer(longest + LONGEST_END, {**request, "fork": self._fork, "longest": longest})
        has_failed = answer is not None and answer.failed is not None
        if answer is None or (has_failed and not self._answer(LONGEST_END)):  # after a failure, the end of the fork comes next
            self._start_again()
            return answer or Reply(failed="ended or stopped the process that measures it")
        if answer.ended is not None:
            number, late = answer.ended, f"took more than {longest:g} s"
            how = f"ended by signal {-number}" if number < 0 else f"ended with exit code {number}"
            return Reply(failed=late if number == -signal.SIGALRM else how)
        return answer

    def end_fork(self) -> None:
        """End its fork, if there is one. Raises SideFailed as `ask` does."""
        if self._has_fork and not self._answer(LONGEST_END, None):
            self._start_again()

    def _start_again(self) -> None:
        """End the process, and start it again. Raises SideFailed."""
        self.close()
        self._start()
        self.wait()

    def _answer(self, longest: float, *requests: dict[str, Any] | None) -> Reply | None:
        """Return the answer to a request, if there is one, or that of an ended fork; None where the process has ended, or gives none."""
        output, end = self._process.stdout, monotonic() + longest
        assert output is not None
        assert self._process.stdin is not None
        self._number += 1
        for request in requests:
            with suppress(BrokenPipeError):  # the answer tells that it has ended
                self._process.stdin.write(f"{json.dumps(request and {**request, 'n': self._number})}\n".encode())
        while True:
            while b"\n" not in self._buffer:
                ready, _, _ = select.select([output], [], [], max(0.0, end - monotonic()))
                data = os.read(output.fileno(), 65536) if ready else b""
                if not data:
                    return None
                self._buffer = (self._buffer + data)[-LONGEST_ANSWER:]
            line, _, self._buffer = self._buffer.partition(b"\n")
            try:
                answer = msgspec.json.decode(line, type=Reply)
            except ValueError:  # what a benchmark has written
                continue
            if answer.ended is not None and answer.fork == self._fork:
                self._has_fork = False
                return answer
            if answer.ready or (answer.ended is None and answer.n == self._number):  # not that to an earlier request, which comes too late
                return answer

    def close(self) -> None:
        """End the process with all that it and its forks have started."""
        for number in (signal.SIGTERM, signal.SIGCONT):  # it may have been stopped
            self._process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LONGEST_CLOSE)
        with suppress(ProcessLookupError, PermissionError):  # macOS refuses where all of them have ended
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            assert stream is not None
            stream.close()


@contextmanager
def started(programs: Sequence[Program], core: int | None = None) -> Iterator[list[Process]]:
    """Yield a process of each side that has imported torch and the suites.

    core : to which they are pinned then, to be timed; they import on all cores of its memory, with a page cache that is drawn anew

    Raises SideFailed for a side that cannot import them.
    """
    folders = {program.torch.resolve() for program in programs}
    for folder in folders if core is not None and (len(programs) == 1 or len(folders) > 1) else ():
        forget_pages(folder)  # what the page cache does with one torch, it does to all sides
    by_number: dict[int, Process] = {}
    with temporary_folder() as temporary:
        try:
            for number in shuffled(range(len(programs))):
                by_number[number] = Process(programs[number], temporary / str(number), core)
            processes = [by_number[number] for number in range(len(programs))]
            for process in processes:
                process.wait()
            yield processes
        finally:
            for process in by_number.values():
                process.close()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a new folder, which is removed at the end; first remove those of programs that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        number = folder.name.removeprefix(PREFIX).partition("-")[0]
        if number.isdecimal() and not psutil.pid_exists(int(number)):
            shutil.rmtree(folder, ignore_errors=True)
    # what a killed benchmark has started may still write into the folder
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def cores_beside(core: int) -> set[int]:
    """Return the cores of this process that have the same memory as a core: elsewhere, what a process imports would be far from it."""
    usable = os.sched_getaffinity(0)
    for path in NODES.glob("node*/cpulist"):
        parts = [part.partition("-") for part in kernel_text(path).split(",")]
        of_node = {number for first, _, last in parts if first for number in range(int(first), int(last or first) + 1)}
        if core in of_node:
            return usable & of_node
    return usable


def forget_pages(folder: Path) -> None:
    """Drop the libraries of a torch from the page cache, where no process maps them."""
    for path in (*folder.glob("lib/*.so*"), *folder.glob("*.so")):
        with suppress(OSError), path.open("rb") as library:
            os.posix_fadvise(library.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def shuffled(members: Any) -> list[Any]:
    """Return some things in random order."""
    order = [*members]
    return chance.sample(order, len(order))
