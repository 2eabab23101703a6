"""A pull request to this repository, measured: its base against its head, or a new release against the one before. Prints nothing.

Each side is the files of a commit in a folder of their own, outside git, and measures itself: its suites, its registry, its program, into
its own results, so that nothing of the one is ever filed under a name of the other. Both have the same torch in the same environment, and
take their passes by turns, A B B A. What changed is measured again, twice, before it is said.

Nothing of this is trusted afterwards: what becomes of it is a document (comparison.schema.json), which `pr_comment` reads as
somebody else's.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

from tensorcopy.analysis import comparisons, retest
from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.two_sample import FEWEST, MARGIN, Verdict
from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.ci import git
from tensorcopy.errors import Relayed, TensorcopyError
from tensorcopy.measure import plan, remeasure
from tensorcopy.measure.progress import Progress, Stage, progress
from tensorcopy.releases import environments, release_table
from tensorcopy.releases.release_table import Release
from tensorcopy.report.comparison import formats
from tensorcopy.results import files, load
from tensorcopy.results.load import Case, Result

MACHINE = "here"  # its name in the sides' results, which nobody keeps
NOT_A_SIDES = ("results", "site", "docs", "tests")  # what a side does not need in order to measure itself
MEASURED = ("benchmarks/", "tensorcopy/", "asv.conf.json", "pyproject.toml")  # what can change a time, or whether there is one
TABLE = "tensorcopy/releases.toml"
PATIENCE, MAY_LACK = 3, 0.1  # times the passes that were asked for, and the share of cases that may have too few quiet ones
LINES, LONGEST = 20, 2000  # of what a side that failed has said, as the schema allows
PASS = 45.0  # seconds on two cores, until the pace is known

Tell = Callable[[Progress], None]


@dataclass(frozen=True)
class Request:
    """What is asked for.

    base, head : commits by their full SHA; base is where head left it
    passes : of either side
    suites : a regular expression on asv's names
    release : its version; "" for the newest that both know and this machine can install
    interpreter : whose torch is measured, as asv takes it; "" for one that uv installs
    device : only cases there; "cpu" is all
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
        """The suites, where the tensors lie on the device."""
        timed = self.suites or plan.TIMED
        return timed if self.device == "cpu" else f"{timed}(?=.*'{self.device}')"


@dataclass(frozen=True)
class Side:
    """The files of a commit, and the release that they measure.

    name : as the comment has it, "base 1234abcd" or "torch 2.15.0"
    sha : of the commit
    """

    name: str
    sha: str
    measurement: plan.Measurement


@dataclass(frozen=True)
class Contest:
    """Two sides that differ in one thing. kind : "code" of this repository, or "release" of torch"""

    kind: str
    before: Side
    after: Side

    @property
    def both(self) -> tuple[Side, Side]:
        return self.before, self.after


@dataclass
class Outcome:
    """What came of a contest.

    comparison : None where a side has no result
    failures : by side's name, what went wrong there in a line each
    """

    contest: Contest
    comparison: Comparison | None = None
    failures: dict[str, list[str]] = field(default_factory=dict)

    @property
    def slower(self) -> bool:
        """Whether something is slower, and was so whenever it was measured again."""
        changes = self.comparison.changes.values() if self.comparison else ()
        return any(one.verdict is Verdict.SLOWER and one.confirmed == (retest.CONFIRMATIONS, retest.CONFIRMATIONS) for one in changes)

    @property
    def compared(self) -> bool:
        return self.comparison is not None and any(change.interval for change in self.comparison.changes.values())


