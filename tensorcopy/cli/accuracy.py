"""The command that grades the verdicts: accuracy."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import RESULTS, pass_count, print_warnings, progress_bar, share_bar
from tensorcopy.errors import TensorcopyError
from tensorcopy.results.passes import PASSES

if TYPE_CHECKING:
    from rich.console import Console


def add(commands: Any) -> None:
    """Add this command to the parser."""
    report = commands.add_parser(
        "accuracy", help="count how often compare and history are right and wrong, next to asv's detection; writes docs/accuracy.json"
    )
    report.add_argument("--dataset", type=Path, metavar="FILE", help="also grade on these annotated series, such as sap_small_2021.json")
    report.add_argument("--measure", action="store_true", help="first measure the missing passes of the injected slowdowns on this machine")
    report.add_argument(
        "--passes", type=pass_count, default=PASSES, metavar="N", help=f"passes of each injected slowdown; default: {PASSES}"
    )
    report.set_defaults(command=_accuracy)


def _accuracy(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.analysis.accuracy import annotated, report
    from tensorcopy.asv_plugin import detection
    from tensorcopy.measure import injected_slowdowns
    from tensorcopy.report import accuracy_report
    from tensorcopy.results import reader, writing

    annotated_series = annotated.annotated(_json(options.dataset), detection) if options.dataset else None
    if options.measure:
        _measure_injected_slowdowns(options.passes)
    folder = injected_slowdowns.FOLDER
    slowdowns = reader.load_results(folder) if folder.is_dir() else reader.Results((), ())  # without any, the report names the command
    results = reader.load_results(RESULTS) if RESULTS.is_dir() else reader.Results((), ())
    print_warnings((*slowdowns.warnings, *results.warnings))
    for problem in (*slowdowns.problems, *results.problems):
        raise problem  # a report of only some of the results would be wrong
    with share_bar() as report_share:
        graded = report.accuracy_report(
            slowdowns,
            results,
            annotated_series,
            report_share,
            shares=injected_slowdowns.VARIANTS,
            asv=detection,
        )
    document = accuracy_report.document(graded)
    writing.replace(accuracy_report.FILE, accuracy_report.as_json(document))
    console.print(accuracy_report.terminal(document))
    console.print(f"Written to {accuracy_report.FILE}")
    return 0


def _measure_injected_slowdowns(passes: int) -> None:
    from random import SystemRandom

    from tensorcopy.asv_plugin import configuration
    from tensorcopy.measure import injected_slowdowns, plan

    paths = configuration.paths()
    (newest, *_), _left_out = plan.select([], paths.pythons, newest_first=True)
    with progress_bar() as report_progress:
        injected_slowdowns.run(newest, paths, passes, SystemRandom(), report_progress)


def _json(path: Path) -> Any:
    from tensorcopy.report import case_history

    try:
        return json.loads(case_history.input_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise TensorcopyError("the file cannot be read", got=f"{path}: {error}", allowed="a JSON file", next="check the path") from error
