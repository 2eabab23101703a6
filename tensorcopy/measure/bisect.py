"""Search the builds of torch between two releases for the one with which a case changed. Prints nothing.

Each step takes launches of both ends and of the build in the middle, beside each other. What is measured is kept in a separate folder, so
that an interrupted search goes on; nothing is written into results or the table of releases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import exp
from statistics import median
from typing import NoReturn

from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import taking
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.taking import Job
from tensorcopy.releases import environments, wheel_index
from tensorcopy.results.launches import UNIT

LAUNCHES = 8  # of each step: a difference of 2 % is told
FOLDER, MACHINE = "bisect", "here"
Values = Sequence[float]  # of a build: seconds by launch, those of builds that were measured together in the same order


class BuildFailed(TensorcopyError):
    """A build that cannot be installed, or does not run the case; `got` is its version."""


def search(
    builds: Sequence[str], measure: Callable[[Sequence[str]], Mapping[str, Values]], distance: Callable[[Values, Values], float]
) -> tuple[list[str], dict[str, float]] | None:
    """Return between which of these builds, in order, a case changed, and the value of each measured one; None where both ends are alike.

    Builds between the two cannot be told from either end. A build is on the side of the end that it is nearer to: of several changes, one
    is found that crosses the middle. Where `measure` raises BuildFailed for a build that is no end, that one is left out.

    distance : of the values of two builds; 0 where their difference is not significant
    """
    left, low, high = list(builds), 0, len(builds) - 1
    measured = measure([left[0], left[-1]])
    values = {build: median(measured[build]) for build in measured}
    if not distance(measured[left[0]], measured[left[-1]]):
        return None
    while high - low > 1:
        middle = left[(low + high) // 2]
        try:
            measured = measure([left[0], middle, left[-1]])
        except BuildFailed as failed:
            if failed.got != middle:
                raise
            left.remove(middle)
            high -= 1
            continue
        values[middle] = median(measured[middle])
        from_first, from_last = distance(measured[left[0]], measured[middle]), distance(measured[middle], measured[left[-1]])
        if not from_first and not from_last:
            break
        low, high = (low, left.index(middle)) if from_last < from_first else (left.index(middle), high)
    return left[low : high + 1], {build: values[build] for build in left if build in values}


@dataclass
class Search:
    """The builds of one search.

    job : with a folder of its own, and the timed case as its selection
    report : called with a line for each step
    added : removes what the search installed when it is closed
    """

    python: str
    job: Job
    report: Callable[[str], None]
    added: ExitStack
    measurements: dict[str, Measurement] = field(default_factory=dict)

    def time(self, builds: Sequence[str]) -> dict[str, Values]:
        """Return the seconds of the case with each build, by launch. Raises BuildFailed."""
        sides = [self._opened(build) for build in builds]
        places = [side.place for side in sides]
        kept = [each for each in self.job.stored() if [side.place for side in each.sides] == places]
        if len(kept) < LAUNCHES:
            self.report(f"torch {', '.join(builds)} beside each other")
            try:
                kept += taking.take_launches(sides, self.job, count=LAUNCHES - len(kept), all_or_none=True)
            finally:
                for build, side in zip(builds, sides):
                    self._require(build, side)
        rows = [row for each in kept for suite in each.suites.values() for row in suite.rows.values() if None not in row.effects]
        if len(rows) < len(kept):
            reasons = [each for suite in kept[-1].suites.values() for by_side in suite.failed.values() for each in by_side.items()]
            number, reason = reasons[0] if reasons else ("", "it is skipped")
            failed = builds[int(number)] if number.isdecimal() else builds[0]
            raise BuildFailed(reason, got=failed, allowed="a build that runs it", next="search between others")
        return {build: [row.seconds * exp((row.effects[number] or 0) / UNIT) for row in rows] for number, build in enumerate(builds)}

    def _opened(self, build: str) -> Measurement:
        """Return the measurement of a build, whose environment is open. Raises BuildFailed."""
        if build not in self.measurements:
            release = next((row for row in self.job.campaign.releases if row.version == build), None)
            try:
                self.measurements[build] = Measurement(release or wheel_index.release(build), self.python)
            except TensorcopyError as error:
                self._refuse(build, error)
            if release is None and not self.measurements[build].is_installed(self.job.paths):
                self.added.callback(environments.remove, self.measurements[build].path(self.job.paths))
        self.job.usable([self.measurements[build]])
        self._require(build, self.measurements[build])
        return self.measurements[build]

    def _require(self, build: str, side: Measurement) -> None:
        if error := self.job.failed.get(side):
            self._refuse(build, error)

    def _refuse(self, build: str, error: TensorcopyError) -> NoReturn:
        self.report(f"torch {build} cannot be measured: {error.what}, {error.got}")
        raise BuildFailed(error.what, got=build, allowed=error.allowed, next=error.next) from error
