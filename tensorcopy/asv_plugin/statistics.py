"""What asv says of a case's samples, through its own code: what is merged reads as if asv had measured it in one go."""

from __future__ import annotations

from typing import Any

from asv.util import truncate_float_list
from asv_runner.statistics import compute_stats

NUMBER = 1  # calls in a sample, as asv counts them: the suites loop by themselves


def summary(samples: list[float]) -> tuple[float, dict[str, Any]]:
    """The median of samples in seconds, and by column ("stats_ci_99_a", ...) what asv's file has of them. `samples` holds one or more."""
    median, stats = compute_stats(samples, NUMBER)
    return median, {f"stats_{name}": truncate_float_list(value) for name, value in stats.items()}
