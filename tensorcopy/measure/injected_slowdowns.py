"""Changes of known size, really measured: what the report card asks the judge about. Prints nothing.

Every case is measured as it is, twice over, and with a share of its acts done and not counted, so that it takes exactly so much longer. The
variants are measured in rounds, each in random order, on one release. They are asv's results like any other, in a folder of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

from tensorcopy.asv_plugin import configuration
from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.measure import plan, run_passes
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.progress import Progress, Stage, progress
from tensorcopy.measure.run_passes import Job

FOLDER = Path("docs/known_changes")
EXTRA = "TENSORCOPY_EXTRA"  # as benchmarks/cases.py reads it
SUITES = "^(?!article|memory|instructions|threads)(?!.*16777216)"  # twenty acts of 64 MiB would take a pass longer than all others
VARIANTS = {"as-it-is": 0.0, "again": 0.0, "5-percent": 0.05, "10-percent": 0.10}  # share of acts that are not counted, by name


def run(one: Measurement, paths: Paths, passes: int, random: Random, tell: Callable[[Progress], None]) -> None:
    """Bring every variant up to so many passes. Raises TensorcopyError; what was measured stays, and the same call goes on.

    The variants stand where asv has its machines.
    """
    aside = replace(paths, results=paths.results.parent / FOLDER)
    for name in VARIANTS:
        configuration.register(name)
    order = plan.missing({name: plan.lacking(one.file(aside, name), SUITES, passes) for name in VARIANTS}, random)
    steps = [Stage(f"torch {one.release.version}, {name}", run_passes.PASS) for name in order]
    for number, name in enumerate(order):

        def told(share: float, elapsed: float, detail: str, number: int = number) -> None:
            tell(progress(steps, number, share, elapsed, f", pass {number + 1} of {len(steps)}{detail and ': '}{detail}"))

        with _extra(VARIANTS[name]):
            run_passes.one_pass(one, Job(aside, name, SUITES), told, told)


@contextmanager
def _extra(share: float) -> Iterator[None]:
    if share:
        os.environ[EXTRA] = f"{share:g}"
    try:
        yield
    finally:
        os.environ.pop(EXTRA, None)
