"""The judge on the command line: compare, explain, history and report-card. Arguments, printing, exit codes."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from tensorcopy.compare import MARGIN, Verdict
from tensorcopy.errors import TensorcopyError

RESULTS = Path("results")
NOTHING_COMPARED = 3
SIDE = "RELEASE such as 2.14.1, RELEASE@3.9, RELEASE@MACHINE, FOLDER of results, FOLDER:RELEASE"


def add(commands: Any) -> None:
    """The judge's commands, beside the others'."""
    compare = commands.add_parser(
        "compare", help="slower, faster, same or undecided: two releases, Pythons, machines or folders of results"
    )
    compare.add_argument("before", metavar="A", help=SIDE)
    compare.add_argument("after", metavar="B", help="likewise")
    compare.add_argument("--device", default="", help="only cases on cpu, cuda, mps or xpu")
    compare.add_argument("--case", type=_expression, default="", metavar="REGEX", help="only cases whose name it finds")
    compare.add_argument("--machine", default="", metavar="NAME", help="as in results; the one that measured last by default")
    compare.add_argument("--margin", type=_share, default=MARGIN, metavar="PERCENT", help="the smallest change worth telling; 3 by default")
    compare.add_argument("--format", choices=("text", "markdown", "json", "csv"), default="text", help="text by default")
    compare.add_argument("--all", action="store_true", help="in the text, also every case that is the same or undecided")
    compare.add_argument("--confirm", action="store_true", help="measure what changed again, interleaved, until it holds or falls")
    compare.add_argument("--fail-on", choices=("slower",), help="exit with 1 where something is slower")
    compare.set_defaults(command=_compare)

    explain = commands.add_parser("explain", help="the evidence behind one verdict: every pass, the interval, the test, the ledgers")
    explain.add_argument("case", metavar="CASE", help="its name as compare prints it, or a regular expression that finds only it")
    explain.add_argument("before", metavar="A", help=SIDE)
    explain.add_argument("after", metavar="B", help="likewise")
    explain.add_argument("--machine", default="", metavar="NAME", help="as in results; the one that measured last by default")
    explain.set_defaults(command=_explain)


def _compare(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import report, sides

    found = sides.compared(
        options.before,
        options.after,
        RESULTS,
        machine=options.machine,
        cases=options.case,
        device=options.device,
        margin=options.margin,
    )
    if options.confirm:
        from tensorcopy import confirm
        from tensorcopy.asv_plugin import configuration
        from tensorcopy.cli import bar

        with bar(Console(stderr=True, highlight=False)) as tell:
            found = confirm.confirmed(found, configuration.places(), tell)
    if options.format == "text":
        console.print(report.terminal(found, every=options.all), soft_wrap=not console.is_terminal)
    else:
        sys.stdout.write({"markdown": report.markdown, "json": report.as_json, "csv": report.as_csv}[options.format](found))
    if not any(change.interval for change in found.changes.values()):
        print("tensorcopy: nothing was compared: no case has enough passes on both sides", file=sys.stderr)
        return NOTHING_COMPARED
    slower = any(change.verdict is Verdict.SLOWER for change in found.changes.values())
    return int(slower and options.fail_on == "slower")


def _explain(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import evidence, sides

    found = sides.compared(options.before, options.after, RESULTS, machine=options.machine, margin=MARGIN)
    exact = [case for case in found.changes if sides.named(case) == options.case]
    fit = exact or [case for case in found.changes if _finds(options.case, sides.named(case))]
    if len(fit) != 1:
        names = [sides.named(case) for case in fit or found.changes]
        raise TensorcopyError(
            "not one case" if fit else "no such case",
            got=f"{options.case!r}, which finds {len(fit)}",
            allowed=", ".join(names[:6]) + (", …" if len(names) > 6 else ""),
            next="a name as tensorcopy compare prints it",
        )
    console.print(evidence.evidence(found, fit[0]), soft_wrap=True, end="", markup=False)
    return 0


def _finds(expression: str, name: str) -> bool:
    return re.search(_expression(expression), name) is not None


def _expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"got {text!r}: {error}; allowed: a regular expression") from error
    return text


def _share(text: str) -> float:
    try:
        share = float(text.rstrip("% "))
    except ValueError:
        share = 0.0
    if not 0 < share <= 100:
        raise argparse.ArgumentTypeError(f"got {text!r}; allowed: more than 0, at most 100 percent")
    return share / 100
