"""Search the builds of torch between two for the one with which a call changed: a binary search, by exact counts or by times in turns.

What was measured is kept in a file, so that a search that was interrupted goes on. Nothing is written into results or the table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.measure import functions
from tensorcopy.releases import environments, release_table, wheel_index
from tensorcopy.releases.environments import Environment
from tensorcopy.releases.interpreters import run_probe
from tensorcopy.results import files, writing
from tensorcopy.results.functions import Profile, of_document

PASSES = 10  # of each build that is timed in turns
Values = list[float]  # of a build: its count, or the seconds of its passes


class BuildFailed(TensorcopyError):
    """A build that cannot be installed, or does not run the call; `got` is its version."""


def search(
    builds: Sequence[str], measure: Callable[[Sequence[str]], dict[str, Values]], distance: Callable[[Values, Values], float]
) -> tuple[list[str], dict[str, float]] | None:
    """Return between which of these builds, in order, a call changed, and the value of each measured one; None where both ends are alike.

    Builds between the two cannot be told from either end. A build is on the side of the end that it is nearer to, as a ratio: of several
    changes, one is found that crosses the middle. Where `measure` raises BuildFailed for a build that is no end, that one is left out.
    `distance` is `comparisons.distance`.
    """
    left, low, high = list(builds), 0, len(builds) - 1
    turns = measure([left[0], left[-1]])
    values = {build: median(turns[build]) for build in turns}
    if not distance(turns[left[0]], turns[left[-1]]):
        return None
    while high - low > 1:
        middle = left[(low + high) // 2]
        try:
            turns = measure([left[0], middle, left[-1]])
        except BuildFailed as failed:
            if failed.got != middle:
                raise
            left.remove(middle)
            high -= 1
            continue
        values[middle] = median(turns[middle])
        from_first, from_last = distance(turns[left[0]], turns[middle]), distance(turns[middle], turns[left[-1]])
        if not from_first and not from_last:
            break
        low, high = (low, left.index(middle)) if from_last < from_first else (left.index(middle), high)
    return left[low : high + 1], {build: values[build] for build in left if build in values}


@dataclass
class Call:
    """A call that is measured with builds of torch. `file` keeps what was measured; closing `added` removes what a search installed."""

    name: str
    python: str
    paths: Paths
    file: Path
    report: Callable[[str], None]
    added: ExitStack
    opened: dict[str, Environment] = field(default_factory=dict)

    def count(self, builds: Sequence[str]) -> dict[str, Values]:
        """Return the instructions of the call with each build. Raises BuildFailed."""
        return {build: [self.functions(build).instructions] for build in builds}

    def functions(self, build: str) -> Profile:
        """Return the functions that the call runs with a build. Raises BuildFailed."""
        document = self._kept(build, build, lambda opened: functions.counted(opened, f"^{re.escape(self.name)}$"))
        with files.damage_named(self.file):
            return of_document(document).of(self.name)

    def time(self, builds: Sequence[str]) -> dict[str, Values]:
        """Return the seconds per call of each pass, by build: a pass is a process, and the builds take turns. Raises BuildFailed."""
        seconds: dict[str, list[float]] = {build: [] for build in builds}
        for number in range(PASSES):
            start = number % len(builds)  # each build in another place, so that a drift of the machine affects all alike
            for build in (*builds[start:], *builds[:start]):
                key = f"{' '.join(builds)}, pass {number + 1} of {PASSES}: {build}"
                timed = self._kept(key, build, self._timed)
                seconds[build].append(min(timed["seconds"]))  # other programs only add to it
        return seconds

    def _timed(self, environment: Environment) -> dict[str, Any]:
        return run_probe(environment.python, "tensorcopy.worker.timing", "call", self.name, variables=environment.variables())

    def _kept(self, key: str, build: str, measure: Callable[[Environment], Any]) -> Any:
        """Return what is kept under a key, or measured now in the environment of a build. Raises BuildFailed."""
        with files.damage_named(self.file):
            kept = files.read_json(self.file) if self.file.exists() else {}
        if key not in kept:
            self.report(f"torch {key}")
            try:
                kept[key] = measure(self._environment(build))
            except TensorcopyError as error:
                if isinstance(error, DiskError):
                    raise
                self.report(f"torch {build} cannot be measured: {error.what}, {error.got}")
                raise BuildFailed(error.what, got=build, allowed=error.allowed, next=error.next) from error
            writing.replace(self.file, json.dumps(kept))
        return kept[key]

    def _environment(self, build: str) -> Environment:
        if build not in self.opened:
            table, wheels = release_table.load(), environments.expected_build()
            release = next((row for row in table if row.version == build), None) or wheel_index.release(build, dated=False)
            path = environments.path_of(self.paths.environments, release, self.python, wheels)
            if release not in table and not environments.is_complete(path):
                self.added.callback(environments.remove, path)
            self.opened[build] = environments.build(self.paths.environments, release, self.python, wheels)
        return self.opened[build]
