"""The progress of a job in stages. Commands that need no extra report theirs with it, so that this imports no other package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


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
    """Report the progress of a job through a callback.

    stages : in their order, with their expected seconds, which are used until a stage's own pace can be measured
    """

    stages: Sequence[tuple[str, float]]
    report: Callable[[Progress], None]

    def at(self, current: int, share: float = 0.0, elapsed: float = 0.0, detail: str = "") -> None:
        """Report that a share (0 to 1) of stage number `current` is done after `elapsed` seconds.

        detail : added to the name of the stage
        """
        name, expected = self.stages[current]
        pace_is_known = share > 0.1
        remaining = elapsed / share * (1 - share) if pace_is_known else max(expected - elapsed, 1.0)
        seconds = [seconds for _, seconds in self.stages]
        done = (sum(seconds[:current]) + expected * share) / sum(seconds)
        self.report(Progress(f"{name}: {detail}" if detail else name, done, remaining + sum(seconds[current + 1 :])))


def within(report: Callable[[Progress], None], first: float, last: float) -> Callable[[Progress], None]:
    """Return a function that reports the progress of a part of a job; first, last : the shares of the job before and after it."""
    return lambda part: report(Progress(part.doing, first + (last - first) * part.done, part.remaining))
