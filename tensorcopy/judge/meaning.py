"""What a change of a time means: whether it is new or back to an earlier level, and what its instructions say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum

from tensorcopy.judge import case_history, comparisons
from tensorcopy.judge.case_history import LAST, CaseHistory, Standing, Step
from tensorcopy.judge.comparisons import Comparison, Question
from tensorcopy.judge.paired import Verdict, has_changed
from tensorcopy.results.cases import Case, counted_case
from tensorcopy.results.kinds import TOLERANCES
from tensorcopy.results.result import Result

MOST_BACK = 0.05  # relative, the largest slowdown that is back: the layouts of two released binaries differ by 2 to 3 % each


class OpenSince(Enum):
    """When an open case last became slower; one that is back to an earlier level is no news."""

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
    if index not in history.places[2:]:
        return False
    before = history.before(index)
    gained, lost = history.neighbours.get(before), history.neighbours[index]
    if not (
        gained and gained.interval and gained.interval[1] < 1 and lost and lost.verdict is Verdict.SLOWER and lost.size <= 1 + MOST_BACK
    ):
        return False
    earlier = history.before(before)
    total, ratio = history.change(earlier, index), count_ratio(instructions, history.releases[earlier], history.releases[index])
    is_level = total is not None and total.verdict in (Verdict.UNCHANGED, Verdict.FASTER)
    return is_level and (ratio is None or ratio < 1 or are_same(ratio))


def between(question: Question, results: Sequence[Result]) -> Comparison:
    """Return the comparison of two results of a history, with what is back; results : those of the history, in order of release."""
    return with_back(comparisons.between(question), case_history.over(results, question.rules))


def with_back(comparison: Comparison, by_case: Mapping[Case, CaseHistory]) -> Comparison:
    """Return a comparison that knows which of its slower cases are back to an earlier level: where its sides are neighbours in a history.

    by_case : the history of both sides, as `case_history.over` has it
    """
    slower = [case for case, change in comparison.changes.items() if change.verdict is Verdict.SLOWER and case in by_case]
    back = set()
    for case in slower:
        history = by_case[case]
        index = history.results.index(comparison.after) if comparison.after in history.results else -1
        if index in history.places[1:] and history.results[history.before(index)] is comparison.before:
            back |= {case} if is_back(history, index, instructions(by_case, case)) else set()
    return replace(comparison, back=frozenset(back))


def instructions(by_case: Mapping[Case, CaseHistory], case: Case) -> CaseHistory | None:
    """Return the counts of a timed case over the releases; None without any."""
    counted = counted_case(case) if case.spec.timed else None
    return by_case.get(counted) if counted else None


def slowdown(standing: Standing, instructions: CaseHistory | None) -> Step | None:
    """Return the last slowdown of an open case that no later release took back, and that is not back to an earlier level."""
    history = standing.history
    since = standing.best if standing.best is not None else standing.newest
    lasting = [step for step in history.steps if step.index > since and step.rises and history.taken_back(step) is None]
    return next((step for step in reversed(lasting) if not is_back(history, step.index, instructions)), None)


def open_since(standing: Standing, instructions: CaseHistory | None) -> OpenSince:
    """Return when an open case last became slower; `BACK` where that is all that happened, older where it crept."""
    step = slowdown(standing, instructions)
    if step is None:
        return OpenSince.BACK if standing.since else OpenSince.OLDER
    if step.index == standing.newest:
        return OpenSince.NEW
    return OpenSince.RECENT if step.index > standing.newest - LAST else OpenSince.OLDER


def count_ratio(instructions: CaseHistory | None, before: str, after: str) -> float | None:
    """Return the ratio of the instructions of two releases; None where one of them was not counted."""
    counts = dict(zip(instructions.releases, instructions.values)) if instructions else {}
    first, second = counts.get(before), counts.get(after)
    return second / first if first and second else None


def are_same(ratio: float) -> bool:
    """Return whether the instructions of two releases agree within 1 %."""
    return not has_changed(1.0, ratio, TOLERANCES["instructions"])
