"""Progress of a job that consists of stages, and its remaining time. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """A part of a job.

    seconds : expected, used until the stage's own pace can be measured
    """

    doing: str
    seconds: float


@dataclass(frozen=True)
class Progress:
    """The progress of a job.

    doing : the current activity
    done : share of the job that is done, 0 to 1
    remaining : expected seconds until its end
    """

    doing: str
    done: float
    remaining: float


@dataclass(frozen=True)
class Reporter:
    """Report the progress of a job through a callback."""

    stages: Sequence[Stage]
    report: Callable[[Progress], None]

    def at(self, current: int, share: float = 0.0, elapsed: float = 0.0, detail: str = "") -> None:
        """Report that a share of stage number `current` is done; see `progress`."""
        self.report(progress(self.stages, current, share, elapsed, detail))

    def waiting_at(self, current: int, _share: float, elapsed: float, detail: str = "") -> None:
        """Report a stage whose share is unknown, by its expected time.

        Its share stays below nine tenths until it has ended.
        """
        self.at(current, min(elapsed / self.stages[current].seconds, 0.9), elapsed, detail)


def progress(stages: Sequence[Stage], current: int, share: float, elapsed: float, detail: str = "") -> Progress:
    """Compute the progress of a job from the progress of its current stage.

    stages : in their order
    current : index of the current stage, of which `share` (0 to 1) is done after `elapsed` seconds
    detail : added to the name of the stage
    """
    stage = stages[current]
    pace_is_known = share > 0.1
    remaining = elapsed / share * (1 - share) if pace_is_known else max(stage.seconds - elapsed, 1.0)
    done = sum(earlier.seconds for earlier in stages[:current]) + stage.seconds * share
    total = sum(each.seconds for each in stages)
    remaining += sum(later.seconds for later in stages[current + 1 :])
    return Progress(f"{stage.doing}: {detail}" if detail else stage.doing, done / total, remaining)
