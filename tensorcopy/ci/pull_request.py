"""A pull request, measured and judged. Prints nothing.

Its base is compared with its head, and each torch release that it adds with the release before it. The two sides take turns in launches:
two revisions under the same torch, or two releases under head's code. A commit of tensorcopy times its own suites with its own registry.
The commits of a project are timed by this tensorcopy, each in a clone: what differs is the project, its operations, its suite and its
package.

Launches are judged at a few fixed numbers of them. A case that is decided takes part in no further one, so most pull requests need only the
first few. Launches of an interrupted run are used again. The result is a document (comparison.schema.json). A pull request's code has run
to write it, so `pr_comment` reads it as untrusted input.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

from tensorcopy.analysis import comparisons, looks, paired
from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.paired import Verdict
from tensorcopy.ci import git
from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import launch, plan
from tensorcopy.measure.launch import Side
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.progress import Progress
from tensorcopy.releases import interpreters, release_table
from tensorcopy.releases.environments import Environment
from tensorcopy.releases.release_table import Release
from tensorcopy.report import formats, pr_comment
from tensorcopy.results import launches, reader
from tensorcopy.results.cases import Case
from tensorcopy.results.reader import Result
from tensorcopy.worker import declarations

MEASURED = ("benchmarks/", "tensorcopy/", "asv.conf.json", "pyproject.toml")  # files that can change a time, or whether there is one
TABLE = "tensorcopy/releases.toml"
NOT_EXPORTED = ("results", "site", "docs", "tests")  # a revision is measured without them
SIDES = ("base", "head")
CODE, RELEASE = "code", "release"  # kinds of pairs
MACHINE = "here"  # the machine's name in results that are read once
LOOKS = (4, 8, 16)  # launches after which is judged: four decide what is clear, sixteen halve their intervals
# The smallest change to report. Two releases with equal instructions differ by 2 to 3 % through the layout of torch's binary. Two revisions
# run the same binary: what is left is the layout of processes, which launches draw anew and intervals show.
MARGINS = {CODE: 0.02, RELEASE: paired.MARGIN}
MAX_LINES, MAX_LENGTH = 20, 2000  # of a failed revision's errors; the schema allows longer lines


@dataclass(frozen=True)
class PullRequest:
    """A pull request, and how to measure it.

    base, head : full SHAs; base is the last commit that both have in common
    launches : at most, of a pair
    suites : a regular expression on asv's names; "" for every timed case
    release : a version; "" for the newest in both tables that this machine can install
    interpreter : the Python whose torch is measured; "" to install one
    device : "cpu" for all cases, else only the cases on that device
    """

    base: str
    head: str
    launches: int = LOOKS[-1]
    suites: str = ""
    release: str = ""
    interpreter: str = ""
    device: str = "cpu"

    @property
    def selection(self) -> str:
        """A regular expression on asv's names for the suites on the device."""
        return plan.on_device(self.suites, self.device) if self.device != "cpu" else self.suites

    @property
    def looks(self) -> tuple[int, ...]:
        """The numbers of launches after which is judged."""
        return (*(look for look in LOOKS if look < self.launches), self.launches)


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

    kind : `CODE` of this repository, or `RELEASE` of torch
    """

    kind: str
    before: Revision
    after: Revision

    @property
    def revisions(self) -> tuple[Revision, Revision]:
        """Both, in their order."""
        return self.before, self.after


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
        """Whether a case is slower."""
        return self.comparison is not None and any(change.verdict is Verdict.SLOWER for change in self.comparison.changes.values())

    @property
    def compared(self) -> bool:
        """Whether at least one case was compared."""
        return self.comparison is not None and any(change.interval for change in self.comparison.changes.values())


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
            packages = [_packages(folder) for folder in checkouts(request, paths).values()]
            if None not in packages and packages[0] != packages[1]:
                raise TensorcopyError(
                    "an interpreter cannot have the packages of two commits",
                    got="requires that differ, or that name a folder",
                    allowed="the same versions in both commits, such as einops==0.8",
                    next="leave out --interpreter",
                )
        releases: Sequence[Release] = release_table.load()
    else:
        base_table, head_table = (release_table.load(folder / TABLE) for folder in checkouts(request, paths).values())
        known = {release.version for release in base_table}
        for consecutive in zip(head_table, head_table[1:], strict=False):
            if consecutive[1].version not in known:
                before, after = (
                    Revision(f"torch {release.version}", request.head, _measurement(request, paths, release)) for release in consecutive
                )
                release_pairs.append(RevisionPair(RELEASE, before, after))
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
    return [RevisionPair(CODE, base, head), *release_pairs]


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


def checkouts(request: PullRequest, paths: Paths) -> dict[str, Path]:
    """Return the folder with the files of base and that of head, by SHA. A project is cloned with its repository."""
    root, commits = _root(request, paths), dict(zip((request.base, request.head), SIDES))
    if not declarations.project():
        for sha, name in commits.items():
            git.export(sha, root / name, without=NOT_EXPORTED)
        return {sha: root / name for sha, name in commits.items()}
    _, below = git.place()
    for sha, name in commits.items():
        git.clone(sha, root / name)
    return {sha: root / name / below for sha, name in commits.items()}


def _root(request: PullRequest, paths: Paths) -> Path:
    return paths.environments.parent / "pull-request" / f"{request.base[:12]}-{request.head[:12]}"


def results_of(pair: RevisionPair, request: PullRequest, paths: Paths) -> Path:
    """Return the folder of a pair's launches, which are not of the published history."""
    measured = "\n".join([request.selection, *(f"{each.sha} {each.measurement}" for each in pair.revisions)])
    return _root(request, paths) / f"results-{hashlib.sha256(measured.encode()).hexdigest()[:8]}"


