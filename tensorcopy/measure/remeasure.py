"""The two sides of a comparison measured again, alternating, beside the results. Prints nothing.

The samples of a confirmation lie in a folder of their own that is removed at its start: they were taken because of what the results said,
and would bend the history if they joined it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tensorcopy.asv_plugin import configuration
from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import plan, run_passes
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.progress import Progress, Stage, progress
from tensorcopy.measure.run_passes import Job
from tensorcopy.results import files, load
from tensorcopy.results.load import Case, Result

# Brings both sides of the confirmation with this number up to so many passes of these cases, interleaved, and returns their results
Again = Callable[[int, Sequence[Case], int], tuple[Result, Result]]


def measurer(before: Result, after: Result, paths: Paths, tell: Callable[[Progress], None]) -> Again:
    """Return a function that measures two releases or Pythons again on this machine.

    Raises TensorcopyError where this machine is not the one of the results, or cannot install them.
    """
    pair, machine = _measurements(before, after), before.machine
    configuration.register(machine)
    aside = replace(paths, results=paths.environments.parent / "confirmation")
    begun: set[int] = set()

    def again(time: int, cases: Sequence[Case], passes: int) -> tuple[Result, Result]:
        if time not in begun:
            begun.add(time)
            shutil.rmtree(aside.results, ignore_errors=True)
        _measure(pair, Job(aside, machine, expression(cases)), passes, tell, f"confirmation {time}")
        return _measured(pair, aside, before)

    return again


def _measurements(before: Result, after: Result) -> tuple[Measurement, Measurement]:
    if before.machine != after.machine or (before.sha, before.python) == (after.sha, after.python):
        raise TensorcopyError(
            "this cannot be measured again",
            got=f"torch {before.provenance['torch']} on {before.machine} and {after.provenance['torch']} on {after.machine}",
            allowed="two releases or Pythons of this machine",
            next="leave --confirm out",
        )
    one, other = (
        plan.selected([f"{result.provenance['torch'].partition('+')[0]}@{result.python}"], (result.python,))[0][0]
        for result in (before, after)
    )
    return one, other


def _measure(pair: tuple[Measurement, Measurement], job: Job, passes: int, tell: Callable[[Progress], None], title: str) -> None:
    """Bring both sides up to so many passes, A B B A. Raises TensorcopyError."""
    there = [len(records) for records in (_records(one.file(job.paths, job.machine)) for one in pair)]
    order = [pair[index] for index in alternating(there, passes)]
    steps = [Stage(one.release.version, run_passes.PASS / 4) for one in order]
    for number, one in enumerate(order):

        def told(share: float, elapsed: float, detail: str, number: int = number) -> None:
            tell(progress(steps, number, share, elapsed, f", {title}"))

        run_passes.one_pass(one, job, told, told)


def _records(path: Path) -> list[dict[str, Any]]:
    return files.records(path) if path.exists() else []


def _measured(pair: tuple[Measurement, Measurement], paths: Paths, wanted: Result) -> tuple[Result, Result]:
    read = load.load_results(paths.results)
    if read.problems:
        raise read.problems[0]
    one, other = (next(r for r in read.results if r.path == Path(m.file(paths, wanted.machine))) for m in pair)
    here = one.provenance["cpu"]
    if here != wanted.provenance["cpu"]:
        raise TensorcopyError(
            "this is not the machine of the results",
            got=str(here),
            allowed=f"{wanted.machine}, {wanted.provenance['cpu']}",
            next="leave --confirm out, or measure both sides here",
        )
    return one, other


def alternating(there: Sequence[int], passes: int) -> Iterator[int]:
    """Which of two sides is next, A B B A, until both have so many passes.

    there : how many each has
    """
    for number in range(passes):
        for index in ((0, 1), (1, 0))[number % 2]:
            if there[index] <= number:
                yield index


def expression(cases: Sequence[Case]) -> str:
    """A regular expression that finds these cases by asv's names for them, and no others."""
    names = []
    for case in cases:
        values = ", ".join(f"'?{re.escape(value)}'?" for _, value in case.parameters)
        names.append(re.escape(case.suite) + (rf"\({values}\)" if values else ""))
    return f"^({'|'.join(names)})$"
