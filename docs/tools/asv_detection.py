"""Compare and detect steps as asv does, by asv's own code, for the accuracy report."""

from __future__ import annotations

from collections.abc import Sequence

from asv.commands.compare import _is_result_better
from asv.step_detect import detect_steps
from asv_runner.statistics import compute_stats

FACTOR = 1.1  # `asv compare` without --factor


def compared(before: Sequence[float], after: Sequence[float]) -> str:
    """Return `asv compare`'s verdict on two samples: "slower", "faster" or ""."""
    (median_before, stats_before), (median_after, stats_after) = (compute_stats(list(samples), 1) for samples in (before, after))
    with_samples_before, with_samples_after = (stats_before, list(before)), (stats_after, list(after))
    if _is_result_better(median_after, median_before, with_samples_after, with_samples_before, FACTOR):
        return "faster"
    if _is_result_better(median_before, median_after, with_samples_before, with_samples_after, FACTOR):
        return "slower"
    return ""


def steps(values: Sequence[float]) -> list[int]:
    """Return the index at which each new level begins, as asv's graphs draw it."""
    return [left for left, _right, *_ in detect_steps(list(values))][1:]
