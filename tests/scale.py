"""How long publishing takes: `python -m tests.scale --machines 20` prints seconds, megabytes and memory.

The results of every machine are made from the shipped ones with noise, and `asv publish` runs on them as on any others.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
SHIPPED = ROOT / "results" / "xeon-2core"
BETWEEN_MACHINES = 0.2  # standard deviation of the logarithm of a machine's speed
BETWEEN_SAMPLES = 0.01  # the same of a sample
PAUSE = 30  # times as long as reading the memory took, so that reading takes hardly any time from what is measured


@dataclass(frozen=True)
class Published:
    """A site and what it took to write it.

    seconds : of the clock; processor : seconds of all processes together
    memory : of all processes together at the worst moment, in bytes; pages that they share count once
    written : bytes
    """

    files: int
    seconds: float
    processor: float
    memory: int
    written: int

    def __str__(self) -> str:
        return (
            f"{self.files} files: {self.seconds:.1f} s ({self.processor:.1f} s of processors), "
            f"{self.written / 1e6:.1f} MB, {self.memory / 1e6:.0f} MB of memory"
        )


def write_results(folder: Path, machines: int, files: int = 1_000) -> None:
    """Write the shipped results of so many machines, each with its own speed and noise.

    files : of each machine, at most
    """
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(SHIPPED.parent / "benchmarks.json", folder)
    shipped = {path.name: path.read_text(encoding="utf-8") for path in sorted(SHIPPED.glob("*-*.json"))[-files:]}
    machine = json.loads((SHIPPED / "machine.json").read_text(encoding="utf-8"))
    for number in range(machines):
        generator, name = random.Random(number), f"machine-{number:02}"
        speed = generator.lognormvariate(0, BETWEEN_MACHINES) if number else 1.0
        (folder / name).mkdir()
        (folder / name / "machine.json").write_text(json.dumps({**machine, "machine": name}), encoding="utf-8")
        for file, text in shipped.items():
            document = _on_another_machine(json.loads(text), name, speed, generator)
            (folder / name / file).write_text(json.dumps(document), encoding="utf-8")


def _on_another_machine(document: dict[str, Any], machine: str, speed: float, generator: random.Random) -> dict[str, Any]:
    document["params"]["machine"] = machine
    result, samples = (document["result_columns"].index(column) for column in ("result", "samples"))
    for row in document["results"].values():
        if len(row) > samples and row[samples]:
            row[samples] = [times and _noisy(times, speed, generator) for times in row[samples]]
            row[result] = [median(times) if times else value for times, value in zip(row[samples], row[result])]
    for record in document["passes"]:
        record["id"] += f"-{machine}"
    for provenance in (document["ledger"], *(record["ledger"] for record in document["passes"])):
        provenance["cpu"] += f" of {machine}"
        provenance["identity"] = sha256(machine.encode()).hexdigest()[:12]
    return document


def _noisy(times: list[float], speed: float, generator: random.Random) -> list[float]:
    return [float(f"{time * speed * generator.lognormvariate(0, BETWEEN_SAMPLES):.5g}") for time in times]


def publish(checkout: Path) -> Published:
    """Run `asv publish` in a folder with asv.conf.json, and measure it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    begin, before = time.perf_counter(), os.times()
    process = subprocess.Popen([sys.executable, "-m", "asv", "publish"], cwd=checkout, env=environment, stdout=subprocess.DEVNULL)
    watch = _Watch(process.pid)
    watch.start()
    if process.wait():
        raise SystemExit(f"asv publish ended with {process.returncode}")
    watch.join()
    after = os.times()
    site = [path.stat().st_size for path in (checkout / "site").rglob("*") if path.is_file()]
    return Published(
        files=len(list((checkout / "results").glob("*/*-*.json"))),
        seconds=time.perf_counter() - begin,
        processor=after.children_user + after.children_system - before.children_user - before.children_system,
        memory=watch.most,
        written=sum(site),
    )


class _Watch(threading.Thread):
    """Read the memory of a process and its children while it runs; on Linux only."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.most = pid, 0

    def run(self) -> None:
        """Read until the process has ended, and wait longest where the kernel takes long to answer."""
        begin = time.perf_counter()
        while memory := sum(_proportional(pid) for pid in _tree(self.pid)):
            self.most = max(self.most, memory)
            time.sleep(max(0.2, PAUSE * (time.perf_counter() - begin)))
            begin = time.perf_counter()


def _tree(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    except OSError:
        return [pid]
    return [pid, *(descendant for child in children for descendant in _tree(int(child)))]


def _proportional(pid: int) -> int:
    """Return the memory of a process in bytes; a page that n processes share counts as an n-th."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:"))


def measure(folder: Path, machines: int, files: int = 1_000) -> Published:
    """Publish the results of so many machines in a new folder."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "asv.conf.json", folder)
    shutil.copytree(ROOT / "docs", folder / "docs", dirs_exist_ok=True)
    write_results(folder / "results", machines, files)
    return publish(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, nargs="+", default=[1, 5, 20], help="how many, one after another")
    parser.add_argument("--files", type=int, default=26, help="of each machine, at most")
    options = parser.parse_args()
    for count in options.machines:
        with tempfile.TemporaryDirectory() as temporary:
            sys.stdout.write(f"{count} machines, {measure(Path(temporary), count, options.files)}\n")
            sys.stdout.flush()
