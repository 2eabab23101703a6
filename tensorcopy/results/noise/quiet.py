"""Decide which samples are quiet and which passes are excluded. Pure.

Both are decided by the control, a calculation that no torch can change and that is timed beside every sample (`worker.control`). Its
readings are comparable on one machine and Python, so each function takes the pass records of one machine and Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median, quantiles
from typing import Any

from tensorcopy.worker import control

NANO = 1e-9
FEWEST_PASSES = 8  # below which the quartiles of the passes' controls are too uncertain to exclude a pass
FAR = 3.0  # widths of the middle half beyond it, where a normal value lies once in 400,000


def limit(records: Iterable[Mapping[str, Any]]) -> float:
    """Return the greatest control that counts as quiet, in seconds."""
    return control.limit(reading * NANO for record in records for reading in _readings(record))


def excluded(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return why a pass is kept but not used, by the pass's id.

    A record may exclude its pass itself (key "left_out"). Otherwise a pass is excluded when the median of its control lies more than `FAR`
    widths of the middle half outside the middle half of all passes' medians.
    """
    records = list(records)
    reasons = {record["id"]: record["left_out"] for record in records if record.get("left_out")}
    medians = {record["id"]: median(readings) for record in records if (readings := _readings(record)) and record["id"] not in reasons}
    if len(medians) >= FEWEST_PASSES:
        first, _, third = quantiles(medians.values(), n=4)
        for name, middle in medians.items():
            if not first - FAR * (third - first) <= middle <= third + FAR * (third - first):
                reasons[name] = f"its control, {middle / 1000:.1f} µs, is far from the others' {first / 1000:.1f} to {third / 1000:.1f} µs"
    return reasons


def _readings(record: Mapping[str, Any]) -> list[int]:
    """Return the control beside every sample of a pass, in nanoseconds."""
    return [reading for row in record["suites"].values() for readings in row["control_ns"] for reading in readings]
