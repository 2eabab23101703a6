"""What runs inside a release's environment: one probe, or the jobs of a pass in forks of a process that has imported torch once.

`python -m tensorcopy.worker.processes MODULE ARGUMENTS…` imports the module and calls its `main(arguments, report_progress)`, which returns
plain values: the last line. Progress reports are lines before it, such as `{"share": 0.5, "doing": "round 3 of 7"}`. A TensorcopyError is
printed as `{"error": {...}}`, with exit status 2. `releases/interpreters.py` reads these lines in another process.

Without arguments, it imports torch, prints a line of JSON, and one after each job. A job is a line of standard input: `program` (a script,
or "-m" and a module), `arguments`, the environment's `variables`, `folder`, and the files for its `output` and errors. A job without these
files is the last: this process becomes its program. So asv's fork server has run nothing before. Linux only: elsewhere a forked process
must not use the GPU. `releases/interpreters.py` writes the jobs.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tensorcopy.errors import CannotRun, TensorcopyError

WAITING = "waiting for "  # begins the sentence that reports a wait
ReportProgress = Callable[[float, str], None]  # takes the share that is done (0 to 1) and a description of the current step


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
        result = importlib.import_module(module).main(arguments, print_progress)
    except TensorcopyError as error:
        print(json.dumps({"error": error.document()}), flush=True)
        return 2
    print(json.dumps(result), flush=True)
    return 0


def run_jobs() -> int:
    """Run jobs until the input ends."""
    if sys.path[0] == str(Path.cwd()):  # `-m` puts it first; a job's program must not find packages there
        del sys.path[0]
    importlib.import_module("torch")
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        if not job["output"]:
            return _run_program(job)
        print(json.dumps({"status": _in_fork(job)}), flush=True)
    return 0


def _in_fork(job: Mapping[str, Any]) -> int:
    """Run a job in a process of its own, and return its exit status: negative for a signal."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            for descriptor, (name, flags) in enumerate([(os.devnull, os.O_RDONLY), *((name, os.O_WRONLY) for name in job["output"])]):
                opened = os.open(name, flags)  # standard input is empty, and output and errors are the job's files
                os.dup2(opened, descriptor)
                os.close(opened)
            status = _run_program(job)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    _, status = os.waitpid(process, 0)
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)


def _run_program(job: Mapping[str, Any]) -> int:
    """Run a job's program as Python would, and return its exit status."""
    os.chdir(job["folder"])
    os.environ.clear()
    os.environ.update(job["variables"])
    *option, program = job["program"]
    sys.argv = [program, *job["arguments"]]
    try:
        if option:
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(program, run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


if __name__ == "__main__":
    sys.exit(run_probe(sys.argv[1], sys.argv[2:]) if sys.argv[1:] else run_jobs())
