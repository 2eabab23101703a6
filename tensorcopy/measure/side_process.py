"""The process of a side of a launch: where it runs, its requests and answers, and how it ends; see `worker.turns` for its other end.

Each process lies elsewhere in memory, and so does what it imports: the stack and the state of the page cache are drawn anew for each.
Otherwise the page cache would be common to all launches of an hour, and shift the difference of two releases by 1 to 4 %.
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
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom
from time import monotonic
from typing import Any

from tensorcopy.errors import CannotRun, exception_line
from tensorcopy.files import kernel_text
from tensorcopy.releases.interpreters import FILE
from tensorcopy.results import launches

LONGEST_CASE = 60.0  # seconds that a side may take to set up a case, or for a turn, as with asv
LONGEST_VALUE = 1800.0  # seconds of a benchmark that counts, or of a setup_cache
LONGEST_START = 600.0  # seconds to import torch and the suites, from a disk that is busy
LONGEST_END = 10.0  # seconds until a process that has closed its output ends
LONGEST_CLOSE = 2.0  # seconds until a process that is asked to end is killed
LONGEST_ANSWER = 2**26  # bytes: the names of all cases have a few millions
PADDING = 4096  # bytes, at most, of an environment variable that moves the stack
chance = SystemRandom()

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


class SideFailed(CannotRun):
    """A side that cannot import torch, or its suites, or whose process ends before its launch does."""

    def __init__(self, side: LocalSide, what: str, **parts: str) -> None:
        super().__init__(what, **parts)
        self.side = side


def cannot_import(side: LocalSide, got: str) -> SideFailed:
    """Return the error of a side that cannot import torch or its suites."""
    command = [str(side.python), "-m", "tensorcopy.worker.turns", str(side.suites)]
    following = f"PYTHONPATH={shlex.quote(side.variables.get('PYTHONPATH', ''))} {shlex.join(command)} </dev/null shows the full error"
    if missing := re.search(r"No module named '(\w+)", got):
        package = f'requires = ["{missing[1]}"] in [project] of {FILE}, or the package that has it'
        is_own = side.environment.endswith(launches.OF_INTERPRETER)
        following = f"uv pip install --python {shlex.quote(str(side.python))} {missing[1]}" if is_own else package
    what, allowed = f"the suites cannot be imported in {side}", "torch, numpy, and what the suites import"
    return SideFailed(side, what, got=got, allowed=allowed, next=following)


class SideProcess:
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
def started(sides: Sequence[LocalSide], core: int | None = None, *, draws_pages: bool = True) -> Iterator[list[SideProcess]]:
    """Yield a process of each side that has imported torch and the suites.

    core : to which they are pinned then; they import on all cores of its memory
    draws_pages : whether the page cache is drawn anew, for what is measured

    Raises SideFailed for a side that cannot import them.
    """
    folders = {side.torch.resolve() for side in sides}
    if draws_pages and (len(sides) == 1 or len(folders) > 1):  # what the page cache does with one torch, it does to all sides
        for folder in folders:
            forget_pages(folder)
    by_number: dict[int, SideProcess] = {}
    # what a killed benchmark has started may still write into the folder
    with tempfile.TemporaryDirectory(prefix="tensorcopy-", ignore_cleanup_errors=True) as temporary:
        try:
            for number in shuffled(range(len(sides))):
                by_number[number] = SideProcess(sides[number], temporary)
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


def shuffled(numbers: Iterable[int]) -> list[int]:
    """Return numbers in random order."""
    order = list(numbers)
    return chance.sample(order, len(order))