def side(revision: Revision, request: PullRequest, paths: Paths) -> Side:
    """Return a revision as a side of launches, with its environment, which is installed where it is missing.

    Raises TensorcopyError for a commit that declares something invalid, and for an environment that cannot be made.
    """
    folders = checkouts(request, paths)
    folder, measurement = folders[revision.sha], revision.measurement
    with declarations.in_folder(folder):
        if declarations.project():
            own = own_paths(folder, folders.values(), paths)
            return replace(measurement.side(_opened(measurement, own), own), revision=revision.sha)
    made = measurement.side(_opened(measurement, paths), paths)
    search_path = os.pathsep.join([str(folder), made.variables["PYTHONPATH"]])  # its own tensorcopy first
    variables = {**made.variables, **dict.fromkeys(interpreters.SEARCH_PATHS, search_path)}
    variables.pop(declarations.VARIABLE, None)  # it declares its own
    return replace(made, suites=folder / "benchmarks", variables=variables, revision=revision.sha)


@cache  # both commits of tensorcopy use one
def _opened(measurement: Measurement, paths: Paths) -> Environment:
    return measurement.opened(paths)


def own_paths(folder: Path, folders: Iterable[Path], paths: Paths) -> Paths:
    """Return the paths of a project's commit: it uses the environments of `paths`, unless base and head need different packages.

    folder : of the commit; folders : of both
    """
    link = folder / ".asv" / "env"
    needs = [_packages(each) for each in folders]
    if needs[0] == needs[1]:
        paths.environments.mkdir(parents=True, exist_ok=True)  # first: the link may be there, and lead to a folder that was removed
        if not link.exists():
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(paths.environments, target_is_directory=True)
    return replace(paths, environments=link)


def _packages(folder: Path) -> list[str] | None:
    """Return what a project's environments need beside torch; None for an invalid project, whose side names the error."""
    try:
        declared = declarations.project_in(folder)
        of_operations = [
            package for operation in declarations.operations_of_file(folder / declarations.FILE) for package in operation.requires
        ]
    except (TensorcopyError, OSError):
        return None
    return [*of_operations, *(declared.requirements() if declared else ())]


