"""`asv compare`, `asv find` and `asv show`: what stored launches say, in the tables of tensorcopy and of asv."""

from __future__ import annotations

import re
import tempfile
from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import log as ln
from pathlib import Path
from typing import Any

from asv.commands.show import Show
from asv.console import log
from rich.console import Console

from tensorcopy import configuration
from tensorcopy.asv_plugin import commands, projection
from tensorcopy.asv_plugin.repository import TorchReleases
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import case_history, comparisons
from tensorcopy.judge.comparisons import Comparison, Question
from tensorcopy.judge.paired import MARGIN, Reason
from tensorcopy.measure import run as measuring
from tensorcopy.measure import settings, sides
from tensorcopy.numbers import percent, ratio_interval, ratio_text
from tensorcopy.releases.release_table import Release
from tensorcopy.report import comparison as comparison_report
from tensorcopy.report import table
from tensorcopy.report.table import ReportSection
from tensorcopy.results import reader, select
from tensorcopy.results.cases import Case
from tensorcopy.results.histories import History
from tensorcopy.results.result import Result

SHOW = Show.run_from_conf_args  # asv's own


def require_one_kind(before: Release | str, after: Release | str, names: Sequence[str]) -> None:
    """Raise TensorcopyError for a release and a commit: nothing but the code shall differ, or nothing but torch."""
    if isinstance(before, str) is not isinstance(after, str):
        commit = names[1] if isinstance(after, str) else names[0]
        allowed, following = "two releases, or two git revisions under one torch", f"asv continuous {commit}~1 {commit}"
        got = " and ".join(names)
        raise TensorcopyError("a release of torch cannot be compared with a git revision", got=got, allowed=allowed, next=following)


def compare(conf: Any, options: Namespace) -> int:
    """Print what changed between two releases or revisions that were measured, and return 0, as asv does."""
    repo, paths, names = TorchReleases(), configuration.paths(vars(conf)), (options.revision1, options.revision2)
    before, after = map(repo.find, names)
    require_one_kind(before, after, names)
    device, command = settings.from_environment().device or "", f"asv compare {' '.join(names)}"
    if isinstance(before, Release) and isinstance(after, Release):
        loaded = reader.load_results(paths.results, repo.campaign)
        pair = select.pair(before.version, after.version, loaded, repo.campaign.releases, options.machine or "", device, command=command)
        asked, labels, device = (pair.before, pair.after), None, pair.device
    else:
        if not sides.differ(str(before), str(after), repo.campaign):
            log.info(f"no file that is measured differs between {str(before)[:8]} and {str(after)[:8]}")
            return 0
        loaded = reader.load_results(measuring.revisions_folder(paths), repo.campaign)
        asked, labels = _of_commits(str(before), str(after), loaded.results, names), names
    for problem in loaded.problems:
        log.warning(str(problem))
    question = Question(*asked, repo.campaign.rules, options.factor - 1)
    if labels:
        comparison = replace(comparisons.between(question), labels=labels)
    else:
        comparison = case_history.between(question, next(each.results for each in loaded.histories if asked[1] in each.results))
    print_comparison(comparison.selected(device=device), options)
    return 0


def _of_commits(before: str, after: str, results: Iterable[Result], names: Sequence[str]) -> tuple[Result, Result]:
    """Return the results of two commits under one torch in one history: the newest release. Raises TensorcopyError where none has both."""
    by_place: dict[tuple[str, str, str], dict[str, Result]] = {}
    for result in results:
        by_place.setdefault((result.history, result.environment, result.version), {})[result.revision] = result
    both = [of for of in by_place.values() if {before, after} <= of.keys()]
    if not both:
        following = f"asv continuous {' '.join(names)}"
        raise TensorcopyError("no launch has both", got=" and ".join(names), allowed="revisions that took turns", next=following)
    newest = max(both, key=lambda of: (of[after].release is not None, of[after].release, max(of[after].launches)))
    return newest[before], newest[after]


def print_comparison(comparison: Comparison, options: Namespace) -> int:
    """Print the table of changes with asv's options, and return 1 where a case is slower, or fails now."""
    made = comparison_report.report(comparison)
    sections = [each for each in made.sections if each.rows and not (options.only_changed and each.folded)]
    if options.sort == "ratio":
        sections = [replace(each, rows=sorted(each.rows, key=lambda row: -(row.change.ratio or 0.0))) for each in sections]
    elif options.sort == "name":
        sections = [replace(each, rows=sorted(each.rows, key=lambda row: row.name)) for each in sections]
    if options.split:
        sections = [each if each.title else replace(each, title=_title(each)) for each in sections]
    counts_from = f"A change counts from a factor of {options.factor:g} on (--factor); for tensorcopy compare from {percent(MARGIN)} on."
    legend = [counts_from, "?: not decided, more launches would tell."]
    console = Console(highlight=False)
    width = console.width if console.is_terminal else table.PIPED
    for line in table.terminal(replace(made, sections=sections, notes=[*made.notes, *legend]), width, everything=True):
        console.print(line, soft_wrap=True)
    return int(comparison.has_slower or any(each.reason is Reason.FAILED_AFTER for each in comparison.changes.values()))