def contests(request: Request, paths: Paths) -> list[Contest]:
    """A new release against the one before it, for each that head's table has and base's has not; and base against head, unless nothing but
    the table changed of what is measured.

    Raises TensorcopyError where the two are one, and where this machine has no torch to measure with.
    """
    if request.base == request.head:
        raise TensorcopyError(
            "there is nothing to compare",
            got=f"{request.head[:12]} for base and head",
            allowed="two commits",
            next="--base main --head HEAD",
        )
    folders = _folders(request, paths, "measured")
    old, new = (release_table.load(folder / TABLE) for folder in folders)
    known = {release.version for release in old}
    found = []
    for index, release in enumerate(new):
        if release.version not in known and index:
            pair = [_measurement(request, paths, one) for one in (new[index - 1], release)]
            found.append(Contest("release", *(Side(f"torch {one.release.version}", request.head, one) for one in pair)))
    touched = [name for name in git.changed(request.base, request.head) if name.startswith(MEASURED) and name != TABLE]
    if touched or not found:
        one = _common(request, paths, [release for release in old if release in new])
        base, head = (Side(f"{name} {sha[:8]}", sha, one) for name, sha in (("base", request.base), ("head", request.head)))
        found.insert(0, Contest("code", base, head))
    return found


def _common(request: Request, paths: Paths, rows: Sequence[Release]) -> plan.Measurement:
    """What both sides measure: the newest release that both know alike."""
    if request.interpreter:
        return plan.in_interpreter(request.interpreter)
    for release in reversed([release for release in rows if request.release in ("", release.version)]):
        one, _ = plan.installable(release, list(paths.pythons))
        if one is not None:
            return one
    raise TensorcopyError(
        "base and head have no torch in common here",
        got=request.release or f"{len(rows)} releases in both tables, none of which this machine can install",
        allowed="a release in both tables, and a Python with its wheel",
        next="tensorcopy releases lists them",
    )


def _measurement(request: Request, paths: Paths, release: Release) -> plan.Measurement:
    """A release of head's table, which need not be in ours."""
    one, reason = plan.installable(release, list(paths.pythons))
    if one is None or request.interpreter:
        raise TensorcopyError(
            f"the new row of torch {release.version} cannot be measured here",
            got="an interpreter, which has but one torch" if request.interpreter else reason,
            allowed="a machine that can install it and the release before it",
            next="leave --interpreter out" if request.interpreter else f"uv python install {release.pythons[-1]}",
        )
    return one


def _folders(request: Request, paths: Paths, stage: str) -> tuple[Path, Path]:
    """Where base and head lie in a stage; they are there afterwards."""
    asked = hashlib.sha256("\n".join([request.selection, request.release, request.interpreter]).encode()).hexdigest()
    root = paths.environments.parent / "pull-request" / f"{request.base[:12]}-{request.head[:12]}-{asked[:6]}" / stage
    for name, sha in (("base", request.base), ("head", request.head)):
        git.export(sha, root / name, without=NOT_A_SIDES)
        environment = root / name / ".asv" / "env"
        if not environment.exists():
            environment.parent.mkdir(exist_ok=True)
            paths.environments.mkdir(parents=True, exist_ok=True)
            environment.symlink_to(paths.environments, target_is_directory=True)  # the very same torch
    return root / "base", root / "head"


def held(contest: Contest, request: Request, paths: Paths, tell: Tell) -> Outcome:
    """Measure, judge, confirm. What is there of an interrupted run is not measured again."""
    outcome = Outcome(contest)
    try:
        stands = _stands(contest, request, paths, "measured", outcome)
        one, other = _measured(stands, request.selection, request.passes, tell, contest.kind)
        found = comparisons.between(one, other, (), margin=MARGIN)
        outcome.comparison = replace(found, named=(contest.before.name, contest.after.name))

        def again(time: int, cases: Sequence[Case], passes: int) -> tuple[Result, Result]:
            stands = _stands(contest, request, paths, f"confirmation-{time}", outcome)
            return _measured(stands, remeasure.expression(cases), passes, tell, f"confirmation {time} of {retest.CONFIRMATIONS}")

        outcome.comparison = retest.confirmed(outcome.comparison, again)
    except _SideFailed:
        pass  # it is among the failures
    return outcome


class _SideFailed(Exception):
    """A side gives no result at all."""


