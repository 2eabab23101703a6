"""Compare the suites' times with torch's own Timer, by the installed torch; exit 1 if they disagree.

    uv run python -m docs.tools.verify [--bench REGEX] [--keep]

The probe `timer_crosscheck` measures both, in alternating order.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

from tensorcopy import configuration, files
from tensorcopy.cli.output import progress_bar
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import sides
from tensorcopy.measure.process import Program
from tensorcopy.measure.settings import expression
from tensorcopy.releases import interpreters
from tensorcopy.releases.interpreters import CHECKOUT
from tensorcopy.worker.processes import ReportProgress

FILE = Path("docs/agreement.json")  # written with --keep
MEDIAN_TOLERANCE = 0.03  # largest deviation of the median ratio from 1
CASE_TOLERANCE = 0.08  # largest deviation of any case's ratio from 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how the suites' times agree with the Timer's, and return the exit code. Raises TensorcopyError."""
    parser = argparse.ArgumentParser(prog="python -m docs.tools.verify", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bench", type=expression, default="", metavar="REGEX", help="suites; default: all that time a method")
    parser.add_argument("--keep", action="store_true", help="if all suites agree, write the ratios to docs/agreement.json")
    options = parser.parse_args(arguments)
    if options.keep and options.bench:
        parser.error("--keep is of all suites")
    (side,) = sides.in_interpreters(["same"], shipped())
    program = sides.opened(side, shipped(), configuration.paths()).program
    with progress_bar() as report_progress:
        agreement = compared(program, report_progress, options.bench)
    report = document(agreement, datetime.now(timezone.utc).date().isoformat())
    for name, row in report["suites"].items():
        print(f"{name:<44}{row['cases']:>4} cases{row['median']:>9.3f}{row['min']:>9.3f} to {row['max']:.3f}")
    for ratio in agreement.outside:
        print(f"disagrees: {ratio.ratio:.3f}  {ratio.suite} {ratio.case}")
    print(
        f"suites and their reference {'agree' if agreement.holds else 'DISAGREE'} with torch {agreement.torch} on {agreement.on}: the "
        f"median of {len(agreement.ratios)} cases is {agreement.median:.3f} (allowed 1 ± {MEDIAN_TOLERANCE}), "
        f"{len(agreement.outside)} outside 1 ± {CASE_TOLERANCE}"
    )
    if options.keep and agreement.holds:
        files.replace(FILE, json.dumps(report, indent=2) + "\n")
    return 0 if agreement.holds else 1


@dataclass(frozen=True)
class Ratio:
    """A case's time by its suite, divided by its time by the Timer."""

    suite: str
    case: str  # the code and its arguments: "x.clone() numel=16 dtype=float32"
    ratio: float


@dataclass(frozen=True)
class Agreement:
    """The ratios measured with a version of `torch`, on a processor."""

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


def compared(program: Program, report_progress: ReportProgress, suites: str = "") -> Agreement:
    """Compare each case of the suites whose name matches with the Timer.

    The suites of cases that disagree are compared once more in a separate process: one process in many gets a heap that returns every copy
    of 4 MiB to the system. Raises TensorcopyError where the comparison fails or has no case.
    """
    first = _compared(program, report_progress, suites)
    if not first.outside:
        return first
    names = sorted({re.escape(ratio.suite) for ratio in first.outside})
    second = _compared(program, report_progress, f"^({'|'.join(names)})$")
    repeated = {(ratio.suite, ratio.case): ratio for ratio in second.ratios}
    ratios = [repeated.get((ratio.suite, ratio.case), ratio) if ratio in first.outside else ratio for ratio in first.ratios]
    return replace(first, ratios=tuple(ratios))


def _compared(program: Program, report_progress: ReportProgress, suites: str) -> Agreement:
    """Run the probe in one process, and read a line of JSON per case from its output."""
    command = [str(program.python), "-m", "docs.tools.timer_crosscheck", str(program.suites), suites]
    with (
        tempfile.TemporaryFile("w+") as errors,  # a pipe would fill up, because it is read only at the end
        interpreters.started_process(command, stderr=errors, env=dict(program.variables), cwd=CHECKOUT) as process,
    ):
        assert process.stdout is not None
        head, ratios = json.loads(next(process.stdout, "{}")), list[Ratio]()
        for number, row in enumerate(map(json.loads, process.stdout), 1):
            ratios += [Ratio(**row)] if row["ratio"] is not None else []
            report_progress(number / head["cases"], row["suite"].rpartition(".")[0])
        process.wait()
        errors.seek(0)
        got = (errors.read().strip().splitlines() or [f"exit code {process.returncode}"])[-1]
    if process.returncode != 0 or not ratios:
        raise TensorcopyError(
            "the suites and torch's Timer could not be compared",
            got=got if process.returncode else f"no case of {suites!r}",
            allowed="a suite that times a method, and a torch whose torch.utils.benchmark can be imported",
            next=f"{shlex.join(command)} shows the traceback",
        )
    return Agreement(head["torch"], head["on"], tuple(ratios))


def document(agreement: Agreement, day: str) -> dict[str, Any]:
    """Return the figures of docs/measurement.md, by suite, as plain values."""
    by_suite: dict[str, list[float]] = {}
    for each in agreement.ratios:
        by_suite.setdefault(f"{each.suite.rpartition('.')[0]}, by Timer", []).append(round(each.ratio, 4))
    rows = {
        name: {"cases": len(values), "median": round(median(values), 4), "min": min(values), "max": max(values)}
        for name, values in by_suite.items()
    }
    return {"torch": agreement.torch, "on": agreement.on, "day": day, "median": round(agreement.median, 4), "suites": rows}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TensorcopyError as error:
        sys.exit(str(error))
