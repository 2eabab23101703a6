"""Compare the suites' times with torch's own Timer in a release's environment; exit 1 if they disagree.

    uv run python -m docs.tools.verify [RELEASE] [--device cuda] [--bench REGEX] [--interpreter PYTHON] [--keep]

The probe `timer_crosscheck` measures both there, in alternating order.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from tensorcopy import configuration, files
from tensorcopy.cli import output
from tensorcopy.cli.output import progress_bar
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import sides
from tensorcopy.measure.process import Program
from tensorcopy.measure.settings import expression
from tensorcopy.releases import interpreters
from tensorcopy.releases.interpreters import CHECKOUT
from tensorcopy.report.table import of_cells, terminal
from tensorcopy.worker.devices import DEVICES

FILE = Path("docs/agreement.json")  # written with --keep
MEDIAN_TOLERANCE = 0.03  # largest deviation of the median ratio from 1
CASE_TOLERANCE = 0.08  # largest deviation of any case's ratio from 1

ReportShare = Callable[[float, str], None]  # the share that is done, and the case that was compared


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how the suites' times agree with the reference's, and return the exit code. Raises TensorcopyError."""
    parser = argparse.ArgumentParser(prog="python -m docs.tools.verify", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("release", nargs="?", default="", metavar="RELEASE", help="default: the newest that can be installed here")
    parser.add_argument("--device", choices=DEVICES, default="cpu", help="default: cpu; on cuda, CUDA events are a second reference")
    parser.add_argument("--bench", type=expression, default="", metavar="REGEX", help="suites; default: all that time a method")
    parser.add_argument("--interpreter", metavar="PYTHON", help='use the torch of this Python: "same", a program or a path')
    parser.add_argument("--keep", action="store_true", help="if all agree, write the ratios to docs/agreement.json")
    options = parser.parse_args(arguments)
    if options.keep:
        _require_for_keeping(not options.bench and options.device == "cpu")  # before minutes of measuring
    agreement, console = _crosschecked(options), output.console()
    _print_agreement(agreement, console)
    if options.keep:
        _require_for_keeping(agreement.holds)
        today = datetime.now(timezone.utc).date().isoformat()
        files.replace(FILE, json.dumps(document(agreement, today), indent=2) + "\n")
    return 0 if agreement.holds else 1


def _require_for_keeping(condition: bool) -> None:
    """Raise TensorcopyError unless `condition` holds."""
    if not condition:
        raise TensorcopyError(
            "these ratios are not written to docs/agreement.json",
            got="some of the cases, another device, or a disagreement",
            allowed="every case on the CPU, in agreement",
            next="uv run python -m docs.tools.verify --keep on an idle machine",
        )


def _crosschecked(options: argparse.Namespace) -> Agreement:
    """Install the release unless an interpreter has it, and time every case by its suite and by its reference. Raises TensorcopyError."""
    paths = configuration.paths()
    named = [options.release] if options.release else []
    if options.interpreter:
        side = sides.in_interpreters([options.interpreter], shipped(), named)[0]
    else:
        side = sides.choose(named, shipped(), paths.pythons)[0][-1]
    program = sides.opened(side, shipped(), paths, options.device).program
    search_path = interpreters.search_path([CHECKOUT, interpreters.runner_folder(paths.environments)], program.python)
    program = replace(program, variables={**program.variables, "PYTHONPATH": search_path})
    with progress_bar(title=str(side)) as report_share:
        return run(Probe(program, options.device, options.bench), report_share)


def _print_agreement(agreement: Agreement, console: Console) -> None:
    rows = []
    for name, ratios in by_suite(agreement.ratios).items():
        values = [ratio.ratio for ratio in ratios]
        rows.append([name, str(len(values)), f"{median(values):.3f}", f"{min(values):.3f}", f"{max(values):.3f}"])
    for line in terminal(of_cells("", ["suite / reference", "cases", "median", "min", "max"], rows, "lrrrr"), console.width):
        console.print(line)
    for ratio in agreement.outside:
        console.print(f"disagrees: {ratio.ratio:.3f}  {ratio.suite} {ratio.case}", soft_wrap=True)
    verb = "agree" if agreement.holds else "DISAGREE"
    console.print(
        f"suites and their reference {verb} with torch {agreement.torch} on {agreement.on}: the median of {len(agreement.ratios)} cases "
        f"is {agreement.median:.3f} (allowed 1 ± {MEDIAN_TOLERANCE}), {len(agreement.outside)} outside 1 ± {CASE_TOLERANCE}",
        soft_wrap=True,
    )


@dataclass(frozen=True)
class Ratio:
    """A case's time by its suite, divided by its time by a reference."""

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

    program: Program
    device: str = "cpu"
    suites: str = ""
    root: Path = CHECKOUT / "benchmarks"

    def command(self) -> list[str]:
        """Return the command line, for the environment's Python."""
        module = "docs.tools.timer_crosscheck"
        return [str(self.program.python), "-m", module, str(self.root), self.device, self.suites]


def run(probe: Probe, report_share: ReportShare) -> Agreement:
    """Compare every case of a probe with its reference.

    The suites of cases that disagree are compared once more in a separate process: one process in many gets a heap that returns every copy
    of 4 MiB to the system. Raises TensorcopyError where the device cannot be used, and where the comparison fails or has no case.
    """
    first = _compare(probe, report_share)
    if not first.outside:
        return first
    names = sorted({re.escape(ratio.suite) for ratio in first.outside})
    second = _compare(replace(probe, suites=f"^({'|'.join(names)})$"), report_share)
    repeated = {_key(ratio): ratio for ratio in second.ratios}
    ratios = [repeated.get(_key(ratio), ratio) if ratio in first.outside else ratio for ratio in first.ratios]
    return replace(first, ratios=tuple(ratios))


def _key(ratio: Ratio) -> tuple[str, str, str]:
    return ratio.suite, ratio.case, ratio.reference


def _compare(probe: Probe, report_share: ReportShare) -> Agreement:
    """Run the probe in one process, and read a line of JSON per case from its output."""
    ratios: list[Ratio] = []
    head: dict[str, Any] = {}
    with (
        tempfile.TemporaryFile("w+") as errors,  # a pipe would fill up, because it is read only at the end
        interpreters.started_process(probe.command(), stderr=errors, env=probe.program.variables, cwd=CHECKOUT) as process,
    ):
        assert process.stdout is not None
        for number, line in enumerate(process.stdout):
            row = json.loads(line)
            if not head:
                head = row
                continue
            if row["ratio"] is not None:
                ratios.append(Ratio(**row))
            report_share(number / head["cases"], f"{row['suite'].rpartition('.')[0]} {row['code']}")
        process.wait()
        errors.seek(0)
        _check(process.returncode, errors.read(), ratios, probe)
    return Agreement(head["torch"], head["on"], tuple(ratios))


def _check(exit_code: int, errors: str, ratios: Sequence[Ratio], probe: Probe) -> None:
    if exit_code != 0:
        raise TensorcopyError(
            "the suites and torch's Timer could not be compared",
            got=(errors.strip().splitlines() or [f"exit code {exit_code}"])[-1],
            allowed="a torch whose torch.utils.benchmark can be imported",
            next=f"{shlex.join(probe.command())} shows the traceback",
        )
    if not ratios:
        raise TensorcopyError(
            "no case was compared",
            got=f"{probe.device}, {probe.suites!r}",
            allowed="a suite that times a method on that device",
            next="leave --bench out",
        )


def document(agreement: Agreement, day: str) -> dict[str, Any]:
    """Return the figures of docs/measurement.md, by suite, as plain values."""
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


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TensorcopyError as error:
        print(f"verify: {error}", file=sys.stderr)
        sys.exit(2)
