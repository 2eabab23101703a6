"""One probe in a release's environment.

`python -m tensorcopy.worker.processes MODULE ARGUMENTS…` imports the module and calls its `main(arguments, report_progress)`, which returns
plain values: the last line. The first, `{"imported": true}`, tells that torch and the module were imported. Progress reports follow, such
as `{"share": 0.5, "doing": "round 3 of 7"}`. A TensorcopyError is printed as `{"error": {...}}`, with exit status 2.
`releases/interpreters.py` reads these lines in another process.
"""

from __future__ import annotations

import importlib
import json
import signal
import sys
from collections.abc import Callable, Sequence

from tensorcopy.errors import CannotRun, TensorcopyError

IMPORTED = {"imported": True}
PR_SET_PDEATHSIG = 1  # of prctl(2)
ReportProgress = Callable[[float, str], None]  # takes the share that is done (0 to 1) and a description of the current step


def end_with_parent() -> None:
    """Let this process be killed when the one that started it ends, on Linux: killed itself, that one cannot end it."""
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def ignore_progress(share: float, doing: str) -> None:
    """Report nothing."""


def print_progress(share: float, doing: str) -> None:
    """Print a progress report as a line of JSON."""
    print(json.dumps({"share": share, "doing": doing}), flush=True)


def run_probe(module: str, arguments: Sequence[str]) -> int:
    """Run the probe, print its result or its error, and return the exit status."""
    try:
        try:
            importlib.import_module("torch")
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise CannotRun(
                "there is no torch",
                got=f"{sys.executable} without it",
                allowed="torch 1.9 or newer",
                next=f"{sys.executable} -m pip install torch, or name another Python",
            ) from error
        probe = importlib.import_module(module)
        print(json.dumps(IMPORTED), flush=True)
        result = probe.main(arguments, print_progress)
    except TensorcopyError as error:
        print(json.dumps({"error": error.document()}), flush=True)
        return 2
    print(json.dumps(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(run_probe(sys.argv[1], sys.argv[2:]))
