"""Count the functions of releases, of which nothing is timed. Prints nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.taking import Job
from tensorcopy.releases import interpreters
from tensorcopy.releases.environments import Environment
from tensorcopy.results import function_profiles, suite_specs
from tensorcopy.results.launches import Place
from tensorcopy.worker.processes import ReportProgress


def not_counted(measurements: Sequence[Measurement], job: Job) -> list[Measurement]:
    """Return the measurements whose instructions were counted, or whose operations were timed, and whose functions were not counted."""
    machines: dict[Place, set[str]] = {}
    for each in [*job.stored(), *job.counted()]:
        if any(_is_profiled(name) and (suite.values or suite.rows) for name, suite in each.suites.items()):
            for side in each.sides:
                machines.setdefault(side.place, {job.machine}).add(each.machine)

    def is_profiled(place: Place) -> bool:
        return any(function_profiles.paths_of(job.results / machine, *place[:2]) for machine in machines[place])

    return [each for each in measurements if each.place in machines and not is_profiled(each.place)]


def _is_profiled(suite: str) -> bool:
    """Return whether the functions of a suite's cases are counted."""
    spec = suite_specs.find(suite)
    return spec.metric == suite_specs.INSTRUCTIONS or (spec.shipped and spec.methods == suite_specs.OWN)


def count_all(measurements: Sequence[Measurement], job: Job, report_progress: ReportProgress) -> tuple[list[Path], list[TensorcopyError]]:
    """Count the functions of each release, and write a file of each.

    Returns the written files, and an error for each release whose functions could not be counted.
    """
    written, problems = [], []
    for index, measurement in enumerate(measurements):
        report_progress(index / len(measurements), f"functions of {measurement}")
        try:
            job.side(measurement)
            path = function_profiles.path_of(job.results / job.machine, *measurement.place[:2])
            function_profiles.write(path, counted(job.opened[measurement], job.campaign.profiler, job.campaign.profiled))
            written.append(path)
        except DiskError:
            raise  # the next file could not be stored either
        except TensorcopyError as error:
            problems.append(error)
    return written, problems


def counted(environment: Environment, profiler: str, pattern: str = "") -> dict[str, Any]:
    """Return the functions of an environment's cases, as `results.function_profiles.Profiles` describes them.

    profiler : the probe that counts them
    pattern : a regular expression on the names of cases; default: all

    Raises TensorcopyError where no case runs.
    """
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    document = interpreters.run_probe(environment.python, profiler, pattern, variables=environment.variables())
    if not document["cases"]:
        raise TensorcopyError("no case runs", got=pattern, allowed="a case that this torch runs", next="another release")
    provenance = environment.report["ledger"]
    of_release = {name: provenance[name] for name in ("torch", "torch_sha", "python", "identity", "libc", "tensorcopy")}
    return {"version": function_profiles.VERSION, **of_release, "started": started, **document}
