"""Whether asv's figures agree with torch's own Timer, as found inside a release's environment (`timer_crosscheck`). Prints nothing."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases.environments import Environment
from tensorcopy.releases.interpreters import CHECKOUT

FILE = Path("docs/agreement.json")  # written by `tensorcopy verify --keep`
WITHIN = 0.03  # of 1, the median over cases
NONE_OUTSIDE = 0.08  # of 1, any case


@dataclass(frozen=True)
class Ratio:
    """A case's time through asv over its time by a reference."""

    suite: str
    code: str
    arguments: dict[str, Any]
    reference: str
    ratio: float

    @property
    def case(self) -> str:
        """Such as "x.clone() 16 float32"."""
        return " ".join([self.code, *(f"{name}={value}" for name, value in self.arguments.items())])


@dataclass(frozen=True)
class Agreement:
    """What was compared: `ratios` with `torch` (a version) on a processor or device."""

    torch: str
    on: str
    ratios: tuple[Ratio, ...]

    @property
    def median(self) -> float:
        return median(one.ratio for one in self.ratios)

    @property
    def outside(self) -> tuple[Ratio, ...]:
        """The cases that disagree, the worst first."""
        far = [one for one in self.ratios if abs(one.ratio - 1) > NONE_OUTSIDE]
        return tuple(sorted(far, key=lambda one: -abs(one.ratio - 1)))

    @property
    def holds(self) -> bool:
        return abs(self.median - 1) <= WITHIN and not self.outside


def run(
    environment: Environment,
    tell: Callable[[float, str], None],
    *,
    device: str = "cpu",
    suites: str = "",
    root: Path = CHECKOUT / "benchmarks",
) -> Agreement:
    """Compare in `environment` every case on `device` whose suite the expression `suites` finds; `tell` hears the share and which.

    What disagrees is compared once more in a process of its own: one process in many draws a heap that returns every copy of 4 MiB to the
    system. Raises TensorcopyError where the comparison fails or has nothing to compare.
    """
    found = _compared(environment, tell, device, suites, root)
    if not found.outside:
        return found
    wrong = {one.suite for one in found.outside}
    again = _compared(environment, tell, device, f"^({'|'.join(map(re.escape, sorted(wrong)))})$", root)
    better = {_key(one): one for one in again.ratios}
    return replace(found, ratios=tuple(better.get(_key(one), one) if one in found.outside else one for one in found.ratios))


def _key(one: Ratio) -> tuple[str, str, str]:
    return one.suite, one.case, one.reference


def _compared(environment: Environment, tell: Callable[[float, str], None], device: str, suites: str, root: Path) -> Agreement:
    command = [str(environment.python), "-m", "tensorcopy.worker.probes.timer_crosscheck", str(root), device, suites]
    ratios: list[Ratio] = []
    with (
        tempfile.TemporaryFile("w+") as errors,  # a pipe that nobody reads meanwhile would fill up
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment.variables(), cwd=CHECKOUT) as process,
    ):
        assert process.stdout is not None
        head: dict[str, Any] = {}
        for number, line in enumerate(process.stdout):
            row = json.loads(line)
            if not head:
                head = row
                continue
            if row["ratio"] is not None:
                ratios.append(Ratio(**row))
            tell(number / head["cases"], f"{row['suite'].rpartition('.')[0]} {row['code']}")
        process.wait()
        errors.seek(0)
        said = errors.read().strip().splitlines()
    if process.returncode != 0:
        raise TensorcopyError(
            "asv and torch's Timer could not be compared",
            got=(said or ["nothing"])[-1],
            allowed="a torch whose torch.utils.benchmark can be imported",
            next="tensorcopy verify with a newer release",
        )
    if not ratios:
        raise TensorcopyError(
            "no case was compared", got=f"{device}, {suites!r}", allowed="a suite that times a method there", next="asv check"
        )
    return Agreement(head["torch"], head["on"], tuple(ratios))


def document(agreement: Agreement, day: str) -> dict[str, Any]:
    """The figures that docs/methodology.md shows: by suite, how many cases, and the median, least and greatest ratio."""
    rows = {}
    for suite, ratios in by_suite(agreement.ratios).items():
        values = [round(one.ratio, 4) for one in ratios]
        rows[suite] = {"cases": len(values), "median": round(median(values), 4), "least": min(values), "greatest": max(values)}
    return {"torch": agreement.torch, "on": agreement.on, "day": day, "median": round(agreement.median, 4), "suites": rows}


def by_suite(ratios: Sequence[Ratio]) -> dict[str, list[Ratio]]:
    """In the order they came, by suite and reference: "copies.BySize, by Timer"."""
    found: dict[str, list[Ratio]] = {}
    for one in ratios:
        found.setdefault(f"{one.suite.rpartition('.')[0]}, by {one.reference}", []).append(one)
    return found
