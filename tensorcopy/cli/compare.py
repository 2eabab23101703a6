"""The judge on the command line: compare, explain, history and report-card. Arguments, printing, exit codes."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from tensorcopy.cli.arguments import RESULTS, bar, expression, positive
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import load
from tensorcopy.results.passes import PASSES

if TYPE_CHECKING:
    from tensorcopy.analysis.comparisons import Comparison

NOTHING_COMPARED = 3
SIDE = "RELEASE such as 2.14.1, RELEASE@3.9, RELEASE@MACHINE, FOLDER of results, FOLDER:RELEASE"


def add(commands: Any) -> None:
    """The judge's commands, beside the others'."""
    compare = commands.add_parser(
        "compare", help="slower, faster, unchanged or inconclusive: two releases, Pythons, machines or folders of results"
    )
    compare.add_argument("before", metavar="A", help=SIDE)
    compare.add_argument("after", metavar="B", help="likewise")
    compare.add_argument("--device", default="", help="only cases on cpu, cuda, mps or xpu")
    compare.add_argument("--case", type=expression, default="", metavar="REGEX", help="only cases whose name it finds")
    compare.add_argument("--machine", default="", metavar="NAME", help="as in results; the one that measured last by default")
    compare.add_argument("--margin", type=_share, metavar="PERCENT", help="the smallest change worth telling; 3 by default")
    compare.add_argument("--format", choices=("text", "markdown", "json", "csv"), default="text", help="text by default")
    compare.add_argument("--all", action="store_true", help="in the text, also every case that is the same or inconclusive")
    compare.add_argument("--confirm", action="store_true", help="measure what changed again, interleaved, until it holds or falls")
    compare.add_argument("--fail-on", choices=("slower",), help="exit with 1 where something is slower")
    compare.set_defaults(command=_compare)

    explain = commands.add_parser("explain", help="the evidence behind one verdict: every pass, the interval, the test, the ledgers")
    explain.add_argument(
        "case", type=expression, metavar="CASE", help="its name as compare prints it, or a regular expression that finds only it"
    )
    explain.add_argument("before", metavar="A", help=SIDE)
    explain.add_argument("after", metavar="B", help="likewise")
    explain.add_argument("--machine", default="", metavar="NAME", help="as in results; the one that measured last by default")
    explain.set_defaults(command=_explain)

    history = commands.add_parser("history", help="a case over the releases: its levels, and where it stepped to another")
    history.add_argument(
        "case", nargs="?", type=expression, default="", metavar="CASE", help="a name or regular expression; all are summed up"
    )
    history.add_argument("--machine", default="", metavar="NAME", help="as in results; the one that measured last by default")
    history.add_argument("--python", default="", metavar="N.N", help="3.11; the newest that was measured by default")
    history.add_argument(
        "--values",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="instead: a JSON array of numbers, or of arrays of samples; a line of JSON for each",
    )
    history.set_defaults(command=_history)

    card = commands.add_parser(
        "report-card", help="how often the judge is right and how often wrong, beside asv's own; writes docs/report_card.json"
    )
    card.add_argument("--dataset", type=Path, metavar="FILE", help="annotated series to be judged too, such as sap_small_2021.json")
    card.add_argument(
        "--measure", action="store_true", help="first measure the known changes on this machine, as far as passes are missing"
    )
    card.add_argument("--passes", type=positive, default=PASSES, metavar="N", help=f"so many of each known change; {PASSES} by default")
    card.set_defaults(command=_report_card)


def _compare(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.analysis.two_sample import MARGIN, Verdict
    from tensorcopy.report.comparison import formats

    found = _judged(options.before, options.after, options.machine, options.case, options.device, options.margin or MARGIN)
    if options.confirm:
        from tensorcopy.analysis import retest
        from tensorcopy.asv_plugin import configuration
        from tensorcopy.measure import remeasure

        with bar(Console(stderr=True, highlight=False)) as tell:
            if retest.flagged(found):
                found = retest.confirmed(found, remeasure.measurer(found.before, found.after, configuration.paths(), tell))
    if options.format == "text":
        console.print(formats.terminal(found, every=options.all), soft_wrap=not console.is_terminal)
    else:
        sys.stdout.write({"markdown": formats.markdown, "json": formats.as_json, "csv": formats.as_csv}[options.format](found))
    if not any(change.interval for change in found.changes.values()):
        print("tensorcopy: nothing was compared: no case has enough passes on both sides", file=sys.stderr)
        return NOTHING_COMPARED
    slower = any(change.verdict is Verdict.SLOWER for change in found.changes.values())
    return int(slower and options.fail_on == "slower")


def _judged(before: str, after: str, machine: str, pattern: str, device: str, margin: float) -> Comparison:
    """The comparison of two results by name. Raises TensorcopyError."""
    from tensorcopy.analysis import comparisons
    from tensorcopy.results import select

    pair = select.pair(before, after, RESULTS, machine)
    cases = comparisons.cases_of(pair.before, pair.after, pattern, device)
    return comparisons.between(pair.before, pair.after, pair.beside, cases, margin=margin)


def _explain(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.analysis import comparisons
    from tensorcopy.analysis.two_sample import MARGIN
    from tensorcopy.report.comparison import explain

    found = _judged(options.before, options.after, options.machine, "", "", MARGIN)
    exact = [case for case in found.changes if comparisons.named(case) == options.case]
    fit = exact or [case for case in found.changes if re.search(options.case, comparisons.named(case))]
    if len(fit) != 1:
        names = [comparisons.named(case) for case in fit or found.changes]
        raise TensorcopyError(
            "not one case" if fit else "no such case",
            got=f"{options.case!r}, which finds {len(fit)}",
            allowed=", ".join(names[:6]) + (", …" if len(names) > 6 else ""),
            next="a name as tensorcopy compare prints it",
        )
    console.print(explain.evidence(found, fit[0]), soft_wrap=True, end="", markup=False)
    return 0


def _history(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.analysis import change_points, comparisons, series
    from tensorcopy.report import case_history

    if options.values:
        for path in options.values:
            print(json.dumps([step.index for step in change_points.steps(*case_history.of_values(path))]))
        return 0
    found = series.series_by_case(load.load_results(RESULTS).results, options.machine, options.python)
    fit = {case: case_series for case, case_series in found.items() if re.search(options.case, comparisons.named(case))}
    exact = {case: case_series for case, case_series in fit.items() if comparisons.named(case) == options.case}
    if not fit:
        allowed = ", ".join(comparisons.named(case) for case in list(found)[:6])
        raise TensorcopyError(
            "no such case", got=repr(options.case), allowed=f"{allowed or 'none was measured'}, …", next="tensorcopy times"
        )
    one = exact or fit
    console.print(
        case_history.drawn(next(iter(one.values()))) if len(one) == 1 else case_history.summed_up(one), soft_wrap=not console.is_terminal
    )
    return 0


def _report_card(options: argparse.Namespace, console: Console) -> int:
    from random import SystemRandom

    from tensorcopy.analysis import accuracy
    from tensorcopy.asv_plugin import configuration, detection
    from tensorcopy.measure import injected_slowdowns, plan
    from tensorcopy.measure.progress import Progress
    from tensorcopy.report import report_card

    annotated = accuracy.annotated(_json(options.dataset), detection) if options.dataset else None
    with bar(Console(stderr=True, highlight=False)) as tell:
        if options.measure:
            paths = configuration.paths()
            (one, *_), _left_out = plan.selected([], paths.pythons, newest_first=True)
            injected_slowdowns.run(one, paths, options.passes, SystemRandom(), tell)
        found = accuracy.card(
            load.load_results(injected_slowdowns.FOLDER),
            load.load_results(RESULTS),
            annotated,
            lambda share, doing: tell(Progress(doing, share, 0.0)),
            shares=injected_slowdowns.VARIANTS,
            asv=detection,
        )
    report_card.FILE.parent.mkdir(exist_ok=True)
    report_card.FILE.write_text(report_card.document(found), encoding="utf-8")
    console.print(report_card.printed(found))
    console.print(f"Written to {report_card.FILE}")
    return 0


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TensorcopyError("the file cannot be read", got=f"{path}: {error}", allowed="a JSON file", next="check the path") from error


def _share(text: str) -> float:
    try:
        share = float(text.rstrip("% "))
    except ValueError:
        share = 0.0
    if not 0 < share <= 100:
        raise argparse.ArgumentTypeError(f"got {text!r}; allowed: more than 0, at most 100 percent")
    return share / 100
