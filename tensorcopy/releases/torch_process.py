"""A process of an interpreter that imports torch once, and runs the jobs of a pass in forks.

Importing torch takes one to two seconds, and a pass needs it three times: for the provenance, for asv's list of suites, and for asv's fork
server.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any

from tensorcopy.releases import interpreters
from tensorcopy.worker import declarations, processes

IN_A_JOB = ("ASV", "TENSORCOPY_")  # beginnings of variables that a job reads; others, such as OMP_NUM_THREADS, libraries read earlier
SEARCH_PATHS = ("PYTHONPATH", "ASV_PYTHONPATH")  # Python's and asv's: asv's runner drops what is only in the first
LONGEST = 600.0  # seconds of a job, as for asv's own


@dataclass(frozen=True)
class Finished:
    """A job that has ended, with its exit status and output."""

    status: int
    output: str
    errors: str


class TorchProcess:
    """A Python that has imported torch, and runs each job in a fork."""

    def __init__(self, python: Path, variables: Mapping[str, str]) -> None:
        """Start the process, with the environment variables of its jobs."""
        self._variables = dict(variables)
        self._process = subprocess.Popen(
            [str(python), "-m", processes.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._variables,
            cwd=os.sep,
            start_new_session=True,  # asv ends its servers as process groups
        )

    @staticmethod
    def started(python: Path, variables: Mapping[str, str]) -> TorchProcess | None:
        """Return a process that has imported torch; None where that fails, which a process for each job reports, and except on Linux."""
        if sys.platform != "linux":
            return None
        try:
            process = TorchProcess(python, variables)
        except OSError:
            return None
        is_ready = False
        try:
            is_ready = bool(process._answer())
        finally:
            if not is_ready:
                process.close()
        return process if is_ready else None

    def can_run(self, variables: Mapping[str, str]) -> bool:
        """Return whether a job may have these environment variables: libraries have read theirs when torch was imported."""
        names = {*variables, *self._variables}
        return all(variables.get(name) == self._variables.get(name) for name in names if not name.startswith(IN_A_JOB))

    def run(self, program: Sequence[str], arguments: Sequence[str], variables: Mapping[str, str], folder: Path) -> Finished:
        """Run a job, and wait for it. Raises OSError where the process has ended.

        program : a script, or "-m" and a module
        """
        with TemporaryDirectory() as temporary:
            files = [Path(temporary) / name for name in ("output", "errors")]
            for file in files:
                file.touch()
            try:
                self._write(program, arguments, variables, folder, files)
                answer = self._answer()
            except BaseException:
                self.close()
                raise
            output, errors = (file.read_text(encoding="utf-8", errors="replace") for file in files)
        return Finished(answer.get("status", -signal.SIGKILL), output, errors)

    def run_probe(self, python: Path, module: str, *arguments: str, variables: Mapping[str, str]) -> dict[str, Any]:
        """Run a probe as `interpreters.run_probe` does."""
        program = ["-m", processes.__name__]
        own = {name: value for name, value in self._variables.items() if name in SEARCH_PATHS}
        all_variables = {**without_search_paths(variables), **declarations.variables(), **own}
        finished = self.run(program, [module, *arguments], all_variables, interpreters.CHECKOUT)
        document = interpreters.last_document(finished.output.splitlines())
        return interpreters.result_of(document, finished.status, finished.errors.strip(), [str(python), *program, module])

    def become(self, program: Sequence[str], arguments: Sequence[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Let the process itself run a last program, and return it. Raises OSError where it has ended."""
        self._write(program, arguments, variables, Path.cwd(), [])
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process

    def close(self) -> None:
        """End the process, and its jobs."""
        self._kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):  # what was not yet written
                stream.close()

    def _kill(self) -> None:
        if self._process.returncode is None:  # else the number may be another's by now
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _write(
        self, program: Sequence[str], arguments: Sequence[str], variables: Mapping[str, str], folder: Path, files: Sequence[Path]
    ) -> None:
        job = {"program": [*program], "arguments": [*arguments], "variables": {**variables}}
        assert self._process.stdin is not None
        line = json.dumps({**job, "folder": str(folder), "output": [str(file) for file in files]})
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()

    def _answer(self) -> dict[str, Any]:
        """Return the next answer of the process; {} where it has ended. Torch may print other lines while it is imported."""
        assert self._process.stdout is not None
        limit = Timer(LONGEST, self._kill)
        limit.start()
        try:
            for line in self._process.stdout:
                document = interpreters.last_document([line.decode(errors="replace")])
                if document:
                    return document
        finally:
            limit.cancel()
        return {}


def without_search_paths(variables: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables without those that add packages of another Python."""
    return {name: value for name, value in variables.items() if name not in SEARCH_PATHS}
