"""Measure both results of a comparison again, in turns. Prints nothing.

The samples go to a separate folder, which is emptied at the start of a confirmation. They must not join the results: cases are measured
again because of their results, and such samples would bias the history.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tensorcopy.asv_plugin import configuration
from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import plan, run_passes
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.run_passes import Job, Progress, Reporter, Stage
from tensorcopy.results import files, reader
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result
from tensorcopy.worker import hardware

START = 1 / 8  # of a full pass: asv starts, and imports the suites with torch
FULL_PASS = 300  # cases in a full pass


def measurer(
    before: Result, after: Result, paths: Paths, report_progress: Callable[[Progress], None]
) -> Callable[[int, Sequence[Case], int], tuple[Result, Result]]:
    """Return a function that measures the releases or Pythons of two results again.

    `analysis.retest` calls it. Its arguments are the number of the confirmation, the cases, and the number of passes that each release
    shall have in the end. Raises TensorcopyError where this machine is not the results' machine, or cannot install the releases.
    """
    pair, machine = _measurements(before, after), before.machine
    _check_same("identity", hardware.identity(), before)  # before anything is installed
    configuration.register_machine(machine)
    separate = replace(paths, results=paths.environments.parent / "confirmation")
    started: set[int] = set()

    def measure_again(confirmation: int, cases: Sequence[Case], passes: int) -> tuple[Result, Result]:
        if confirmation not in started:
            started.add(confirmation)
            shutil.rmtree(separate.results, ignore_errors=True)
        job = Job(separate, machine, expression(cases))
        _measure_alternating(pair, job, passes, report_progress, (f"confirmation {confirmation}", seconds(len(cases))))
        return _load_pair(pair, separate, before)

    return measure_again


def _measurements(before: Result, after: Result) -> tuple[Measurement, Measurement]:
    if before.machine != after.machine or (before.sha, before.python) == (after.sha, after.python):
        raise TensorcopyError(
            "these results cannot be measured again",
            got=f"torch {before.provenance['torch']} on {before.machine} and {after.provenance['torch']} on {after.machine}",
            allowed="two releases or Pythons of one machine",
            next="leave --confirm out",
        )
    return _measurement_of(before), _measurement_of(after)


def _measurement_of(result: Result) -> Measurement:
    """Return the measurement that repeats a result.

    Raises TensorcopyError where it cannot be installed, or only in another environment.
    """
    version = result.provenance["torch"].partition("+")[0]
    measurement = plan.select([f"{version}@{result.python}"], (result.python,))[0][0]
    if measurement.environment != result.environment:
        raise TensorcopyError(
            f"torch {version} cannot be measured again in its environment",
            got=result.environment,
            allowed=f"{measurement.environment}, which uv installs here",
            next="measure both releases in such environments: tensorcopy measure",
        )
    return measurement


def seconds(cases: int) -> float:
    """Return the expected duration of a pass of some cases."""
    return run_passes.PASS * (START + cases / FULL_PASS)


def _measure_alternating(
    pair: tuple[Measurement, Measurement], job: Job, passes: int, report_progress: Callable[[Progress], None], stage: tuple[str, float]
) -> None:
    """Measure the missing passes of both releases, in the order A B B A.

    stage : title and expected seconds of each pass

    Raises TensorcopyError where a pass fails.
    """
    title, duration = stage
    counts = [len(_records(measurement.file(job.paths, job.machine))) for measurement in pair]
    order = [pair[index] for index in alternating(counts, passes)]
    stages = [Stage(f"{measurement.release.version}, {title}", duration) for measurement in order]
    reporter = Reporter(stages, report_progress)
    for number, measurement in enumerate(order):
        report = partial(reporter.at, number)
        run_passes.measure_pass(measurement, job, report, report)


def _records(path: Path) -> list[dict[str, Any]]:
    return files.records(path) if path.exists() else []


def _load_pair(pair: tuple[Measurement, Measurement], paths: Paths, original: Result) -> tuple[Result, Result]:
    """Load the new results.

    Raises TensorcopyError where `original` is of another machine with the same name.
    """
    loaded = reader.load_results(paths.results)
    if loaded.problems:
        raise loaded.problems[0]
    by_path = {result.path: result for result in loaded.results}
    before, after = (by_path[measurement.file(paths, original.machine)] for measurement in pair)
    for name in ("cpu", "identity"):
        _check_same(name, before.provenance.get(name), original)
    return before, after


def _check_same(name: str, here: str | None, original: Result) -> None:
    """Raise TensorcopyError where this machine has another value of a field than a result's machine."""
    there = original.provenance.get(name)
    if there is not None and here != there:  # a result from before version 4 of the suites has no identity
        raise TensorcopyError(
            "this is not the machine of the results",
            got=f"{name} {here}",
            allowed=f"{original.machine}, {name} {there}",
            next="leave --confirm out, or measure both releases here",
        )


def alternating(counts: Sequence[int], passes: int) -> Iterator[int]:
    """Yield the index (0 or 1) of the next item to measure, A B B A.

    Ends when both have `passes` passes.

    counts : the number of passes that each already has
    """
    for number in range(passes):
        for index in ((0, 1), (1, 0))[number % 2]:
            if counts[index] <= number:
                yield index


def expression(cases: Sequence[Case]) -> str:
    """Return a regular expression that matches asv's names of these cases only."""
    names = []
    for case in cases:
        values = ", ".join(f"'?{re.escape(value)}'?" for _, value in case.parameters)
        names.append(re.escape(case.suite) + (rf"\({values}\)" if values else ""))
    return f"^({'|'.join(names)})$"
