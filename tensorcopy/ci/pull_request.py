"""A pull request, measured and judged. Prints nothing.

Its base is compared with its head, and each torch release that it adds with the release before it. Both revisions use the same torch in the
same environment and take their passes interleaved, A B B A. A commit of tensorcopy measures itself, with its own suites, registry and
program into its own results, so that no time is filed under a name that only the other commit uses. The commits of a project are measured
by the installed tensorcopy, each in a clone: what differs is the project, its operations, its suite and its package.

Each change is measured again before it is reported. The result is a document (comparison.schema.json). A pull request's code has
run to write it, so `pr_comment` reads it as untrusted input.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

from tensorcopy import configuration
from tensorcopy.analysis import comparisons
from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.paired import FEWEST, MARGIN, Reason, Verdict
from tensorcopy.ci import git
from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import plan
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.progress import Progress, Reporter
from tensorcopy.releases import environments, release_table
from tensorcopy.releases.release_table import Release
from tensorcopy.report import formats, pr_comment
from tensorcopy.results import files, reader
from tensorcopy.results.reader import Result
from tensorcopy.worker import declarations

MEASURED = ("benchmarks/", "tensorcopy/", "asv.conf.json", "pyproject.toml")  # files that can change a time, or whether there is one
TABLE = "tensorcopy/releases.toml"
NOT_EXPORTED = ("results", "site", "docs", "tests")  # a revision measures itself without them
SIDES = ("base", "head")
MACHINE = "here"  # the machine's name in results that are read once
MAX_ROUNDS = 3  # times the requested passes, on a machine that is seldom quiet
MAX_LACKING = 0.1  # share of cases that may have too few quiet passes
PASS = 45.0  # seconds on two cores, until the pace is known
LAST_LINES = 3  # of the output of a failed pass
MAX_LINES, MAX_LENGTH = 20, 2000  # of a failed revision's output; the schema allows longer lines


@dataclass(frozen=True)
class PullRequest:
    """A pull request, and how to measure it.

    base, head : full SHAs; base is the last commit that both have in common
    passes : of each revision
    suites : a regular expression on asv's names; "" for all timed suites
    release : a version; "" for the newest in both tables that this machine can install
    interpreter : the Python whose torch is measured; "" to install one
    device : "cpu" for all cases, else only the cases on that device
    """

    base: str
    head: str
    passes: int
    suites: str = ""
    release: str = ""
    interpreter: str = ""
    device: str = "cpu"

    @property
    def selection(self) -> str:
        """A regular expression on asv's names for the suites on the device."""
        if self.device != "cpu":
            return plan.on_device(self.suites, self.device)
        return f"{plan.timed_suites()}.*(?:{self.suites})" if self.suites else plan.timed_suites()  # it is judged by times only


@dataclass(frozen=True)
class Revision:
    """The files of a commit, and the torch release that they measure.

    name : "base 1234abcd" or "torch 2.15.0", as the comment prints it
    sha : of the commit
    """

    name: str
    sha: str
    measurement: Measurement


@dataclass(frozen=True)
class RevisionPair:
    """Two revisions that differ in one thing.

    kind : "code" of this repository, or "release" of torch
    """

    kind: str
    before: Revision
    after: Revision


@dataclass
class PairResult:
    """The comparison of a pair.

    comparison : None if a revision has no result
    failures : error lines by the revision's name
    """

    pair: RevisionPair
    comparison: Comparison | None = None
    failures: dict[str, list[str]] = field(default_factory=dict)

    @property
    def slower(self) -> bool:
        """Whether a case is slower, both times that it was measured."""
        return self.comparison is not None and any(change.verdict is Verdict.SLOWER for change in self.comparison.changes.values())

    @property
    def compared(self) -> bool:
        """Whether at least one case was compared."""
        return self.comparison is not None and any(change.interval for change in self.comparison.changes.values())


