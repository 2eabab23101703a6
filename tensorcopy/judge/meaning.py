"""What a change of a time means: whether it is new or back to an earlier level, when it was taken back, and what its instructions say."""

from __future__ import annotations

from enum import Enum

from tensorcopy.judge.case_history import LAST, CaseHistory, Standing
from tensorcopy.judge.paired import LEAST_COUNT, Verdict, has_changed

MOST_BACK = 0.05  # relative, the largest slowdown that is back: the layouts of two released binaries differ by 2 to 3 % each


class OpenSince(Enum):
    """When an open case last became slower; the one that the newest release took back is no news."""

    NEW = "new"
    BACK = "back to an earlier level"
    RECENT = "recent"
    OLDER = "older"


def is_back(history: CaseHistory, index: int, instructions: CaseHistory | None) -> bool:
    """Return whether a slowdown only loses what the release before had gained.

    The release before was faster than the one before that, its whole interval; against the latter the slower one is unchanged, its whole
    interval within the margin, or faster, and does not execute more instructions, where they were counted. A slowdown by more than
    `MOST_BACK` is news, whatever was gained before it.

    index : of the slower release
    instructions : the counts of the case over the releases, None without any
    """
    measured = [place for place, value in enumerate(history.values) if value is not None]
    if index not in measured[2:]:
        return False
    earlier, before = measured[measured.index(index) - 2 : measured.index(index)]
    lost, gained, total = history.neighbours[index], history.neighbours[before], history.change(earlier, index)
    if not (lost and gained and total) or lost.verdict is not Verdict.SLOWER or lost.size > 1 + MOST_BACK:
        return False
    if not gained.interval or gained.interval[1] >= 1:
        return False
    ratio = count_ratio(instructions, history.releases[earlier], history.releases[index])
    return total.verdict in (Verdict.UNCHANGED, Verdict.FASTER) and not (ratio and has_changed(1.0, ratio) and ratio > 1)


def taken_back(history: CaseHistory, index: int) -> str:
    """Return the first later release that is unchanged or better than the one before a change, "" without one.

    Better is faster after a slowdown, and slower after a gain.

    index : of the release with the change
    """
    measured = [place for place, value in enumerate(history.values) if value is not None]
    change = history.neighbours.get(index)
    if not change or change.verdict not in (Verdict.SLOWER, Verdict.FASTER):
        return ""
    before = measured[measured.index(index) - 1]
    undone = (Verdict.UNCHANGED, Verdict.FASTER if change.verdict is Verdict.SLOWER else Verdict.SLOWER)
    later = ((place, history.change(before, place)) for place in measured if place > index)
    return next((history.releases[place] for place, total in later if total and total.verdict in undone), "")


def open_since(standing: Standing, instructions: CaseHistory | None) -> OpenSince:
    """Return when an open case last became slower, without a slowdown that is back to an earlier level; `BACK` where no other is left."""
    history = standing.history
    back = [step for step in standing.open if step.index == standing.newest and is_back(history, step.index, instructions)]
    if not back:
        return OpenSince(standing.age.value)
    others = [step for step in standing.open if step not in back]
    if not others:
        return OpenSince.BACK
    return OpenSince.RECENT if max(step.index for step in others) > standing.newest - LAST else OpenSince.OLDER


def count_ratio(instructions: CaseHistory | None, before: str, after: str) -> float | None:
    """Return the ratio of the instructions of two releases; None where one of them was not counted."""
    counts = dict(zip(instructions.releases, instructions.values)) if instructions else {}
    first, second = counts.get(before), counts.get(after)
    return second / first if first and second else None


def are_same(ratio: float) -> bool:
    """Return whether the instructions of two releases agree within 1 %."""
    return not has_changed(1.0, ratio, LEAST_COUNT)
