"""Count the functions of releases beside their results, and search the build with which a call changed. Prints nothing.

Nothing in results is timed: the functions of a release that was measured long ago can be counted now, on the same hardware. A search
keeps what it has measured in a file of its own, so that one that was interrupted goes on; it writes nothing into results or the table.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

from tensorcopy.configuration import Paths
from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.progress import Progress, Reporter
from tensorcopy.releases import environments, interpreters, release_table, wheel_index
from tensorcopy.releases.environments import Environment
from tensorcopy.results import files, functions, suite_specs, writing
from tensorcopy.results.functions import Profile, of_document
from tensorcopy.results.writing import ReportWait, ignore_wait, one_writer
from tensorcopy.worker import hardware

PROBE = "tensorcopy.worker.functions"
INSTALL, COUNT = 60.0, 150.0  # rough estimates in seconds


def not_counted(measurements: Sequence[Measurement], paths: Paths, machine: str) -> list[Measurement]:
    """Return the measurements whose instructions were counted, and whose functions were not."""
    missing = []
    for measurement in measurements:
        path = measurement.file(paths, machine)
        records = files.records(path) if path.exists() and not functions.path_of(path).exists() else []
        if any(suite_specs.find(suite).metric == suite_specs.INSTRUCTIONS for record in records for suite in record.get("counts", ())):
            missing.append(measurement)
    return missing


def count_all(
    measurements: Sequence[Measurement],
    paths: Paths,
    machine: str,
    report_progress: Callable[[Progress], None],
    report_wait: ReportWait = ignore_wait,
) -> tuple[list[Path], list[TensorcopyError]]:
    """Count the functions of each release, and write the file beside its results.

    machine : its name in results
    report_wait : called with a sentence while another process writes the results

    Returns the written files, and an error for each release whose functions could not be counted.
    """
    stages = [(f"torch {m.release.version} on Python {m.python}", COUNT + INSTALL * (not m.is_installed(paths))) for m in measurements]
    reporter = Reporter(stages, report_progress)
    written, problems = [], []
    for index, measurement in enumerate(measurements):
        reporter.at(index)
        try:
            result = measurement.file(paths, machine)
            here, there = hardware.identity(), files.read(result).get("ledger", {}).get("identity", "")
            if there and here != there:  # before gigabytes are installed
                raise TensorcopyError(
                    "this is not the machine of the result",
                    got=f"identity {here}",
                    allowed=f"{there}, of {files.displayed(result)}",
                    next="count on that machine, or measure under another --machine",
                )
            document = counted(measurement.opened(paths))
            with one_writer(paths.results, report_wait):
                functions.write(functions.path_of(result), document)
            written.append(functions.path_of(result))
        except DiskError:
            raise  # the next file could not be stored either
        except TensorcopyError as error:
            problems.append(error)
    return written, problems


def counted(environment: Environment, pattern: str = "") -> dict[str, Any]:
    """Return the functions of an environment's cases, as functions.schema.json describes them.

    pattern : a regular expression on the names of cases; default: all

    Raises TensorcopyError where no case runs.
    """
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    variables = {**environments.STEADY, **os.environ, **environment.own}
    document = interpreters.run_probe(environment.python, PROBE, pattern, variables=variables)
    if not document["cases"]:
        raise TensorcopyError("no case runs", got=pattern, allowed="a case that this torch runs", next="another release")
    provenance = environment.report["ledger"]
    of_release = {name: provenance[name] for name in ("torch", "torch_sha", "python", "identity", "libc", "tensorcopy")}
    return {"version": functions.VERSION, **of_release, "started": started, **document}


# Search the builds of torch between two for the one with which a call changed: a binary search, by exact counts or by times in turns.

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
class SearchedCall:
    """A call that a search measures. `file` keeps what was measured; closing `added` removes what the search installed."""

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
        document = self._kept(build, build, lambda opened: counted(opened, f"^{re.escape(self.name)}$"))
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
        return interpreters.run_probe(environment.python, "tensorcopy.worker.timing", "call", self.name, variables=environment.variables())

    def _kept(self, key: str, build: str, measure: Callable[[Environment], Any]) -> Any:
        """Return what is kept under a key, or measured now in the environment of a build. Raises BuildFailed."""
        kept = files.read(self.file) if self.file.exists() else {}
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
            release = next((row for row in table if row.version == build), None) or wheel_index.release(build)
            path = environments.path_of(self.paths.environments, release, self.python, wheels)
            if release not in table and not environments.is_complete(path):
                self.added.callback(environments.remove, path)
            self.opened[build] = environments.build(self.paths.environments, release, self.python, wheels)
        return self.opened[build]
