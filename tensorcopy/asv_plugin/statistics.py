"""Summarise a case's samples by asv's own code.

Merged results then equal those that asv would have stored after one run.
"""

from __future__ import annotations

from typing import Any

from asv.util import truncate_float_list
from asv_runner.statistics import compute_stats

NUMBER = 1  # asv's calls in a sample: the suites loop inside each


def summary(samples: list[float]) -> tuple[float, dict[str, Any]]:
    """Return the median in seconds, and asv's statistics by column.

    The columns have names like "stats_ci_99_a".

    `samples` must not be empty.
    """
    median, stats = compute_stats(samples, NUMBER)
    return median, {f"stats_{name}": truncate_float_list(value) for name, value in stats.items()}
