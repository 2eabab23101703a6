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
from tensorcopy.measure import run, sides
from tensorcopy.measure.plan import Request
from tensorcopy.measure.sides import Side
from tensorcopy.report import comparison as comparison_report
from tensorcopy.report import table
from tensorcopy.worker.processes import ReportProgress

# The smallest change to report. Two releases with equal instructions differ by 2 to 3 % through the layout of torch's binary. Two commits
# run the same binary: what is left is the layout of processes, which launches draw anew and intervals show.
OF_CODE = 0.02


@dataclass(frozen=True)
class ComparedPair:
    """Two sides of a pull request."""

    sides: tuple[Side, ...]
    comparison: Comparison | None  # None where a side cannot be measured
    problems: tuple[TensorcopyError, ...]
    notes: tuple[str, ...]


def pairs(base: str, head: str, campaign: Campaign, paths: Paths, interpreter: str = "") -> list[tuple[Side, Side]]:
    """Return what to compare: base and head, unless no file that is measured differs, and each release that only head's table has.

    base, head : SHAs. Raises TensorcopyError where this machine can install no suitable torch.
    """
    known, table_of_head = sides.table_of(base, campaign, paths), [*sides.table_of(head, campaign, paths)]
    versions = {release.version for release in known}
    added = [pair for pair in zip(table_of_head, table_of_head[1:]) if pair[1].version not in versions]
    differ = sides.differ(base, head, campaign)
    if not differ and not added:
        return []
    commits = {f"base {base[:8]}": base, f"head {head[:8]}": head}
    before, after = sides.of_commits(commits, campaign, paths, interpreter)
    of_releases = [[sides.with_release(after, each, f"torch {each.version}", paths.pythons) for each in pair] for pair in added]
    return [*([(before, after)] if differ else []), *((pair[0], pair[1]) for pair in of_releases)]


def compared(asked: Request, campaign: Campaign, paths: Paths, report_progress: ReportProgress) -> ComparedPair:
    """Take launches of a pair until every case is exact enough, there are enough or the time is over, and return how it compares.

    asked : the pair, the device, the cases, and when no further launch begins
    """
    margin = MARGIN if len({side.release for side in asked.sides}) > 1 else OF_CODE
    folder = run.revisions_folder(paths)
    request = replace(asked, launches=run.FIRST, half=margin * run.EXACT, together=True, folder=folder)
    try:
        outcome = run.run(request, campaign, paths, report_progress=report_progress)
    except TensorcopyError as error:
        return ComparedPair(asked.sides, None, (*error.earlier, error), ())
    before, after = (side.revision.name if side.revision else str(side) for side in asked.sides)
    comparison = replace(run.compared(request, outcome, campaign, margin), labels=(before, after))
    return ComparedPair(asked.sides, comparison, outcome.problems, outcome.notes)


def text(found: list[ComparedPair], device: str) -> str:
    """Return the job's summary as Markdown: it begins with a marker, by which the comment of a device is found again."""
    parts = [f"<!-- tensorcopy {device} -->"]
    for pair in found:
        names = " and ".join(map(table.escaped, map(str, pair.sides)))
        told = table.markdown(comparison_report.report(pair.comparison)) if pair.comparison else f"### ❌ {names} **cannot be compared**\n"
        parts += [told, *(f"{table.escaped(line)}\n" for line in (*map(str, pair.problems), *pair.notes))]
    if not found:
        parts.append("### No file that is measured differs from the base\n")
    return table.cut("\n".join(parts), table.LONGEST)


def exit_code(found: list[ComparedPair]) -> int:
    """Return 1 where a case is slower or fails now, 2 where a side cannot be measured, 3 where a pair was not compared, else 0."""
    comparisons = [pair.comparison for pair in found if pair.comparison]
    changes = (change for each in comparisons for change in each.changes.values())
    if any(each.has_slower for each in comparisons) or any(each.reason is Reason.FAILED_AFTER for each in changes):
        return 1
    if any(pair.problems for pair in found):
        return 2
    return 0 if len(comparisons) == len(found) and all(each.has_compared for each in comparisons) else 3
