"""A pull request, measured and compared: its base with its head, and each torch release that it adds with the one before. Prints nothing.

The two sides take turns: two commits under one torch, or two releases under head's code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

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


def pairs(base: str, head: str, campaign: Campaign, paths: Paths, interpreter: str = "") -> list[tuple[Side, ...]]:
    """Return what to compare: base and head, unless no file that is measured differs, and each release that only head's table has.

    base, head : SHAs. Raises TensorcopyError where this machine can install no suitable torch.
    """
    known = {release.version for release in sides.table_of(base, campaign, paths)}
    added = [both for both in pairwise(sides.table_of(head, campaign, paths)) if both[1].version not in known]
    differ = sides.differ(base, head, campaign)
    if not differ and not added:
        return []
    commits = sides.of_commits({f"base {base[:8]}": base, f"head {head[:8]}": head}, campaign, paths, interpreter)
    of_releases = (tuple(sides.with_release(commits[1], each, f"torch {each.version}", paths.pythons) for each in both) for both in added)
    return [*([tuple(commits)] if differ else []), *of_releases]


def compared(asked: Request, campaign: Campaign, paths: Paths, report_progress: ReportProgress) -> tuple[str, int]:
    """Take launches of a pair until every case is exact enough, there are enough or the time is over, and return the answer.

    asked : the pair, the device, the cases, and when no further launch begins
    """
    margin = MARGIN if len({side.release for side in asked.sides}) > 1 else OF_CODE
    request = replace(asked, launches=run.FIRST, half=margin * run.EXACT, together=True, folder=run.revisions_folder(paths))
    try:
        outcome = run.run(request, campaign, paths, report_progress=report_progress)
        comparison = run.compared(request, outcome, campaign, margin)
    except TensorcopyError as error:
        names = " and ".join(map(table.escaped, map(str, asked.sides)))
        return _text(f"### ❌ {names} **cannot be compared**\n", *error.earlier, error), 2
    before, after = (side.revision.name if side.revision else str(side) for side in asked.sides)
    return answer(replace(comparison, labels=(before, after)), outcome.problems, tuple(outcome.notes))


def answer(comparison: Comparison, problems: Sequence[TensorcopyError] = (), notes: Sequence[str] = ()) -> tuple[str, int]:
    """Return how a pair compares, as Markdown, and the exit code.

    The code is 1 where a case is slower or fails now, 2 where a side could not be measured, 3 where nothing was compared, else 0.
    """
    text = _text(table.markdown(comparison_report.report(comparison)), *problems, *notes)
    if comparison.has_slower or any(change.reason is Reason.FAILED_AFTER for change in comparison.changes.values()):
        return text, 1
    return text, 2 if problems else 0 if comparison.has_compared else 3


def _text(heading: str, *lines: object) -> str:
    return "\n".join([heading, *(f"{table.escaped(str(line))}\n" for line in lines)])
