"""The command that compares asv's times with a reference: verify."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import expression, progress_bar
from tensorcopy.errors import TensorcopyError
from tensorcopy.worker.devices import DEVICES

if TYPE_CHECKING:
    from rich.console import Console

    from tensorcopy.measure.crosscheck import Agreement


def add(commands: Any) -> None:
    """Add this command to the parser."""
    verify = commands.add_parser("verify", help="compare asv's times with torch's own Timer, alternating; exit 1 if they disagree")
    verify.add_argument(
        "release", nargs="?", default="", metavar="RELEASE", help="such as 2.15.0; default: the newest that can be installed here"
    )
    verify.add_argument("--device", choices=DEVICES, default="cpu", help="default: cpu; on cuda, CUDA events are a second reference")
    verify.add_argument("--bench", type=expression, default="", metavar="REGEX", help="suites; default: all that time a method")
    verify.add_argument("--interpreter", metavar="PYTHON", help='use the torch of this Python: "same", a program or a path')
    verify.add_argument("--keep", action="store_true", help="if all agree, write the ratios to docs/agreement.json")
    verify.set_defaults(command=_verify)


def _verify(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.measure import crosscheck
    from tensorcopy.results import writing

    if options.keep:
        _require_for_keeping(not options.bench and options.device == "cpu")  # before minutes of measuring
    agreement = _crosschecked(options, console)
    _print_agreement(agreement, console)
    if options.keep:
        _require_for_keeping(agreement.holds)
        writing.replace(crosscheck.FILE, json.dumps(crosscheck.document(agreement, _today()), indent=2) + "\n")
    return 0 if agreement.holds else 1


def _require_for_keeping(condition: bool) -> None:
    """Raise TensorcopyError unless `condition` holds."""
    if not condition:
        raise TensorcopyError(
            "these ratios are not written to docs/agreement.json",
            got="some of the cases, another device, or a disagreement",
            allowed="every case on the CPU, in agreement",
            next="tensorcopy verify --keep on an idle machine",
        )


def _crosschecked(options: argparse.Namespace, console: Console) -> Agreement:
    """Install the release unless an interpreter has it, and time every case with asv and with its reference.

    Raises TensorcopyError.
    """
    from dataclasses import replace
    from functools import partial

    from tensorcopy.asv_plugin import configuration
    from tensorcopy.asv_plugin.environment import runner_folder
    from tensorcopy.measure import crosscheck, plan, run_passes
    from tensorcopy.measure.progress import Reporter, Stage

    paths = configuration.paths()
    named = [options.release] if options.release else []
    if options.interpreter:
        measurement = plan.in_interpreter(options.interpreter, named)
    else:
        (measurement, *_), _skipped = plan.select(named, paths.pythons, newest_first=True)
    release, python = measurement.release, measurement.python
    with progress_bar(console) as report_progress:
        stages = [
            Stage(f"installing torch {release.version} on Python {python}", run_passes.INSTALL),
            Stage(f"torch {release.version}", crosscheck.SECONDS),
        ]
        reporter = Reporter(stages, report_progress)
        reporter.at(0)
        environment = measurement.opened(paths)
        if measurement.interpreter:
            environment = replace(environment, folders=(runner_folder(paths.environments),))
        probe = crosscheck.Probe(environment, options.device, options.bench)
        return crosscheck.run(probe, partial(reporter.at, 1))


def _print_agreement(agreement: Agreement, console: Console) -> None:
    from statistics import median

    from rich.table import Table

    from tensorcopy.measure import crosscheck

    table = Table(box=None, pad_edge=False)
    table.add_column("asv / reference")
    for title in ("cases", "median", "min", "max"):
        table.add_column(title, justify="right")
    for name, ratios in crosscheck.by_suite(agreement.ratios).items():
        values = [ratio.ratio for ratio in ratios]
        table.add_row(name, str(len(values)), f"{median(values):.3f}", f"{min(values):.3f}", f"{max(values):.3f}")
    console.print(table)
    for ratio in agreement.outside:
        console.print(f"disagrees: {ratio.ratio:.3f}  {ratio.suite} {ratio.case}", soft_wrap=True)
    verb = "agree" if agreement.holds else "DISAGREE"
    console.print(
        f"asv and its reference {verb} with torch {agreement.torch} on {agreement.on}: the median of {len(agreement.ratios)} cases "
        f"is {agreement.median:.3f} (allowed 1 ± {crosscheck.MEDIAN_TOLERANCE}), "
        f"{len(agreement.outside)} outside 1 ± {crosscheck.CASE_TOLERANCE}",
        soft_wrap=True,
    )


def _today() -> str:
    from datetime import datetime, timezone

    return datetime.now(timezone.utc).date().isoformat()