def _title(section: ReportSection) -> str:
    change = section.rows[0].change
    return "fails now" if change.reason is Reason.FAILED_AFTER else str(change.verdict.value)


def find(conf: Any, options: Namespace) -> int:
    """Print between which releases a case changed most that the name selects, by the launches of one history; return 0."""
    repo, paths, named = TorchReleases(), configuration.paths(vars(conf)), options.bench
    pattern = re.escape(named) if "(" in named else commands.selection(options)  # a name as asv prints it, or an expression
    first, dots, _ = options.range.partition("..")
    asked = [*([repo.find(first)] if first else []), *repo.range(options.range)] if dots else []
    releases = [each for each in asked if isinstance(each, Release)]
    if len({*releases}) < 2:
        following = f"asv find v2.8.0..v2.15.0 {options.bench}"
        raise TensorcopyError("nothing to search", got=options.range, allowed="A..B of two releases, B later than A", next=following)
    loaded, command = reader.load_results(paths.results, repo.campaign), f"tensorcopy measure {options.range}"
    ends = releases[0].version, releases[-1].version
    pair = select.pair(*ends, loaded, repo.campaign.releases, commands.history(options), command=command)
    (history,) = (each for each in loaded.histories if pair.after in each.results)
    left = [each for each in history.results if each.release in releases]
    names, sign = projection.names(history), -1 if options.invert else 1

    def size(before: Result, after: Result, case: Case) -> float:
        change = between(before, after).changes.get(case)
        return max(0.0, sign * ln(change.size)) if change and change.reason is Reason.CHANGED else 0.0

    def between(before: Result, after: Result) -> Comparison:
        return comparisons.between(Question(before, after, repo.campaign.rules))

    whole = between(left[0], left[-1])
    selected = [case for case, change in whole.changes.items() if change.timed and re.search(pattern, names.get(case, ""))]
    case = max(selected, key=lambda each: size(left[0], left[-1], each), default=None)
    if case is None or not size(left[0], left[-1], case):
        what, got = "improvement" if options.invert else "regression", f"none of {options.bench} in {options.range} of {history.name}"
        raise TensorcopyError(
            f"no {what} to search for", got=got, allowed="two ends between which a time differs", next="other ends, or --invert"
        )
    while len(left) > 2:
        middle = left[len(left) // 2]
        halves = size(left[0], middle, case), size(middle, left[-1], case)
        if not any(halves):
            break
        left = left[: len(left) // 2 + 1] if halves[0] > halves[1] else left[len(left) // 2 :]
    found, change = left[-1], between(left[0], left[-1]).changes[case]
    interval = f" ({ratio_interval(change.interval)})" if change.interval else ""
    log.info(f"{names[case]}: {ratio_text(change.size)}{interval} from {left[0].version} to {found.version}, in {history.name}")
    earlier = f", or one before it after v{left[0].version}" if len(left) > 2 else ""
    log.info(f"{'Improvement' if options.invert else 'Regression'} found: {found.sha[:8]} <v{found.version}>{earlier}")
    return 0


def show(conf: Any, options: Namespace) -> int:
    """Let `asv show` read a projection of the launches of releases and git revisions, and log a warning for each that cannot be read."""
    repo, paths = TorchReleases(), configuration.paths(vars(conf))
    loaded = [reader.load_results(folder, repo.campaign) for folder in (paths.results, measuring.revisions_folder(paths))]
    for problem in (problem for each in loaded for problem in each.problems):
        log.warning(str(problem))
    _show(conf, options, [history for each in loaded for history in each.histories])
    return 0


def _show(conf: Any, options: Namespace, histories: Iterable[History]) -> None:
    named = [each.removeprefix("release:") for each in options.env_spec]  # an environment's name, or its Python
    kept = [
        replace(each, results=tuple(result for result in each.results if {result.environment, result.python} & {*named}))
        for each in histories
        if named
    ]
    with tempfile.TemporaryDirectory() as folder:
        projection.write(kept if named else histories, Path(folder))
        conf.results_dir = folder
        SHOW(conf, Namespace(**{"durations": False, **vars(options), "env_spec": None}))


def print_values(conf: Any, histories: Sequence[History], selection: str) -> None:
    """Print the values of some results as `asv show` does."""
    log.flush()
    for commit in dict.fromkeys(result.revision or result.sha for history in histories for result in history.results):
        options = Namespace(commit=commit, bench=selection or None, machine=None, env_spec=[], details=False)
        _show(conf, options, histories)
