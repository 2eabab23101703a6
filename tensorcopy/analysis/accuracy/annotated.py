"""Score detectors on series from another project, in which people have marked the changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tensorcopy.analysis import change_points
from tensorcopy.analysis.accuracy.detector import Detector
from tensorcopy.errors import TensorcopyError

WITHIN = 5  # points from the annotated one that count as found


@dataclass
class Score:
    """Counts of the true changes that were detected, and of false ones.

    delays : points from the true change to the detected one
    """

    changes: int = 0
    detected: int = 0
    false: int = 0
    delays: list[int] = field(default_factory=list)

    def add(self, steps: Sequence[int], truth: int | None, *, within: int) -> None:
        """Count the steps of a series that changes at `truth`; None for no change."""
        near = [step for step in steps if truth is not None and abs(step - truth) <= within]
        self.changes += truth is not None
        self.detected += bool(near)
        self.false += len(steps) - len(near)
        if truth is not None and near:
            self.delays.append(min((step - truth for step in near), key=abs))

    @property
    def recall(self) -> float | None:
        return self.detected / self.changes if self.changes else None

    @property
    def precision(self) -> float | None:
        return self.detected / (self.detected + self.false) if self.detected + self.false else None

    @property
    def delay(self) -> float | None:
        """The median delay."""
        return median(self.delays) if self.delays else None


@dataclass(frozen=True)
class Annotated:
    """The score on annotated series."""

    source: str
    licence: str
    series: int
    points: int
    score: Score
    asv: Score


def _is_annotated(row: object) -> bool:
    """Return whether a series has positive times, and the index of the first slow one or null."""
    if not isinstance(row, dict) or not {"median", "first_slow_index"} <= set(row):
        return False
    times, index = row["median"], row["first_slow_index"]
    valid = isinstance(times, list) and all(isinstance(time, (int, float)) and time > 0 for time in times)
    return valid and (index is None or (isinstance(index, int) and 0 <= index < len(times)))


def annotated(document: Mapping[str, Any], asv: Detector) -> Annotated:
    """Return the score on series with `median` and `first_slow_index` or null."""
    series = document.get("series") if isinstance(document, dict) else None
    if not isinstance(series, list) or not series or not all(map(_is_annotated, series)):
        raise TensorcopyError(
            "not an annotated data set",
            got=f"{document!r:.60}",
            allowed='{"series": [{"median": [...], "first_slow_index": 14 or null}, ...]}',
            next="a file of that form",
        )
    ours, theirs = Score(), Score()
    for row in series:
        ours.add([step.index for step in change_points.steps(row["median"])], row["first_slow_index"], within=WITHIN)
        theirs.add(asv.steps(row["median"]), row["first_slow_index"], within=WITHIN)
    points = sum(len(row["median"]) for row in series)
    return Annotated(document.get("source", ""), document.get("licence", ""), len(series), points, ours, theirs)
