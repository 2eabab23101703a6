"""Commits of this repository, each in a folder where it measures itself.

A revision measures with its own suites, registry and program into its own results, so that no time is filed under a name that only the
other revision uses. Both use the same torch in the same environment and take their passes interleaved, A B B A.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import median
from time import monotonic

from tensorcopy.analysis.two_sample import FEWEST
from tensorcopy.asv_plugin import configuration
from tensorcopy.ci import git
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import plan
from tensorcopy.measure.run_passes import Progress, Reporter, Stage
from tensorcopy.releases import environments
from tensorcopy.results import files, reader
from tensorcopy.results.reader import Result
from tensorcopy.worker import operations, project

MACHINE = "here"  # the machine's name in results that are read once
NOT_EXPORTED = ("results", "site", "docs", "tests")  # a revision measures itself without them
MAX_ROUNDS = 3  # times the requested passes, on a machine that is seldom quiet
MAY_LACK = 0.1  # share of cases that may have too few quiet passes
PASS = 45.0  # seconds on two cores, until the pace is known
LAST_LINES = 3  # of the output of a failed pass

ReportProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class Revision:
    """The files of a commit, and the torch release that they measure.

    name : "base 1234abcd" or "torch 2.15.0", as the comment prints it
    sha : of the commit
    """

    name: str
    sha: str
    measurement: plan.Measurement


@dataclass(frozen=True)
class Place:
    """Where a revision is measured.

    folder : in which the program runs
    results : where it stores its passes
    variables : additional environment variables of its processes
    """

    folder: Path
    results: Path
    variables: Mapping[str, str] = field(default_factory=dict)


class NothingMeasured(Exception):
    """A revision took no pass."""


@dataclass(frozen=True)
class RevisionFolder:
    """A revision in the folder where it is measured."""

    revision: Revision
    place: Place

    @property
    def folder(self) -> Path:
        """The folder in which its program runs."""
        return self.place.folder

    @property
    def result_path(self) -> Path:
        """The result file that the revision writes."""
        measurement = self.revision.measurement
        return self.place.results / MACHINE / f"{measurement.release.sha[:8]}-{measurement.environment}.json"

    @property
    def pass_count(self) -> int:
        """The number of passes in the result file."""
        return len(files.records(self.result_path)) if self.result_path.exists() else 0

    def take_passes(self, suites: str, more: int) -> list[str]:
        """Take so many more passes. Return the last lines of the errors, or an empty list."""
        measurement = self.revision.measurement
        release = f"{measurement.release.version}@{measurement.python}"
        selection = ["--interpreter", measurement.interpreter] if measurement.interpreter else [release]
        passes = str(plan.count_passes(self.result_path, suites) + more)
        command = [
            sys.executable,
            "-m",
            "tensorcopy.cli",
            "measure",
            *selection,
            "--passes",
            passes,
            "--machine",
            MACHINE,
            "--bench",
            suites,
        ]
        finished = subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, **self.place.variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if finished.returncode == 0:
            return []
        lines = [line.strip() for line in finished.stderr.splitlines() if line.strip()]
        return lines[-LAST_LINES:] or [f"exit code {finished.returncode}"]

    def result(self) -> Result:
        """Read the measured result. Raises TensorcopyError for an unreadable one."""
        results = reader.load_results(self.place.results)
        for result in results.results:
            if result.path == self.result_path:
                return result
        if results.problems:
            raise results.problems[0]
        raise TensorcopyError(
            "a revision's result file is missing",
            got=f"no {self.result_path}",
            allowed="the file that its measurement wrote",
            next="run the same command again",
        )


Folders = tuple[RevisionFolder, RevisionFolder]


def export(sha: str, folder: Path, shared_environments: Path) -> Place:
    """Write a commit's files into `folder`, where they measure themselves in the shared environments."""
    git.export(sha, folder, without=NOT_EXPORTED)
    link_environments(folder, shared_environments)
    return Place(folder, folder / "results", {**bytecode(shared_environments), "PYTHONPATH": str(folder)})


def bytecode(shared_environments: Path) -> dict[str, str]:
    """Return environment variables by which all commits share bytecode: compiling torch anew for each takes as long as a pass."""
    return environments.bytecode_in(shared_environments)


def link_environments(folder: Path, shared_environments: Path) -> None:
    """Let a folder use the shared environments."""
    link = folder / ".asv" / "env"
    shared_environments.mkdir(parents=True, exist_ok=True)  # first: the link may be there, and lead to a folder that was removed
    if not link.exists():
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(shared_environments, target_is_directory=True)


