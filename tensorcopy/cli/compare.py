"""Commands that judge changes: compare, history and why."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from tensorcopy.cli import output
from tensorcopy.cli.arguments import FORMATS, add_command, add_results, campaign, results_folder, share
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure.settings import duration, expression

if TYPE_CHECKING:
    from tensorcopy.judge.comparisons import Comparison

BUDGET, MOST_LAUNCHES_NOW = 300.0, 64  # seconds of --now, and its launches of a case that is not exact enough
RESULT = "a release such as 2.14.1"
NO_NEWS = "that is neither accepted in tensorcopy.toml nor back to an earlier level"


def add(commands: Any) -> None:
    """Add these commands to the parser."""
    compare = add_command(commands, "compare", "compare two releases: slower, faster, unchanged or unknown", _compare)
    compare.add_argument("before", metavar="A", help=RESULT)
    compare.add_argument("after", metavar="B", help="another one")
    add_results(compare)
    compare.add_argument("--case", type=expression, default="", metavar="REGEX", help="only cases whose name matches")
    metrics, metric = ("time", "instructions", "bytes", "allocations"), "time (default, with the instructions beside it) or an exact count"
    compare.add_argument("--metric", choices=metrics, default="", help=metric)
    margin = "the smallest change that counts; default: 3; of instructions 1, of other counts any"
    compare.add_argument("--margin", type=share, metavar="PERCENT", help=margin)
    shown = compare.add_mutually_exclusive_group()
    shown.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    evidence = "show the evidence for one verdict instead: launches, interval, test, environments; CASE is a name or a regular expression"
    shown.add_argument("--explain", type=expression, metavar="CASE", help=evidence)
    compare.add_argument("--all", action="store_true", help="also list the unchanged and undecided cases (text only)")
    now = "measure both beside each other here, until every case is decided; stored launches are not used"
    compare.add_argument("--now", action="store_true", help=now)
    compare.add_argument("--for", type=duration, dest="budget", metavar="TIME", help="--now, and end it after this; default: 5m")
    compare.add_argument("--fail-on", choices=("slower",), help=f"exit with 1 if any case is slower {NO_NEWS}")

    history = add_command(commands, "history", "show the time of a case over all releases, and where it changed", _history)
    case = "a name or a regular expression; default: a summary of all"
    history.add_argument("case", nargs="?", type=expression, default="", metavar="CASE", help=case)
    add_results(history)
    history.add_argument("--all", action="store_true", help="list every changed case, not only groups or methods")
    history.add_argument("--open", action="store_true", help="list what is slower with the newest release than with an earlier one")
    history.add_argument("--format", choices=FORMATS, default="text", help="default: text; CSV and JSON of one case have its launches")
    history.add_argument("--fail-on", choices=("slower",), help=f"--open, and exit with 1 if any is listed {NO_NEWS}")

    why = add_command(commands, "why", "show which functions make the difference of a case", _why)
    case = "a method such as detach (its smallest tensor), a name as compare prints it, or a regular expression that matches one case"
    why.add_argument("case", type=expression, metavar="CASE", help=case)
    why.add_argument("before", metavar="A", help=RESULT)
    why.add_argument("after", metavar="B", help="another one")
    add_results(why)
    why.add_argument("--format", choices=FORMATS, default="text", help="default: text")


def _command(options: argparse.Namespace, *names: str) -> str:
    """Return this command with some of its arguments, such as "before" or "--device", as far as they were given."""
    given = ((name, getattr(options, name.removeprefix("--"))) for name in names)
    words = (word for name, value in given if value for word in ([name, value] if name.startswith("--") else [value]))
    return shlex.join(["tensorcopy", options.verb, *words])


def _compare(options: argparse.Namespace) -> int:
    from tensorcopy.judge.paired import Reason
    from tensorcopy.report import comparison as reports
    from tensorcopy.results.cases import kinds_of_cases, only_match, some

    is_now, following = options.now or options.budget, "leave one of the two out"
    if options.metric not in ("", "time") and (is_now or options.fail_on):
        raise TensorcopyError("--now and --fail-on are about times", got=f"--metric {options.metric}", allowed="time", next=following)
    if is_now and options.history:
        raise TensorcopyError("--now measures times here", got=f"--history {options.history}", allowed="no history", next=following)
    whole = _measured_now(options) if is_now else _stored(options)
    comparison = whole.selected(options.case)
    following = f"{_command(options, 'before', 'after', '--device', '--history', '--metric')} --all lists the cases"
    if not comparison.changes:
        raise TensorcopyError("no such case", got=repr(options.case), allowed=some(kinds_of_cases(whole.changes)), next=following)
    if options.explain is not None:
        cases = {case.name: case for case in comparison.changes}
        name = only_match(dict(zip(cases, cases)), options.explain, "no such case", following)
        output.show(reports.evidence(comparison, cases[name]))
    else:
        output.show(reports.report(comparison), options.format, everything=options.all)
    if code := output.print_errors(comparison.problems):
        return code
    if comparison.has_slower and options.fail_on:
        return 1
    if any(change.reason is Reason.FAILED_AFTER for change in comparison.changes.values()):  # what failed before may be mended
        return 2
    if not comparison.has_compared:
        output.print_line(f"nothing was compared: {reports.reasons(comparison.changes.values())}")
        return 3
    return 0


def _stored(options: argparse.Namespace) -> Comparison:
    """Compare the times or the exact counts of two results; all cases are judged, and those of the device are returned.

    Raises TensorcopyError.
    """
    from tensorcopy.judge import case_history, comparisons
    from tensorcopy.judge.comparisons import Question
    from tensorcopy.results import reader, select

    own, sides, unit = campaign(), (options.before, options.after), options.metric.removeprefix("time")
    loaded, command = reader.load_results(results_folder(), own), _command(options, "before", "after", "--metric")
    pair = select.pair(*sides, loaded, own.releases, options.history or "", options.device, command=command, unit=unit)
    if unit:
        comparison = comparisons.between(Question(pair.before, pair.after, margin=options.margin), unit)
    else:
        comparison = case_history.between(Question(pair.before, pair.after, own.rules, options.margin), pair.history.results)
    return replace(comparison.selected(device=pair.device), problems=pair.problems)


def _measured_now(options: argparse.Namespace) -> Comparison:
    """Measure both sides here, and compare them. Raises TensorcopyError."""
    from tensorcopy import configuration
    from tensorcopy.judge.paired import MARGIN
    from tensorcopy.measure import run, sides
    from tensorcopy.measure.plan import Request
    from tensorcopy.results import launches

    own, paths = campaign(), configuration.paths()
    before, after = (own.releases.find(name) for name in (options.before, options.after))
    if before == after:
        raise TensorcopyError("nothing to compare", got=f"{options.before} {options.after}", allowed="two releases", next="name another")
    request = Request(
        tuple(sides.pair(before, after, paths.pythons)),
        case=options.case,
        device=options.device or "cpu",
        needs=options.device,
        launches=run.FIRST,
        most=MOST_LAUNCHES_NOW,
        half=run.EXACT * (options.margin or MARGIN),
        together=True,
        history="here",
        folder=paths.environments.parent / "now" / launches.new_id(),  # the launches of one answer are no part of a history
        until=monotonic() + (options.budget or BUDGET),
    )
    console = output.console(stderr=True)
    with output.progress_bar(console) as report_progress:
        outcome = run.run(request, own, paths, say=partial(console.print, soft_wrap=True), report_progress=report_progress)
    for note in outcome.notes:
        output.print_line(note)
    return run.compared(request, outcome, own, options.margin).selected(device=request.device)


def _history(options: argparse.Namespace) -> int:
    """Print the stored history of one case or of several: that on the site."""
    from tensorcopy.judge import case_history
    from tensorcopy.report import history as reports
    from tensorcopy.report.comparison import not_included
    from tensorcopy.results import reader, select
    from tensorcopy.results.cases import kinds_of_cases, matching, some

    own = campaign()
    loaded = reader.load_results(results_folder(), own)
    chosen, device = select.chosen(loaded, options.history or "", options.device, command=_command(options, "case"))
    output.print_errors(problems := loaded.concerning(options.history or ""))
    by_case = case_history.over(chosen.results, own.rules)
    cases = {case.name: case for case in by_case if case.device == device}
    selected = {cases[name]: by_case[cases[name]] for name in matching(cases, options.case)}
    if not selected:
        allowed, following = some(kinds_of_cases(cases.values())), _command(options, "--device", "--history")
        raise TensorcopyError("no such case", got=repr(options.case), allowed=allowed, next=following)
    if options.open or options.fail_on:
        report = reports.of_open(by_case, [*selected], device, everything=options.all)
    elif len(selected) == 1:
        (history,) = selected.values()
        report = reports.of_case(history, device)
    else:
        report = reports.of_many(selected, device, everything=options.all)
    output.show(replace(report, notes=[*report.notes, *not_included(problems)]), options.format, everything=options.all)
    return 2 if problems else int(bool(options.fail_on) and any(row.is_news for row in report.data or ()))


def _why(options: argparse.Namespace) -> int:
    """Print the functions that make the difference of a case."""
    from tensorcopy.report import causes
    from tensorcopy.results import reader, select

    own, command = campaign(), _command(options, "case", "before", "after")
    loaded = reader.load_results(results_folder(), own)
    pair = select.pair(options.before, options.after, loaded, own.releases, options.history or "", options.device, command=command)
    report = causes.of_pair(pair, options.case, own.rules)
    code = output.print_errors(pair.problems)
    output.show(report, options.format)
    return code
