"""A pull request, measured and judged. Prints nothing.

Its base is compared with its head, and each torch release that it adds with the release before it. The two sides take turns in launches:
two revisions under the same torch, or two releases under head's code. What `asv continuous` has measured of them is used. The result is a
document. A pull request's code has run to write it, so `pr_comment` reads it as untrusted input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tensorcopy.campaign import Campaign
from tensorcopy.ci import pr_comment
from tensorcopy.ci.pr_comment import Document, Pair
from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import paired
from tensorcopy.judge.comparisons import Comparison
from tensorcopy.measure import now, plan, revisions
from tensorcopy.measure.revisions import Revision
from tensorcopy.measure.taking import Job, Sides
from tensorcopy.releases.release_table import Release
from tensorcopy.worker.processes import ReportProgress

# The smallest change to report. Two releases with equal instructions differ by 2 to 3 % through the layout of torch's binary. Two revisions
# run the same binary: what is left is the layout of processes, which launches draw anew and intervals show.
MARGIN_OF_CODE, MARGIN_OF_RELEASE = 0.02, paired.MARGIN


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
    launches: int
    suites: str = ""
    release: str = ""
    interpreter: str = ""
    device: str = "cpu"

    @property
    def selection(self) -> str:
        """A regular expression on asv's names for the suites on the device."""
        return plan.on_device(self.suites, self.device) if self.device != "cpu" else self.suites


@dataclass(frozen=True)
class RevisionPair:
    """Two revisions that differ in one thing, the code or the release of torch; and how they compare, where they were measured.

    comparison : None if a revision has no result
    failures : error lines by the revision's name
    note : why base runs its own suites, where it cannot run head's
    """

    before: Revision
    after: Revision
    comparison: Comparison | None = None
    failures: dict[str, list[str]] = field(default_factory=dict)
    note: str = ""

    @property
    def is_of_code(self) -> bool:
        """Whether they are two commits, under one release."""
        return self.before.commit != self.after.commit

    @property
    def compared(self) -> bool:
        """Whether at least one case was compared."""
        return self.comparison is not None and self.comparison.has_compared


def pairs(request: PullRequest, campaign: Campaign, paths: Paths) -> list[RevisionPair]:
    """Return the pairs to compare: base and head, and each release that only head's table has, with the one before it.

    Base and head are left out if no file that is measured differs. Raises TensorcopyError if both are the same commit, if they cannot be
    compared, and if this machine can install no suitable torch.
    """
    if request.base == request.head:
        raise TensorcopyError(
            "there is nothing to compare",
            got=f"{request.head[:12]} for base and head",
            allowed="two commits",
            next=f"tensorcopy ci pull-request --base {request.head[:12]}~1 --head {request.head[:12]}",
        )
    base_table, head_table = (revisions.table_of(sha, campaign, paths) for sha in (request.base, request.head))
    known, release_pairs = {release.version for release in base_table}, []
    for consecutive in zip(head_table, head_table[1:], strict=False):
        if consecutive[1].version not in known:
            before, after = (_with_release(request, campaign, paths, release) for release in consecutive)
            release_pairs.append(RevisionPair(before, after))
    if not revisions.differ(request.base, request.head, campaign):
        return release_pairs
    commits = {f"{side} {sha[:8]}": sha for side, sha in (("base", request.base), ("head", request.head))}
    base, head = revisions.under_newest(commits, campaign, paths, version=request.release, interpreter=request.interpreter)
    return [RevisionPair(base, head), *release_pairs]


def _with_release(request: PullRequest, campaign: Campaign, paths: Paths, release: Release) -> Revision:
    """Return head with a release that only its table may have.

    Raises TensorcopyError if this machine cannot install it.
    """
    measurement, reason = plan.installable(release, paths.pythons)
    if measurement is None or request.interpreter:
        python = plan.python_for(release, paths.pythons)
        installing = f"uv python install {python}" if python in paths.pythons else f"add {python} to pythons in asv.conf.json"
        raise TensorcopyError(
            f"the new row of torch {release.version} cannot be measured here",
            got="an interpreter, which has only one torch" if request.interpreter else reason,
            allowed="a machine that can install it and the release before it",
            next="leave out --interpreter" if request.interpreter else installing,
        )
    return revisions.of(measurement, request.head, f"torch {release.version}", campaign, paths)


def measured(
    pair: RevisionPair, request: PullRequest, campaign: Campaign, paths: Paths, until: float, report_progress: ReportProgress
) -> RevisionPair:
    """Take launches of a pair until every case is exact enough, there are enough or the time is over, and return it with how it compares.

    until : when no further launch begins, on the clock of `time.monotonic`
    """
    sides = Sides(campaign, paths, "" if request.device == "cpu" else request.device)
    folder = revisions.results_of(paths)
    job = Job(sides, "", request.selection, folder=folder, until=until, report_progress=report_progress)
    before, after, note = pair.before, pair.after, ""
    try:
        if pair.is_of_code:
            before, note = revisions.with_suites_of(before, after, job)
        title, margin = f" of {before.name} and {after.name}", MARGIN_OF_CODE if pair.is_of_code else MARGIN_OF_RELEASE
        comparison = now.judged((before, after), job, title=title, most=request.launches, margin=margin, resumes=True)
    except TensorcopyError as error:
        failed = sides.failed or {after: error}
        failures = {each.name: [f"{failed[each].what}: {failed[each].got}"] for each in (before, after) if each in failed}
        return replace(pair, before=before, note=note, failures=failures)
    if comparison is None:
        return replace(pair, before=before, note=note)
    results = comparison.before, comparison.after
    return replace(
        pair,
        before=before,
        note=note,
        comparison=replace(comparison, labels=(before.name, after.name)),
        failures={each.name: lines for each, result in zip((before, after), results) if (lines := result.failed())},
    )


def _first(lines: Sequence[str]) -> list[str]:
    """Return as many lines as a document has room for, and how many more there are."""
    shown = [line[: pr_comment.LINE] for line in lines[: pr_comment.LINES]]
    return shown if len(lines) <= len(shown) else [*shown[:-1], f"and {len(lines) - len(shown) + 1} more"]


def document(request: PullRequest, pairs: Sequence[RevisionPair]) -> Document:
    """Return all results as `pr_comment` reads them."""
    return Document(11, request.base, request.head, request.device, request.launches, [_pair(pair, request) for pair in pairs])


def _pair(pair: RevisionPair, request: PullRequest) -> Pair:
    on, seen = "", None
    if pair.comparison:
        side = pair.comparison.after
        accelerators = side.provenance["accelerators"].values() if request.device != "cpu" else ()
        on = ", ".join([side.provenance["cpu"], *accelerators, f"Python {side.python}"])
        seen = paired.smallest_seen(pair.comparison.changes.values())
    return Pair(
        torch=(pair.before.release.version, pair.after.release.version),
        on=pr_comment.name(on),
        rows=pr_comment.rows(pair.comparison) if pair.comparison else None,
        seen=seen,
        failures=[(name == pair.before.name, _first(lines)) for name, lines in pair.failures.items()],
        own_suites=bool(pair.note),
    )


def exit_code(pairs: Sequence[RevisionPair]) -> int:
    """Return the exit code of the command.

    1 if a case is slower, 2 if a revision failed, 3 if a pair was not compared, else 0. A case that fails in base alone is mended, or new
    """
    if any(pair.comparison and pair.comparison.has_slower for pair in pairs):
        return 1
    if any(pair.failures if pair.comparison is None else pair.failures.get(pair.after.name) for pair in pairs):
        return 2
    return 0 if all(pair.compared for pair in pairs) else 3