def measure(
    folders: Folders, suites: str, passes: int, failures: dict[str, list[str]], report_progress: ReportProgress, title: str
) -> tuple[Result, Result]:
    """Take `passes` passes of each revision, and up to three times as many.

    More passes are taken while the machine is not quiet.

    failures : gets the error lines by the revision's name
    Raises NothingMeasured if a revision takes no pass, and TensorcopyError for an unreadable result.
    """
    for wanted in range(passes, MAX_ROUNDS * passes + 1, passes):
        _take_passes(folders, suites, wanted, failures, report_progress, title)
        before, after = (folder.result() for folder in folders)
        if _enough_quiet_passes(before, after):
            break
    return before, after


def _enough_quiet_passes(before: Result, after: Result) -> bool:
    """Return whether most cases have the passes that a verdict needs."""
    pairs = [(before.timings[case], after.timings[case]) for case in before.timings.keys() & after.timings.keys()]
    lacking = sum(min(len(first.usable), len(second.usable)) < FEWEST for first, second in pairs)
    return lacking <= len(pairs) * MAY_LACK


def _take_passes(
    folders: Folders, suites: str, passes: int, failures: dict[str, list[str]], report_progress: ReportProgress, title: str
) -> None:
    """Bring both revisions up to `passes` passes, interleaved: A BB AA B.

    One process takes the two passes of a revision that follow each other; it identifies the torch, which it imports for that, once.
    """
    order = list(plan.alternating([folder.pass_count for folder in folders], passes))
    names = [f"{folders[index].revision.name}, {title}, pass {number} of {len(order)}" for number, index in enumerate(order, 1)]
    seconds: list[float] = []
    taken = 0
    for index, group in groupby(order):
        more = len(list(group))
        Reporter([Stage(name, median(seconds) if seconds else PASS) for name in names], report_progress).at(taken)
        start = monotonic()
        _take_more(folders[index], suites, more, failures)
        seconds.append((monotonic() - start) / more)
        taken += more
    report_progress(Progress(f"{title}: judged", 1.0, 0.0))


def _take_more(folder: RevisionFolder, suites: str, more: int, failures: dict[str, list[str]]) -> None:
    before, name = folder.pass_count, folder.revision.name
    for line in folder.take_passes(suites, more):
        if line not in failures.setdefault(name, []):
            failures[name].append(line)
    if folder.pass_count == before:
        failures.setdefault(name, ["nothing was measured"])
        raise NothingMeasured


SIDES = ("base", "head")


def refuse_without_project(base: str, head: str) -> None:
    """Raise TensorcopyError if a commit lacks the tensorcopy.toml of the current folder."""
    _, below = git.place()
    for side, sha in zip(SIDES, (base, head)):
        if not git.has(sha, f"{below}{operations.FILE}"):
            raise TensorcopyError(
                f"{side} has no project",
                got=f"no {below}{operations.FILE} in {sha[:8]}",
                allowed="two commits of a project",
                next=f"name a commit that has it: --{side} COMMIT",
            )


def project_places(base: str, head: str, root: Path, stage: str, shared_environments: Path) -> tuple[Place, Place]:
    """Return where base and head are measured for a stage, with their files there.

    They use the shared environments, unless they need different packages: then each has its own.

    root : the folder of both clones
    stage : the name of the folders of results
    """
    _, below = git.place()
    for side, sha in zip(SIDES, (base, head)):
        git.clone(sha, root / side)
    folders = [root / side / below for side in SIDES]
    packages_of_base, packages_of_head = map(_packages, folders)
    for folder in folders:
        if packages_of_base == packages_of_head:
            link_environments(folder, shared_environments)
        configuration.write_configuration(folder, folder / ".asv" / stage, folder / ".asv" / "env")
    variables = bytecode(shared_environments)
    first, second = (Place(folder, folder / ".asv" / stage, variables) for folder in folders)
    return first, second


def refuse_other_packages(measured: Sequence[Place]) -> None:
    """Raise TensorcopyError if the commits need different packages, or a folder of their own: an interpreter has one version for both."""
    base, head = (_packages(place.folder) for place in measured)
    if base is not None and head is not None and base != head:
        raise TensorcopyError(
            "an interpreter cannot have the packages of two commits",
            got="requires that differ, or that name a folder",
            allowed="the same versions in both commits, such as einops==0.8",
            next="leave out --interpreter",
        )


def _packages(folder: Path) -> list[str] | None:
    """Return what a project's environments need beside torch; None for an invalid project, whose measurement names the error."""
    try:
        declared = project.declared_in(folder)
        of_operations = [package for operation in operations.of_file(folder / operations.FILE) for package in operation.requires]
    except (TensorcopyError, OSError):
        return None
    return [*of_operations, *(declared.requirements() if declared else ())]