@dataclass(frozen=True)
class _Stand:
    """A side in the folder where it measures itself."""

    side: Side
    folder: Path
    outcome: Outcome

    @property
    def file(self) -> Path:
        one = self.side.measurement
        return self.folder / "results" / MACHINE / f"{one.release.sha[:8]}-{one.environment}.json"

    @property
    def passes(self) -> int:
        return len(files.records(self.file)) if self.file.exists() else 0

    def take(self, suites: str) -> None:
        """One pass more. Raises _SideFailed where nothing came of it."""
        one, there = self.side.measurement, self.passes
        what = ["--interpreter", one.interpreter] if one.interpreter else [f"{one.release.version}@{one.python}"]
        wanted = plan.passes_of(self.file, suites) + 1
        done = subprocess.run(
            [sys.executable, "-m", "tensorcopy.cli", "measure", *what, "--passes", str(wanted), "--machine", MACHINE, "--bench", suites],
            cwd=self.folder,
            env={**os.environ, **environments.bytecode_in(self.folder / ".asv"), "PYTHONPATH": str(self.folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            said = [line.strip() for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
            told = self.outcome.failures.setdefault(self.side.name, [])
            told += [line for line in said[-3:] if line not in told]
        if self.passes == there:
            self.outcome.failures.setdefault(self.side.name, ["nothing was measured"])
            raise _SideFailed

    def result(self) -> Result:
        """What was measured. Raises TensorcopyError for a result that cannot be read."""
        read = load.load_results(self.folder / "results")
        for one in read.results:
            if one.path == self.file:
                return one
        raise read.problems[0] if read.problems else Relayed(f"{self.file} is gone")


def _stands(contest: Contest, request: Request, paths: Paths, stage: str, outcome: Outcome) -> tuple[_Stand, _Stand]:
    base, head = _folders(request, paths, stage)
    before, after = (_Stand(side, base if side.sha == request.base else head, outcome) for side in contest.both)
    return before, after


def _measured(stands: tuple[_Stand, _Stand], suites: str, passes: int, tell: Tell, title: str) -> tuple[Result, Result]:
    """So many passes of either side; more where the machine was not quiet enough, three times as many at most."""
    for wanted in range(passes, PATIENCE * passes + 1, passes):
        _take(stands, suites, wanted, tell, title)
        one, other = (stand.result() for stand in stands)
        if _quiet_enough(one, other):
            break
    return one, other


def _quiet_enough(one: Result, other: Result) -> bool:
    """Whether most cases have the passes that a judgment wants."""
    both = [(one.timings[case], other.timings[case]) for case in one.timings.keys() & other.timings.keys()]
    lacking = sum(min(len(before.judged), len(after.judged)) < FEWEST for before, after in both)
    return lacking <= len(both) * MAY_LACK


def _take(stands: tuple[_Stand, _Stand], suites: str, passes: int, tell: Tell, title: str) -> None:
    order = list(remeasure.alternating([stand.passes for stand in stands], passes))
    paces: list[float] = []
    for number, index in enumerate(order):
        steps = [Stage(stands[one].side.name, median(paces) if paces else PASS) for one in order]
        tell(progress(steps, number, 0.0, 0.0, f", {title}, pass {number + 1} of {len(order)}"))
        begun = monotonic()
        stands[index].take(suites)
        paces.append(monotonic() - begun)
    tell(Progress(f"{title}: judged", 1.0, 0.0))


def document(request: Request, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What came of it all, as comparison.schema.json describes it."""
    return {
        "version": 1,
        "base": request.base,
        "head": request.head,
        "device": request.device,
        "passes": request.passes,
        "contests": [
            {
                "kind": one.contest.kind,
                "torch": [side.measurement.release.version for side in one.contest.both],
                "comparison": formats.document(one.comparison) if one.comparison else None,
                "failures": [
                    [name == one.contest.before.name, [line[:LONGEST] for line in lines[:LINES]]] for name, lines in one.failures.items()
                ],
            }
            for one in outcomes
        ],
    }


def exit_code(outcomes: Sequence[Outcome]) -> int:
    """1 where something is slower, and was so whenever it was measured; 2 where a side failed; 3 where nothing was compared; else 0."""
    if any(one.slower for one in outcomes):
        return 1
    if any(one.failures for one in outcomes):
        return 2
    return 0 if outcomes and all(one.compared for one in outcomes) else 3


def run(request: Request, paths: Paths, tell: Tell) -> Iterator[Outcome]:
    """Every contest of a request, one after the other."""
    for contest in contests(request, paths):
        yield held(contest, request, paths, tell)
