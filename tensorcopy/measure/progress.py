"""How far a job is and how long it will still take. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """A part of a job, and how many seconds it is expected to take until its own pace is known."""

    doing: str
    seconds: float


@dataclass(frozen=True)
class Progress:
    """What is being done, the share of the whole job that is done (0 to 1), and the seconds it will still take."""

    doing: str
    done: float
    remaining: float


def progress(steps: list[Stage], current: int, share: float, elapsed: float, detail: str = "") -> Progress:
    """The progress of a job in step number `current`, of which `share` (0 to 1) is done after `elapsed` seconds."""
    step = steps[current]
    pace_is_known = share > 0.1
    remaining = elapsed / share * (1 - share) if pace_is_known else max(step.seconds - elapsed, 1.0)
    done = sum(one.seconds for one in steps[:current]) + step.seconds * share
    later = sum(one.seconds for one in steps[current + 1 :])
    return Progress(f"{step.doing}{detail}", done / sum(one.seconds for one in steps), remaining + later)
