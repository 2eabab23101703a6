"""Import torch once for all jobs of a pass, and run each in a fork of this process.

`python -m tensorcopy.worker.forked_jobs` prints a line of JSON when torch is imported, and one after each job. A job is a line of standard
input: `program` (a script, or "-m" and a module), `arguments`, the environment's `variables`, `folder`, and the files for its `output`
and errors. A job without these files is the last: this process becomes its program. So asv's fork server has run nothing before.

Linux only: elsewhere a forked process must not use the GPU. `releases/torch_process.py` writes the jobs.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def main() -> int:
    """Run jobs until the input ends."""
    if sys.path[0] == str(Path.cwd()):  # `-m` puts it first; a job's program must not find packages there
        del sys.path[0]
    importlib.import_module("torch")
    _print({"ready": True})
    for line in sys.stdin:
        job = json.loads(line)
        if not job["output"]:
            return _run(job)
        _print({"status": _in_fork(job)})
    return 0


def _in_fork(job: Mapping[str, Any]) -> int:
    """Run a job in a process of its own, and return its exit status: negative for a signal."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            _redirect(job["output"])
            status = _run(job)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    _, status = os.waitpid(process, 0)
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)


def _redirect(files: Sequence[str]) -> None:
    """Let standard output and error be these files, and standard input be empty."""
    for descriptor, (name, flags) in enumerate([(os.devnull, os.O_RDONLY), *((name, os.O_WRONLY) for name in files)]):
        opened = os.open(name, flags)
        os.dup2(opened, descriptor)
        os.close(opened)


def _run(job: Mapping[str, Any]) -> int:
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


def _print(document: Mapping[str, Any]) -> None:
    print(json.dumps(document), flush=True)


if __name__ == "__main__":
    sys.exit(main())
