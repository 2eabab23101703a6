"""Start processes of any Python that has torch: run a probe of the worker there, and return its result."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tensorcopy.errors import CannotRun, TensorcopyError, exception_line, of_text
from tensorcopy.worker import declarations, processes
from tensorcopy.worker.processes import ReportProgress, ignore_progress

CHECKOUT = declarations.CHECKOUT


def executable(python: str) -> Path:
    """Return the path of an interpreter.

    python : "same" for the running one, a program on the PATH, or a path

    Raises TensorcopyError where it does not exist.
    """
    path = sys.executable if python == "same" else shutil.which(python)
    if path is None:
        raise TensorcopyError(
            "no such interpreter", got=python, allowed='"same", a program on the PATH, or its path', next="correct the name or the path"
        )
    return Path(path).absolute()  # probes start in another folder


def run_probe(
    python: Path,
    module: str,
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    report_progress: ReportProgress = ignore_progress,
) -> dict[str, Any]:
    """Run a probe in another interpreter, and return its result.

    python : the interpreter
    module : such as "tensorcopy.worker.timing"; its `main` gets the arguments
    variables : the environment variables of the process; this process's by default
    report_progress : called with the share that is done (0 to 1) and the current step

    Raises the TensorcopyError of the probe, and CannotRun for an interpreter that cannot run it.
    """
    command = [str(python), "-m", processes.__name__, module, *arguments]
    inherited = os.environ if variables is None else variables
    with (
        _package() as folder,
        tempfile.TemporaryFile("w+", errors="replace") as errors,  # a file, since an unread pipe would fill up and block the process
        started_process(
            command,
            stderr=errors,
            env={**inherited, **declarations.variables(), "PYTHONPATH": search_path([folder], python)},
            cwd=folder,
        ) as process,
    ):
        assert process.stdout is not None
        result = last_document(process.stdout, report_progress)
        process.wait()
        errors.seek(0)
        stderr = errors.read().strip()
    return result_of(result, process.returncode, stderr, command)


def result_of(document: dict[str, Any], status: int, errors: str, command: Sequence[str]) -> dict[str, Any]:
    """Return the result of a probe from its last document.

    Raises the TensorcopyError that it holds, and CannotRun where the probe ended without a result.
    """
    if "error" in document:
        raise TensorcopyError.of_document(document["error"])
    if status == 0 and document:
        return document
    raise of_text(errors) or CannotRun(
        f"{command[0]} cannot import torch and tensorcopy's registry",
        got=exception_line(errors) or "no output",
        allowed="torch 1.9 or newer and numpy on Python 3.9 or newer",
        next=f"{' '.join(command[:4])} shows the full error",
    )


def last_document(lines: Iterable[str], report_progress: ReportProgress = ignore_progress) -> dict[str, Any]:
    """Return the last line as JSON, reporting the progress lines before it.

    Empty where the last line is not a JSON object: an own operation may print, too.
    """
    document: Any = None
    for line in lines:
        try:
            document = json.loads(line)
        except ValueError:
            document = None
        if isinstance(document, dict) and document.keys() == {"share", "doing"}:
            report_progress(document["share"], document["doing"])
    return document if isinstance(document, dict) else {}


@contextmanager
def _package() -> Iterator[Path]:
    """Yield a folder that contains this package and no other.

    An installed package is copied: the packages installed beside it are for this Python, not for the other one.
    """
    if (CHECKOUT / "asv.conf.json").exists():
        yield CHECKOUT
        return
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(Path(__file__).parents[1], Path(folder) / "tensorcopy", ignore=shutil.ignore_patterns("__pycache__"))
        yield Path(folder)


def search_path(folders: Sequence[Path], python: Path) -> str:
    """Return a PYTHONPATH with these folders.

    The caller's PYTHONPATH is kept for the running Python only; it does not fit another one.
    """
    callers = os.environ.get("PYTHONPATH", "") if python == Path(sys.executable) else ""
    return os.pathsep.join(filter(None, [*map(str, folders), callers]))


@contextmanager
def started_process(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Yield a process that writes text to `stdout`, a pipe.

    Ctrl-C reaches every process of a terminal; a signal to this process alone does not. Without this, its children would go on measuring.

    options : of subprocess.Popen
    """
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace", **options) as process:
        try:
            yield process
        except BaseException:
            _kill_with_descendants(process)
            raise


def _kill_with_descendants(process: subprocess.Popen[str]) -> None:
    """Kill a process and its descendants."""
    descendants: list[Any] = []
    with suppress(ImportError):  # of the dashboard's extra; without it, only probes are started, which start nothing
        import psutil

        with suppress(psutil.Error):
            descendants = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for descendant in descendants:
        with suppress(Exception):  # it has ended, or is another's now
            descendant.kill()
