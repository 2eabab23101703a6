"""A pull request, measured and judged. Prints nothing.

Its base is compared with its head, and each torch release that it adds with the release before it.
Each revision of tensorcopy measures itself (`revisions`); those of a project are measured by the installed tensorcopy (`projects`).
Each change is measured again before it is reported. The result is a document (comparison.schema.json). A pull request's code
has run to write it, so `pr_comment` reads it as untrusted input.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.two_sample import MARGIN, Reason, Verdict
from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.ci import git, revisions
from tensorcopy.ci.revisions import NothingMeasured, Place, ReportProgress, Revision, RevisionFolder
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import plan
from tensorcopy.releases import release_table
from tensorcopy.releases.release_table import Release
from tensorcopy.report import formats, pr_comment
from tensorcopy.worker import project

MEASURED = ("benchmarks/", "tensorcopy/", "asv.conf.json", "pyproject.toml")  # files that can change a time, or whether there is one
TABLE = "tensorcopy/releases.toml"
NOT_COUNTED = "^(?!instructions|memory)"  # a pull request is judged by times only
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
        return f"{NOT_COUNTED}.*(?:{self.suites})" if self.suites else plan.timed_suites()


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


def pairs(request: PullRequest, paths: Paths) -> list[RevisionPair]:
    """Return the pairs to compare: base and head, and each new release.

    Base and head are left out if nothing that is measured changed except the table, which a project does not have. Raises TensorcopyError
    if both are the same commit, and if this machine can install no suitable torch.
    """
    if request.base == request.head:
        raise TensorcopyError(
            "there is nothing to compare",
            got=f"{request.head[:12]} for base and head",
            allowed="two commits",
            next="--base main --head HEAD",
        )
    if project.declared():
        return [_code_pair(request, _release_of_project(request, paths))]
    base_table, head_table = (release_table.load(place.folder / TABLE) for place in _places(request, paths, "measured"))
    release_pairs = _release_pairs(request, paths, base_table, head_table)
    files = [name for name in git.changed(request.base, request.head) if name.startswith(MEASURED) and name != TABLE]
    if release_pairs and not files:
        return release_pairs
    measurement = _common_release(request, paths, [release for release in base_table if release in head_table])
    return [_code_pair(request, measurement), *release_pairs]


def _code_pair(request: PullRequest, measurement: plan.Measurement) -> RevisionPair:
    base, head = (Revision(f"{name} {sha[:8]}", sha, measurement) for name, sha in (("base", request.base), ("head", request.head)))
    return RevisionPair("code", base, head)


def _release_of_project(request: PullRequest, paths: Paths) -> plan.Measurement:
    """Return the release to measure a project with: the newest that this machine can install, unless one is requested.

    Raises TensorcopyError, also for commits that cannot be compared.
    """
    revisions.refuse_without_project(request.base, request.head)
    if request.interpreter:
        revisions.refuse_other_packages(_places(request, paths, "measured"))
    return _common_release(request, paths, release_table.load())


def _release_pairs(request: PullRequest, paths: Paths, base_table: Sequence[Release], head_table: Sequence[Release]) -> list[RevisionPair]:
    """Return each release that only head's table has, with the one before it."""
    versions = {release.version for release in base_table}

    def revision(release: Release) -> Revision:
        return Revision(f"torch {release.version}", request.head, _new_release(request, paths, release))

    return [
        RevisionPair("release", revision(before), revision(after))
        for before, after in zip(head_table, head_table[1:])
        if after.version not in versions
    ]


def _common_release(request: PullRequest, paths: Paths, releases: Sequence[Release]) -> plan.Measurement:
    """Return the newest release in both tables that this machine can install.

    Raises TensorcopyError if there is none.
    """
    if request.interpreter:
        return plan.in_interpreter(request.interpreter, [request.release] if request.release else [])
    for release in reversed([release for release in releases if request.release in ("", release.version)]):
        measurement, _ = plan.installable(release, list(paths.pythons))
        if measurement is not None:
            return measurement
    raise TensorcopyError(
        "base and head have no torch in common here",
        got=request.release or f"{len(releases)} releases in both tables, none of which this machine can install",
        allowed="a release in both tables, and a Python with its wheel",
        next="tensorcopy releases lists them",
    )


def _new_release(request: PullRequest, paths: Paths, release: Release) -> plan.Measurement:
    """Return the measurement of a release that only head's table may have.

    Raises TensorcopyError if this machine cannot install it.
    """
    measurement, reason = plan.installable(release, list(paths.pythons))
    if measurement is None or request.interpreter:
        raise TensorcopyError(
            f"the new row of torch {release.version} cannot be measured here",
            got="an interpreter, which has only one torch" if request.interpreter else reason,
            allowed="a machine that can install it and the release before it",
            next="leave out --interpreter" if request.interpreter else f"uv python install {release.pythons[-1]}",
        )
    return measurement


def _places(request: PullRequest, paths: Paths, stage: str) -> tuple[Place, Place]:
    """Write the files of base and head for a stage of the measurement; return where each is measured."""
    selection = hashlib.sha256("\n".join([request.selection, request.release, request.interpreter]).encode()).hexdigest()
    root = paths.environments.parent / "pull-request" / f"{request.base[:12]}-{request.head[:12]}-{selection[:6]}"
    if project.declared():
        return revisions.project_places(request.base, request.head, root, stage, paths.environments)
    return (
        revisions.export(request.base, root / stage / "base", paths.environments),
        revisions.export(request.head, root / stage / "head", paths.environments),
    )


def measure_and_judge(pair: RevisionPair, request: PullRequest, paths: Paths, report_progress: ReportProgress) -> PairResult:
    """Measure a pair, compare it, and measure the changed cases again; a change that is not seen again is inconclusive.

    Passes of an interrupted run are used again.
    """
    result = PairResult(pair)

    def compared(stage: str, suites: str, title: str) -> Comparison:
        base, head = _places(request, paths, stage)
        before, after = (RevisionFolder(each, base if each.sha == request.base else head) for each in (pair.before, pair.after))
        results = revisions.measure((before, after), suites, request.passes, result.failures, report_progress, title)
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


def run(request: PullRequest, paths: Paths, report_progress: ReportProgress) -> Iterator[PairResult]:
    """Yield the result of each pair as soon as it is measured."""
    for pair in pairs(request, paths):
        yield measure_and_judge(pair, request, paths, report_progress)
