"""Compare the suites' times with torch's own Timer, by the installed torch; exit 1 if they disagree.

    uv run python -m docs.tools.verify [--bench REGEX] [--keep]

The probe `timer_crosscheck` measures both, in alternating order, and writes each case that it has measured to stderr.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

from tensorcopy import configuration, files
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import sides
from tensorcopy.measure.process import Program
from tensorcopy.measure.settings import expression
from tensorcopy.releases.interpreters import CHECKOUT
from tensorcopy.report.table import escaped

FILE = Path("docs/agreement.json")  # written with --keep
MEDIAN_TOLERANCE = 0.03  # largest deviation of the median ratio from 1
CASE_TOLERANCE = 0.08  # largest deviation of any case's ratio from 1
Case = tuple[str, str]  # a suite, and the code with its arguments: "x.clone() numel=16 dtype=float32"


@dataclass(frozen=True)
class Agreement:
    """The time of each case by its suite, divided by that by the Timer, with a version of `torch` on a processor."""

    torch: str
    on: str
    ratios: Mapping[Case, float]

    @property
    def median(self) -> float:
        return median(self.ratios.values())

    @property
    def outside(self) -> list[Case]:
        """The cases that disagree, largest deviation first."""
        outside = [case for case, ratio in self.ratios.items() if abs(ratio - 1) > CASE_TOLERANCE]
        return sorted(outside, key=lambda case: -abs(self.ratios[case] - 1))

    @property
    def holds(self) -> bool:
        return abs(self.median - 1) <= MEDIAN_TOLERANCE and not self.outside


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how the suites' times agree with the Timer's, and return the exit code. Raises TensorcopyError."""
    parser = argparse.ArgumentParser(prog="python -m docs.tools.verify", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bench", type=expression, default="", metavar="REGEX", help="suites; default: all that time a method")
    parser.add_argument("--keep", action="store_true", help="if all suites agree, write the ratios to docs/agreement.json")
    options = parser.parse_args(arguments)
    if options.keep and options.bench:
        parser.error("--keep is of all suites")
    (side,) = sides.in_interpreters(["same"], shipped())
    agreement = compared(sides.opened(side, shipped(), configuration.paths()), options.bench)
    report = document(agreement)
    for name, row in report["suites"].items():
        print(f"{name:<44}{row['cases']:>4} cases{row['median']:>9.3f}{row['min']:>9.3f} to {row['max']:.3f}")
    for suite, code in agreement.outside:
        print(f"disagrees: {agreement.ratios[suite, code]:.3f}  {suite} {code}")
    print(
        f"suites and their reference {'agree' if agreement.holds else 'DISAGREE'} with torch {agreement.torch} on {agreement.on}: the "
        f"median of {len(agreement.ratios)} cases is {agreement.median:.3f} (allowed 1 ± {MEDIAN_TOLERANCE}), "
        f"{len(agreement.outside)} outside 1 ± {CASE_TOLERANCE}"
    )
    if options.keep and agreement.holds:
        files.replace(FILE, json.dumps(report, indent=2) + "\n")
    return 0 if agreement.holds else 1


def compared(program: Program, suites: str = "") -> Agreement:
    """Compare each case of the suites whose name matches with the Timer.

    The suites of cases that disagree are compared once more in a separate process: one process in many gets a heap that returns every copy
    of 4 MiB to the system.
    """
    first = _probed(program, suites)
    if not first.outside:
        return first
    names = sorted({re.escape(suite) for suite, _ in first.outside})
    again = _probed(program, f"^({'|'.join(names)})$").ratios
    return replace(first, ratios={case: again.get(case, ratio) if case in first.outside else ratio for case, ratio in first.ratios.items()})


def _probed(program: Program, suites: str) -> Agreement:
    """Run the probe in one process, which prints a line of JSON about itself and one for each case."""
    command = [str(program.python), "-m", "docs.tools.timer_crosscheck", str(program.suites), suites]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=dict(program.variables), cwd=CHECKOUT)
    about, *rows = map(json.loads, done.stdout.splitlines())
    return Agreement(**about, ratios={(row["suite"], row["case"]): row["ratio"] for row in rows})


def document(agreement: Agreement) -> dict[str, Any]:
    """Return the figures of docs/measurement.md, by suite, as plain values."""
    by_suite: dict[str, list[float]] = {}
    for (suite, _), ratio in agreement.ratios.items():
        by_suite.setdefault(f"{suite.rpartition('.')[0]}, by Timer", []).append(round(ratio, 4))
    rows = {
        name: {"cases": len(values), "median": round(median(values), 4), "min": min(values), "max": max(values)}
        for name, values in by_suite.items()
    }
    day = datetime.now(timezone.utc).date().isoformat()
    return {"torch": agreement.torch, "on": agreement.on, "day": day, "median": round(agreement.median, 4), "suites": rows}


def shown() -> str:
    """Return the sentence of docs/measurement.md about the ratios of all suites together."""
    checked = json.loads(FILE.read_text(encoding="utf-8"))
    suites = checked["suites"].values()
    low, high = min(row["min"] for row in suites), max(row["max"] for row in suites)
    source = escaped(f"torch {checked['torch']} on {checked['on']}, {checked['day']}")
    return (
        f"The suites' time divided by the Timer's is {checked['median']:.3f} in the median of {sum(row['cases'] for row in suites)} cases, "
        f"{low:.3f} to {high:.3f} over all ({source})."
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TensorcopyError as error:
        sys.exit(str(error))
