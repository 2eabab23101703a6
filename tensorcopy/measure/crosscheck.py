"""Compare asv's times with torch's own Timer in a release's environment.

The probe `timer_crosscheck` measures both. Prints nothing.
"""

from __future__ import annotations

import json
import re
import shlex
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import child_process, environments
from tensorcopy.releases.environments import Environment
from tensorcopy.releases.interpreters import CHECKOUT
from tensorcopy.worker import operations

SECONDS = 600.0  # rough estimate for all cases; shown until a tenth of them is compared
FILE = Path("docs/agreement.json")  # written by `tensorcopy verify --keep`
MEDIAN_TOLERANCE = 0.03  # largest deviation of the median ratio from 1
CASE_TOLERANCE = 0.08  # largest deviation of any case's ratio from 1

# arguments: share done (0 to 1), seconds since the start, the case that was compared
ReportProgress = Callable[[float, float, str], None]


@dataclass(frozen=True)
class Ratio:
    """A case's time by asv, divided by its time by a reference."""

    suite: str
    code: str
    arguments: dict[str, Any]
    reference: str
    ratio: float

    @property
    def case(self) -> str:
        """The code and its arguments, such as "x.clone() numel=16 dtype=float32"."""
        return " ".join([self.code, *(f"{name}={value}" for name, value in self.arguments.items())])


@dataclass(frozen=True)
class Agreement:
    """The ratios measured with a version of `torch`, on a processor or device."""

    torch: str
    on: str
    ratios: tuple[Ratio, ...]

    @property
    def median(self) -> float:
        return median(ratio.ratio for ratio in self.ratios)

    @property
    def outside(self) -> tuple[Ratio, ...]:
        """The cases that disagree, largest deviation first."""
        outside = [ratio for ratio in self.ratios if abs(ratio.ratio - 1) > CASE_TOLERANCE]
        return tuple(sorted(outside, key=lambda ratio: -abs(ratio.ratio - 1)))

    @property
    def holds(self) -> bool:
        return abs(self.median - 1) <= MEDIAN_TOLERANCE and not self.outside


@dataclass(frozen=True)
class Probe:
    """The arguments of the probe `timer_crosscheck`.

    suites : a regular expression on the names of the suites under `root`
    """

    environment: Environment
    device: str = "cpu"
    suites: str = ""
    root: Path = CHECKOUT / "benchmarks"

    def command(self) -> list[str]:
        """Return the command line, for the environment's Python."""
        module = "tensorcopy.worker.probes.timer_crosscheck"
        return [str(self.environment.python), "-m", module, str(self.root), self.device, self.suites]


def run(probe: Probe, report_progress: ReportProgress) -> Agreement:
    """Compare every case of a probe with its reference.

    The suites of cases that disagree are compared once more in a separate process: one process in many gets a heap that returns every copy
    of 4 MiB to the system. Raises TensorcopyError where the device cannot be used, and where the comparison fails or has no case.
    """
    environments.require(probe.environment, probe.device)
    first = _compare(probe, report_progress)
    if not first.outside:
        return first
    names = sorted({re.escape(ratio.suite) for ratio in first.outside})
    second = _compare(replace(probe, suites=f"^({'|'.join(names)})$"), report_progress)
    repeated = {_key(ratio): ratio for ratio in second.ratios}
    ratios = [repeated.get(_key(ratio), ratio) if ratio in first.outside else ratio for ratio in first.ratios]
    return replace(first, ratios=tuple(ratios))


def _key(ratio: Ratio) -> tuple[str, str, str]:
    return ratio.suite, ratio.case, ratio.reference


def _compare(probe: Probe, report_progress: ReportProgress) -> Agreement:
    """Run the probe in one process, and read a line of JSON per case from its output."""
    environment = probe.environment
    started = monotonic()
    ratios: list[Ratio] = []
    head: dict[str, Any] = {}
    with (
        tempfile.TemporaryFile("w+") as errors,  # a pipe would fill up, because it is read only at the end
        child_process.started(
            probe.command(), stderr=errors, env={**environment.variables(), **operations.variables()}, cwd=CHECKOUT
        ) as process,
    ):
        assert process.stdout is not None
        for number, line in enumerate(process.stdout):
            row = json.loads(line)
            if not head:
                head = row
                continue
            if row["ratio"] is not None:
                ratios.append(Ratio(**row))
            report_progress(number / head["cases"], monotonic() - started, f"{row['suite'].rpartition('.')[0]} {row['code']}")
        process.wait()
        errors.seek(0)
        _check(process.returncode, errors.read(), ratios, probe)
    return Agreement(head["torch"], head["on"], tuple(ratios))


def _check(exit_code: int, errors: str, ratios: Sequence[Ratio], probe: Probe) -> None:
    if exit_code != 0:
        raise TensorcopyError(
            "asv and torch's Timer could not be compared",
            got=(errors.strip().splitlines() or [f"exit code {exit_code}"])[-1],
            allowed="a torch whose torch.utils.benchmark can be imported",
            next=f"{shlex.join(probe.command())} shows the traceback",
        )
    if not ratios:
        raise TensorcopyError(
            "no case was compared",
            got=f"{probe.device}, {probe.suites!r}",
            allowed="a suite that times a method on that device",
            next="run asv check to see the suites",
        )


def document(agreement: Agreement, day: str) -> dict[str, Any]:
    """Return the figures of docs/methodology.md, by suite, as plain values."""
    rows = {}
    for suite, ratios in by_suite(agreement.ratios).items():
        values = [round(ratio.ratio, 4) for ratio in ratios]
        rows[suite] = {"cases": len(values), "median": round(median(values), 4), "min": min(values), "max": max(values)}
    return {"torch": agreement.torch, "on": agreement.on, "day": day, "median": round(agreement.median, 4), "suites": rows}


def by_suite(ratios: Sequence[Ratio]) -> dict[str, list[Ratio]]:
    """Group ratios by suite and reference, such as "copies.BySize, by Timer"."""
    groups: dict[str, list[Ratio]] = {}
    for ratio in ratios:
        groups.setdefault(f"{ratio.suite.rpartition('.')[0]}, by {ratio.reference}", []).append(ratio)
    return groups
