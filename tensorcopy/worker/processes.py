"""One probe in a release's environment.

`python -m tensorcopy.worker.processes MODULE ARGUMENTS…` imports the module and calls its `main(arguments, report_progress)`, which returns
plain values: the last line, after progress reports, such as `{"share": 0.5, "doing": "round 3 of 7"}`. A TensorcopyError is printed as
`{"error": {...}}`, with exit status 2.
`releases/interpreters.py` reads these lines in another process.
"""

from __future__ import annotations

import importlib
import json
import os
import shlex
import signal
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from tensorcopy.errors import TensorcopyError

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # of prctl(2)
ReportProgress = Callable[[float, str], None]  # takes the share that is done (0 to 1) and a description of the current step


def end_with_parent(number: int = signal.SIGKILL) -> None:
    """Let this process get a signal when the one that started it ends, on Linux: killed itself, that one cannot end it."""
    _control(PR_SET_PDEATHSIG, number)


def adopt_orphans() -> None:
    """Let this process be the parent of what its children leave running, on Linux."""
    _control(PR_SET_CHILD_SUBREAPER, 1)


def _control(option: int, value: int) -> None:
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def children() -> list[int]:
    """Return the processes whose parent is this one; [] on a system without /proc."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:  # it has none, as nearly always
        return []
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text(errors="replace").rpartition(")")[2].split()[1]) == os.getpid():
                found.append(int(path.parent.name))
    return found


def end_children(kept: Collection[int] = ()) -> None:
    """End this process's children other than these, and what they have started.

    `adopt_orphans` makes a child of what an ended one has started, in a session of its own, too.
    """
    while left := [child for child in children() if child not in kept]:
        for child in left:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


def ignore_progress(share: float, doing: str) -> None:
    """Report nothing."""


def print_progress(share: float, doing: str) -> None:
    """Print a progress report as a line of JSON."""
    print(json.dumps({"share": share, "doing": doing}), flush=True)


def installing(requirement: str) -> str:
    """Return the command that installs a requirement for the running Python, which may be without pip, as uv makes it."""
    program = f"{shlex.quote(sys.executable)} -m pip install"
    return f"{program if find_spec('pip') else f'uv pip install --python {shlex.quote(sys.executable)}'} {requirement}"


def run_probe(module: str, arguments: Sequence[str]) -> int:
    """Run the probe, print its result or its error, and return the exit status."""
    try:
        try:
            importlib.import_module("torch")
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            got, following = f"{sys.executable} without it", installing("torch")
            raise TensorcopyError("there is no torch", got=got, allowed="torch 1.9 or newer", next=following) from error
        result = importlib.import_module(module).main(arguments, print_progress)
    except TensorcopyError as error:
        print(json.dumps({"error": error.document()}), flush=True)
        return 2
    print(json.dumps(result), flush=True)
    return 0


if __name__ == "__main__":
    end_with_parent()
    sys.exit(run_probe(sys.argv[1], sys.argv[2:]))
