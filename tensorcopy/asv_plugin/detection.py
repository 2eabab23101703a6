"""asv's own judgments, through asv's own code: what ours is held against on the report card."""

from __future__ import annotations

from collections.abc import Sequence

from asv.commands.compare import _is_result_better
from asv.step_detect import detect_steps
from asv_runner.statistics import compute_stats

FACTOR = 1.1  # `asv compare` without --factor


def compared(before: Sequence[float], after: Sequence[float]) -> str:
    """ "slower", "faster" or "" of two sets of samples, as `asv compare` prints them."""
    (one, one_stats), (other, other_stats) = (compute_stats(list(samples), 1) for samples in (before, after))
    sides = ((one, (one_stats, list(before))), (other, (other_stats, list(after))))
    for word, (first, second) in (("faster", (sides[1], sides[0])), ("slower", (sides[0], sides[1]))):
        if _is_result_better(first[0], second[0], first[1], second[1], FACTOR):
            return word
    return ""


def steps(values: Sequence[float]) -> list[int]:
    """The first index of every level but the first, as asv's graphs draw them."""
    return [left for left, _right, *_ in detect_steps(list(values))][1:]
