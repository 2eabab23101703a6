"""Count the functions of releases and write them beside their results. Prints nothing.

Nothing is timed: a release that was measured long ago can be profiled now, on the same hardware.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.run_passes import Progress, Reporter, Stage
from tensorcopy.releases import environments, interpreters
from tensorcopy.releases.environments import Environment
from tensorcopy.results import files, suite_specs
from tensorcopy.results.profiles import profile_file
from tensorcopy.results.writing import ReportWait, ignore_wait, one_writer
from tensorcopy.worker import hardware
from tensorcopy.worker.probes.functions import PROBE

INSTALL, COUNT = 60.0, 150.0  # rough estimates in seconds


@dataclass(frozen=True)
class Job:
    """The place of profiles.

    machine : its name in results
    report_wait : called with a sentence while another process writes the results
    """

    paths: Paths
    machine: str
    report_wait: ReportWait = ignore_wait


def without_profile(measurements: Sequence[Measurement], paths: Paths, machine: str) -> list[Measurement]:
    """Return the measurements whose instructions were counted, and whose functions were not."""
    counted = []
    for measurement in measurements:
        path = measurement.file(paths, machine)
        records = files.records(path) if path.exists() and not profile_file.path_of(path).exists() else []
        if any(suite_specs.find(suite).metric == suite_specs.INSTRUCTIONS for record in records for suite in record.get("counts", ())):
            counted.append(measurement)
    return counted


def take_all(
    measurements: Sequence[Measurement], job: Job, report_progress: Callable[[Progress], None]
) -> tuple[list[Path], list[TensorcopyError]]:
    """Profile each release, and return the written files and an error for each release that could not be profiled."""
    stages = [
        Stage(f"torch {m.release.version} on Python {m.python}", COUNT + INSTALL * (not m.is_installed(job.paths))) for m in measurements
    ]
    reporter = Reporter(stages, report_progress)
    written, problems = [], []
    for index, measurement in enumerate(measurements):
        reporter.at(index)
        try:
            written.append(take(measurement, job))
        except DiskError:
            raise  # the next profile could not be stored either
        except TensorcopyError as error:
            problems.append(error)
    return written, problems


def take(measurement: Measurement, job: Job) -> Path:
    """Profile one release, write the file beside its result, and return its path. Raises TensorcopyError."""
    result = measurement.file(job.paths, job.machine)
    _check_machine(result)  # before gigabytes are installed
    environment = measurement.opened(job.paths)
    document = profiled(environment)
    path = profile_file.path_of(result)
    with one_writer(job.paths.results, "profile", job.report_wait):
        profile_file.write(path, document)
    return path


def profiled(environment: Environment, pattern: str = "") -> dict[str, Any]:
    """Return the document of an environment's profiles, as functions.schema.json describes it.

    pattern : a regular expression on the names of cases; default: all
    """
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    variables = {**environments.STEADY, **os.environ, **environment.own}
    counted = interpreters.run_probe(environment.python, PROBE, pattern, variables=variables)
    provenance = environment.report["ledger"]
    of_release = {name: provenance[name] for name in ("torch", "torch_sha", "python", "identity", "libc", "tensorcopy")}
    return {"version": profile_file.VERSION, **of_release, "started": started, **counted}


def _check_machine(result: Path) -> None:
    """Raise TensorcopyError where the result is missing, or of other hardware."""
    if not result.exists():
        raise _no_result(result)
    here, there = hardware.identity(), files.read(result).get("ledger", {}).get("identity", "")
    if there and here != there:
        raise TensorcopyError(
            "this is not the machine of the result",
            got=f"identity {here}",
            allowed=f"{there}, of {files.displayed(result)}",
            next="profile on that machine, or measure under another --machine",
        )


def _no_result(path: Path) -> TensorcopyError:
    return TensorcopyError(
        "a profile belongs to a result",
        got=f"no {files.displayed(path)}" if not path.is_dir() else f"no result in {files.displayed(path)}",
        allowed="a release that this machine has measured",
        next="tensorcopy measure",
    )
