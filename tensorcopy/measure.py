"""Passes: several short ones of each release, in random order over releases, each stored whole or not at all. Prints nothing.

asv measures a pass beside the results, on a copy of the one file it adds to. The file takes its place in results/ by one rename, with the
pass's record in it: whatever is interrupted, a pass is there once or not yet, and the same command goes on with those that are missing.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from time import monotonic

from tensorcopy import documents, environments, releases, uv
from tensorcopy.asv_plugin import program
from tensorcopy.asv_plugin.configuration import Places, aside
from tensorcopy.asv_plugin.program import Tell
from tensorcopy.errors import TensorcopyError
from tensorcopy.progress import Progress, Step, progress
from tensorcopy.releases import Release

TIMED = "^(?!article|memory|instructions)"  # what changes from pass to pass; the article's own grid repeats copies by size more finely
ONE_ROUND = {"rounds": 1}  # a pass is one process tree
INSTALL, PASS = 30.0, 60.0  # seconds on two cores, until the pace is known


@dataclass(frozen=True)
class Measurement:
    """A release to be measured on one of this machine's Pythons."""

    release: Release
    python: str

    @property
    def environment(self) -> str:
        return environments.name(self.python, environments.expected_build())

    def file(self, places: Places, machine: str) -> Path:
        """Its result, as asv names it."""
        return places.results / machine / f"{self.release.sha[:8]}-{self.environment}.json"

    def path(self, places: Places) -> Path:
        """Its environment."""
        return environments.path_of(places.environments, self.release, self.python, environments.expected_build())


def selected(wanted: Sequence[str], pythons: tuple[str, ...], *, newest_first: bool = False) -> tuple[list[Measurement], list[str]]:
    """What "2.10.." or "..2.0.1@3.9" name, and a line for each release that this machine cannot install. Raises TensorcopyError.

    pythons : preferred in their order where no @PYTHON says which
    """
    found, left_out = [], []
    for text in wanted or [".."]:
        chosen, at, python = text.partition("@")
        if at and not re.fullmatch(r"3\.\d+", python):
            raise TensorcopyError("unknown Python", got=repr(text), allowed="RANGE@3.9 and the like", next=f"{chosen}@{pythons[-1]}")
        for release in sorted(releases.select(chosen), key=releases.load().index, reverse=newest_first):
            asked = [python] if python else list(pythons)
            reason = environments.why_not(release, asked)
            if reason:
                left_out.append(f"torch {release.version} is skipped: {reason}")
            else:
                found.append(Measurement(release, next(one for one in asked if release.runs_on(one) and uv.find_python(one))))
    if not found:
        raise TensorcopyError(
            "nothing can be measured here",
            got=left_out[0],
            allowed="a release that `tensorcopy releases` shows as installable",
            next="uv python install with one of its Pythons",
        )
    return list(dict.fromkeys(found)), left_out


def groups(measurements: Sequence[Measurement], room: int) -> list[list[Measurement]]:
    """Measurements of which at most `room` environments are on the disk together, the newest in every group: by it the groups compare."""
    if len(measurements) <= room:
        return [list(measurements)]
    *others, anchor = measurements
    return [[*others[start : start + room - 1], anchor] for start in range(0, len(others), room - 1)]


def missing(group: Sequence[Measurement], there: Mapping[Measurement, int], passes: int, random: Random) -> list[Measurement]:
    """The passes that a group still lacks, in order: round by round, each round in random order, the least measured first.

    there : how many passes each has; passes : how many each wants
    """
    order = []
    for number in range(passes):
        lacking = [measurement for measurement in group if there.get(measurement, 0) <= number]
        random.shuffle(lacking)
        order += lacking
    return order


def passes_of(path: Path, suites: str) -> int:
    """How many passes with this selection of suites a result file has, of the suites as benchmarks.json beside it knows them, and without
    those that are left out.

    Raises TensorcopyError for a damaged one.
    """
    if not path.exists():
        return 0
    versions = documents.versions(path.parents[1])
    return sum(
        record["selection"] == suites
        and not record.get("left_out")
        and any(row["version"] == versions.get(suite) for suite, row in record["suites"].items())
        for record in documents.records(path)
    )


