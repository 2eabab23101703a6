"""Divide work on the site's content among processes.

On Linux a process is forked, and reads the content where it is; elsewhere it is started afresh and gets a copy. It ends with its work, so
that the memory which it has touched is free again. What is computed does not depend on the number of processes.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache, cached_property
from io import BytesIO
from multiprocessing import get_context
from traceback import format_exception
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result
from tensorcopy.site.model.content import Content

VARIABLE = "TENSORCOPY_PROCESSES"  # of the environment: how many processes write pages
MOST = 8  # unless it says otherwise: each takes some 100 MB
MANY = 256
GARBAGE = 200_000  # new values between two searches for garbage, of which there is little: most values stay until the site is written
START = "fork" if sys.platform == "linux" else "spawn"

Task = tuple[Callable[..., Any], tuple[Any, ...]]  # a function of a module, and its arguments after what is shared


class Shared:
    """What every task works on. Results, which every process has, are sent between processes by their path."""

    def __init__(self, content: Content) -> None:
        self.content = content

    @cached_property
    def results(self) -> dict[str, Result]:
        """Every result, by path."""
        return {str(result.path): result for machine in self.content.machines for result in machine.results}


def available() -> int:
    """Return how many processes can run at a time, at most `MOST`; or as many as the environment says.

    Raises TensorcopyError for a number of processes that is none.
    """
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(cores, MOST)
    if not (wanted.isascii() and wanted.isdecimal() and 0 < int(wanted) <= MANY):
        raise TensorcopyError(
            f"{VARIABLE} is no number of processes", got=repr(wanted), allowed=f"1 to {MANY}", next=f"{VARIABLE}=1 asv publish"
        )
    return int(wanted)


@contextmanager
def rare_collection() -> Iterator[None]:
    """Let Python search for garbage less often, also in processes that `run` forks: searching takes a tenth of the time."""
    usual = gc.get_threshold()
    gc.set_threshold(GARBAGE, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def run(shared: Shared, tasks: Sequence[Task], processes: int, meanwhile: Callable[[], object] = lambda: None) -> list[Any]:
    """Return what each task's function returns for `shared` and its arguments, in order.

    meanwhile : what this process does while it waits
    An error of a task is raised here, with its traceback.
    """
    if min(processes, len(tasks)) < 2 or (START == "fork" and threading.active_count() > 1):  # a fork would copy locks that threads hold
        meanwhile()
        return [function(shared, *arguments) for function, arguments in tasks]
    gc.freeze()  # the collector of a process would else write to all memory that it shares, and so copy it
    executor = ProcessPoolExecutor(min(processes, len(tasks)), get_context(START), _start, (shared,))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of numpy's threads, which a fork does not harm
            answers = [executor.submit(_answer, task) for task in tasks]
        meanwhile()
        return [_loads(answer.result(), shared.results) for answer in answers]
    except BrokenProcessPool as error:
        raise TensorcopyError(
            "a process that wrote pages was ended from outside",
            got="no answer from it",
            allowed=f"memory for {processes} processes",
            next=f"{VARIABLE}=1 asv publish, which needs less memory",
        ) from error
    finally:
        executor.shutdown(cancel_futures=True)
        gc.unfreeze()


_shared: Shared | None = None  # in a process that runs tasks


def _start(shared: Shared) -> None:
    global _shared
    _shared = shared


def _answer(task: Task) -> bytes:
    """Run a task and return what it returned, pickled."""
    function, arguments = task
    assert _shared is not None
    try:
        return _dumps(function(_shared, *arguments))
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        except Exception:
            raise RuntimeError("".join(format_exception(error))) from None
        raise


class _Pickler(pickle.Pickler):
    """Pickle a result, which every process has, as its path."""

    def persistent_id(self, value: object) -> tuple[str, Any] | None:
        if isinstance(value, Result):
            return "result", str(value.path)
        return ("case", (value.suite, value.parameters)) if isinstance(value, Case) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: BytesIO, results: Mapping[str, Result]) -> None:
        super().__init__(file)
        self.results = results

    def persistent_load(self, name: tuple[str, Any]) -> Any:
        kind, value = name
        return self.results[value] if kind == "result" else _case(*value)


@cache
def _case(suite: str, parameters: tuple[tuple[str, str], ...]) -> Case:
    """Return a case that all values share: there are hundreds, in each of many comparisons."""
    return Case(suite, parameters)


def _dumps(value: object) -> bytes:
    file = BytesIO()
    _Pickler(file, pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


def _loads(data: bytes, results: Mapping[str, Result]) -> Any:
    return _Unpickler(BytesIO(data), results).load()
