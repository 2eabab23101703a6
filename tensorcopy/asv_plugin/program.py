"""asv run as the program it is, its output read for how far it has come and why it failed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

from tensorcopy.asv_plugin.stamp import SELECTION, SHARD
from tensorcopy.errors import Relayed, TensorcopyError

PERCENT = re.compile(r"\[\s*([\d.]+)%\] ·+ (.*)")
RAISED = re.compile(r"[\w.]*(Error|Exception|Interrupt|Exit)\b(: |$)")
SUITE = re.compile(r"(?:Running \()?(\w+\.\w+)\.\w+")

Tell = Callable[[float, float, str], None]  # share done (0 to 1), seconds since the start of the phase, what is being done


@dataclass(frozen=True)
class Run:
    """An `asv run` of one release in one environment.

    release : its tag
    environment : as -E takes it
    selection : what was asked for, as the pass's record has it
    cases : a regular expression on names and parameters
    attributes : of asv's benchmarks, such as {"rounds": 1}
    shard : the part of a greater run that it belongs to, as the pass's record has it
    """

    release: str
    environment: str
    selection: str
    cases: str
    attributes: Mapping[str, int]
    machine: str
    shard: str = ""


def measure(run: Run, config: Path, installing: Tell, measuring: Tell) -> None:
    """Measure, and add the samples to what is there. Raises TensorcopyError where a case failed or nothing could run.

    config : the asv.conf.json that says where results are
    installing, measuring : told as it goes
    """
    started, benchmarking = time.monotonic(), 0.0

    def read(line: str) -> None:
        nonlocal benchmarking
        if "· Benchmarking " in line:
            benchmarking = time.monotonic()
        percent = PERCENT.match(line)
        if not benchmarking:  # asv says nothing while it installs
            installing(0.0, time.monotonic() - started, "")
        elif percent:
            suite = SUITE.match(percent[2])
            measuring(float(percent[1]) / 100, time.monotonic() - benchmarking, suite[1] if suite else "")

    arguments = ["run", f"{run.release}^!", "--config", str(config), "-E", run.environment]
    arguments += ["--bench", run.cases, "--append-samples", "--machine", run.machine]
    for name, value in run.attributes.items():
        arguments += ["-a", f"{name}={value}"]
    if sys.platform != "linux":
        arguments += ["--launch-method", "spawn"]  # a forked process must not touch Apple's GPU, and Windows cannot fork
    code, lines = _run(arguments, read, {SELECTION: run.selection, SHARD: run.shard})
    if code != 0:
        raise _failure(f"asv run {run.release}^! failed", lines, next="the same asv run with --show-stderr tells why")


def publish() -> None:
    """`asv publish`. Raises TensorcopyError where asv fails; a damaged result file is for whoever reads the results to tell."""
    code, lines = _run(["publish"], lambda line: None, {})
    if code not in (0, 2):  # 2: all is written, but a result file could not be read
        raise _failure("asv publish failed", lines, next="asv publish --verbose tells why")


def _run(arguments: list[str], read: Callable[[str], None], variables: dict[str, str]) -> tuple[int, list[str]]:
    """asv's exit code and output; each line is handed to `read` as it comes, and "" after each second of silence."""
    environment = {**os.environ, **variables, "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "asv", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", env=environment
    ) as process:
        coming: Queue[str | None] = Queue()
        Thread(target=_hand_on, args=(process.stdout, coming), daemon=True).start()
        lines = []
        while True:
            try:
                line = coming.get(timeout=1.0)
            except Empty:
                read("")
                continue
            if line is None:
                break
            lines.append(line)
            read(line)
    return process.returncode, lines


def _hand_on(output: Iterable[str], coming: Queue[str | None]) -> None:
    for line in output:
        coming.put(line.rstrip())
    coming.put(None)


def _failure(what: str, lines: list[str], *, next: str) -> TensorcopyError:
    """Our own line where the plugin has ended with one; else what failed, or what was raised; else a line of ours, or asv's last words."""
    said = [line.split("· ", 1)[-1].strip() for line in lines if line.strip()]
    ours = [line for line in said if "; allowed: " in line and "; next: " in line]
    failed = [line.split(" ", 1)[0] for line in said if line.endswith("failed")]
    raised = [line for line in said if RAISED.match(line)]  # where the suites cannot even be imported
    if ours and (ours[-1] == said[-1] or not (failed or raised)):
        return Relayed(ours[-1])
    return TensorcopyError(
        what,
        got=f"failures in {', '.join(failed)}" if failed else raised[-1] if raised else " ".join(said[-2:]),
        allowed="every case measured, or skipped by name",
        next=next,
    )