def measure_and_judge(
    pair: RevisionPair, request: PullRequest, paths: Paths, until: float, report_progress: Callable[[Progress], None]
) -> PairResult:
    """Take launches of a pair until every case is decided, the last look is over or the time is; return their comparison.

    until : when no further case begins, on the clock of `time.monotonic`
    """
    result, results, sides = PairResult(pair), results_of(pair, request, paths), list[Side]()
    for revision in pair.revisions:
        try:
            sides.append(side(revision, request, paths))
        except TensorcopyError as error:
            result.failures[revision.name] = [_line(error)]
    if result.failures:
        return result
    if len({each.prefix and each.prefix.resolve() for each in sides}) == 1:
        sides = [replace(each, prefix=None) for each in sides]  # what the page cache does with one torch, it does to both

    def take(selection: str, number: int) -> bool:
        if monotonic() > until:
            return False
        report_case = _reporter(f"{pair.kind}, launch {number} of at most {request.launches}", report_progress)
        try:
            launches.write(results, launch.take(sides, MACHINE, selection=selection, until=until, report_case=report_case))
        except launch.SideFailed as error:
            result.failures[pair.revisions[sides.index(error.side)].name] = [f"the suites cannot be imported: {error.got}"]
        except TensorcopyError as error:
            if number == 1 and monotonic() < until:  # later, what is undecided fails now
                result.failures[pair.after.name] = [_line(error)]
        else:
            return True
        return False

    result.comparison = judged(pair, request, results, take)
    if result.comparison:
        for revision, measured in zip(pair.revisions, (result.comparison.before, result.comparison.after)):
            lines = [*result.failures.get(revision.name, ()), *failure_lines(measured)]
            result.failures.update({revision.name: lines} if lines else {})
    return result


def judged(pair: RevisionPair, request: PullRequest, results: Path, take: Callable[[str, int], bool]) -> Comparison | None:
    """Return the comparison of a pair after as many looks as it needs; None without a launch.

    take : adds a launch of a selection to `results`, given its number; returns whether there may be more
    """

    def take_until(look: int, cases: Sequence[Case]) -> bool:
        selection = plan.expression_of(cases) if cases else request.selection
        there = len([*results.glob(f"{MACHINE}/*.json")])
        return all(take(selection, number) for number in range(there + 1, look + 1))

    return looks.judge(request.looks, take_until, lambda alpha: compared(results, pair, alpha))


def _line(error: TensorcopyError) -> str:
    return f"{error.what}: {error.got}"


def _reporter(title: str, report_progress: Callable[[Progress], None]) -> launch.ReportCase:
    """Return a function that reports the progress of a launch."""
    start = monotonic()

    def report_case(done: int, of: int, suite: str) -> None:
        remaining = (monotonic() - start) / done * (of - done) if done else 0.0
        report_progress(Progress(f"{title}: {suite}", done / of, remaining))

    return report_case


def compared(results: Path, pair: RevisionPair, alpha: float) -> Comparison | None:
    """Return the comparison of a pair by its launches; None without any. Raises TensorcopyError for a damaged one."""
    loaded = reader.load_results(results)
    by_side = {(each.sha, each.revision): each for each in loaded.results}
    found = [by_side.get((each.measurement.release.sha, each.sha)) for each in pair.revisions]
    if found[0] is None or found[1] is None:
        if loaded.problems:
            raise loaded.problems[0]
        return None
    judged = comparisons.between(found[0], found[1], margin=MARGINS[pair.kind], alpha=alpha)
    return replace(judged, labels=(pair.before.name, pair.after.name))


def failure_lines(result: Result) -> list[str]:
    """Return each error of a result's cases once, with the first case that raised it."""
    by_text: dict[str, list[str]] = {}
    for case, text in result.failures.items():
        by_text.setdefault(text, []).append(comparisons.case_name(case))
    return [f"{names[0]}{f' and {len(names) - 1} more' if names[1:] else ''}: {text}" for text, names in by_text.items()]


def document(request: PullRequest, results: Sequence[PairResult]) -> dict[str, Any]:
    """Return all results as plain values, as comparison.schema.json describes them."""
    return {
        "version": 6,
        "base": request.base,
        "head": request.head,
        "device": request.device,
        "launches": request.launches,
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
