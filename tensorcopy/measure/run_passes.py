"""Passes: several short ones of each release, in random order over releases, each stored whole or not at all. Prints nothing.

asv measures a pass beside the results, on a copy of the one file it adds to. The file takes its place in results/ by one rename, with the
pass's record in it: whatever is interrupted, a pass is there once or not yet, and the same command goes on with those that are missing.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from time import monotonic

from tensorcopy.asv_plugin import program
from tensorcopy.asv_plugin.configuration import Paths, aside
from tensorcopy.asv_plugin.program import Tell
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure.plan import Measurement, Shard, groups, lacking, missing, passes_of
from tensorcopy.measure.progress import Progress, Stage, progress
from tensorcopy.releases import environments
from tensorcopy.results import files

# A pass is one process tree. What strays is the process, not its samples: beyond three, a pass's time buys more as another pass.
ONE_ROUND = {"rounds": 1, "repeat": 3}
INSTALL, PASS = 30.0, 60.0  # seconds on two cores, until the pace is known


@dataclass(frozen=True)
class Job:
    """What a pass is of, and where it goes.

    machine : its name in results
    suites : a regular expression on asv's names
    attributes : of asv's benchmarks
    shard : the part of a run that it belongs to
    """

    paths: Paths
    machine: str
    suites: str
    attributes: Mapping[str, int] = field(default_factory=lambda: ONE_ROUND)
    shard: Shard | None = None


def measure_all(
    measurements: Sequence[Measurement], job: Job, *, passes: int, room: int, random: Random, tell: Callable[[Progress], None]
) -> list[TensorcopyError]:
    """Bring every measurement up to `passes`, and return what went wrong on the way; the others are measured all the same.

    room : how many environments may be on the disk together; those of a finished group are removed where there is more than one
    """
    problems: list[TensorcopyError] = []
    divided = groups(measurements, room)
    for number, group in enumerate(divided):
        wanted = dict.fromkeys(group, passes)
        wanted[group[-1]] += number * passes  # the anchor is measured anew beside every group
        order = missing({one: lacking(one.file(job.paths, job.machine), job.suites, wanted[one], job.shard) for one in group}, random)
        problems += _one_group(order, job, tell)
        if len(divided) > 1:
            for one in group[:-1]:
                environments.remove(one.path(job.paths))
    return problems


def _one_group(order: Sequence[Measurement], job: Job, tell: Callable[[Progress], None]) -> Iterator[TensorcopyError]:
    """Passes one after the other; a measurement that fails is not tried again."""
    failed: set[Measurement] = set()
    paces: list[float] = []
    for current, one in enumerate(order):
        if one in failed:
            continue
        pace = median(paces) if paces else PASS
        steps = [Stage(_named(another), pace + (0 if another.is_installed(job.paths) else INSTALL)) for another in order]

        def told(share: float, elapsed: float, detail: str, current: int = current, steps: list[Stage] = steps) -> None:
            tell(progress(steps, current, share, elapsed, f", pass {current + 1} of {len(steps)}{detail and ': '}{detail}"))

        began, installed = monotonic(), one.is_installed(job.paths)
        there = passes_of(one.file(job.paths, job.machine), job.suites)
        try:
            one_pass(one, job, partial(_waited, told), told)
        except TensorcopyError as error:
            if passes_of(one.file(job.paths, job.machine), job.suites) == there:
                failed.add(one)  # nothing came of it; where only some case failed, the next pass is taken
            yield error
        if installed:
            paces.append(monotonic() - began)


def _named(one: Measurement) -> str:
    return f"torch {one.release.version} on Python {one.python}"


def _waited(told: Tell, share: float, elapsed: float, detail: str) -> None:
    """asv is silent while it installs and checks."""
    told(0.0, elapsed, "checking what is installed")


def one_pass(one: Measurement, job: Job, installing: Tell, measuring: Tell) -> None:
    """Measure, and put the result in its place whole. Raises TensorcopyError, also where only some cases failed: the others are stored."""
    with _alone(job.paths.environments.parent):
        _one_pass(one, job, installing, measuring)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one measurement run in a checkout at a time: two would disturb each other, and share the folder of the pass.

    The lock goes with its process, however that ends. Raises TensorcopyError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "measuring").open("w") as lock:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise TensorcopyError(
                    "something is being measured in this checkout", got="a lock that is held", allowed="one at a time", next="wait for it"
                ) from error
        yield


def _one_pass(one: Measurement, job: Job, installing: Tell, measuring: Tell) -> None:
    aside_folder = job.paths.environments.parent / "pass"
    shutil.rmtree(aside_folder, ignore_errors=True)
    target, config = one.file(job.paths, job.machine), aside(aside_folder)
    draft = aside_folder / "results" / job.machine / target.name
    draft.parent.mkdir(parents=True)
    for path in (target, target.with_name("machine.json")):
        if path.exists():
            shutil.copyfile(path, draft.with_name(path.name))
    known = files.records(target) if target.exists() else []
    cases = job.suites + (_without(known[-1]["ledger"]["accelerators"]) if known else "")
    try:
        program.measure(
            program.Run(one.release.tag, one.tool, job.suites, cases, job.attributes, job.machine, str(job.shard or "")),
            config,
            installing,
            measuring,
        )
    finally:
        if draft.exists() and len(files.records(draft)) > len(known):
            _put(draft.parents[1] / "benchmarks.json", job.paths.results / "benchmarks.json")
            _put(draft.with_name("machine.json"), target.with_name("machine.json"))
            _put(draft, target)  # last: it says that the pass is there
    if not draft.exists() or len(files.records(draft)) == len(known):
        raise TensorcopyError(
            f"nothing was stored of torch {one.release.version} on Python {one.python}",
            got="a run of asv without a number",
            allowed=f"suites that {job.suites!r} finds and that can run there",
            next=f"asv run {one.release.tag}^! -E {one.tool} --bench … --show-stderr shows why",
        )
    shutil.rmtree(aside_folder)


def _without(accelerators: Mapping[str, str]) -> str:
    """The end of a regular expression that leaves out what a pass before has found absent: a skipped case still costs a process."""
    absent = [device for device in ("cuda", "mps", "xpu") if device not in accelerators]
    return f"(?!.*'({'|'.join(absent)})')" if absent else ""


def _put(source: Path, target: Path) -> None:
    """Move a JSON file into its place at once, over what is there."""
    text = source.read_text(encoding="utf-8")
    if not target.exists() or json.loads(target.read_text(encoding="utf-8")) != json.loads(text):
        files.put(target, text)
