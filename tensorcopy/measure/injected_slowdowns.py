"""Measure slowdowns of known size, for the accuracy report.

Every case is measured twice without a change, and with 5 % and 10 % more operations than are counted, so that it takes that much longer.
The variants of one release are measured in rounds, each in random order. Their results have asv's format and lie in a separate folder.
Prints nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

from tensorcopy.asv_plugin import configuration
from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.measure import plan, run_passes
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.progress import Progress, Reporter, Stage
from tensorcopy.measure.run_passes import Job

FOLDER = Path("docs/known_changes")
EXTRA = "TENSORCOPY_EXTRA"  # as benchmarks/cases.py reads it
SUITES = "^(?!article|memory|instructions|threads)(?!.*16777216)"  # without 64 MiB: its twenty operations would double the time of a pass
VARIANTS = {"as-it-is": 0.0, "again": 0.0, "5-percent": 0.05, "10-percent": 0.10}  # share of operations that are not counted, by name


def run(measurement: Measurement, paths: Paths, passes: int, random: Random, report_progress: Callable[[Progress], None]) -> None:
    """Measure the missing passes of every variant.

    In the results each variant has the place of a machine. Raises TensorcopyError where a pass fails; finished passes are stored, and the
    same call measures the missing ones.
    """
    paths = replace(paths, results=paths.results.parent / FOLDER)
    for name in VARIANTS:
        configuration.register_machine(name)
    missing = {name: plan.missing_passes(measurement.file(paths, name), SUITES, passes) for name in VARIANTS}
    order = plan.pass_order(missing, random)
    titles = [f"torch {measurement.release.version}, {name}, pass {number} of {len(order)}" for number, name in enumerate(order, 1)]
    reporter = Reporter([Stage(title, run_passes.PASS) for title in titles], report_progress)
    for number, name in enumerate(order):
        report = partial(reporter.at, number)
        with _extra(VARIANTS[name]):
            run_passes.measure_pass(measurement, Job(paths, name, SUITES), report, report)


@contextmanager
def _extra(share: float) -> Iterator[None]:
    """Set the share of uncounted operations for the suites."""
    if share:
        os.environ[EXTRA] = f"{share:g}"
    try:
        yield
    finally:
        os.environ.pop(EXTRA, None)