def run(
    measurements: Sequence[Measurement],
    places: Places,
    machine: str,
    *,
    passes: int,
    suites: str,
    room: int,
    random: Random,
    tell: Callable[[Progress], None],
) -> list[TensorcopyError]:
    """Bring every measurement up to `passes`, and return what went wrong on the way; the others are measured all the same.

    suites : a regular expression on asv's names
    room : how many environments may be on the disk together; those of a finished group are removed where there is more than one
    """
    problems: list[TensorcopyError] = []
    divided = groups(measurements, room)
    for number, group in enumerate(divided):
        there = {one: passes_of(one.file(places, machine), suites) for one in group}
        if len(divided) > 1:
            there[group[-1]] -= number * passes  # the anchor is measured anew beside every group
        problems += _one_group(missing(group, there, passes, random), _Job(places, machine, suites, ONE_ROUND), tell)
        if len(divided) > 1:
            for one in group[:-1]:
                environments.remove(one.path(places))
    return problems


@dataclass(frozen=True)
class _Job:
    places: Places
    machine: str
    suites: str
    attributes: dict[str, int]


def _one_group(order: Sequence[Measurement], job: _Job, tell: Callable[[Progress], None]) -> Iterator[TensorcopyError]:
    """Passes one after the other; a measurement that fails is not tried again."""
    failed: set[Measurement] = set()
    paces: list[float] = []
    for current, one in enumerate(order):
        if one in failed:
            continue
        pace = median(paces) if paces else PASS
        steps = [Step(_named(another), pace + (0 if environments.is_complete(another.path(job.places)) else INSTALL)) for another in order]

        def told(share: float, elapsed: float, detail: str, current: int = current, steps: list[Step] = steps) -> None:
            tell(progress(steps, current, share, elapsed, f", pass {current + 1} of {len(steps)}{detail and ': '}{detail}"))

        began, installed = monotonic(), environments.is_complete(one.path(job.places))
        there = passes_of(one.file(job.places, job.machine), job.suites)
        try:
            one_pass(one, job.places, job.machine, job.suites, job.attributes, partial(_waited, told), told)
        except TensorcopyError as error:
            if passes_of(one.file(job.places, job.machine), job.suites) == there:
                failed.add(one)  # nothing came of it; where only some case failed, the next pass is taken
            yield error
        if installed:
            paces.append(monotonic() - began)


def _named(one: Measurement) -> str:
    return f"torch {one.release.version} on Python {one.python}"


def _waited(told: Tell, share: float, elapsed: float, detail: str) -> None:
    """asv is silent while it installs and checks."""
    told(0.0, elapsed, "checking what is installed")


def one_pass(
    one: Measurement, places: Places, machine: str, suites: str, attributes: dict[str, int], installing: Tell, measuring: Tell
) -> None:
    """Measure, and put the result in its place whole. Raises TensorcopyError, also where only some cases failed: the others are stored."""
    with _alone(places.environments.parent):
        _one_pass(one, places, machine, suites, attributes, installing, measuring)


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


def _one_pass(
    one: Measurement, places: Places, machine: str, suites: str, attributes: dict[str, int], installing: Tell, measuring: Tell
) -> None:
    aside_folder = places.environments.parent / "pass"
    shutil.rmtree(aside_folder, ignore_errors=True)
    target, config = one.file(places, machine), aside(aside_folder)
    draft = aside_folder / "results" / machine / target.name
    draft.parent.mkdir(parents=True)
    for path in (target, target.with_name("machine.json")):
        if path.exists():
            shutil.copyfile(path, draft.with_name(path.name))
    known = documents.records(target) if target.exists() else []
    cases = suites + (_without(known[-1]["ledger"]["accelerators"]) if known else "")
    try:
        program.measure(one.release.tag, f"release:{one.python}", suites, cases, attributes, machine, config, installing, measuring)
    finally:
        if draft.exists() and len(documents.records(draft)) > len(known):
            _put(draft.parents[1] / "benchmarks.json", places.results / "benchmarks.json")
            _put(draft.with_name("machine.json"), target.with_name("machine.json"))
            _put(draft, target)  # last: it says that the pass is there
    if not draft.exists() or len(documents.records(draft)) == len(known):
        raise TensorcopyError(
            f"nothing was stored of torch {one.release.version} on Python {one.python}",
            got="a run of asv without a number",
            allowed=f"suites that {suites!r} finds and that can run there",
            next=f"asv run {one.release.tag}^! -E release:{one.python} --bench … --show-stderr shows why",
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
        documents.put(target, text)