@dataclass(frozen=True)
class RevisionPlace:
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
    """A revision in the place where it is measured."""

    revision: Revision
    place: RevisionPlace

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
        options = ["--passes", passes, "--machine", MACHINE, "--bench", suites]
        finished = subprocess.run(
            [sys.executable, "-m", "tensorcopy", "measure", *selection, *options],
            cwd=self.place.folder,
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


def pairs(request: PullRequest, paths: Paths) -> list[RevisionPair]:
    """Return the pairs to compare: base and head, and each release that only head's table has, with the one before it.

    Base and head are left out if nothing that is measured changed except the table, which a project does not have. Raises TensorcopyError
    if both are the same commit, if they cannot be compared, and if this machine can install no suitable torch.
    """
    commits = dict(zip(SIDES, (request.base, request.head), strict=True))
    if request.base == request.head:
        raise TensorcopyError(
            "there is nothing to compare",
            got=f"{request.head[:12]} for base and head",
            allowed="two commits",
            next="--base main --head HEAD",
        )
    release_pairs = []
    if declarations.project():
        _, below = git.place()
        for side, sha in commits.items():
            if not git.has(sha, f"{below}{declarations.FILE}"):
                raise TensorcopyError(
                    f"{side} has no project",
                    got=f"no {below}{declarations.FILE} in {sha[:8]}",
                    allowed="two commits of a project",
                    next=f"name a commit that has it: --{side} COMMIT",
                )
        if request.interpreter:
            packages = [_packages(place.folder) for place in places(request, paths, "measured")]
            if None not in packages and packages[0] != packages[1]:
                raise TensorcopyError(
                    "an interpreter cannot have the packages of two commits",
                    got="requires that differ, or that name a folder",
                    allowed="the same versions in both commits, such as einops==0.8",
                    next="leave out --interpreter",
                )
        releases: Sequence[Release] = release_table.load()
    else:
        base_table, head_table = (release_table.load(place.folder / TABLE) for place in places(request, paths, "measured"))
        known = {release.version for release in base_table}
        for consecutive in zip(head_table, head_table[1:], strict=False):
            if consecutive[1].version not in known:
                before, after = (
                    Revision(f"torch {release.version}", request.head, _measurement(request, paths, release)) for release in consecutive
                )
                release_pairs.append(RevisionPair("release", before, after))
        changed = [name for name in git.changed(request.base, request.head) if name.startswith(MEASURED) and name != TABLE]
        if release_pairs and not changed:
            return release_pairs
        releases = [release for release in base_table if release in head_table]
    if request.interpreter:
        measurement = plan.in_interpreter(request.interpreter, [request.release] if request.release else [])
    else:  # the newest release in both tables that this machine can install
        wanted = [release for release in reversed(releases) if request.release in ("", release.version)]
        usable = next(filter(None, (plan.installable(release, paths.pythons)[0] for release in wanted)), None)
        if usable is None:
            raise TensorcopyError(
                "base and head have no torch in common here",
                got=request.release or f"{len(releases)} releases in both tables, none of which this machine can install",
                allowed="a release in both tables, and a Python with its wheel",
                next="tensorcopy list releases lists them",
            )
        measurement = usable
    base, head = (Revision(f"{side} {sha[:8]}", sha, measurement) for side, sha in commits.items())
    return [RevisionPair("code", base, head), *release_pairs]


def _measurement(request: PullRequest, paths: Paths, release: Release) -> Measurement:
    """Return the measurement of a release that only head's table may have.

    Raises TensorcopyError if this machine cannot install it.
    """
    measurement, reason = plan.installable(release, paths.pythons)
    if measurement is None or request.interpreter:
        raise TensorcopyError(
            f"the new row of torch {release.version} cannot be measured here",
            got="an interpreter, which has only one torch" if request.interpreter else reason,
            allowed="a machine that can install it and the release before it",
            next="leave out --interpreter" if request.interpreter else f"uv python install {release.pythons[-1]}",
        )
    return measurement


def places(request: PullRequest, paths: Paths, stage: str) -> tuple[RevisionPlace, RevisionPlace]:
    """Return where base and head are measured for a stage of the measurement, with their files there."""
    selection = hashlib.sha256("\n".join([request.selection, request.release, request.interpreter]).encode()).hexdigest()
    root = paths.environments.parent / "pull-request" / f"{request.base[:12]}-{request.head[:12]}-{selection[:6]}"
    if declarations.project():
        return project_places(request.base, request.head, root, stage, paths.environments)
    return (
        exported(request.base, root / stage / "base", paths.environments),
        exported(request.head, root / stage / "head", paths.environments),
    )


def exported(sha: str, folder: Path, shared_environments: Path) -> RevisionPlace:
    """Write a commit's files into `folder`, where they measure themselves in the shared environments."""
    git.export(sha, folder, without=NOT_EXPORTED)
    _link_environments(folder, shared_environments)
    # all commits share bytecode: compiling torch anew for each takes as long as a pass
    return RevisionPlace(folder, folder / "results", {**environments.bytecode_in(shared_environments), "PYTHONPATH": str(folder)})


def project_places(base: str, head: str, root: Path, stage: str, shared_environments: Path) -> tuple[RevisionPlace, RevisionPlace]:
    """Return where base and head of a project are measured for a stage, each in a clone of the repository.

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
            _link_environments(folder, shared_environments)
        configuration.write_configuration(folder, folder / ".asv" / stage, folder / ".asv" / "env")
    variables = environments.bytecode_in(shared_environments)
    first, second = (RevisionPlace(folder, folder / ".asv" / stage, variables) for folder in folders)
    return first, second


def _link_environments(folder: Path, shared_environments: Path) -> None:
    """Let a folder use the shared environments."""
    link = folder / ".asv" / "env"
    shared_environments.mkdir(parents=True, exist_ok=True)  # first: the link may be there, and lead to a folder that was removed
    if not link.exists():
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(shared_environments, target_is_directory=True)


def _packages(folder: Path) -> list[str] | None:
    """Return what a project's environments need beside torch; None for an invalid project, whose measurement names the error."""
    try:
        declared = declarations.project_in(folder)
        of_operations = [
            package for operation in declarations.operations_of_file(folder / declarations.FILE) for package in operation.requires
        ]
    except (TensorcopyError, OSError):
        return None
    return [*of_operations, *(declared.requirements() if declared else ())]


def measure(
    folders: tuple[RevisionFolder, RevisionFolder],
    suites: str,
    passes: int,
    failures: dict[str, list[str]],
    report_progress: Callable[[Progress], None],
    title: str,
) -> tuple[Result, Result]:
    """Take `passes` passes of each revision, and up to three times as many while too few of them are quiet for a verdict.

    They are interleaved: A BB AA B. One process takes the two passes of a revision that follow each other; it identifies the torch, which
    it imports for that, once.

    failures : gets the error lines by the revision's name
    Raises NothingMeasured if a revision takes no pass, and TensorcopyError for an unreadable result.
    """
    for wanted in range(passes, MAX_ROUNDS * passes + 1, passes):
        order = list(plan.alternating([folder.pass_count for folder in folders], wanted))
        names = [f"{folders[index].revision.name}, {title}, pass {number} of {len(order)}" for number, index in enumerate(order, 1)]
        seconds: list[float] = []
        taken = 0
        for index, group in groupby(order):
            folder, more = folders[index], len(list(group))
            Reporter([(name, median(seconds) if seconds else PASS) for name in names], report_progress).at(taken)
            start, count = monotonic(), folder.pass_count
            lines = folder.take_passes(suites, more)
            if lines or folder.pass_count == count:
                known = failures.setdefault(folder.revision.name, [])
                known += [line for line in dict.fromkeys(lines or ["nothing was measured"]) if line not in known]
            if folder.pass_count == count:
                raise NothingMeasured
            seconds.append((monotonic() - start) / more)
            taken += more
        report_progress(Progress(f"{title}: judged", 1.0, 0.0))
        before, after = (folder.result() for folder in folders)
        timings = [(before.timings[case], after.timings[case]) for case in before.timings.keys() & after.timings.keys()]
        lacking = sum(min(len(first.usable), len(second.usable)) < FEWEST for first, second in timings)
        if lacking <= len(timings) * MAX_LACKING:
            break
    return before, after


def measure_and_judge(pair: RevisionPair, request: PullRequest, paths: Paths, report_progress: Callable[[Progress], None]) -> PairResult:
    """Measure a pair, compare it, and measure the changed cases again; a change that is not seen again is inconclusive.

    Passes of an interrupted run are used again.
    """
    result = PairResult(pair)

    def compared(stage: str, suites: str, title: str) -> Comparison:
        base, head = places(request, paths, stage)
        before, after = (RevisionFolder(each, base if each.sha == request.base else head) for each in (pair.before, pair.after))
        results = measure((before, after), suites, request.passes, result.failures, report_progress, title)
        return comparisons.between(*results, (), margin=MARGIN)

    try:
        first = compared("measured", request.selection, pair.kind)
        changed = [case for case, change in first.changes.items() if change.verdict in (Verdict.SLOWER, Verdict.FASTER)]
        # in other folders: its samples must not join those that chose its cases
        again = compared("again", plan.expression_of(changed), "changed cases again").changes if changed else {}
    except NothingMeasured:
        return result  # the reason is in result.failures
    changes = dict(first.changes)
    for case in changed:
        if case not in again or again[case].verdict is not changes[case].verdict:
            changes[case] = replace(changes[case], verdict=Verdict.INCONCLUSIVE, reason=Reason.NOT_CONFIRMED)
    result.comparison = replace(first, labels=(pair.before.name, pair.after.name), changes=changes)
    return result


def document(request: PullRequest, results: Sequence[PairResult]) -> dict[str, Any]:
    """Return all results as plain values, as comparison.schema.json describes them."""
    return {
        "version": 4,
        "base": request.base,
        "head": request.head,
        "device": request.device,
        "passes": request.passes,
        "pairs": [
            {
                "kind": result.pair.kind,
                "torch": [revision.measurement.release.version for revision in (result.pair.before, result.pair.after)],
                "comparison": pr_comment.admissible(formats.document(result.comparison)) if result.comparison else None,
                "failures": [
                    [name == result.pair.before.name, [line[:MAX_LENGTH] for line in lines[:MAX_LINES]]]
                    for name, lines in result.failures.items()
                ],
            }
            for result in results
        ],
    }


def exit_code(results: Sequence[PairResult]) -> int:
    """Return the exit code of the command.

    1 if a case is slower, 2 if a revision failed, 3 if a pair was not compared, else 0
    """
    if any(result.slower for result in results):
        return 1
    if any(result.failures for result in results):
        return 2
    return 0 if results and all(result.compared for result in results) else 3
