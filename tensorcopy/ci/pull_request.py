"""A pull request, measured and compared: its base with its head, and each torch release that it adds with the one before. Prints nothing.

The two sides take turns: two commits under one torch, or two releases under head's code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge.comparisons import Comparison
from tensorcopy.judge.paired import MARGIN, Reason
from tensorcopy.measure import git, run, sides
from tensorcopy.measure.plan import Request
from tensorcopy.measure.sides import Side
from tensorcopy.report import comparison as comparison_report
from tensorcopy.report import table
from tensorcopy.worker.processes import ReportProgress

# The smallest change to report. Two releases with equal instructions differ by 2 to 3 % through the layout of torch's binary. Two commits
# run the same binary: what is left is the layout of processes, which launches draw anew and intervals show.
OF_CODE = 0.02
FIRST_LOOK = 4  # launches, which decide what is clear


@dataclass(frozen=True)
class ComparedPair:
    """Two sides of a pull request."""

    sides: tuple[Side, Side]
    comparison: Comparison | None  # None where a side cannot be measured
    problems: tuple[TensorcopyError, ...]
    notes: tuple[str, ...]

    @property
    def is_worse(self) -> bool:
        """Whether a case is slower, or fails now."""
        changes = self.comparison.changes.values() if self.comparison else ()
        return bool(self.comparison and self.comparison.has_slower) or any(each.reason is Reason.FAILED_AFTER for each in changes)


def pairs(base: str, head: str, campaign: Campaign, paths: Paths, interpreter: str = "") -> list[tuple[Side, Side]]:
    """Return what to compare: base and head, unless no file that is measured differs, and each release that only head's table has.

    base, head : SHAs. Raises TensorcopyError where this machine can install no suitable torch.
    """
    commits = {f"base {base[:8]}": base, f"head {head[:8]}": head}
    known = {release.version for release in sides.table_of(base, campaign, paths)}
    table_of_head = [*sides.table_of(head, campaign, paths)]
    added = [pair for pair in zip(table_of_head, table_of_head[1:]) if pair[1].version not in known]
    differ = sides.differ(base, head, campaign)
    both = sides.of_commits(commits, campaign, paths, interpreter=interpreter) if differ or added else []
    found = [(both[0], both[1])] if differ else []
    for releases in added:
        before, after = (sides.with_release(both[1], each, f"torch {each.version}", paths.pythons) for each in releases)
        found.append((before, after))
    return found


def compared(pair: tuple[Side, Side], asked: Request, campaign: Campaign, paths: Paths, report_progress: ReportProgress) -> ComparedPair:
    """Take launches of a pair until every case is exact enough, there are enough or the time is over, and return how it compares.

    asked : the device, the cases, and when no further launch begins
    """
    before, after = pair
    margin = OF_CODE if before.release == after.release else MARGIN
    folder = run.revisions_folder(paths)
    request = replace(asked, sides=pair, launches=FIRST_LOOK, half=margin * run.EXACT, together=True, counts=None, folder=folder)
    try:
        outcome = run.run(request, campaign, paths, report_progress=report_progress)
    except TensorcopyError as error:
        return ComparedPair(pair, None, (*error.earlier, error), ())
    comparison = run.compared(request, outcome, campaign, margin)
    names = tuple(side.revision.name if side.revision else str(side) for side in (before, after))
    labelled = replace(comparison, labels=(names[0], names[1])) if comparison else None
    return ComparedPair(pair, labelled, outcome.problems, outcome.notes)


def text(found: list[ComparedPair], device: str) -> str:
    """Return the job's summary as Markdown: it begins with a marker, by which the comment of a device is found again."""
    parts = [f"<!-- tensorcopy {device} -->"]
    for pair in found:
        if pair.comparison:
            parts.append(table.markdown(comparison_report.report(pair.comparison)))
        else:
            parts.append(f"### ❌ {' and '.join(map(table.escaped, map(str, pair.sides)))} **cannot be compared**\n")
        parts += [f"{table.escaped(line)}\n" for line in (*map(str, pair.problems), *pair.notes)]
    if not found:
        parts.append("### No file that is measured differs from the base\n")
    return table.cut("\n".join(parts), table.LONGEST)


def exit_code(found: list[ComparedPair]) -> int:
    """Return 1 where a case is slower or fails now, 2 where a side cannot be measured, 3 where a pair was not compared, else 0."""
    if any(pair.is_worse for pair in found):
        return 1
    if any(pair.problems for pair in found):
        return 2
    return 0 if all(pair.comparison and pair.comparison.has_compared for pair in found) else 3


def fork_point(base: str, head: str) -> tuple[str, str]:
    """Return the SHAs of the last commit that head has in common with base, and of head. Raises TensorcopyError."""
    sha = git.commit(head)
    return git.fork_point(git.commit(base), sha), sha
