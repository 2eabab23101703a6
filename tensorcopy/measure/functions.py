"""Count the functions of releases and write them beside their results. Prints nothing.

Nothing is timed: the functions of a release that was measured long ago can be counted now, on the same hardware.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.run_passes import Progress, Reporter, Stage
from tensorcopy.releases import environments, interpreters
from tensorcopy.releases.environments import Environment
from tensorcopy.results import files, functions, suite_specs
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
    stages = [Stage(f"torch {m.release.version} on Python {m.python}", COUNT + INSTALL * (not m.is_installed(paths))) for m in measurements]
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
            with one_writer(paths.results, "measure", report_wait):
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
