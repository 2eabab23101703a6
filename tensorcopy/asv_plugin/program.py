"""Run asv as a subprocess, report its progress and turn its failures into errors."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from types import MappingProxyType

from tensorcopy.asv_plugin.commands import ERROR_FILE
from tensorcopy.asv_plugin.environment import DEVICE
from tensorcopy.asv_plugin.stamp import PASS, SELECTION, SHARD
from tensorcopy.errors import NOWHERE, TensorcopyError, of_text
from tensorcopy.releases import interpreters
from tensorcopy.worker import declarations
from tensorcopy.worker.processes import WAITING

PERCENT = re.compile(r"\[\s*([\d.]+)%\] ·+ (.*)")
RAISED = re.compile(r"[\w.]*(Error|Exception|Interrupt|Exit)\b(: |$)")
SUITE = re.compile(r"(?:Running \()?(\w+\.\w+)\.\w+")

# arguments: share done (0 to 1), seconds since the phase began, the suite that is running
ReportProgress = Callable[[float, float, str], None]


@dataclass(frozen=True)
class Run:
    """An `asv run` of one release in one environment.

    release : its tag
    environment : as -E takes it
    selection : the regular expression of suites that the pass's record stores
    cases : a regular expression on names and parameters
    attributes : of asv's benchmarks, such as {"rounds": 1}
    shard : the part of a sharded run that the pass belongs to; the pass's record stores it
    pass_id : the name of the pass, unique; "" for any
    device : that must be usable; "" for none
    """

    release: str
    environment: str
    selection: str
    cases: str
    attributes: Mapping[str, int]
    machine: str
    shard: str = ""
    pass_id: str = ""
    device: str = ""


class _PhaseReader:
    """Read the phase and the share done from asv's output, and report them."""

    def __init__(self, report_install: ReportProgress, report_measure: ReportProgress) -> None:
        self._report_install, self._report_measure = report_install, report_measure
        self._started, self._measuring_since = time.monotonic(), 0.0

    def read(self, line: str) -> None:
        now = time.monotonic()
        if "· Benchmarking " in line:
            self._measuring_since = now
        percent = PERCENT.match(line)
        if not self._measuring_since:  # asv prints nothing while it installs
            self._report_install(0.0, now - self._started, "")
        elif percent:
            suite = SUITE.match(percent[2])
            self._report_measure(float(percent[1]) / 100, now - self._measuring_since, suite[1] if suite else "")
        elif line.startswith(WAITING):
            self._report_measure(1.0, now - self._measuring_since, line)


def measure(run: Run, config: Path, report_install: ReportProgress, report_measure: ReportProgress) -> None:
    """Measure one pass with `asv run`, and add its samples to the result file.

    config : the asv.conf.json that names the folder of results
    report_install, report_measure : called with the progress of either phase

    Raises TensorcopyError where a case failed or nothing could run.
    """
    arguments = ["run", f"{run.release}^!", "--config", str(config), "-E", run.environment]
    arguments += ["--bench", run.cases, "--append-samples", "--machine", run.machine, "--show-stderr"]
    for name, value in run.attributes.items():
        arguments += ["-a", f"{name}={value}"]
    if sys.platform != "linux":
        arguments += ["--launch-method", "spawn"]  # a forked process must not touch Apple's GPU, and Windows cannot fork
    variables = {SELECTION: run.selection, SHARD: run.shard, PASS: run.pass_id, DEVICE: run.device}
    next_step = "run the same asv run with --show-stderr to see why"
    _run(arguments, f"asv run {run.release}^! failed", next_step, _PhaseReader(report_install, report_measure).read, variables)


def publish() -> None:
    """Run `asv publish`. Raises TensorcopyError where it fails.

    A result file that cannot be read is no failure here: its reader reports it, and the site is complete except for it (exit code 2).
    """
    _run(["publish"], "asv publish failed", "run asv publish --verbose to see why", success=(0, 2))


def _run(
    arguments: list[str],
    what: str,
    next: str,
    read: Callable[[str], object] = str,
    variables: Mapping[str, str] = MappingProxyType({}),
    *,
    success: Sequence[int] = (0,),
) -> None:
    """Run asv, and call `read` with each line of its output, and with "" after each second without a line.

    Raises the error with which tensorcopy's plugin has ended it, or one with this text where its exit code is another.
    """
    with tempfile.TemporaryDirectory() as folder:
        error_file = Path(folder) / "error.json"
        variables = {
            declarations.FOLDER: str(declarations.folder()),
            **variables,
            ERROR_FILE: str(error_file),
            "PYTHONUNBUFFERED": "1",
            "PYTHONIOENCODING": "utf-8",
        }
        with interpreters.started_process(
            [sys.executable, "-m", "asv", *arguments],
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            env={**os.environ, **variables},
        ) as process:
            assert process.stdout is not None
            lines = []
            for line in _lines_and_pauses(process.stdout):
                read(line or "")
                if line is not None:
                    lines.append(line)
        if error_file.exists():
            raise TensorcopyError.of_document(json.loads(error_file.read_text(encoding="utf-8")))
    if process.returncode not in success:
        raise _failure(what, lines, next=next)


def _lines_and_pauses(stream: Iterable[str]) -> Iterator[str | None]:
    """Yield each line of a stream, and None after each second without one."""
    queue: Queue[str | None] = Queue()

    def enqueue() -> None:
        for line in stream:
            queue.put(line.rstrip())
        queue.put(None)

    Thread(target=enqueue, daemon=True).start()
    while True:
        try:
            line = queue.get(timeout=1.0)
        except Empty:
            yield None
            continue
        if line is None:
            return
        yield line


def _failure(what: str, lines: Sequence[str], *, next: str) -> TensorcopyError:
    """Return the error of an asv process that has failed: it names the failed cases, or the exception, or quotes asv's last lines."""
    texts = [line.split("· ", 1)[-1].strip() for line in lines if line.strip()]
    failed = [text.split(" ", 1)[0] for text in texts if text.endswith("failed")]
    full_disk = None if failed else of_text("\n".join(lines), NOWHERE)  # of a process that asv has started; a case may quote any
    if full_disk:
        return full_disk
    raised = [text for text in texts if RAISED.match(text)]  # where the suites cannot be imported
    return TensorcopyError(
        what,
        got=": ".join([f"failures in {', '.join(failed)}", *raised[:1]]) if failed else raised[-1] if raised else " ".join(texts[-2:]),
        allowed="every case measured, or skipped by name",
        next=next,
    )
